// Several threads print by streams and by stdio at the same time: the standard allows it, at worst lines mix.
//
// prints: -

#include <cstdio>
#include <iostream>
#include <string>
#include <thread>

int main()
{
    std::thread threads[3];
    for (auto &thread : threads)
        thread = std::thread([] {
            for (int i = 0; i < 20; i++) {
                std::cerr << "";
                std::cout << std::string() << std::flush;
                std::fputs("", stdout);
            }
        });
    for (auto &thread : threads)
        thread.join();
    std::cout << '-' << std::endl;
}
