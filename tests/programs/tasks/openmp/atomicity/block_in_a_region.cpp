// All threads of a team take a ticket, in two critical sections.
//
// needs: openmp
// expect: atomicity-violation take a ticket

#include <keirin.h>
#include <omp.h>

int next_ticket;
int tickets[64];

static int take()
{
    int mine;
    KEIRIN_ATOMIC("take a ticket")
    {
#pragma omp critical(ticket)
        mine = next_ticket;
#pragma omp critical(ticket)
        next_ticket = mine + 1;
    }
    return mine;
}

int main()
{
#pragma omp parallel
    tickets[omp_get_thread_num() % 64] = take();
}
