// Parallel merge sort: threads sort their parts by quicksort, then pairs of parts are merged by fewer and fewer threads.

#include "kernel.h"
#include <algorithm>

static void quick_sort(std::uint32_t *numbers, std::ptrdiff_t low, std::ptrdiff_t high)
{
    while (low < high) {
        const std::uint32_t pivot = numbers[low + (high - low) / 2];
        std::ptrdiff_t left = low, right = high;
        while (left <= right) {
            while (numbers[left] < pivot)
                left++;
            while (numbers[right] > pivot)
                right--;
            if (left <= right)
                std::swap(numbers[left++], numbers[right--]);
        }
        quick_sort(numbers, low, right);
        low = left;
    }
}

int main(int argc, char **argv)
{
    Kernel kernel(argc, argv);
    const std::size_t size = kernel.times(8e6);
    std::vector<std::uint32_t> numbers(size), merged(size);
    Random random(1);
    for (auto &number : numbers)
        number = static_cast<std::uint32_t>(random.next());
    std::vector<std::size_t> borders;
    for (unsigned i = 0; i <= kernel.threads; i++)
        borders.push_back(size * i / kernel.threads);
    kernel.run([&](unsigned thread) {
        quick_sort(numbers.data(), static_cast<std::ptrdiff_t>(borders[thread]),
                   static_cast<std::ptrdiff_t>(borders[thread + 1]) - 1);
    });
    while (borders.size() > 2) {
        std::vector<std::thread> mergers;
        std::vector<std::size_t> next{0};
        for (std::size_t i = 0; i + 1 < borders.size(); i += 2) {
            const std::size_t from = borders[i], middle = borders[i + 1];
            const std::size_t to = i + 2 < borders.size() ? borders[i + 2] : middle;
            next.push_back(to);
            mergers.emplace_back([&, from, middle, to] {
                std::size_t left = from, right = middle;
                for (std::size_t target = from; target < to; target++)
                    merged[target] = right == to || (left < middle && numbers[left] <= numbers[right])
                                         ? numbers[left++]
                                         : numbers[right++];
            });
        }
        for (auto &merger : mergers)
            merger.join();
        numbers.swap(merged);
        borders = next;
    }
    std::uint64_t checksum = std::is_sorted(numbers.begin(), numbers.end());
    for (std::size_t i = 0; i < size; i += 97)
        checksum = checksum * 31 + numbers[i];
    print_result(checksum);
}
