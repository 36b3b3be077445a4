// Factors a sparse matrix of blocks into a lower and an upper triangle. Blocks that are nothing but zeros do not exist, until they
// are written.
// Constructs: in each step two groups of tasks, one task for a block: first those of the row and the column, then all that depend
// on them. Locks: none.

#include "parallel.h"
#include <cmath>
#include <memory>
#include <vector>

constexpr std::size_t SIDE = 32; // of a block
using Block = std::vector<double>;

struct Matrix {
    std::size_t size;
    std::vector<std::unique_ptr<Block>> blocks;

    explicit Matrix(std::size_t size) : size(size), blocks(size * size)
    {
        Random random(59);
        for (std::size_t row = 0; row < size; row++)
            for (std::size_t column = 0; column < size; column++) {
                const std::size_t distance = row > column ? row - column : column - row;
                if (distance > 1 && random.next() % 5 != 0)
                    continue;
                auto block = std::make_unique<Block>(SIDE * SIDE);
                for (double &number : *block)
                    number = static_cast<double>(random.next() % 1000) / 1000;
                // A heavy diagonal needs no pivots.
                for (std::size_t i = 0; i < SIDE && distance == 0; i++)
                    (*block)[i * SIDE + i] += static_cast<double>(2 * size * SIDE);
                at(row, column) = std::move(block);
            }
    }

    std::unique_ptr<Block> &at(std::size_t row, std::size_t column)
    {
        return blocks[row * size + column];
    }
};

static void factor(Block &diagonal)
{
    for (std::size_t k = 0; k < SIDE; k++)
        for (std::size_t i = k + 1; i < SIDE; i++) {
            diagonal[i * SIDE + k] /= diagonal[k * SIDE + k];
            for (std::size_t j = k + 1; j < SIDE; j++)
                diagonal[i * SIDE + j] -= diagonal[i * SIDE + k] * diagonal[k * SIDE + j];
        }
}

static void solve_row(const Block &diagonal, Block &block)
{
    for (std::size_t k = 0; k < SIDE; k++)
        for (std::size_t i = k + 1; i < SIDE; i++)
            for (std::size_t j = 0; j < SIDE; j++)
                block[i * SIDE + j] -= diagonal[i * SIDE + k] * block[k * SIDE + j];
}

static void solve_column(const Block &diagonal, Block &block)
{
    for (std::size_t i = 0; i < SIDE; i++)
        for (std::size_t k = 0; k < SIDE; k++) {
            block[i * SIDE + k] /= diagonal[k * SIDE + k];
            for (std::size_t j = k + 1; j < SIDE; j++)
                block[i * SIDE + j] -= block[i * SIDE + k] * diagonal[k * SIDE + j];
        }
}

static void update(const Block &column, const Block &row, std::unique_ptr<Block> &block)
{
    if (!block)
        block = std::make_unique<Block>(SIDE * SIDE);
    Block &to = *block;
    for (std::size_t i = 0; i < SIDE; i++)
        for (std::size_t k = 0; k < SIDE; k++)
            for (std::size_t j = 0; j < SIDE; j++)
                to[i * SIDE + j] -= column[i * SIDE + k] * row[k * SIDE + j];
}

static void factor(Matrix &matrix)
{
    for (std::size_t k = 0; k < matrix.size; k++) {
        const Block &diagonal = *matrix.at(k, k);
        factor(*matrix.at(k, k));
        parallel::finish([&](parallel::Group &group) {
            for (std::size_t i = k + 1; i < matrix.size; i++) {
                if (matrix.at(k, i))
                    group.run([&diagonal, &block = *matrix.at(k, i)] { solve_row(diagonal, block); });
                if (matrix.at(i, k))
                    group.run([&diagonal, &block = *matrix.at(i, k)] { solve_column(diagonal, block); });
            }
        });
        parallel::finish([&](parallel::Group &group) {
            for (std::size_t row = k + 1; row < matrix.size; row++)
                for (std::size_t column = k + 1; column < matrix.size; column++)
                    if (matrix.at(row, k) && matrix.at(k, column))
                        group.run([&left = *matrix.at(row, k), &above = *matrix.at(k, column), &block = matrix.at(row, column)] {
                            update(left, above, block);
                        });
        });
    }
}

int main(int argc, char **argv)
{
    Application application(argc, argv);
    // The work grows with the third power of the size.
    Matrix matrix(static_cast<std::size_t>(2 + std::ceil(60 * std::cbrt(application.share))));
    parallel::run(application, [&] { factor(matrix); });
    std::uint64_t checksum = 0;
    for (const auto &block : matrix.blocks)
        if (block)
            for (const double number : *block)
                checksum = mix(checksum, static_cast<std::uint64_t>(std::llround(number * 1e6)));
    print_result(checksum);
}
