// A task with if(0) is done when the parent goes on. The task that it has made is not.
//
// needs: openmp
// expect: data-race (A) (B) of deep

int shallow;
int deep;
int sum;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp task if (0)
        {
            shallow = 1;
#pragma omp task
            deep = 2; // (A)
        }
        sum = shallow;
        sum += deep; // (B)
    }
    return 0;
}
