// Double-checked locking with a plain pointer: the first look at it is not ordered with the write, and neither is what
// the reader then does with the object.
//
// expect: data-race (A) (B)
// expect: data-race (C) (D)
// prints: 8080

#include "schedule.h"
#include <cstdio>
#include <mutex>
#include <thread>

struct Settings {
    int port;
};

static std::mutex creation;
static Settings *instance;

static Settings *settings()
{
    if (!instance) { // (A)
        std::lock_guard guard(creation);
        if (!instance) {
            Settings *made = new Settings;
            made->port = 8080; // (C)
            instance = made; // (B)
        }
    }
    return instance;
}

int main()
{
    std::thread first([] {
        settings();
        moment_reached(1);
    });
    std::thread second([] {
        await_moment(1);
        std::printf("%d\n", settings()->port); // (D)
    });
    first.join();
    second.join();
    delete instance;
}
