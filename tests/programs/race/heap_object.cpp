// Two threads share an object on the heap; only one of them takes the lock that belongs to it.
//
// expect: data-race (A) (B)

#include <memory>
#include <mutex>
#include <thread>

struct Account {
    std::mutex lock;
    long balance = 100;
};

int main()
{
    auto account = std::make_unique<Account>();
    std::thread depositor([&] {
        std::lock_guard guard(account->lock);
        account->balance += 10; // (A)
    });
    std::thread fee([&] { account->balance -= 1; }); // (B)
    depositor.join();
    fee.join();
    return account->balance > 200;
}
