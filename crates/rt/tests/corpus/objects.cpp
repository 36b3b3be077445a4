// Virtual functions, static variables, exceptions, and what the library's headers make of threads.
#include <atomic>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

struct Base {
    virtual ~Base() { count--; }
    virtual int number() const { return 1; }
    static std::atomic<int> count;
    int value = 1;
};

struct Other {
    virtual ~Other() = default;
    virtual int other() { return 2; }
};

struct Derived : Base, virtual Other {
    int number() const override { return value + 1; }
    int other() override { return 3; }
};

std::atomic<int> Base::count{0};
static std::string text = "made before main";
thread_local std::vector<int> mine{1, 2};

int virtual_calls(Base *base, Other *other) {
    std::unique_ptr<Base> made(new Derived);
    return base->number() + other->other() + made->number();
}

std::string &static_variable(int start) {
    static std::string once = text + std::to_string(start);
    mine.push_back(start);
    return once;
}

#ifndef NO_EXCEPTIONS
struct Guard {
    int &at;
    ~Guard() { at++; }
};

int exceptions(int number, int &at) {
    Guard guard{at};
    try {
        if (number > 3) throw std::string("large");
        at += number;
    } catch (const std::string &error) {
        return static_cast<int>(error.size());
    } catch (...) {
        throw;
    }
    return at;
}
#endif

std::mutex mutex;
std::shared_mutex shared;
std::condition_variable condition;
std::once_flag flag;
bool ready;

int threads() {
    std::call_once(flag, [] { text += "."; });
    auto future = std::async(std::launch::async, [] { return static_variable(3).size(); });
    std::thread thread([] {
        std::unique_lock<std::mutex> lock(mutex);
        condition.wait(lock, [] { return ready; });
        std::shared_lock<std::shared_mutex> reader(shared);
    });
    {
        std::lock_guard<std::mutex> lock(mutex);
        ready = true;
    }
    condition.notify_all();
    thread.join();
    auto pointer = std::make_shared<Derived>();
    std::weak_ptr<Derived> weak = pointer;
    return static_cast<int>(future.get()) + weak.lock()->number();
}
