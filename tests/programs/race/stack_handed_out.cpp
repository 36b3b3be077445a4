// A thread gets a reference to a local variable of its creator, which goes on to use it before the join.
//
// expect: data-race (A) (B)

#include <thread>

static int sum_in_background()
{
    int sum = 0;
    std::thread adder([&sum] {
        for (int i = 1; i <= 10; i++)
            sum += i; // (A)
    });
    volatile int *early = &sum;
    int first_look = *early; // (B)
    adder.join();
    return sum + first_look;
}

int main()
{
    return sum_in_background() > 1000;
}
