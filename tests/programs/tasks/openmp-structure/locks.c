// Critical sections and locks exclude; different ones do not exclude each other.
// finds: mixed
#include <omp.h>
int named, nested, mixed;
int main(void) {
    omp_lock_t lock;
    omp_nest_lock_t nest;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
#pragma omp parallel
    {
#pragma omp critical(name)
        named++;
        omp_set_nest_lock(&nest);
        omp_set_nest_lock(&nest);
        nested++;
        omp_unset_nest_lock(&nest);
        nested++;
        omp_unset_nest_lock(&nest);
        if (omp_get_thread_num() == 0) {
            omp_set_lock(&lock);
            mixed++;
            omp_unset_lock(&lock);
        } else {
#pragma omp critical(name)
            mixed++;
        }
    }
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nest);
    return 0;
}
