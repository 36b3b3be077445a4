// The inner block holds its lock throughout and is atomic; the outer one, which calls it twice, is not.
//
// run: --analysis fasttrack,velodrome
// expect: atomicity-violation reserve both seats

#include "schedule.h"
#include <keirin.h>
#include <mutex>
#include <thread>

static std::mutex lock;
int free_seats = 10;

static void reserve_seat()
{
    KEIRIN_ATOMIC("reserve seat")
    {
        std::lock_guard guard(lock);
        free_seats--;
    }
}

int main()
{
    std::thread couple([] {
        KEIRIN_ATOMIC("reserve both seats")
        {
            reserve_seat();
            moment_reached(1);
            await_moment(2);
            reserve_seat();
        }
    });
    std::thread single([] {
        await_moment(1);
        reserve_seat();
        moment_reached(2);
    });
    couple.join();
    single.join();
    return free_seats != 7;
}
