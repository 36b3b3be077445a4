// One thread writes sixteen, two and one bytes at once; another reads a single byte of each.
//
// expect: data-race (A) (D)
// expect: data-race (B) (E)
// expect: data-race (C) (F)

#include <pthread.h>
#include <stdint.h>

unsigned __int128 wide;
uint16_t narrow;
uint8_t least;

static void *write_all(void *unused)
{
    wide = ((unsigned __int128)1 << 100) + 1; // (A)
    narrow = 0x1234; // (B)
    least = 7; // (C)
    return unused;
}

int main(void)
{
    pthread_t writer;
    pthread_create(&writer, NULL, write_all, NULL);
    int sum = ((volatile uint8_t *)&wide)[15]; // (D)
    sum += ((volatile uint8_t *)&narrow)[1]; // (E)
    sum += *(volatile uint8_t *)&least; // (F)
    pthread_join(writer, NULL);
    return sum > 1000;
}
