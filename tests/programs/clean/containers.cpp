// Strings, vectors, maps and streams that several threads use under one lock, and objects that they move to each other.
//
// prints: 200 words, 10 keys, 200 lines

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

static std::mutex lock;
static std::vector<std::string> words;
static std::map<std::string, int> counts;
static std::unordered_map<int, std::unique_ptr<std::string>> owners;
static std::ostringstream log_stream;

int main()
{
    std::thread threads[4];
    for (int t = 0; t < 4; t++)
        threads[t] = std::thread([t] {
            for (int i = 0; i < 50; i++) {
                std::string word = "a word that does not fit into the object " + std::to_string(i % 10);
                std::lock_guard guard(lock);
                counts[word]++;
                words.push_back(std::move(word));
                owners[i] = std::make_unique<std::string>(std::to_string(t));
                log_stream << t << ' ' << i << '\n';
            }
        });
    for (auto &thread : threads)
        thread.join();
    std::string text = log_stream.str();
    auto lines = std::count(text.begin(), text.end(), '\n');
    std::printf("%zu words, %zu keys, %ld lines\n", words.size(), counts.size(), (long)lines);
}
