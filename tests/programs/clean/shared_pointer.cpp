// Copies of a shared pointer travel between threads; the last one deletes the object, whoever has it.
//
// prints: 1 deleted

#include <atomic>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

struct Document {
    int pages = 12;
    ~Document() { deleted += 1; }
    static inline std::atomic<int> deleted{0};
};

int main()
{
    auto document = std::make_shared<Document>();
    std::weak_ptr<Document> weak = document;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([copy = document, weak]() mutable {
            for (int round = 0; round < 100; round++) {
                auto another = copy;
                if (auto locked = weak.lock(); locked && locked->pages != 12)
                    std::puts("wrong");
            }
            copy.reset();
        });
    document.reset();
    for (auto &thread : threads)
        thread.join();
    std::printf("%d deleted\n", Document::deleted.load());
}
