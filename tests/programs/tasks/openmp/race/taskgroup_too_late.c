// The end of a taskgroup waits for the tasks that were made in it. The one made just before is not among them.
//
// needs: openmp
// expect: data-race (A) (B) of header

int header;
int body;
int size;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp task
        header = 16; // (A)
#pragma omp taskgroup
        {
#pragma omp task
            body = 100;
        }
        size = body;
        size += header; // (B)
    }
    return 0;
}
