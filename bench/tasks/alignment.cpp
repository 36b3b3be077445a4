// Aligns all pairs of a set of protein-like sequences, with affine costs of gaps, and tells the score of each pair.
// Constructs: one group with a task for each pair. Locks: a critical section for the best pair; the scores have their places.

#include "parallel.h"
#include <algorithm>
#include <string>
#include <vector>

constexpr int OPEN = 12, EXTEND = 2, LETTERS = 20;

// How alike two letters are: made up, symmetric.
static int likeness(char a, char b)
{
    if (a == b)
        return 8;
    const int low = std::min(a, b), high = std::max(a, b);
    return (low * 7 + high * 13) % 9 - 5;
}

// The score of the best global alignment.
static int align(const std::string &a, const std::string &b)
{
    std::vector<int> best(b.size() + 1), gap(b.size() + 1);
    for (std::size_t j = 1; j <= b.size(); j++) {
        best[j] = -OPEN - EXTEND * static_cast<int>(j);
        gap[j] = best[j] - OPEN;
    }
    for (std::size_t i = 1; i <= a.size(); i++) {
        int diagonal = best[0];
        best[0] = -OPEN - EXTEND * static_cast<int>(i);
        int across = best[0] - OPEN;
        for (std::size_t j = 1; j <= b.size(); j++) {
            across = std::max(across, best[j - 1] - OPEN) - EXTEND;
            gap[j] = std::max(gap[j], best[j] - OPEN) - EXTEND;
            const int paired = diagonal + likeness(a[i - 1], b[j - 1]);
            diagonal = best[j];
            best[j] = std::max(paired, std::max(across, gap[j]));
        }
    }
    return best[b.size()];
}

struct Best {
    int score = INT32_MIN;
    std::size_t first = 0, second = 0;
};

int main(int argc, char **argv)
{
    Application application(argc, argv);
    std::vector<std::string> sequences(60);
    Random random(61);
    const std::size_t length = application.times(250, 4);
    for (std::string &sequence : sequences)
        for (std::size_t i = length - length / 4 + random.next() % (length / 2); i > 0; i--)
            sequence.push_back(static_cast<char>(random.next() % LETTERS));
    const std::size_t size = sequences.size();
    std::vector<int> scores(size * size);
    Best best;
    parallel::run(application, [&] {
        parallel::finish([&](parallel::Group &group) {
            for (std::size_t i = 0; i < size; i++)
                for (std::size_t j = i + 1; j < size; j++)
                    group.run([&, i, j] {
                        const int score = align(sequences[i], sequences[j]);
                        scores[i * size + j] = score;
                        parallel::critical([&] {
                            // Of equal scores the first pair, in whatever order they come.
                            if (score > best.score || (score == best.score && std::make_pair(i, j) < std::make_pair(best.first, best.second)))
                                best = {score, i, j};
                        });
                    });
        });
    });
    std::uint64_t checksum = mix(best.first, best.second);
    for (const int score : scores)
        checksum = mix(checksum, static_cast<std::uint64_t>(score));
    print_result(checksum);
}
