// Prices swaptions by simulation: paths of forward rates are drawn at random, and the payoff of each path is discounted.
// Constructs: a loop over the swaptions, and within each a loop over portions of paths. Locks: none; each portion has its own sum.

#include "parallel.h"
#include <cmath>
#include <vector>

constexpr std::size_t STEPS = 11, PORTION = 100;

struct Swaption {
    double strike, volatility, rate;
    double price, deviation;
};

// A number with a normal distribution, nearly: the sum of twelve that are uniform.
static double normal(Random &random)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += static_cast<double>(random.next() >> 11) / 9007199254740992.0;
    return sum;
}

// The discounted payoff of one path.
static double path(const Swaption &swaption, Random &random)
{
    const double step = 0.5;
    double forward[STEPS];
    for (std::size_t i = 0; i < STEPS; i++)
        forward[i] = swaption.rate + 0.001 * static_cast<double>(i);
    double discount = 1;
    for (std::size_t time = 1; time < STEPS; time++) {
        const double shock = normal(random);
        discount *= std::exp(-forward[0] * step);
        for (std::size_t i = 0; i + time < STEPS; i++) {
            const double volatility = swaption.volatility * std::exp(-0.1 * static_cast<double>(i));
            const double drift = volatility * volatility * static_cast<double>(i + 1) * step;
            forward[i] = forward[i + 1] + drift * step + volatility * std::sqrt(step) * shock;
        }
    }
    const double payoff = forward[0] - swaption.strike;
    return payoff > 0 ? payoff * discount : 0;
}

static void price(Swaption &swaption, std::uint64_t number, std::size_t portions)
{
    std::vector<double> sums(portions), squares(portions);
    parallel::loop(0, portions, 1, [&](std::size_t portion) {
        Random random(number * 100000 + portion);
        double sum = 0, square = 0;
        for (std::size_t i = 0; i < PORTION; i++) {
            const double payoff = path(swaption, random);
            sum += payoff;
            square += payoff * payoff;
        }
        sums[portion] = sum;
        squares[portion] = square;
    });
    double sum = 0, square = 0;
    for (std::size_t portion = 0; portion < portions; portion++) {
        sum += sums[portion];
        square += squares[portion];
    }
    const auto paths = static_cast<double>(portions * PORTION);
    swaption.price = sum / paths;
    swaption.deviation = std::sqrt(std::fmax(0, square / paths - swaption.price * swaption.price));
}

int main(int argc, char **argv)
{
    Application application(argc, argv);
    const std::size_t portions = application.times(400);
    std::vector<Swaption> swaptions(48);
    Random random(5);
    auto between = [&](double low, double high) {
        return low + (high - low) * static_cast<double>(random.next() % 10000) / 10000;
    };
    for (auto &swaption : swaptions)
        swaption = {between(0.02, 0.06), between(0.005, 0.03), between(0.02, 0.06), 0, 0};
    parallel::run(application, [&] {
        parallel::loop(0, swaptions.size(), 1, [&](std::size_t i) { price(swaptions[i], i, portions); });
    });
    std::uint64_t checksum = 0;
    for (const auto &swaption : swaptions)
        checksum = mix(checksum, static_cast<std::uint64_t>(std::llround((swaption.price + swaption.deviation) * 1e9)));
    print_result(checksum);
}
