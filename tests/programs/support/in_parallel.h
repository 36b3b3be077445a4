// Two functions at the same time: as threads, as tasks of OpenMP if that is switched on, or as tasks of oneTBB with USE_TBB.
//
// The first one has a branch that depends on what the second one does. The variable SIDE of the environment says which of them is to
// come first, so that each side of the branch is executed by turns: 0 for the first one, 1 for the second. Nobody is told of that
// order (schedule.h). It is a wish: where one thread has both, the order is what it is.
#ifndef IN_PARALLEL_H
#define IN_PARALLEL_H

#include "schedule.h"
#include <stdlib.h>
#include <time.h>
#ifdef USE_TBB
#include "tbb_tasks.h"
#include <tbb/task_group.h>
#elif !defined(_OPENMP)
#include <thread>
#endif

// Functions stay what they are in the source: one of them is not made part of another.
#define APART __attribute__((noinline))

static volatile int ended[2];

NOT_WATCHED static void when_its_turn(int number)
{
    const char *side = getenv("SIDE");
    if (!side || atoi(side) == number)
        return;
    // Half a second at most.
    const struct timespec moment = {0, 1000000};
    for (int waited = 0; waited < 500 && !ended[1 - number]; waited++)
        nanosleep(&moment, nullptr);
}

NOT_WATCHED static void has_ended(int number) { ended[number] = 1; }

template <typename First, typename Second> void in_parallel(First first, Second second)
{
    auto one = [&] {
        when_its_turn(0);
        first();
        has_ended(0);
    };
    auto other = [&] {
        when_its_turn(1);
        second();
        has_ended(1);
    };
#if defined(USE_TBB)
    with_workers([&] {
        tbb::task_group group;
        group.run(one);
        group.run(other);
        group.wait();
    });
#elif defined(_OPENMP)
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task
        one();
#pragma omp task
        other();
#pragma omp taskwait
    }
#else
    std::thread one_thread(one), other_thread(other);
    one_thread.join();
    other_thread.join();
#endif
}

#endif
