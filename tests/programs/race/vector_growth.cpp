// One thread appends to a vector, another asks for its size.
//
// expect: data-race (A) (B)

#include <thread>
#include <vector>

int main()
{
    std::vector<int> samples;
    std::thread sampler([&] {
        for (int i = 0; i < 100; i++)
            samples.push_back(i); // (A)
    });
    std::size_t size = samples.size(); // (B)
    sampler.join();
    return size > 100;
}
