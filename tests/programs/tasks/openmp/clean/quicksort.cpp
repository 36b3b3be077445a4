// Sorting in place: the halves are apart, and the parent goes on when both are sorted.
//
// needs: openmp
// prints: sorted

#include <algorithm>
#include <cstdio>
#include <vector>

static void sort(int *first, int *last)
{
    if (last - first < 32) {
        std::sort(first, last);
        return;
    }
    int pivot = first[(last - first) / 2];
    int *middle = std::partition(first, last, [=](int value) { return value < pivot; });
    int *behind = std::partition(middle, last, [=](int value) { return value == pivot; });
#pragma omp task
    sort(first, middle);
#pragma omp task
    sort(behind, last);
#pragma omp taskwait
}

int main()
{
    std::vector<int> values(2000);
    unsigned state = 1;
    for (int &value : values) {
        state = state * 1103515245 + 12345;
        value = state >> 16 & 1023;
    }
#pragma omp parallel
#pragma omp single
    sort(values.data(), values.data() + values.size());
    std::puts(std::is_sorted(values.begin(), values.end()) ? "sorted" : "not sorted");
}
