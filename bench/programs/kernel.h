// What all kernels share: a size from the command line, threads, and a result to compare.
#ifndef KERNEL_H
#define KERNEL_H

#include "common.h"
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

// The number of threads and the share of the work, in per cent, as the first two arguments: 2 and 100 by default.
struct Kernel {
    unsigned threads = 2;
    double share = 1.0;

    Kernel(int argc, char **argv)
    {
        if (argc > 1)
            threads = static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10));
        if (argc > 2)
            share = std::strtod(argv[2], nullptr) / 100;
        if (threads == 0 || threads > 64 || !(share > 0)) {
            std::fprintf(stderr, "usage: %s [THREADS [PER-CENT]]\n", argv[0]);
            std::exit(2);
        }
    }

    // So much work, at least one.
    std::size_t times(double count) const
    {
        double scaled = count * share;
        return scaled < 1 ? 1 : static_cast<std::size_t>(scaled);
    }

    // Runs work(thread) in all threads and waits for them.
    template <typename Work> void run(Work work) const
    {
        std::vector<std::thread> all;
        for (unsigned i = 0; i < threads; i++)
            all.emplace_back(work, i);
        for (auto &thread : all)
            thread.join();
    }
};

#endif
