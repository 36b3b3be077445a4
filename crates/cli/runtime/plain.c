/*
 * Copying and comparing memory for the runtime itself.
 *
 * The compiler of the runtime writes calls of memcpy and its like. In a watched program these names are the runtime's own
 * interceptors, so the build renames its calls to the functions here, which watch nothing. They are weak: the runtime may
 * define better ones. Most of what they are given is a few bytes long.
 *
 * This file is compiled so that loops are not turned into the very calls that they replace.
 */

#include <stddef.h>
#include <stdint.h>

#define PLAIN __attribute__((weak))

typedef uint64_t word __attribute__((may_alias, aligned(1)));
typedef uint32_t half __attribute__((may_alias, aligned(1)));
typedef uint16_t quarter __attribute__((may_alias, aligned(1)));

/* Below this a loop over words is as good as the processor's own copy, which takes some time to start. */
#define LONG 256

PLAIN void *__keirin_plain_memcpy(void *to, const void *from, size_t size) {
    char *out = to;
    const char *in = from;
    if (size >= LONG) {
        __asm__ volatile("rep movsb" : "+D"(out), "+S"(in), "+c"(size) : : "memory");
        return to;
    }
    if (size >= 8) {
        /* The last word may overlap the one before; it is read first, so that nothing is read after it was written. */
        word last = *(const word *)(in + size - 8);
        char *end = out + size - 8;
        for (; size > 8; size -= 8, in += 8, out += 8)
            *(word *)out = *(const word *)in;
        *(word *)end = last;
    } else if (size >= 4) {
        half first = *(const half *)in, last = *(const half *)(in + size - 4);
        *(half *)out = first;
        *(half *)(out + size - 4) = last;
    } else if (size >= 2) {
        quarter first = *(const quarter *)in, last = *(const quarter *)(in + size - 2);
        *(quarter *)out = first;
        *(quarter *)(out + size - 2) = last;
    } else if (size == 1) {
        *out = *in;
    }
    return to;
}

PLAIN void *__keirin_plain_memmove(void *to, const void *from, size_t size) {
    if ((uintptr_t)to - (uintptr_t)from >= size)
        return __keirin_plain_memcpy(to, from, size);
    /* The target begins inside of the source: from the end, so that nothing is written before it was read. */
    char *out = to;
    const char *in = from;
    for (; size >= 8; size -= 8)
        *(word *)(out + size - 8) = *(const word *)(in + size - 8);
    while (size--)
        out[size] = in[size];
    return to;
}

PLAIN void *__keirin_plain_memset(void *to, int byte, size_t size) {
    char *out = to;
    if (size >= LONG) {
        __asm__ volatile("rep stosb" : "+D"(out), "+c"(size) : "a"(byte) : "memory");
        return to;
    }
    uint64_t pattern = 0x0101010101010101u * (unsigned char)byte;
    for (; size >= 8; size -= 8, out += 8)
        *(word *)out = pattern;
    for (; size; size--)
        *out++ = (char)byte;
    return to;
}

PLAIN int __keirin_plain_memcmp(const void *one, const void *other, size_t size) {
    const unsigned char *a = one, *b = other;
    for (; size >= 8 && *(const word *)a == *(const word *)b; size -= 8)
        a += 8, b += 8;
    for (; size; size--, a++, b++)
        if (*a != *b)
            return *a < *b ? -1 : 1;
    return 0;
}

PLAIN int __keirin_plain_bcmp(const void *one, const void *other, size_t size) {
    return __keirin_plain_memcmp(one, other, size);
}

PLAIN size_t __keirin_plain_strlen(const char *text) {
    const char *end = text;
    while (*end)
        end++;
    return (size_t)(end - text);
}
