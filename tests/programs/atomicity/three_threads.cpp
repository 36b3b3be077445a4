// A chain over three threads: the block writes the stock, a second thread passes what it saw on to the price, and the
// block then reads the price. No two threads alone show the violation.
//
// run: --analysis fasttrack,velodrome
// expect: atomicity-violation refresh

#include "schedule.h"
#include <atomic>
#include <keirin.h>
#include <thread>

std::atomic<int> stock, demand, price;

int main()
{
    int seen = 0;
    std::thread refresher([&] {
        KEIRIN_ATOMIC("refresh")
        {
            stock.store(5);
            moment_reached(1);
            await_moment(3);
            seen = price.load();
        }
    });
    std::thread buyer([] {
        await_moment(1);
        KEIRIN_ATOMIC("buy")
        {
            demand.store(10 - stock.load());
        }
        moment_reached(2);
    });
    std::thread seller([] {
        await_moment(2);
        KEIRIN_ATOMIC("set price")
        {
            price.store(demand.load() * 3);
        }
        moment_reached(3);
    });
    refresher.join();
    buyer.join();
    seller.join();
    return seen != 15;
}
