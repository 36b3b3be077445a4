// Memory that the program has named is called so in the report.
//
// expect: data-race (A) (A) of pool of connections

#include <keirin.h>
#include <thread>

struct Pool {
    int idle = 4;
};

int main()
{
    Pool *pool = new Pool;
    keirin_name(&pool->idle, "pool of connections");
    auto borrow = [pool] {
        pool->idle--; // (A)
    };
    std::thread first(borrow);
    std::thread second(borrow);
    first.join();
    second.join();
    delete pool;
}
