// A set looks whether a value is there and adds it if not, under two holds of its lock. Two tasks may both find it missing.
//
// needs: openmp
// expect: lock-gap (A) (B)

#include <omp.h>

class Set {
  public:
    Set() { omp_init_lock(&lock); }
    ~Set() { omp_destroy_lock(&lock); }

    void add(int value)
    {
        omp_set_lock(&lock);
        unsigned known = members; // (A)
        omp_unset_lock(&lock);
        omp_set_lock(&lock);
        members = known | 1u << value; // (B)
        omp_unset_lock(&lock);
    }

  private:
    omp_lock_t lock;
    unsigned members = 0;
};

int main()
{
    Set set;
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < 2; i++) {
#pragma omp task shared(set)
            set.add(i);
        }
    }
}
