// Multiplies two square matrices by Strassen's seven products of quarters.
// Constructs: a group of seven tasks, nested, with a cut-off. Locks: none.

#include "parallel.h"
#include <vector>

constexpr std::size_t SMALL = 64;
using Number = std::uint64_t;

// A square part of a matrix.
struct Block {
    Number *at;
    std::size_t stride, size;

    Block quarter(std::size_t row, std::size_t column) const
    {
        const std::size_t half = size / 2;
        return {at + row * half * stride + column * half, stride, half};
    }
};

// A matrix of its own.
struct Matrix {
    std::vector<Number> numbers;
    std::size_t size;

    explicit Matrix(std::size_t size) : numbers(size * size), size(size) {}

    Block block()
    {
        return {numbers.data(), size, size};
    }
};

static void multiply(Block a, Block b, Block c);

// The product of two sums: a + sign * other_a and b + sign * other_b; an addend without a place counts as nothing.
struct Addends {
    Block first;
    Block second;
    bool minus;
};

static void write_sum(const Addends &addends, Block to)
{
    for (std::size_t i = 0; i < to.size; i++)
        for (std::size_t j = 0; j < to.size; j++) {
            const Number first = addends.first.at[i * addends.first.stride + j];
            const Number second = addends.second.at ? addends.second.at[i * addends.second.stride + j] : 0;
            to.at[i * to.stride + j] = addends.minus ? first - second : first + second;
        }
}

static void product(const Addends &left, const Addends &right, Block to)
{
    Matrix a(to.size), b(to.size);
    write_sum(left, a.block());
    write_sum(right, b.block());
    multiply(a.block(), b.block(), to);
}

static void multiply(Block a, Block b, Block c)
{
    if (c.size <= SMALL) {
        for (std::size_t i = 0; i < c.size; i++) {
            for (std::size_t j = 0; j < c.size; j++)
                c.at[i * c.stride + j] = 0;
            for (std::size_t k = 0; k < c.size; k++) {
                const Number factor = a.at[i * a.stride + k];
                for (std::size_t j = 0; j < c.size; j++)
                    c.at[i * c.stride + j] += factor * b.at[k * b.stride + j];
            }
        }
        return;
    }
    const std::size_t half = c.size / 2;
    const Block a11 = a.quarter(0, 0), a12 = a.quarter(0, 1), a21 = a.quarter(1, 0), a22 = a.quarter(1, 1);
    const Block b11 = b.quarter(0, 0), b12 = b.quarter(0, 1), b21 = b.quarter(1, 0), b22 = b.quarter(1, 1);
    const Block none{nullptr, 0, half};
    std::vector<Matrix> m(7, Matrix(half));
    parallel::finish([&](parallel::Group &group) {
        auto run = [&](std::size_t number, Addends left, Addends right) {
            const Block to = m[number].block();
            group.run([=] { product(left, right, to); });
        };
        run(0, {a11, a22, false}, {b11, b22, false});
        run(1, {a21, a22, false}, {b11, none, false});
        run(2, {a11, none, false}, {b12, b22, true});
        run(3, {a22, none, false}, {b21, b11, true});
        run(4, {a11, a12, false}, {b22, none, false});
        run(5, {a21, a11, true}, {b11, b12, false});
        run(6, {a12, a22, true}, {b21, b22, false});
    });
    auto write = [&](Block to, auto &&value) {
        for (std::size_t i = 0; i < half; i++)
            for (std::size_t j = 0; j < half; j++)
                to.at[i * to.stride + j] = value(i * half + j);
    };
    const auto &n = m;
    write(c.quarter(0, 0), [&](std::size_t i) { return n[0].numbers[i] + n[3].numbers[i] - n[4].numbers[i] + n[6].numbers[i]; });
    write(c.quarter(0, 1), [&](std::size_t i) { return n[2].numbers[i] + n[4].numbers[i]; });
    write(c.quarter(1, 0), [&](std::size_t i) { return n[1].numbers[i] + n[3].numbers[i]; });
    write(c.quarter(1, 1), [&](std::size_t i) { return n[0].numbers[i] - n[1].numbers[i] + n[2].numbers[i] + n[5].numbers[i]; });
}

int main(int argc, char **argv)
{
    Application application(argc, argv);
    // Twice the size is seven times the work.
    std::size_t size = 1024;
    for (double share = application.share; share < 0.5 && size > SMALL; share *= 7)
        size /= 2;
    Matrix a(size), b(size), c(size);
    Random random(53);
    for (auto *matrix : {&a, &b})
        for (Number &number : matrix->numbers)
            number = random.next() % 1000;
    parallel::run(application, [&] { multiply(a.block(), b.block(), c.block()); });
    std::uint64_t checksum = 0;
    for (const Number number : c.numbers)
        checksum = mix(checksum, number);
    print_result(checksum);
}
