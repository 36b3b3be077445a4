// What programs with oneTBB share: how many workers there are, and how to keep accesses that a compiler leaves out.
#ifndef TBB_TASKS_H
#define TBB_TASKS_H

#include <cstdlib>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

// Runs the program's tasks on as many workers as OMP_NUM_THREADS says, the variable that programs with OpenMP obey;
// the library has none of its own. More workers than processors need an arena of that size. Without the variable
// everything is as the library has it.
template <typename Body> void with_workers(Body body)
{
    const char *text = std::getenv("OMP_NUM_THREADS");
    const int workers = text ? std::atoi(text) : 0;
    if (workers < 1) {
        body();
        return;
    }
    tbb::global_control limit(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(workers));
    tbb::task_arena arena(workers);
    arena.execute([&] { body(); });
}

// Something reads this value: the read before is done.
template <typename Value> inline void use(Value value)
{
    __asm__ volatile("" : : "r"(value) : "memory");
}

// No access is moved across or merged with one on the other side.
inline void keep_apart()
{
    __asm__ volatile("" : : : "memory");
}

#endif
