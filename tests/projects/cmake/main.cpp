#include <dlfcn.h>
#include <iostream>
#include <string>
#include <thread>

extern "C" int count();
std::string name_of(int number);

int main(int, char **arguments) {
    void *plugin = dlopen(arguments[1], RTLD_NOW);
    if (!plugin) {
        std::cerr << dlerror() << "\n";
        return 1;
    }
    auto calls = reinterpret_cast<int (*)()>(dlsym(plugin, "plugin_calls"));
    std::thread other([] { count(); });
    count();
    other.join();
    calls();
    std::cout << name_of(count()) << ", " << calls() << " calls\n";
    return count() == 4 ? 0 : 1;
}
