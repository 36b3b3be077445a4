// The nearest neighbours of every point in space, with a k-d tree: built by halves along the longest side, asked once for each point.
// Constructs: two tasks at once, nested, with a cut-off, to build; a loop to ask. Locks: none.

#include "parallel.h"
#include <algorithm>
#include <memory>
#include <vector>

constexpr std::size_t WANTED = 8, LEAF = 16, CUT_OFF = 2048, GRAIN = 128;

struct Point {
    std::int64_t at[3];
};

struct Node {
    std::size_t first = 0, last = 0; // its points
    int axis = -1;
    std::int64_t cut = 0;
    std::unique_ptr<Node> low, high;
};

// The neighbours found, the nearest first.
struct Found {
    std::int64_t distances[WANTED];
    std::size_t count = 0;

    void offer(std::int64_t distance)
    {
        if (count == WANTED && distance >= distances[WANTED - 1])
            return;
        std::size_t place = count < WANTED ? count++ : WANTED - 1;
        for (; place > 0 && distances[place - 1] > distance; place--)
            distances[place] = distances[place - 1];
        distances[place] = distance;
    }
};

static void build(Node &node, std::vector<Point> &points, std::size_t first, std::size_t last)
{
    node.first = first;
    node.last = last;
    if (last - first <= LEAF)
        return;
    std::int64_t longest = -1;
    for (int axis = 0; axis < 3; axis++) {
        std::int64_t least = INT64_MAX, most = INT64_MIN;
        for (std::size_t i = first; i < last; i++) {
            least = std::min(least, points[i].at[axis]);
            most = std::max(most, points[i].at[axis]);
        }
        if (most - least > longest) {
            longest = most - least;
            node.axis = axis;
        }
    }
    const std::size_t middle = first + (last - first) / 2;
    auto at = [&](std::size_t i) { return points.begin() + static_cast<std::ptrdiff_t>(i); };
    const int axis = node.axis;
    std::nth_element(at(first), at(middle), at(last), [=](const Point &a, const Point &b) { return a.at[axis] < b.at[axis]; });
    node.cut = points[middle].at[axis];
    auto build_low = [&] {
        node.low = std::make_unique<Node>();
        build(*node.low, points, first, middle);
    };
    auto build_high = [&] {
        node.high = std::make_unique<Node>();
        build(*node.high, points, middle, last);
    };
    if (last - first > CUT_OFF) {
        parallel::both(build_low, build_high);
    } else {
        build_low();
        build_high();
    }
}

static void search(const Node &node, const std::vector<Point> &points, std::size_t asked, Found &found)
{
    const Point &point = points[asked];
    if (!node.low) {
        for (std::size_t i = node.first; i < node.last; i++) {
            if (i == asked)
                continue;
            std::int64_t distance = 0;
            for (int axis = 0; axis < 3; axis++)
                distance += (points[i].at[axis] - point.at[axis]) * (points[i].at[axis] - point.at[axis]);
            found.offer(distance);
        }
        return;
    }
    const std::int64_t beyond = point.at[node.axis] - node.cut;
    const Node &near = beyond < 0 ? *node.low : *node.high, &far = beyond < 0 ? *node.high : *node.low;
    search(near, points, asked, found);
    if (found.count < WANTED || beyond * beyond < found.distances[WANTED - 1])
        search(far, points, asked, found);
}

int main(int argc, char **argv)
{
    Application application(argc, argv);
    std::vector<Point> points(application.times(700000, 2 * WANTED));
    Random random(41);
    // Some of the space is crowded.
    for (Point &point : points) {
        const std::uint64_t width = random.next() % 3 == 0 ? 100000 : 1000000;
        for (std::int64_t &number : point.at)
            number = static_cast<std::int64_t>(random.next() % width);
    }
    std::vector<std::uint64_t> sums(points.size());
    Node root;
    parallel::run(application, [&] {
        build(root, points, 0, points.size());
        parallel::loop(0, points.size(), GRAIN, [&](std::size_t i) {
            Found found;
            search(root, points, i, found);
            for (std::size_t place = 0; place < found.count; place++)
                sums[i] = mix(sums[i], static_cast<std::uint64_t>(found.distances[place]));
        });
    });
    std::uint64_t checksum = 0;
    for (const std::uint64_t sum : sums)
        checksum = mix(checksum, sum);
    print_result(checksum);
}
