// Fibonacci numbers by the naive recursion, with tasks for large numbers and plain calls for small ones.
// Constructs: two tasks at once, nested, with a cut-off. Locks: none.

#include "parallel.h"

constexpr unsigned CUT_OFF = 18;

static std::uint64_t serial_fib(unsigned n)
{
    return n < 2 ? n : serial_fib(n - 1) + serial_fib(n - 2);
}

static std::uint64_t fib(unsigned n)
{
    if (n < CUT_OFF)
        return serial_fib(n);
    std::uint64_t left = 0, right = 0;
    parallel::both([&] { left = fib(n - 1); }, [&] { right = fib(n - 2); });
    return left + right;
}

int main(int argc, char **argv)
{
    Application application(argc, argv);
    // The work grows with the number itself.
    const std::size_t calls = application.times(800000000);
    unsigned n = 2;
    for (std::size_t last = 1, next = 2; next < calls; n++) {
        const std::size_t sum = last + next;
        last = next;
        next = sum;
    }
    std::uint64_t result = 0;
    parallel::run(application, [&] { result = fib(n); });
    print_result(result);
}
