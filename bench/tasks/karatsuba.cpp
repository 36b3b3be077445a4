// Multiplies two polynomials whose coefficients are numbers of 64 bits, by Karatsuba's three products of halves.
// Constructs: a group of three tasks, nested, with a cut-off. Locks: none.

#include "parallel.h"
#include <algorithm>
#include <vector>

constexpr std::size_t SMALL = 64, CUT_OFF = 512;
using Number = std::uint64_t;

// Writes the product of a and b, which have `size` coefficients, a power of two, to the 2 * size of the result. The scratch
// has 4 * size.
static void multiply(const Number *a, const Number *b, Number *result, std::size_t size, Number *scratch)
{
    if (size <= SMALL) {
        std::fill(result, result + 2 * size, 0);
        for (std::size_t i = 0; i < size; i++)
            for (std::size_t j = 0; j < size; j++)
                result[i + j] += a[i] * b[j];
        return;
    }
    const std::size_t half = size / 2;
    Number *sums = scratch, *middle = scratch + size, *rest = scratch + 2 * size;
    auto add_halves = [&] {
        for (std::size_t i = 0; i < half; i++) {
            sums[i] = a[i] + a[half + i];
            sums[half + i] = b[i] + b[half + i];
        }
    };
    if (size <= CUT_OFF) {
        multiply(a, b, result, half, rest);
        multiply(a + half, b + half, result + size, half, rest);
        add_halves();
        multiply(sums, sums + half, middle, half, rest);
    } else {
        parallel::finish([&](parallel::Group &group) {
            group.run([=] {
                std::vector<Number> own(4 * half);
                multiply(a, b, result, half, own.data());
            });
            group.run([=] {
                std::vector<Number> own(4 * half);
                multiply(a + half, b + half, result + size, half, own.data());
            });
            add_halves();
            multiply(sums, sums + half, middle, half, rest);
        });
    }
    for (std::size_t i = 0; i < size; i++)
        middle[i] -= result[i] + result[size + i];
    for (std::size_t i = 0; i < size; i++)
        result[half + i] += middle[i];
}

int main(int argc, char **argv)
{
    Application application(argc, argv);
    // Twice the size is three times the work.
    std::size_t size = 131072;
    for (double share = application.share; share < 0.6 && size > SMALL; share *= 3)
        size /= 2;
    std::vector<Number> a(size), b(size), result(2 * size), scratch(4 * size);
    Random random(31);
    for (std::size_t i = 0; i < size; i++) {
        a[i] = random.next();
        b[i] = random.next();
    }
    parallel::run(application, [&] { multiply(a.data(), b.data(), result.data(), size, scratch.data()); });
    std::uint64_t checksum = 0;
    for (const Number number : result)
        checksum = mix(checksum, number);
    print_result(checksum);
}
