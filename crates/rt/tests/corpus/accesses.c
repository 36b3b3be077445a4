/* Accesses of every size: aligned, not aligned, volatile, parts of words, read and written at once, and stretches. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef long long vector __attribute__((vector_size(16)));
typedef double wide __attribute__((vector_size(32)));

#define SIZE(type, name)                                                                                                       \
    type name##_shared;                                                                                                        \
    volatile type name##_volatile;                                                                                             \
    struct name##_packed {                                                                                                     \
        char before;                                                                                                           \
        type value;                                                                                                            \
        volatile type volatile_value;                                                                                          \
    } __attribute__((packed)) name##_unaligned;                                                                                \
    type name(type *at, struct name##_packed *packed, type value) {                                                            \
        *at = *at + value;                                                                                                     \
        name##_shared += value;                                                                                                \
        name##_volatile += value;                                                                                              \
        name##_volatile = value;                                                                                               \
        packed->value += value;                                                                                                \
        packed->volatile_value += value;                                                                                       \
        packed->volatile_value = value;                                                                                        \
        packed->value = value;                                                                                                 \
        return *at + name##_shared + name##_unaligned.value + name##_volatile;                                                 \
    }

SIZE(uint8_t, bytes)
SIZE(uint16_t, halves)
SIZE(uint32_t, words)
SIZE(uint64_t, longs)
SIZE(__int128, doubles)
SIZE(float, floats)
SIZE(long double, extended)
SIZE(vector, vectors)
SIZE(wide, wides)

struct bits {
    unsigned a : 1;
    unsigned b : 7;
    unsigned c : 20;
    unsigned long long d : 40;
    volatile unsigned e : 3;
} bits;

int bit_fields(struct bits *other) {
    bits.a = other->b;
    bits.c++;
    bits.d += other->d;
    other->e = bits.a;
    return bits.e;
}

struct large {
    char text[1000];
    int number;
    short odd[3];
} one, two;

struct large copied(const struct large *from, size_t size) {
    struct large local;
    one = two;
    local = *from;
    memcpy(&one, from, size);
    memcpy(&two, from, sizeof two);
    memmove(one.text + 1, one.text, size);
    memmove(one.text + 1, one.text, 100);
    memset(&one, 1, size);
    memset(&two, 0, sizeof two);
    one.odd[size] = local.odd[1];
    return local;
}

_Thread_local int own;

int locals(int count, int (*call)(int *)) {
    int array[count], escaped = 1;
    array[count - 1] = own++;
    return call(&escaped) + call(array) + call(&own) + escaped;
}
