// Exceptions through code that is not instrumented.
#include "race.h"
#include <stdexcept>

static int calls;

__attribute__((noinline)) static int compare(const void *a, const void *b)
{
    if (++calls % 7 == 0)
        throw std::runtime_error("enough");
    return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

static void *sort(void *result)
{
    for (int i = 0; i < 2000; i++) {
        int values[40];
        for (int j = 0; j < 40; j++)
            values[j] = (j * 17 + i) % 41;
        try {
            qsort(values, 40, sizeof *values, compare);
        } catch (const std::runtime_error &) {
            ++*static_cast<int *>(result);
        }
    }
    return nullptr;
}

int main()
{
    int caught = 0;
    sort(&caught);
    race();
    say(caught == 2000 ? "caught\n" : "lost\n");
    return 3;
}
