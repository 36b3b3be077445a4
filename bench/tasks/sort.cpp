// Sorts numbers by merging: both halves are sorted, and merged by cutting the longer one in the middle and the other where it fits.
// Constructs: two tasks at once, nested, with a cut-off, to sort and to merge. Locks: none.

#include "parallel.h"
#include <algorithm>
#include <vector>

constexpr std::ptrdiff_t SMALL = 4096;
using Number = std::uint64_t;

static void merge(const Number *a, const Number *a_end, const Number *b, const Number *b_end, Number *to)
{
    if (a_end - a < b_end - b) {
        std::swap(a, b);
        std::swap(a_end, b_end);
    }
    if (a_end - a <= SMALL) {
        std::merge(a, a_end, b, b_end, to);
        return;
    }
    const Number *a_half = a + (a_end - a) / 2;
    const Number *b_half = std::lower_bound(b, b_end, *a_half);
    Number *half = to + (a_half - a) + (b_half - b);
    parallel::both([=] { merge(a, a_half, b, b_half, to); }, [=] { merge(a_half, a_end, b_half, b_end, half); });
}

// Sorts the numbers, into `other` if told so, and within their place otherwise.
static void sort(Number *numbers, Number *other, std::ptrdiff_t size, bool into_other)
{
    if (size <= SMALL) {
        std::sort(numbers, numbers + size);
        if (into_other)
            std::copy(numbers, numbers + size, other);
        return;
    }
    const std::ptrdiff_t half = size / 2;
    parallel::both([=] { sort(numbers, other, half, !into_other); },
                   [=] { sort(numbers + half, other + half, size - half, !into_other); });
    Number *from = into_other ? numbers : other, *to = into_other ? other : numbers;
    merge(from, from + half, from + half, from + size, to);
}

int main(int argc, char **argv)
{
    Application application(argc, argv);
    std::vector<Number> numbers(application.times(9000000)), other(numbers.size());
    Random random(47);
    for (Number &number : numbers)
        number = random.next() >> 16;
    parallel::run(application, [&] { sort(numbers.data(), other.data(), static_cast<std::ptrdiff_t>(numbers.size()), false); });
    std::uint64_t checksum = 0;
    for (const Number number : numbers)
        checksum = mix(checksum, number);
    print_result(checksum);
}
