// Clusters points by k-means: each point goes to the nearest centre, then each centre moves to the middle of its points.
// Constructs: a loop over the points in every round. Locks: one for each cluster, under which a part of the points adds what it has
// for that cluster, and a critical section for the number of points that changed. Sums are whole numbers, the same in any order.

#include "parallel.h"
#include <algorithm>
#include <array>
#include <memory>
#include <vector>

constexpr std::size_t DIMENSIONS = 16, CLUSTERS = 12, PART = 100;
using Point = std::array<std::int64_t, DIMENSIONS>;

struct Cluster {
    parallel::Lock lock;
    Point centre{};
    Point sum{};
    std::int64_t count = 0;
};

static std::size_t nearest(const Cluster *clusters, const Point &point)
{
    std::size_t best = 0;
    std::int64_t least = INT64_MAX;
    for (std::size_t i = 0; i < CLUSTERS; i++) {
        std::int64_t distance = 0;
        for (std::size_t d = 0; d < DIMENSIONS; d++)
            distance += (clusters[i].centre[d] - point[d]) * (clusters[i].centre[d] - point[d]);
        if (distance < least) {
            least = distance;
            best = i;
        }
    }
    return best;
}

int main(int argc, char **argv)
{
    Application application(argc, argv);
    const std::size_t size = 40000, rounds = application.times(200);
    std::vector<Point> points(size);
    std::vector<std::size_t> cluster_of(size, CLUSTERS);
    Random random(37);
    for (Point &point : points) {
        const std::uint64_t kind = random.next() % 40;
        for (std::size_t d = 0; d < DIMENSIONS; d++)
            point[d] = static_cast<std::int64_t>(kind * (d + 5) * 131 % 5000 + random.next() % 3000);
    }
    const std::unique_ptr<Cluster[]> clusters(new Cluster[CLUSTERS]);
    for (std::size_t i = 0; i < CLUSTERS; i++)
        clusters[i].centre = points[i];
    std::uint64_t checksum = 0;
    parallel::run(application, [&] {
        for (std::size_t round = 0; round < rounds; round++) {
            std::uint64_t changed = 0;
            parallel::loop(0, (size + PART - 1) / PART, 1, [&](std::size_t part) {
                std::array<Point, CLUSTERS> sums{};
                std::array<std::int64_t, CLUSTERS> counts{};
                std::uint64_t moved = 0;
                for (std::size_t i = part * PART; i < std::min(size, (part + 1) * PART); i++) {
                    const std::size_t best = nearest(clusters.get(), points[i]);
                    moved += best != cluster_of[i];
                    cluster_of[i] = best;
                    counts[best]++;
                    for (std::size_t d = 0; d < DIMENSIONS; d++)
                        sums[best][d] += points[i][d];
                }
                for (std::size_t i = 0; i < CLUSTERS; i++) {
                    if (counts[i] == 0)
                        continue;
                    parallel::Guard guard(clusters[i].lock);
                    clusters[i].count += counts[i];
                    for (std::size_t d = 0; d < DIMENSIONS; d++)
                        clusters[i].sum[d] += sums[i][d];
                }
                parallel::critical([&] { changed += moved; });
            });
            for (std::size_t i = 0; i < CLUSTERS; i++) {
                Cluster &cluster = clusters[i];
                for (std::size_t d = 0; d < DIMENSIONS && cluster.count > 0; d++)
                    cluster.centre[d] = cluster.sum[d] / cluster.count;
                cluster.sum = Point{};
                cluster.count = 0;
            }
            checksum = mix(checksum, changed);
        }
    });
    for (std::size_t i = 0; i < CLUSTERS; i++)
        for (const std::int64_t number : clusters[i].centre)
            checksum = mix(checksum, static_cast<std::uint64_t>(number));
    print_result(checksum);
}
