// The ordered parts of iterations come one after the other; what is outside of them does not.
// finds: outside
int inside, outside, chain[24];
int main(void) {
#pragma omp parallel
    {
#pragma omp for ordered schedule(static, 1)
        for (int i = 0; i < 8; i++) {
            outside = i;
#pragma omp ordered
            inside++;
        }
#pragma omp for ordered(1) schedule(static, 1)
        for (int i = 1; i < 24; i++) {
#pragma omp ordered depend(sink : i - 1)
            chain[i] = chain[i - 1] + 1;
#pragma omp ordered depend(source)
        }
    }
    return 0;
}
