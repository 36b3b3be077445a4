// Counts the ways to place queens on a board so that none attacks another, by trying column after column.
// Constructs: a group of tasks in every node of the upper part of the search tree. Locks: none; each task has a counter of its
// own in its parent's frame.

#include "parallel.h"
#include <array>

constexpr unsigned MOST = 16;
constexpr unsigned LEVELS = 4;

struct Board {
    std::array<signed char, MOST> rows{};

    bool fits(unsigned column, int row) const
    {
        for (unsigned other = 0; other < column; other++) {
            const int distance = static_cast<int>(column - other);
            if (rows[other] == row || rows[other] - distance == row || rows[other] + distance == row)
                return false;
        }
        return true;
    }
};

static std::uint64_t search(Board board, unsigned column, unsigned size)
{
    if (column == size)
        return 1;
    std::uint64_t sum = 0;
    if (column >= LEVELS) {
        for (unsigned row = 0; row < size; row++)
            if (board.fits(column, static_cast<int>(row))) {
                board.rows[column] = static_cast<signed char>(row);
                sum += search(board, column + 1, size);
            }
        return sum;
    }
    std::array<std::uint64_t, MOST> counts{};
    parallel::finish([&](parallel::Group &group) {
        for (unsigned row = 0; row < size; row++)
            if (board.fits(column, static_cast<int>(row))) {
                Board next = board;
                next.rows[column] = static_cast<signed char>(row);
                group.run([=, &counts] { counts[row] = search(next, column + 1, size); });
            }
    });
    for (unsigned row = 0; row < size; row++)
        sum += counts[row];
    return sum;
}

int main(int argc, char **argv)
{
    Application application(argc, argv);
    // One more row and column is five to six times the work.
    unsigned size = 13;
    for (double share = application.share; share < 0.5 && size > 5; share *= 5.5)
        size--;
    std::uint64_t result = 0;
    parallel::run(application, [&] { result = search(Board(), 0, size); });
    print_result(result);
}
