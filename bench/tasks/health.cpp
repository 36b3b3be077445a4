// Simulates a health system: villages form a tree, people fall ill and go to the hospital of their village, and those it cannot
// treat are sent to the next higher one.
// Constructs: a group of tasks in every node of the upper levels of the tree, for each step of time. Locks: one for each village, for the list of those
// who are sent to it from below; children add to the list of their parent while they run at the same time.

#include "parallel.h"
#include <algorithm>
#include <memory>
#include <vector>

constexpr unsigned BRANCHES = 4, LEVELS = 6, CUT_OFF = 2;

struct Patient {
    std::uint64_t number;
    Random random;
    unsigned left = 0;      // steps until the next thing happens
    unsigned time = 0;      // in hospitals
    unsigned hospitals = 0; // visited

    explicit Patient(std::uint64_t number) : number(number), random(number + 1) {}
};
using Patients = std::vector<Patient *>;

struct Village {
    Village *parent = nullptr;
    unsigned level = 0;
    std::size_t free_staff = 0;
    std::vector<std::unique_ptr<Village>> below;
    std::vector<std::unique_ptr<Patient>> people;
    Patients healthy, waiting, assessed, treated;
    parallel::Lock lock;
    Patients sent; // here from below, under the lock

    Village(Village *parent, unsigned level, std::uint64_t &numbers) : parent(parent), level(level), free_staff(std::size_t(1) << level)
    {
        for (unsigned i = 0; i < 20; i++) {
            people.push_back(std::make_unique<Patient>(numbers++));
            healthy.push_back(people.back().get());
        }
        for (unsigned i = 0; i < BRANCHES && level > 1; i++)
            below.push_back(std::make_unique<Village>(this, level - 1, numbers));
    }

    // One step of this village and all below.
    void step()
    {
        if (level > CUT_OFF) {
            parallel::finish([&](parallel::Group &group) {
                for (const auto &village : below)
                    group.run([child = village.get()] { child->step(); });
            });
        } else {
            for (const auto &village : below)
                village->step();
        }
        step_alone();
    }

    void step_alone()
    {
        finish_treatment();
        assess();
        admit();
        fall_ill();
    }

    // Moves those who are done from one list to where `use` puts them.
    template <typename Use> static void pass(Patients &list, const Use &use)
    {
        Patients stay;
        for (Patient *patient : list) {
            patient->time++;
            if (patient->left > 0)
                patient->left--;
            if (patient->left > 0)
                stay.push_back(patient);
            else
                use(patient);
        }
        list.swap(stay);
    }

    void finish_treatment()
    {
        pass(treated, [&](Patient *patient) {
            free_staff++;
            healthy.push_back(patient);
        });
    }

    void assess()
    {
        pass(assessed, [&](Patient *patient) {
            const std::uint64_t chance = patient->random.next() % 100;
            if (parent != nullptr && chance < 30) {
                free_staff++;
                parallel::Guard guard(parent->lock);
                parent->sent.push_back(patient);
            } else if (chance < 80) {
                patient->left = 10;
                treated.push_back(patient);
            } else {
                free_staff++;
                healthy.push_back(patient);
            }
        });
    }

    void admit()
    {
        {
            parallel::Guard guard(lock);
            // The children came in any order.
            std::sort(sent.begin(), sent.end(), [](const Patient *a, const Patient *b) { return a->number < b->number; });
            waiting.insert(waiting.end(), sent.begin(), sent.end());
            sent.clear();
        }
        std::size_t admitted = 0;
        for (; admitted < waiting.size() && free_staff > 0; admitted++) {
            Patient *patient = waiting[admitted];
            free_staff--;
            patient->hospitals++;
            patient->left = 3;
            assessed.push_back(patient);
        }
        waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(admitted));
        for (Patient *patient : waiting)
            patient->time++;
    }

    void fall_ill()
    {
        Patients stay;
        for (Patient *patient : healthy)
            (patient->random.next() % 1000 < 20 ? waiting : stay).push_back(patient);
        healthy.swap(stay);
    }

    std::uint64_t checksum() const
    {
        std::uint64_t sum = mix(waiting.size(), free_staff);
        for (const auto &patient : people)
            sum += mix(patient->number, patient->time * 1000 + patient->hospitals);
        for (const auto &village : below)
            sum += village->checksum();
        return sum;
    }
};

int main(int argc, char **argv)
{
    Application application(argc, argv);
    const std::size_t steps = application.times(1000);
    std::uint64_t numbers = 0;
    Village top(nullptr, LEVELS, numbers);
    parallel::run(application, [&] {
        for (std::size_t step = 0; step < steps; step++)
            top.step();
    });
    print_result(top.checksum());
}
