// A pointer and a size that belong together. Each is under the lock whenever it is touched, but not both in one hold.
//
// needs: openmp
// expect: atomicity-violation (A) (B) (C) (D)

#include <keirin.h>
#include <omp.h>

struct Buffer {
    omp_lock_t lock;
    const char *text;
    int size;
};

Buffer buffer;
const char *shown_text;
int shown_size;

int main()
{
    omp_init_lock(&buffer.lock);
    keirin_group(&buffer.text, &buffer.size);
#pragma omp parallel
#pragma omp single
    {
#pragma omp task
        {
            omp_set_lock(&buffer.lock);
            buffer.text = "text"; // (A)
            omp_unset_lock(&buffer.lock);
            omp_set_lock(&buffer.lock);
            buffer.size = 4; // (B)
            omp_unset_lock(&buffer.lock);
        }
#pragma omp task
        {
            omp_set_lock(&buffer.lock);
            shown_text = buffer.text; // (C)
            omp_unset_lock(&buffer.lock);
            omp_set_lock(&buffer.lock);
            shown_size = buffer.size; // (D)
            omp_unset_lock(&buffer.lock);
        }
    }
    omp_destroy_lock(&buffer.lock);
}
