// Clusters points that arrive in portions: a point may become a new centre if the points that are nearer to it save more than a
// centre costs. After each portion only the centres remain, with the weight of their points.
// Constructs: a loop over the points for each candidate. Locks: the savings of a candidate and of each centre that might be closed
// are brought together under one lock for each centre, and one for the candidate.

#include "parallel.h"
#include <algorithm>
#include <memory>
#include <vector>

constexpr std::size_t DIMENSIONS = 32;
constexpr std::size_t PART = 64;

struct Point {
    int at[DIMENSIONS];
    std::int64_t weight;
    std::size_t centre; // which of the open centres
    std::int64_t cost;  // to be there
};

static std::int64_t distance(const Point &left, const Point &right)
{
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < DIMENSIONS; i++) {
        const std::int64_t difference = left.at[i] - right.at[i];
        sum += difference * difference;
    }
    return sum;
}

// What would change if a candidate were opened.
struct Account {
    parallel::Lock lock;
    std::int64_t saved = 0;
};

struct Clusters {
    std::vector<Point> points;
    std::vector<std::size_t> centres; // numbers of points
    std::int64_t price = 0;           // of one more centre

    // Opens a candidate, and closes the centres that are not worth their price any more, if that is cheaper.
    void consider(std::size_t candidate)
    {
        const std::size_t size = points.size(), parts = (size + PART - 1) / PART;
        const std::unique_ptr<Account[]> lost(new Account[centres.size()]);
        Account gain;
        parallel::loop(0, parts, 1, [&](std::size_t part) {
            std::int64_t saved = 0;
            for (std::size_t i = part * PART; i < std::min(size, (part + 1) * PART); i++) {
                const Point &point = points[i];
                const std::int64_t cost = distance(point, points[candidate]) * point.weight;
                if (cost < point.cost) {
                    saved += point.cost - cost;
                } else {
                    // If its centre were closed, this point would have to move to the candidate at a loss.
                    Account &account = lost[point.centre];
                    parallel::Guard guard(account.lock);
                    account.saved -= cost - point.cost;
                }
            }
            parallel::Guard guard(gain.lock);
            gain.saved += saved;
        });
        std::int64_t total = gain.saved - price;
        std::vector<bool> closes(centres.size());
        for (std::size_t i = 0; i < centres.size(); i++)
            if (lost[i].saved + price > 0) {
                closes[i] = true;
                total += lost[i].saved + price;
            }
        if (total <= 0)
            return;
        std::vector<std::size_t> kept, number(centres.size());
        for (std::size_t i = 0; i < centres.size(); i++)
            if (!closes[i]) {
                number[i] = kept.size();
                kept.push_back(centres[i]);
            }
        kept.push_back(candidate);
        parallel::loop(0, size, PART, [&](std::size_t i) {
            Point &point = points[i];
            const std::int64_t cost = distance(point, points[candidate]) * point.weight;
            if (cost < point.cost || closes[point.centre]) {
                point.cost = cost;
                point.centre = kept.size() - 1;
            } else {
                point.centre = number[point.centre];
            }
        });
        centres.swap(kept);
    }

    // Begins with one centre, and asks what the average point costs with it.
    void begin()
    {
        centres.assign(1, 0);
        std::uint64_t total = parallel::sum(0, points.size(), PART, [&](std::size_t i) {
            points[i].centre = 0;
            points[i].cost = distance(points[i], points[0]) * points[i].weight;
            return static_cast<std::uint64_t>(points[i].cost);
        });
        price = static_cast<std::int64_t>(total / 20);
    }

    // Only the centres stay, each with the weight of all its points.
    void reduce()
    {
        std::vector<Point> left;
        for (const std::size_t centre : centres)
            left.push_back(points[centre]);
        for (Point &point : left)
            point.weight = 0;
        for (const Point &point : points)
            left[point.centre].weight += point.weight;
        points.swap(left);
    }
};

int main(int argc, char **argv)
{
    Application application(argc, argv);
    const std::size_t portions = 5, size = 8192, candidates = application.times(440);
    Clusters clusters;
    Random random(3);
    std::uint64_t checksum = 0;
    parallel::run(application, [&] {
        for (std::size_t portion = 0; portion < portions; portion++) {
            for (std::size_t i = 0; i < size; i++) {
                Point point{{}, 1, 0, 0};
                const std::uint64_t kind = random.next() % 30;
                for (std::size_t d = 0; d < DIMENSIONS; d++)
                    point.at[d] = static_cast<int>((kind * (d + 3) * 37) % 1000 + random.next() % 150);
                clusters.points.push_back(point);
            }
            clusters.begin();
            for (std::size_t i = 0; i < candidates; i++)
                clusters.consider(random.next() % clusters.points.size());
            for (const Point &point : clusters.points)
                checksum += static_cast<std::uint64_t>(point.cost);
            clusters.reduce();
            checksum = mix(checksum, clusters.points.size());
        }
    });
    print_result(checksum);
}
