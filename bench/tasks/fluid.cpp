// Moves the particles of a fluid: each step sorts them into the cells of a grid, adds up the density at each particle and then the
// forces on it from its neighbours, and moves it.
// Constructs: a loop over the rows of cells for each part of a step. Locks: one for each cell. A pair of particles is looked at once,
// and what it adds to either of them is added under the lock of its cell. Sums are whole numbers, the same in any order.

#include "parallel.h"
#include <cmath>
#include <memory>
#include <tuple>
#include <vector>

constexpr std::size_t SIDE = 40, CAPACITY = 64;
constexpr double RADIUS = 1.0, UNIT = 1048576.0;

struct Particle {
    double x, y, across, down;
    std::int64_t density, push_x, push_y;

    auto key() const
    {
        return std::make_tuple(x, y, across, down);
    }
};

struct Cell {
    parallel::Lock lock;
    std::size_t count = 0;
    Particle particles[CAPACITY];
};

struct Fluid {
    std::unique_ptr<Cell[]> cells{new Cell[SIDE * SIDE]}, last{new Cell[SIDE * SIDE]};

    static std::size_t cell_of(const Particle &particle)
    {
        return static_cast<std::size_t>(particle.y) * SIDE + static_cast<std::size_t>(particle.x);
    }

    void add(const Particle &particle)
    {
        Cell &cell = cells[cell_of(particle)];
        parallel::Guard guard(cell.lock);
        if (cell.count == CAPACITY) {
            std::fputs("a cell is too small\n", stderr);
            std::abort();
        }
        cell.particles[cell.count++] = particle;
    }

    // Particles come into their cells in any order, and must be the same in every run.
    void arrange(std::size_t number)
    {
        Cell &cell = cells[number];
        for (std::size_t i = 1; i < cell.count; i++)
            for (std::size_t j = i; j > 0; j--) {
                Particle &first = cell.particles[j - 1], &second = cell.particles[j];
                if (first.key() <= second.key())
                    break;
                std::swap(first, second);
            }
    }

    // Calls use(other cell, i, j, distance squared) for each pair of near particles of which the first is in a cell.
    template <typename Use> void pairs(std::size_t number, const Use &use)
    {
        const std::size_t row = number / SIDE, column = number % SIDE;
        Cell &cell = cells[number];
        // The neighbours to the right and below, and the cell itself; the others see this cell as theirs.
        const int neighbours[5][2] = {{0, 0}, {0, 1}, {1, -1}, {1, 0}, {1, 1}};
        for (const auto &step : neighbours) {
            if (row + static_cast<std::size_t>(step[0]) >= SIDE || (step[1] < 0 && column == 0) || (step[1] > 0 && column + 1 == SIDE))
                continue;
            Cell &other = cells[number + static_cast<std::size_t>(step[0]) * SIDE + static_cast<std::size_t>(step[1])];
            for (std::size_t i = 0; i < cell.count; i++)
                for (std::size_t j = &other == &cell ? i + 1 : 0; j < other.count; j++) {
                    const double x = cell.particles[i].x - other.particles[j].x;
                    const double y = cell.particles[i].y - other.particles[j].y;
                    const double square = x * x + y * y;
                    if (square < RADIUS * RADIUS)
                        use(other, i, j, square);
                }
        }
    }

    void densities(std::size_t number)
    {
        Cell &cell = cells[number];
        pairs(number, [&](Cell &other, std::size_t i, std::size_t j, double square) {
            const double part = RADIUS * RADIUS - square;
            const auto amount = static_cast<std::int64_t>(part * part * part * UNIT);
            {
                parallel::Guard guard(cell.lock);
                cell.particles[i].density += amount;
            }
            parallel::Guard guard(other.lock);
            other.particles[j].density += amount;
        });
    }

    void forces(std::size_t number)
    {
        Cell &cell = cells[number];
        pairs(number, [&](Cell &other, std::size_t i, std::size_t j, double square) {
            Particle &first = cell.particles[i], &second = other.particles[j];
            const double length = std::sqrt(square) + 0.01;
            const double pressure = static_cast<double>(first.density + second.density) / UNIT + 1;
            const double strength = (RADIUS - length) * pressure * 0.02 / length;
            const auto x = static_cast<std::int64_t>((first.x - second.x) * strength * UNIT);
            const auto y = static_cast<std::int64_t>((first.y - second.y) * strength * UNIT);
            {
                parallel::Guard guard(cell.lock);
                first.push_x += x;
                first.push_y += y;
            }
            parallel::Guard guard(other.lock);
            second.push_x -= x;
            second.push_y -= y;
        });
    }

    // Moves the particles of a cell of the last step and sorts them into the cells of this one.
    void move(std::size_t number)
    {
        const double end = static_cast<double>(SIDE) - 0.001;
        for (std::size_t i = 0; i < last[number].count; i++) {
            Particle particle = last[number].particles[i];
            particle.across = 0.98 * particle.across + static_cast<double>(particle.push_x) / UNIT;
            particle.down = 0.98 * particle.down + static_cast<double>(particle.push_y) / UNIT + 0.01;
            particle.x = std::fmin(end, std::fmax(0, particle.x + std::fmin(0.3, std::fmax(-0.3, particle.across))));
            particle.y = std::fmin(end, std::fmax(0, particle.y + std::fmin(0.3, std::fmax(-0.3, particle.down))));
            particle.density = particle.push_x = particle.push_y = 0;
            add(particle);
        }
    }

    void step()
    {
        const std::size_t all = SIDE * SIDE;
        parallel::loop(0, all, SIDE, [&](std::size_t number) { arrange(number); });
        parallel::loop(0, all, SIDE, [&](std::size_t number) { densities(number); });
        parallel::loop(0, all, SIDE, [&](std::size_t number) { forces(number); });
        cells.swap(last);
        parallel::loop(0, all, SIDE, [&](std::size_t number) { cells[number].count = 0; });
        parallel::loop(0, all, SIDE, [&](std::size_t number) { move(number); });
    }
};

int main(int argc, char **argv)
{
    Application application(argc, argv);
    const std::size_t steps = application.times(100);
    Fluid fluid;
    Random random(13);
    for (std::size_t i = 0; i < 9600; i++) {
        Particle particle{};
        particle.x = static_cast<double>(random.next() % 4000) / 100;
        particle.y = static_cast<double>(random.next() % 4000) / 100;
        fluid.add(particle);
    }
    parallel::run(application, [&] {
        for (std::size_t step = 0; step < steps; step++)
            fluid.step();
    });
    std::uint64_t checksum = 0;
    for (std::size_t number = 0; number < SIDE * SIDE; number++) {
        fluid.arrange(number);
        for (std::size_t i = 0; i < fluid.cells[number].count; i++) {
            const Particle &particle = fluid.cells[number].particles[i];
            checksum = mix(checksum, static_cast<std::uint64_t>(std::llround(particle.x * 1e6 + particle.y * 1e3)));
        }
    }
    print_result(checksum);
}
