// The Delaunay triangulation of points in the plane, by halves: the points left and right of the middle are triangulated, and then
// the seam is closed from the bottom to the top. Coordinates are so small that all tests are exact in 64 bits.
// Constructs: two tasks at once, nested, with a cut-off. Locks: none; each task takes edges from a store of its own, and the seam is
// closed after both.

#include "parallel.h"
#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

constexpr std::size_t CUT_OFF = 512;

struct Point {
    std::int64_t x, y;
};

// A directed edge, in the ring of all edges from the same point.
struct Edge {
    const Point *from = nullptr;
    Edge *back = nullptr;     // the same edge in the other direction
    Edge *next = nullptr;     // counter-clockwise around `from`
    Edge *previous = nullptr; // clockwise
    bool removed = false;

    const Point *to() const
    {
        return back->from;
    }
};

// Where a task takes its edges from, with the stores of the tasks that it waited for.
struct Store {
    std::deque<Edge> edges;
    std::vector<Edge *> removed; // one of each pair, to be used again
    std::vector<std::unique_ptr<Store>> others;

    Edge *make(const Point *from, const Point *to)
    {
        Edge *there = nullptr, *back = nullptr;
        if (removed.empty()) {
            there = &edges.emplace_back();
            back = &edges.emplace_back();
        } else {
            there = removed.back();
            back = there->back;
            removed.pop_back();
        }
        *there = {from, back, there, there, false};
        *back = {to, there, back, back, false};
        return there;
    }
};

// Joins the rings of two edges, or parts them if it is one ring.
static void splice(Edge *a, Edge *b)
{
    std::swap(a->next->previous, b->next->previous);
    std::swap(a->next, b->next);
}

// A new edge from the end of a to the start of b.
static Edge *connect(Store &store, Edge *a, Edge *b)
{
    Edge *edge = store.make(a->to(), b->from);
    splice(edge, a->back->previous);
    splice(edge->back, b);
    return edge;
}

static void remove(Store &store, Edge *edge)
{
    for (Edge *side : {edge, edge->back}) {
        splice(side, side->previous);
        side->removed = true;
    }
    store.removed.push_back(edge);
}

static std::int64_t area(const Point *a, const Point *b, const Point *c)
{
    return (b->x - a->x) * (c->y - a->y) - (b->y - a->y) * (c->x - a->x);
}

static bool left_of(const Point *point, const Edge *edge)
{
    return area(point, edge->from, edge->to()) > 0;
}

static bool right_of(const Point *point, const Edge *edge)
{
    return area(point, edge->to(), edge->from) > 0;
}

// Whether d is within the circle through a, b and c, which go around counter-clockwise.
static bool in_circle(const Point *a, const Point *b, const Point *c, const Point *d)
{
    const std::int64_t ax = a->x - d->x, ay = a->y - d->y, bx = b->x - d->x, by = b->y - d->y;
    const std::int64_t cx = c->x - d->x, cy = c->y - d->y;
    return (ax * ax + ay * ay) * (bx * cy - cx * by) - (bx * bx + by * by) * (ax * cy - cx * ay) +
               (cx * cx + cy * cy) * (ax * by - bx * ay) > 0;
}

// Two edges of the hull: counter-clockwise from the leftmost point, and clockwise from the rightmost one.
struct Ends {
    Edge *left, *right;
};

// Closes the seam between two triangulations that lie side by side.
static Ends merge(Store &store, Ends left, Ends right)
{
    Edge *inner_left = left.right, *inner_right = right.left;
    while (true) {
        if (left_of(inner_right->from, inner_left))
            inner_left = inner_left->back->previous;
        else if (right_of(inner_left->from, inner_right))
            inner_right = inner_right->back->next;
        else
            break;
    }
    Edge *base = connect(store, inner_right->back, inner_left);
    if (inner_left->from == left.left->from)
        left.left = base->back;
    if (inner_right->from == right.right->from)
        right.right = base;
    while (true) {
        auto above = [&](const Edge *edge) { return right_of(edge->to(), base); };
        Edge *on_left = base->back->next;
        if (above(on_left))
            while (in_circle(base->to(), base->from, on_left->to(), on_left->next->to())) {
                Edge *next = on_left->next;
                remove(store, on_left);
                on_left = next;
            }
        Edge *on_right = base->previous;
        if (above(on_right))
            while (in_circle(base->to(), base->from, on_right->to(), on_right->previous->to())) {
                Edge *next = on_right->previous;
                remove(store, on_right);
                on_right = next;
            }
        if (!above(on_left) && !above(on_right))
            return {left.left, right.right};
        if (!above(on_left) ||
            (above(on_right) && in_circle(on_left->to(), on_left->from, on_right->from, on_right->to())))
            base = connect(store, on_right, base->back);
        else
            base = connect(store, base->back, on_left->back);
    }
}

static Ends triangulate(Store &store, const Point *points, std::size_t size)
{
    if (size == 2) {
        Edge *edge = store.make(points, points + 1);
        return {edge, edge->back};
    }
    if (size == 3) {
        Edge *first = store.make(points, points + 1), *second = store.make(points + 1, points + 2);
        splice(first->back, second);
        const std::int64_t turn = area(points, points + 1, points + 2);
        if (turn == 0)
            return {first, second->back};
        Edge *third = connect(store, second, first);
        if (turn > 0)
            return {first, second->back};
        return {third->back, third};
    }
    const std::size_t half = size / 2;
    Ends left{}, right{};
    if (size < CUT_OFF) {
        left = triangulate(store, points, half);
        right = triangulate(store, points + half, size - half);
    } else {
        auto others = std::make_unique<Store>();
        parallel::both([&] { left = triangulate(store, points, half); },
                       [&] { right = triangulate(*others, points + half, size - half); });
        store.others.push_back(std::move(others));
    }
    return merge(store, left, right);
}

// Each edge that is left, whatever the order of the stores.
static std::uint64_t checksum_of(const Store &store, const Point *first)
{
    std::uint64_t sum = 0;
    for (const Edge &edge : store.edges)
        if (!edge.removed)
            sum += mix(static_cast<std::uint64_t>(edge.from - first), static_cast<std::uint64_t>(edge.to() - first));
    for (const auto &other : store.others)
        sum += checksum_of(*other, first);
    return sum;
}

int main(int argc, char **argv)
{
    Application application(argc, argv);
    std::vector<Point> points(application.times(700000, 8));
    Random random(23);
    for (Point &point : points)
        point = {static_cast<std::int64_t>(random.next() >> 50), static_cast<std::int64_t>(random.next() >> 50)};
    auto before = [](Point a, Point b) { return a.x < b.x || (a.x == b.x && a.y < b.y); };
    auto same = [](Point a, Point b) { return a.x == b.x && a.y == b.y; };
    std::sort(points.begin(), points.end(), before);
    points.erase(std::unique(points.begin(), points.end(), same), points.end());
    Store store;
    parallel::run(application, [&] { triangulate(store, points.data(), points.size()); });
    print_result(checksum_of(store, points.data()));
}
