// Casts rays from a camera into a scene of triangles, and tells what each ray meets first. Boxes around groups of triangles, in
// a tree, save most of the tests.
// Constructs: two tasks at once, nested, with a cut-off, to build the tree; a reduction over the tiles of the picture. Locks: none.

#include "parallel.h"
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

constexpr std::size_t LEAF = 4, CUT_OFF = 512, TILE = 16;

struct Vector {
    double x, y, z;
};

static Vector operator-(Vector a, Vector b)
{
    return {a.x - b.x, a.y - b.y, a.z - b.z};
}
static Vector cross(Vector a, Vector b)
{
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
static double dot(Vector a, Vector b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
static double part(const Vector &vector, int axis)
{
    return axis == 0 ? vector.x : axis == 1 ? vector.y : vector.z;
}

struct Triangle {
    Vector a, b, c;
    std::uint64_t number;

    double middle(int axis) const
    {
        return part(a, axis) + part(b, axis) + part(c, axis);
    }
};

struct Ray {
    Vector from, direction;
};

struct Box {
    Vector low{1e30, 1e30, 1e30}, high{-1e30, -1e30, -1e30};

    void add(const Vector &point)
    {
        low = {std::fmin(low.x, point.x), std::fmin(low.y, point.y), std::fmin(low.z, point.z)};
        high = {std::fmax(high.x, point.x), std::fmax(high.y, point.y), std::fmax(high.z, point.z)};
    }

    // Whether a ray meets the box before it has gone so far.
    bool meets(const Ray &ray, double farthest) const
    {
        double enters = 0, leaves = farthest;
        for (int axis = 0; axis < 3; axis++) {
            const double inverse = 1 / part(ray.direction, axis);
            double first = (part(low, axis) - part(ray.from, axis)) * inverse;
            double second = (part(high, axis) - part(ray.from, axis)) * inverse;
            if (first > second)
                std::swap(first, second);
            enters = std::max(enters, first);
            leaves = std::min(leaves, second);
        }
        return enters <= leaves;
    }
};

struct Node {
    Box box;
    const Triangle *first = nullptr, *last = nullptr;
    std::unique_ptr<Node> left, right;
};

struct Hit {
    double distance = 1e30;
    std::uint64_t number = 0;
};

static void build(Node &node, Triangle *first, Triangle *last)
{
    node.first = first;
    node.last = last;
    for (const Triangle *triangle = first; triangle != last; triangle++)
        for (const Vector &corner : {triangle->a, triangle->b, triangle->c})
            node.box.add(corner);
    const auto size = static_cast<std::size_t>(last - first);
    if (size <= LEAF)
        return;
    const Vector extent = node.box.high - node.box.low;
    const int axis = extent.x >= extent.y && extent.x >= extent.z ? 0 : extent.y >= extent.z ? 1 : 2;
    Triangle *half = first + size / 2;
    std::nth_element(first, half, last, [=](const Triangle &a, const Triangle &b) { return a.middle(axis) < b.middle(axis); });
    node.left = std::make_unique<Node>();
    node.right = std::make_unique<Node>();
    if (size > CUT_OFF) {
        parallel::both([&] { build(*node.left, first, half); }, [&] { build(*node.right, half, last); });
    } else {
        build(*node.left, first, half);
        build(*node.right, half, last);
    }
}

static void meet(const Triangle &triangle, const Ray &ray, Hit &hit)
{
    const Vector first = triangle.b - triangle.a, second = triangle.c - triangle.a;
    const Vector normal = cross(ray.direction, second);
    const double determinant = dot(first, normal);
    if (std::fabs(determinant) < 1e-12)
        return;
    const Vector offset = ray.from - triangle.a;
    const double u = dot(offset, normal) / determinant;
    const Vector other = cross(offset, first);
    const double v = dot(ray.direction, other) / determinant;
    const double distance = dot(second, other) / determinant;
    if (u < 0 || v < 0 || u + v > 1 || distance <= 0)
        return;
    if (distance < hit.distance || (distance == hit.distance && triangle.number < hit.number))
        hit = {distance, triangle.number};
}

static void cast(const Node &node, const Ray &ray, Hit &hit)
{
    if (!node.box.meets(ray, hit.distance))
        return;
    if (node.left) {
        cast(*node.left, ray, hit);
        cast(*node.right, ray, hit);
        return;
    }
    for (const Triangle *triangle = node.first; triangle != node.last; triangle++)
        meet(*triangle, ray, hit);
}

int main(int argc, char **argv)
{
    Application application(argc, argv);
    const auto tiles = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(application.times(3000)))));
    const std::size_t side = tiles * TILE;
    std::vector<Triangle> triangles(20000);
    Random random(43);
    auto between = [&](double low, double high) { return low + (high - low) * static_cast<double>(random.next() % 1000000) / 1e6; };
    for (std::size_t i = 0; i < triangles.size(); i++) {
        const Vector a{between(-10, 10), between(-10, 10), between(5, 25)};
        auto near = [&] { return Vector{a.x + between(-0.5, 0.5), a.y + between(-0.5, 0.5), a.z + between(-0.5, 0.5)}; };
        const Vector b = near(), c = near();
        triangles[i] = {a, b, c, i + 1};
    }
    Node root;
    std::uint64_t checksum = 0;
    parallel::run(application, [&] {
        build(root, triangles.data(), triangles.data() + triangles.size());
        checksum = parallel::sum(0, tiles * tiles, 1, [&](std::size_t tile) {
            std::uint64_t sum = 0;
            for (std::size_t pixel = 0; pixel < TILE * TILE; pixel++) {
                const std::size_t row = tile / tiles * TILE + pixel / TILE, column = tile % tiles * TILE + pixel % TILE;
                const double x = (static_cast<double>(column) + 0.25) / static_cast<double>(side) - 0.5;
                const double y = (static_cast<double>(row) + 0.25) / static_cast<double>(side) - 0.5;
                Hit hit;
                cast(root, {{0, 0, 0}, {x, y, 1}}, hit);
                sum += mix(row * side + column, hit.number);
            }
            return sum;
        });
    });
    print_result(checksum);
}
