#include "shared.h"
#include <atomic>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

int main() {
    std::atomic<int> letters{0};
    std::vector<std::thread> threads;
    for (std::string word : {"one", "two", "three"})
        threads.emplace_back([word, &letters] {
            letters += static_cast<int>(word.size());
            count(1);
        });
    for (auto &thread : threads)
        thread.join();
    std::cout << letters << " " << counted() << "\n";
    return letters == 11 && counted() == 3 ? 0 : 1;
}
