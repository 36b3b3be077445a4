// Prices of options by a closed formula: much arithmetic on a few fields of each structure.

#include "kernel.h"
#include <cmath>

struct Option {
    double spot, strike, rate, volatility, time;
    double call, put;
};

static double distribution(double x)
{
    return 0.5 * std::erfc(-x * 0.70710678118654752440);
}

static void price(Option &option)
{
    const double root = option.volatility * std::sqrt(option.time);
    const double first =
        (std::log(option.spot / option.strike) + (option.rate + option.volatility * option.volatility / 2) * option.time) / root;
    const double second = first - root;
    const double discounted = option.strike * std::exp(-option.rate * option.time);
    option.call = option.spot * distribution(first) - discounted * distribution(second);
    option.put = discounted * distribution(-second) - option.spot * distribution(-first);
}

int main(int argc, char **argv)
{
    Kernel kernel(argc, argv);
    const std::size_t rounds = kernel.times(170);
    std::vector<Option> options(50000);
    Random random(7);
    auto between = [&](double low, double high) { return low + (high - low) * static_cast<double>(random.next() % 10000) / 10000; };
    for (auto &option : options)
        option = {between(10, 100), between(10, 100), between(0.01, 0.1), between(0.05, 0.6), between(0.1, 2), 0, 0};
    kernel.run([&](unsigned thread) {
        const std::size_t from = options.size() * thread / kernel.threads;
        const std::size_t to = options.size() * (thread + 1) / kernel.threads;
        for (std::size_t round = 0; round < rounds; round++)
            for (std::size_t i = from; i < to; i++)
                price(options[i]);
    });
    std::uint64_t checksum = 0;
    // In cents, so that the last digits, in which compilers may differ, do not count.
    for (auto &option : options)
        checksum += static_cast<std::uint64_t>(std::llround(option.call * 100) + std::llround(option.put * 100));
    print_result(checksum);
}
