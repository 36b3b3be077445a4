// The position is read before the ordered part begins, in which the iterations before move it.
//
// needs: openmp
// expect: data-race (A) (B) of position

enum { LINES = 16 };

int position;
int starts[LINES];

int main(void)
{
#pragma omp parallel for ordered schedule(static, 1)
    for (int i = 0; i < LINES; i++) {
        starts[i] = position; // (A)
#pragma omp ordered
        position += i; // (B)
    }
    return 0;
}
