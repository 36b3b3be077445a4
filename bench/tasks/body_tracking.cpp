// Follows a body through a sequence of images with a particle filter: each particle is a guess at the place and size of the body,
// is moved at random, weighed by how well the image fits it, and kept or replaced according to its weight.
// Constructs: a loop over the rows of each image (a smoothing filter), a loop over the particles. Locks: a critical section in which
// each task's best particle and the sum of weights are brought together.

#include "parallel.h"
#include <algorithm>
#include <cmath>
#include <vector>

constexpr std::size_t WIDTH = 320, HEIGHT = 240;

struct Particle {
    double x, y, radius;
    std::uint64_t weight;
};

struct Images {
    std::vector<unsigned char> raw = std::vector<unsigned char>(WIDTH * HEIGHT);
    std::vector<unsigned char> smooth = raw;

    // A bright disc on a noisy ground.
    void paint(std::size_t row, double x, double y, std::uint64_t frame)
    {
        Random random(frame * HEIGHT + row);
        for (std::size_t column = 0; column < WIDTH; column++) {
            const double across = static_cast<double>(column) - x, down = static_cast<double>(row) - y;
            const bool inside = across * across + down * down < 20 * 20;
            raw[row * WIDTH + column] = static_cast<unsigned char>((inside ? 140 : 40) + random.next() % 80);
        }
    }

    void filter(std::size_t row)
    {
        const std::size_t above = row == 0 ? 0 : row - 1, below = row + 1 == HEIGHT ? row : row + 1;
        for (std::size_t column = 0; column < WIDTH; column++) {
            const std::size_t left = column == 0 ? 0 : column - 1, right = column + 1 == WIDTH ? column : column + 1;
            unsigned sum = 0;
            for (const std::size_t y : {above, row, below})
                for (const std::size_t x : {left, column, right})
                    sum += raw[y * WIDTH + x];
            smooth[row * WIDTH + column] = static_cast<unsigned char>(sum / 9);
        }
    }

    double at(double x, double y) const
    {
        if (x < 0 || y < 0 || x >= WIDTH || y >= HEIGHT)
            return 0;
        return smooth[static_cast<std::size_t>(y) * WIDTH + static_cast<std::size_t>(x)];
    }
};

// How bright the image is within the circle, less how bright it is around it. In whole numbers, which add up to the same in any order.
static std::uint64_t weigh(const Images &images, const Particle &particle)
{
    double inside = 0, outside = 0;
    for (int angle = 0; angle < 32; angle++) {
        const double sine = std::sin(angle * 0.19634954), cosine = std::cos(angle * 0.19634954);
        for (double part = 0.2; part < 1; part += 0.2)
            inside += images.at(particle.x + part * particle.radius * cosine, particle.y + part * particle.radius * sine);
        for (double part = 1.2; part < 2; part += 0.2)
            outside += images.at(particle.x + part * particle.radius * cosine, particle.y + part * particle.radius * sine);
    }
    const double difference = (inside - outside) / 128;
    return 1 + static_cast<std::uint64_t>(1000 * std::exp(difference / 10));
}

int main(int argc, char **argv)
{
    Application application(argc, argv);
    const std::size_t frames = application.times(200), particles = 2000, grain = 50;
    Images images;
    std::vector<Particle> now(particles, Particle{100, 100, 20, 1}), next(particles);
    std::uint64_t checksum = 0;
    parallel::run(application, [&] {
        for (std::size_t frame = 0; frame < frames; frame++) {
            const double time = static_cast<double>(frame) / 10;
            const double x = 160 + 60 * std::sin(time + 4), y = 120 + 50 * std::cos(time * 1.3 + 2);
            parallel::loop(0, HEIGHT, 8, [&](std::size_t row) { images.paint(row, x, y, frame); });
            parallel::loop(0, HEIGHT, 8, [&](std::size_t row) { images.filter(row); });
            std::uint64_t total = 0, most = 0;
            parallel::loop(0, particles / grain, 1, [&](std::size_t part) {
                std::uint64_t sum = 0, best = 0;
                for (std::size_t i = part * grain; i < (part + 1) * grain; i++) {
                    Random random(frame * particles + i);
                    auto shake = [&] { return static_cast<double>(random.next() % 2001) / 1000 - 1; };
                    now[i].x += 8 * shake();
                    now[i].y += 8 * shake();
                    now[i].radius = std::fmin(30, std::fmax(10, now[i].radius + shake()));
                    now[i].weight = weigh(images, now[i]);
                    sum += now[i].weight;
                    best = std::max(best, now[i].weight);
                }
                parallel::critical([&] {
                    total += sum;
                    most = std::max(most, best);
                });
            });
            // Each particle comes back as often as its weight deserves.
            std::uint64_t passed = 0;
            std::size_t from = 0;
            for (std::size_t i = 0; i < particles; i++) {
                const std::uint64_t wanted = total / particles * i;
                while (passed + now[from].weight <= wanted && from + 1 < particles)
                    passed += now[from++].weight;
                next[i] = now[from];
            }
            now.swap(next);
            checksum = mix(checksum, total ^ most);
        }
    });
    for (const Particle &particle : now)
        checksum = mix(checksum, static_cast<std::uint64_t>(std::llround((particle.x + 500) * 100 + particle.y)));
    print_result(checksum);
}
