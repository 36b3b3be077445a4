// A packed message has a number at an odd address. Writing it touches the byte that another thread reads, beyond the
// next multiple of four.
//
// expect: data-race (A) (B)

#include <pthread.h>
#include <stdint.h>

struct __attribute__((packed)) {
    uint8_t kind;
    uint16_t flags;
    uint32_t length;
} message;

static void *set_length(void *unused)
{
    message.length = 1000000; // (A)
    return unused;
}

static void *look_at_last_byte(void *result)
{
    const uint8_t *bytes = (const uint8_t *)&message;
    *(uint8_t *)result = bytes[6]; // (B)
    return result;
}

int main(void)
{
    pthread_t threads[2];
    uint8_t last = 0;
    pthread_create(&threads[0], NULL, set_length, NULL);
    pthread_create(&threads[1], NULL, look_at_last_byte, &last);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return last > 15;
}
