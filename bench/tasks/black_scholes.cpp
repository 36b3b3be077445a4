// Prices European options by the closed formula of Black and Scholes, over and over, as a portfolio is revalued.
// Constructs: a loop for each revaluation, one after the other. Locks: none.

#include "parallel.h"
#include <cmath>
#include <vector>

struct Option {
    double spot, strike, rate, volatility, time;
    bool call;
};

// The normal distribution by a polynomial, exact to seven digits.
static double distribution(double x)
{
    const double k = 1 / (1 + 0.2316419 * std::fabs(x));
    const double sum =
        k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))));
    const double tail = 0.39894228040143270 * std::exp(-0.5 * x * x) * sum;
    return x < 0 ? tail : 1 - tail;
}

static double price(const Option &option)
{
    const double root = option.volatility * std::sqrt(option.time);
    const double drift = (option.rate + option.volatility * option.volatility / 2) * option.time;
    const double first = (std::log(option.spot / option.strike) + drift) / root;
    const double second = first - root;
    const double discounted = option.strike * std::exp(-option.rate * option.time);
    if (option.call)
        return option.spot * distribution(first) - discounted * distribution(second);
    return discounted * distribution(-second) - option.spot * distribution(-first);
}

int main(int argc, char **argv)
{
    Application application(argc, argv);
    const std::size_t rounds = application.times(220);
    std::vector<Option> options(100000);
    std::vector<double> prices(options.size());
    Random random(7);
    auto between = [&](double low, double high) {
        return low + (high - low) * static_cast<double>(random.next() % 10000) / 10000;
    };
    for (auto &option : options)
        option = {between(10, 100),    between(10, 100), between(0.01, 0.1),
                  between(0.05, 0.60), between(0.1, 2),  random.next() % 2 == 0};
    parallel::run(application, [&] {
        for (std::size_t round = 0; round < rounds; round++)
            parallel::loop(0, options.size(), 500, [&](std::size_t i) { prices[i] = price(options[i]); });
    });
    std::uint64_t checksum = 0;
    for (const double price : prices)
        checksum = mix(checksum, static_cast<std::uint64_t>(std::llround(price * 10000)));
    print_result(checksum);
}
