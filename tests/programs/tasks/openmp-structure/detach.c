// A detached task is finished when its event is fulfilled: what came before that is known to who waits for the task.
// finds: body
// compilers: clang-19
// spawns: 4 + 2 threads
#include <omp.h>
int body, before, after;
int main(void) {
#pragma omp parallel
#pragma omp single
    {
        omp_event_handle_t event;
#pragma omp task detach(event) depend(out : body)
        body = 1;
#pragma omp task firstprivate(event)
        {
            before = 1;
            omp_fulfill_event(event);
            body = 2;
        }
#pragma omp task depend(in : body)
        after = before;
    }
    return 0;
}
