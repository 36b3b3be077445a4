// Promises, asynchronous calls and shared futures hand values over; an exception travels the same way.
//
// prints: 42 hello 14 lost

#include <cstdio>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>

int main()
{
    std::promise<int> number;
    std::promise<std::string> text;
    std::thread answerer([&] {
        number.set_value(42);
        text.set_value("hello");
    });
    std::printf("%d ", number.get_future().get());
    std::printf("%s ", text.get_future().get().c_str());
    answerer.join();

    std::shared_future<int> seven = std::async(std::launch::async, [] { return 7; }).share();
    auto add = [seven] { return seven.get(); };
    auto first = std::async(std::launch::async, add);
    auto second = std::async(std::launch::async, add);
    std::printf("%d ", first.get() + second.get());

    auto failing = std::async(std::launch::async, []() -> int { throw std::runtime_error("lost"); });
    try {
        failing.get();
    } catch (const std::runtime_error &error) {
        std::puts(error.what());
    }
}
