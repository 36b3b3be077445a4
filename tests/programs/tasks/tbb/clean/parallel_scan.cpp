// Running sums: with functions, and with a body object that is split, joined backwards and assigned.
//
// needs: tbb
// prints: 2016 2016 496

#include "tbb_tasks.h"
#include <cstdio>
#include <functional>
#include <tbb/blocked_range.h>
#include <tbb/parallel_scan.h>

using Range = tbb::blocked_range<int>;

class Sums {
public:
    explicit Sums(int *sums) : sums_(sums) {}
    Sums(Sums &other, tbb::split) : sums_(other.sums_) {}
    template <typename Pass> void operator()(const Range &range, Pass)
    {
        for (int i = range.begin(); i < range.end(); i++) {
            sum_ += i;
            if (Pass::is_final_scan())
                sums_[i] = sum_;
        }
    }
    void reverse_join(Sums &left) { sum_ += left.sum_; }
    void assign(Sums &other) { sum_ = other.sum_; }
    int sum() const { return sum_; }

private:
    int *sums_;
    int sum_ = 0;
};

int main()
{
    with_workers([] {
        int sums[64];
        int total = tbb::parallel_scan(
            Range(0, 64, 8), 0,
            [&](const Range &range, int sum, bool is_final) {
                for (int i = range.begin(); i < range.end(); i++) {
                    sum += i;
                    if (is_final)
                        sums[i] = sum;
                }
                return sum;
            },
            std::plus<int>(), tbb::simple_partitioner());
        int others[64];
        Sums body(others);
        tbb::parallel_scan(Range(0, 64, 4), body);
        std::printf("%d %d %d\n", total, body.sum(), sums[31] + others[31] - 496);
    });
}
