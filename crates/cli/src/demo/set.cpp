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
    void add(int x, int pause) {
        KEIRIN_ATOMIC("Set::add") {
            if (!elements.contains(x)) {
                std::this_thread::sleep_for(std::chrono::milliseconds(pause));  // for the other thread
                elements.add(x);
            }
        }
    }
};

Set set;

int main() {
    std::thread first([] { set.add(7, 400); });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    std::thread second([] { set.add(7, 0); });
    first.join();
    second.join();
}
