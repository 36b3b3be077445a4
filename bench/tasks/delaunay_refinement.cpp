// Refines a Delaunay triangulation of a square until no triangle has a large circle around it: the centre of such a circle becomes
// a new point, and all triangles whose circles contain it (its cavity) are replaced.
// Constructs: loops over all bad triangles, in rounds. Locks: cavities overlap, so each bad triangle first reserves the triangles of
// its cavity and around it; the strongest claim on a triangle counts, and is noted under one of many locks. Only those that got all
// they need go on, so that every run gives the same triangles.

#include "parallel.h"
#include <algorithm>
#include <cmath>
#include <vector>

constexpr std::int64_t SIDE = 8192;
constexpr std::size_t LOCKS = 1024, GRAIN = 32;
constexpr int NONE = -1;

struct Point {
    std::int64_t x, y;
};

// Corners go around counter-clockwise; a neighbour lies opposite to the corner of its number.
struct Triangle {
    int corners[3];
    int neighbours[3];
};

// An edge of the rim of a cavity, with the triangle outside.
struct Rim {
    int from, to, outside;
};

// What is to be done about one bad triangle.
struct Repair {
    int triangle = NONE;
    Point centre{};
    std::uint64_t claim = 0;
    std::vector<int> cavity;
    std::vector<Rim> rim;
    bool granted = false;
};

struct Mesh {
    std::vector<Point> points;
    std::vector<Triangle> triangles;
    std::vector<std::uint64_t> claims; // the strongest claim on each triangle: the least
    std::vector<parallel::Lock> locks = std::vector<parallel::Lock>(LOCKS);
    double limit = 0; // square of the largest radius that is good

    bool in_circle(const Triangle &triangle, Point d) const
    {
        const Point &a = points[index(triangle.corners[0])], &b = points[index(triangle.corners[1])];
        const Point &c = points[index(triangle.corners[2])];
        const std::int64_t ax = a.x - d.x, ay = a.y - d.y, bx = b.x - d.x, by = b.y - d.y, cx = c.x - d.x, cy = c.y - d.y;
        return (ax * ax + ay * ay) * (bx * cy - cx * by) - (bx * bx + by * by) * (ax * cy - cx * ay) +
                   (cx * cx + cy * cy) * (ax * by - bx * ay) > 0;
    }

    // Whether a triangle is to be repaired, and the centre of its circle. Circles whose centre is not within the square are left.
    bool is_bad(int number, Point &centre) const
    {
        const Triangle &triangle = triangles[index(number)];
        const Point &a = points[index(triangle.corners[0])];
        auto x = [&](int corner) { return static_cast<double>(points[index(triangle.corners[corner])].x - a.x); };
        auto y = [&](int corner) { return static_cast<double>(points[index(triangle.corners[corner])].y - a.y); };
        const double bx = x(1), by = y(1), cx = x(2), cy = y(2);
        const double area = 2 * (bx * cy - by * cx), b = bx * bx + by * by, c = cx * cx + cy * cy;
        const double across = (cy * b - by * c) / area, down = (bx * c - cx * b) / area;
        if (across * across + down * down <= limit)
            return false;
        centre = {a.x + std::llround(across), a.y + std::llround(down)};
        return centre.x > 0 && centre.y > 0 && centre.x < SIDE && centre.y < SIDE && in_circle(triangle, centre);
    }

    void find_cavity(Repair &repair) const
    {
        repair.cavity.assign(1, repair.triangle);
        repair.rim.clear();
        for (std::size_t i = 0; i < repair.cavity.size(); i++) {
            const Triangle &triangle = triangles[index(repair.cavity[i])];
            for (int side = 0; side < 3; side++) {
                const int next = triangle.neighbours[side];
                if (std::find(repair.cavity.begin(), repair.cavity.end(), next) != repair.cavity.end())
                    continue;
                if (next != NONE && in_circle(triangles[index(next)], repair.centre))
                    repair.cavity.push_back(next);
                else
                    repair.rim.push_back({triangle.corners[(side + 1) % 3], triangle.corners[(side + 2) % 3], next});
            }
        }
    }

    void reserve(const Repair &repair)
    {
        auto claim = [&](int number) {
            parallel::Guard guard(locks[index(number) % LOCKS]);
            claims[index(number)] = std::min(claims[index(number)], repair.claim);
        };
        std::for_each(repair.cavity.begin(), repair.cavity.end(), claim);
        for (const Rim &rim : repair.rim)
            if (rim.outside != NONE)
                claim(rim.outside);
    }

    bool has_all(const Repair &repair) const
    {
        auto has = [&](int number) { return claims[index(number)] == repair.claim; };
        return std::all_of(repair.cavity.begin(), repair.cavity.end(), has) &&
               std::all_of(repair.rim.begin(), repair.rim.end(),
                           [&](const Rim &rim) { return rim.outside == NONE || has(rim.outside); });
    }

