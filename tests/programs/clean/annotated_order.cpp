// A hand-made protocol in memory that the compiler does not tell (inline assembly) is announced by annotations.
//
// prints: 5

#include <cstdio>
#include <keirin.h>
#include <sched.h>
#include <thread>

static int mailbox_full;
int letter;

static void set_full()
{
    int one = 1;
    __asm__ volatile("movl %1, %0" : "=m"(mailbox_full) : "r"(one) : "memory");
}

static bool is_full()
{
    int value;
    __asm__ volatile("movl %1, %0" : "=r"(value) : "m"(mailbox_full) : "memory");
    return value != 0;
}

int main()
{
    std::thread sender([] {
        letter = 5;
        keirin_happens_before(&mailbox_full);
        set_full();
    });
    while (!is_full())
        sched_yield();
    keirin_happens_after(&mailbox_full);
    std::printf("%d\n", letter);
    sender.join();
}
