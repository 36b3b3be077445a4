// The convex hull of points in the plane by quickhull: the point that is farthest from a line is on the hull, and the points outside
// of the two new lines are looked at on.
// Constructs: a loop over parts of the points that filters them, two tasks at once for the two new lines. Locks: none; each part has
// its own list.

#include "parallel.h"
#include <cmath>
#include <vector>

constexpr std::size_t PART = 4096;

struct Point {
    std::int64_t x, y;
};
using Points = std::vector<Point>;

// Twice the area of a triangle; positive if the third point is left of the line through the others.
static std::int64_t area(Point a, Point b, Point c)
{
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

// The points left of a line, and the one that is farthest from it.
struct Side {
    Points points;
    Point farthest{};
    std::int64_t distance = 0;

    void offer(Point point, std::int64_t area)
    {
        // Of equally far points the first in a fixed order, whichever part it is in.
        const bool before = point.x < farthest.x || (point.x == farthest.x && point.y < farthest.y);
        if (area > distance || (area == distance && before)) {
            distance = area;
            farthest = point;
        }
    }
};

static Side left_of(const Points &points, Point a, Point b)
{
    const std::size_t parts = (points.size() + PART - 1) / PART;
    std::vector<Side> sides(parts);
    parallel::loop(0, parts, 1, [&](std::size_t part) {
        Side side;
        for (std::size_t i = part * PART; i < points.size() && i < (part + 1) * PART; i++) {
            const std::int64_t distance = area(a, b, points[i]);
            if (distance > 0) {
                side.points.push_back(points[i]);
                side.offer(points[i], distance);
            }
        }
        sides[part] = std::move(side);
    });
    if (parts == 1)
        return std::move(sides[0]);
    Side all;
    for (const Side &side : sides) {
        all.points.insert(all.points.end(), side.points.begin(), side.points.end());
        if (side.distance > 0)
            all.offer(side.farthest, side.distance);
    }
    return all;
}

// The points of the hull left of the line from a to b, both of which are on it, from a on and without b.
static Points hull(const Points &points, Point a, Point b)
{
    const Side side = left_of(points, a, b);
    if (side.points.empty())
        return {a};
    Points first, second;
    parallel::both([&] { first = hull(side.points, a, side.farthest); },
                   [&] { second = hull(side.points, side.farthest, b); });
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

int main(int argc, char **argv)
{
    Application application(argc, argv);
    const std::size_t clouds = 8, size = application.times(350000, 3);
    std::uint64_t checksum = 0;
    for (std::size_t cloud = 0; cloud < clouds; cloud++) {
        // Near a circle, so that the hull has many points.
        Points points(size);
        Random random(cloud + 17);
        for (Point &point : points) {
            const double angle = static_cast<double>(random.next() % 1000000) * 6.283185307e-6;
            const double radius = 1e9 - static_cast<double>(random.next() % 1000) * 1e3 * static_cast<double>(cloud);
            point = {std::llround(radius * std::cos(angle)), std::llround(radius * std::sin(angle))};
        }
        Point west = points[0], east = points[0];
        for (const Point &point : points) {
            if (point.x < west.x || (point.x == west.x && point.y < west.y))
                west = point;
            if (point.x > east.x || (point.x == east.x && point.y > east.y))
                east = point;
        }
        Points upper, lower;
        parallel::run(application, [&] {
            parallel::both([&] { upper = hull(points, west, east); }, [&] { lower = hull(points, east, west); });
        });
        for (const Points *half : {&upper, &lower})
            for (const Point &point : *half)
                checksum = mix(checksum, static_cast<std::uint64_t>(point.x * 31 + point.y));
    }
    print_result(checksum);
}
