// Multiplies two square matrices by cutting the result into four quarters until they are small.
// Constructs: two tasks at once, nested three deep: halves of rows and of columns at the same time, halves of the sum one after
// the other. Locks: none.

#include "parallel.h"
#include <vector>

constexpr std::size_t SMALL = 32;

struct Block {
    double *at;
    std::size_t stride;

    Block part(std::size_t row, std::size_t column) const
    {
        return {at + row * stride + column, stride};
    }
};

// Adds the product of a (rows by inner) and b (inner by columns) to c.
static void multiply(Block a, Block b, Block c, std::size_t rows, std::size_t columns, std::size_t inner)
{
    if (rows > SMALL) {
        const std::size_t half = rows / 2;
        parallel::both([=] { multiply(a, b, c, half, columns, inner); },
                       [=] { multiply(a.part(half, 0), b, c.part(half, 0), rows - half, columns, inner); });
    } else if (columns > SMALL) {
        const std::size_t half = columns / 2;
        parallel::both([=] { multiply(a, b, c, rows, half, inner); },
                       [=] { multiply(a, b.part(0, half), c.part(0, half), rows, columns - half, inner); });
    } else {
        for (std::size_t i = 0; i < rows; i++)
            for (std::size_t k = 0; k < inner; k++) {
                const double factor = a.at[i * a.stride + k];
                for (std::size_t j = 0; j < columns; j++)
                    c.at[i * c.stride + j] += factor * b.at[k * b.stride + j];
            }
    }
}

int main(int argc, char **argv)
{
    Application application(argc, argv);
    const std::size_t size = 512;
    const std::size_t inner = application.times(3072);
    std::vector<double> a(size * inner), b(inner * size), c(size * size);
    Random random(11);
    for (auto *matrix : {&a, &b})
        for (auto &number : *matrix)
            number = static_cast<double>(random.next() % 16);
    parallel::run(application,
                  [&] { multiply({a.data(), inner}, {b.data(), size}, {c.data(), size}, size, size, inner); });
    std::uint64_t checksum = 0;
    for (const double number : c)
        checksum = mix(checksum, static_cast<std::uint64_t>(number));
    print_result(checksum);
}
