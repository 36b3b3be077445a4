// Task parallelism in the words of either runtime: oneTBB with -DUSE_TBB, OpenMP (-fopenmp) without it.
//
// An application says once what may happen at the same time; each word here is one construct of the runtime:
//
//   word                  oneTBB                                OpenMP
//   parallel::run         task_arena::execute                   parallel, single
//   parallel::loop        parallel_for, simple_partitioner      taskloop grainsize
//   parallel::sum         parallel_reduce, simple_partitioner   taskloop reduction
//   parallel::both        parallel_invoke                       task, taskwait
//   parallel::finish      task_group, wait                      taskgroup
//   Group::run            task_group::run                       task
//   parallel::Lock        spin_mutex                            omp_lock_t
//   parallel::critical    std::mutex                            critical
//
// Loops are cut into as many tasks in every run, whatever the number of threads.
#ifndef PARALLEL_H
#define PARALLEL_H

#include "../programs/common.h"
#include <cstdlib>
#include <mutex>
#include <utility>

#ifdef USE_TBB
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_invoke.h>
#include <tbb/parallel_reduce.h>
#include <tbb/partitioner.h>
#include <tbb/spin_mutex.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#else
#include <omp.h>
#endif

// The share of the work, in per cent, and the number of threads, as the first two arguments: 100 and 2 by default.
struct Application {
    double share = 1.0;
    int threads = 2;

    Application(int argc, char **argv)
    {
        if (argc > 1)
            share = std::strtod(argv[1], nullptr) / 100;
        if (argc > 2)
            threads = std::atoi(argv[2]);
        if (argc > 3 || threads < 1 || threads > 64 || !(share > 0 && share <= 100)) {
            std::fprintf(stderr, "usage: %s [PER-CENT [THREADS]]\n", argv[0]);
            std::exit(2);
        }
    }

    // So much work, at least as much as told.
    std::size_t times(double count, std::size_t least = 1) const
    {
        const double scaled = count * share;
        return scaled < static_cast<double>(least) ? least : static_cast<std::size_t>(scaled);
    }
};

// One number from many; the order matters.
inline std::uint64_t mix(std::uint64_t checksum, std::uint64_t number)
{
    checksum = (checksum ^ number) * 0x9e3779b97f4a7c15u;
    return checksum ^ (checksum >> 29);
}

namespace parallel {

#ifdef USE_TBB

// Runs the work as the first task, with so many threads to take part.
template <typename Work> void run(const Application &application, const Work &work)
{
    const auto threads = static_cast<std::size_t>(application.threads);
    tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    tbb::task_arena arena(application.threads);
    arena.execute(work);
}

// Runs body(i) for all i from first up to, but not including, last; about `grain` of them are one task.
template <typename Body> void loop(std::size_t first, std::size_t last, std::size_t grain, const Body &body)
{
    tbb::parallel_for(
        tbb::blocked_range<std::size_t>(first, last, grain),
        [&](const tbb::blocked_range<std::size_t> &range) {
            for (std::size_t i = range.begin(); i != range.end(); i++)
                body(i);
        },
        tbb::simple_partitioner());
}

// The sum of term(i); of whole numbers, so that it is the same in any order.
template <typename Term> std::uint64_t sum(std::size_t first, std::size_t last, std::size_t grain, const Term &term)
{
    return tbb::parallel_reduce(
        tbb::blocked_range<std::size_t>(first, last, grain), std::uint64_t(0),
        [&](const tbb::blocked_range<std::size_t> &range, std::uint64_t part) {
            for (std::size_t i = range.begin(); i != range.end(); i++)
                part += term(i);
            return part;
        },
        [](std::uint64_t left, std::uint64_t right) { return left + right; }, tbb::simple_partitioner());
}

// Runs both and waits for both.
template <typename First, typename Second> void both(const First &first, const Second &second)
{
    tbb::parallel_invoke(first, second);
}

// Where tasks are spawned that `finish` waits for.
class Group {
public:
    template <typename Work> void run(const Work &work)
    {
        tasks.run(work);
    }

private:
    template <typename Body> friend void finish(const Body &body);
    tbb::task_group tasks;
};

// Runs body(group), and waits for all tasks of the group, also for those that its tasks spawned.
template <typename Body> void finish(const Body &body)
{
    Group group;
    body(group);
    group.tasks.wait();
}

// A lock that is a small object, for many of them.
class Lock {
public:
    void lock()
    {
        mutex.lock();
    }
    void unlock()
    {
        mutex.unlock();
    }

private:
    tbb::spin_mutex mutex;
};

// Runs the work while no other critical work runs.
template <typename Work> void critical(const Work &work)
{
    static std::mutex mutex;
    std::lock_guard<std::mutex> guard(mutex);
    work();
}

#else

template <typename Work> void run(const Application &application, const Work &work)
{
#pragma omp parallel num_threads(application.threads) default(shared)
#pragma omp single
    work();
}

template <typename Body> void loop(std::size_t first, std::size_t last, std::size_t grain, const Body &body)
{
#pragma omp taskloop grainsize(grain) default(shared)
    for (std::size_t i = first; i < last; i++)
        body(i);
}

template <typename Term> std::uint64_t sum(std::size_t first, std::size_t last, std::size_t grain, const Term &term)
{
    std::uint64_t total = 0;
#pragma omp taskloop grainsize(grain) default(shared) reduction(+ : total)
    for (std::size_t i = first; i < last; i++)
        total += term(i);
    return total;
}

template <typename First, typename Second> void both(const First &first, const Second &second)
{
#pragma omp task default(shared)
    first();
    second();
#pragma omp taskwait
}

class Group {
public:
    template <typename Work> void run(const Work &work)
    {
        Work copy = work;
#pragma omp task default(none) firstprivate(copy)
        copy();
    }
};

template <typename Body> void finish(const Body &body)
{
    Group group;
#pragma omp taskgroup
    body(group);
}

class Lock {
public:
    Lock()
    {
        omp_init_lock(&inner);
    }
    ~Lock()
    {
        omp_destroy_lock(&inner);
    }
    Lock(const Lock &) = delete;
    Lock &operator=(const Lock &) = delete;
    void lock()
    {
        omp_set_lock(&inner);
    }
    void unlock()
    {
        omp_unset_lock(&inner);
    }

private:
    omp_lock_t inner;
};

template <typename Work> void critical(const Work &work)
{
#pragma omp critical(application)
    work();
}

#endif

using Guard = std::lock_guard<Lock>;

} // namespace parallel

#endif