    // Replaces a cavity by a fan around the new point. The first new triangles take the places of the old ones; there are two more
    // places from `more` on. Afterwards `cavity` holds the new ones.
    void fill(Repair &repair, int point, int more)
    {
        points[index(point)] = repair.centre;
        while (repair.cavity.size() < repair.rim.size())
            repair.cavity.push_back(more++);
        for (std::size_t i = 0; i < repair.rim.size(); i++) {
            const Rim &rim = repair.rim[i];
            const int number = repair.cavity[i];
            Triangle &triangle = triangles[index(number)];
            triangle = {{point, rim.from, rim.to}, {rim.outside, NONE, NONE}};
            for (std::size_t j = 0; j < repair.rim.size(); j++) {
                if (repair.rim[j].from == rim.to)
                    triangle.neighbours[1] = repair.cavity[j];
                if (repair.rim[j].to == rim.from)
                    triangle.neighbours[2] = repair.cavity[j];
            }
            if (rim.outside == NONE)
                continue;
            Triangle &outside = triangles[index(rim.outside)];
            for (int side = 0; side < 3; side++)
                if (outside.corners[(side + 1) % 3] == rim.to && outside.corners[(side + 2) % 3] == rim.from)
                    outside.neighbours[side] = number;
        }
    }

    // Makes room for a number of repairs.
    void grow(std::size_t repairs)
    {
        points.resize(points.size() + repairs);
        triangles.resize(triangles.size() + 2 * repairs);
        claims.resize(triangles.size(), UINT64_MAX);
    }

    // Adds a point where no task runs.
    void add(Point point)
    {
        Repair repair;
        repair.centre = point;
        for (std::size_t i = 0; i < triangles.size() && repair.triangle == NONE; i++)
            if (in_circle(triangles[i], point))
                repair.triangle = static_cast<int>(i);
        find_cavity(repair);
        grow(1);
        fill(repair, static_cast<int>(points.size()) - 1, static_cast<int>(triangles.size()) - 2);
    }

    static std::size_t index(int number)
    {
        return static_cast<std::size_t>(number);
    }
};

// Repairs what it can of the triangles told, and tells which are to be looked at next.
static std::vector<int> refine(Mesh &mesh, const std::vector<int> &suspects, std::uint64_t round)
{
    std::vector<Repair> repairs(suspects.size());
    parallel::loop(0, suspects.size(), GRAIN, [&](std::size_t i) {
        Point centre{};
        if (!mesh.is_bad(suspects[i], centre))
            return;
        repairs[i].triangle = suspects[i];
        repairs[i].centre = centre;
        // Claims of later rounds are stronger, so that old ones need not be cleared; within a round the order looks random.
        repairs[i].claim = (1000000 - round) << 40 | (mix(i, 1) >> 48) << 24 | i;
    });
    std::erase_if(repairs, [](const Repair &repair) { return repair.triangle == NONE; });
    parallel::loop(0, repairs.size(), GRAIN, [&](std::size_t i) {
        mesh.find_cavity(repairs[i]);
        mesh.reserve(repairs[i]);
    });
    parallel::loop(0, repairs.size(), GRAIN, [&](std::size_t i) { repairs[i].granted = mesh.has_all(repairs[i]); });
    const int point = static_cast<int>(mesh.points.size()), triangle = static_cast<int>(mesh.triangles.size());
    std::vector<std::size_t> granted;
    std::vector<int> next;
    for (std::size_t i = 0; i < repairs.size(); i++) {
        if (repairs[i].granted)
            granted.push_back(i);
        else
            next.push_back(repairs[i].triangle);
    }
    mesh.grow(granted.size());
    parallel::loop(0, granted.size(), GRAIN, [&](std::size_t i) {
        const int number = static_cast<int>(i);
        mesh.fill(repairs[granted[i]], point + number, triangle + 2 * number);
    });
    for (const std::size_t i : granted)
        next.insert(next.end(), repairs[i].cavity.begin(), repairs[i].cavity.end());
    std::sort(next.begin(), next.end());
    next.erase(std::unique(next.begin(), next.end()), next.end());
    return next;
}

int main(int argc, char **argv)
{
    Application application(argc, argv);
    Mesh mesh;
    mesh.points = {{0, 0}, {SIDE, 0}, {SIDE, SIDE}, {0, SIDE}};
    mesh.triangles = {{{0, 1, 2}, {NONE, 1, NONE}}, {{0, 2, 3}, {NONE, NONE, 0}}};
    mesh.grow(0);
    mesh.limit = 1200 / application.share;
    Random random(29);
    for (int i = 0; i < 100; i++)
        mesh.add({static_cast<std::int64_t>(1 + random.next() % (SIDE - 1)), static_cast<std::int64_t>(1 + random.next() % (SIDE - 1))});
    std::vector<int> suspects(mesh.triangles.size());
    for (std::size_t i = 0; i < suspects.size(); i++)
        suspects[i] = static_cast<int>(i);
    parallel::run(application, [&] {
        for (std::uint64_t round = 1; !suspects.empty(); round++)
            suspects = refine(mesh, suspects, round);
    });
    std::uint64_t checksum = mesh.triangles.size();
    for (const Triangle &triangle : mesh.triangles)
        for (const int corner : triangle.corners)
            checksum = mix(checksum, static_cast<std::uint64_t>(corner));
    print_result(checksum);
}
