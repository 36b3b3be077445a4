// Two hundred threads that live together, write to memory of their own and to common memory under locks, meet at
// barriers and read what the others wrote.
//
// prints: 200 threads, 20 rounds, sum 4000, mistakes 0

#include <cstdio>
#include <mutex>
#include <pthread.h>
#include <thread>
#include <vector>

constexpr int threads = 200, rounds = 20;

static pthread_barrier_t barrier;
static std::mutex locks[16];
static int shares[16];
static int written[threads];

int main()
{
    pthread_barrier_init(&barrier, nullptr, threads);
    std::vector<std::thread> all;
    std::vector<int> mistakes(threads);
    for (int t = 0; t < threads; t++)
        all.emplace_back([t, &mistake = mistakes[(std::size_t)t]] {
            for (int round = 0; round < rounds; round++) {
                written[t] = round;
                {
                    std::lock_guard guard(locks[t % 16]);
                    shares[t % 16]++;
                }
                pthread_barrier_wait(&barrier);
                for (int other : written)
                    mistake += other != round;
                pthread_barrier_wait(&barrier);
            }
        });
    for (auto &thread : all)
        thread.join();
    int sum = 0, wrong = 0;
    for (int share : shares)
        sum += share;
    for (int mistake : mistakes)
        wrong += mistake;
    std::printf("%d threads, %d rounds, sum %d, mistakes %d\n", threads, rounds, sum, wrong);
    pthread_barrier_destroy(&barrier);
}
