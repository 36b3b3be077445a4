// Two threads add the same element to a set. Every access is locked, so there is no data race;
// and still the set can end up with the element twice.
#include <algorithm>
#include <chrono>
#include <keirin.h>
#include <mutex>
#include <thread>
#include <vector>

class Vector {
    std::mutex lock;
    std::vector<int> elements;

public:
    bool contains(int x) {
        std::lock_guard<std::mutex> guard(lock);
        return std::find(elements.begin(), elements.end(), x) != elements.end();
    }
    void add(int x) {
        std::lock_guard<std::mutex> guard(lock);
        elements.push_back(x);
    }
};

class Set {
    Vector elements;

public:
    void add(int x) {
        KEIRIN_ATOMIC("Set::add") {
            if (!elements.contains(x)) {
                std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the other thread comes
                elements.add(x);
            }
        }
    }
};

int main() {
    Set set;
    std::thread first([&] { set.add(7); });
    std::thread second([&] { set.add(7); });
    first.join();
    second.join();
}
