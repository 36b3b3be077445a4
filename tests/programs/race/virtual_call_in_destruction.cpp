// The base class stops its thread in its destructor. That is too late: the object has become a base object by then (its
// table of virtual functions is replaced), while the thread may still be about to call a virtual function.
//
// expect: data-race (A) (B)

#include "schedule.h"
#include <thread>

class Service {
public:
    void start()
    {
        thread_ = std::thread([this] {
            await_moment(1);
            run(); // (B)
        });
    }
    virtual ~Service()
    { // (A)
        moment_reached(1);
        thread_.join();
    }

protected:
    virtual void run() {}

private:
    std::thread thread_;
};

class Mailer : public Service {
    void run() override {}
};

int main()
{
    Service *service = new Mailer;
    service->start();
    delete service;
}
