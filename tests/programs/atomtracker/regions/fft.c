// A fast Fourier transform and its inverse, in phases between barriers. Its atomic regions, fourteen: those of the main thread
// before and after, and for each thread the twelve phases, each from its first access to the mark that it is done.
//
// In each phase a thread works on another part of the data than in the one before, so that it uses what another has made.
//
// A region is marked by `// enter NAME` in the line of its first access and `// exit NAME` in that of its last; (thread end)
// behind it says that its thread does nothing more.
#include "../workload.h"
#include <math.h>

enum { THREADS = 4, BITS = 5, POINTS = 1 << BITS, PART = POINTS / THREADS };

struct point {
    double real, imaginary;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
struct point signal[POINTS], work[POINTS], spare[POINTS], factors[POINTS / 2];
int done[THREADS];
double weight;
double energy, peak, error;
int counted;

// The phases are not all begun in the same order.
static void next_phase(void)
{
    pthread_barrier_wait(&barrier);
    pause_a_while();
}

static int reversed(int number)
{
    int result = 0;
    for (int bit = 0; bit < BITS; bit++)
        result |= (number >> bit & 1) << (BITS - 1 - bit);
    return result;
}

static int part(int thread, int phase)
{
    return (thread + phase) % THREADS * PART;
}

// A butterfly: two points become their sum and their difference.
static void combine(struct point *points, int number, int half, double scale)
{
    int group = number / half, within = number % half;
    struct point *low = &points[group * 2 * half + within], *high = low + half;
    struct point *factor = &factors[within * (POINTS / 2 / half)];
    double real = high->real * factor->real - high->imaginary * factor->imaginary;
    double imaginary = high->real * factor->imaginary + high->imaginary * factor->real;
    high->real = low->real - real;
    high->imaginary = low->imaginary - imaginary;
    low->real = (low->real + real) * scale;
    low->imaginary = (low->imaginary + imaginary) * scale;
}

static void *worker(void *argument)
{
    int thread = (int)(long)argument;
    thread_start(thread);
    int from = part(thread, 0);
    for (int i = from; i < from + PART; i++)
        signal[i].real = factors[i % 7].real; // enter fill
    done[thread] = 1; // exit fill
    next_phase();

    from = part(thread, 1);
    for (int i = from; i < from + PART; i++)
        work[i].real = signal[reversed(i)].real; // enter reverse
    done[thread] = 2; // exit reverse
    next_phase();

    for (int half = 1; half < POINTS; half *= 2) {
        from = part(thread, half) / 2;
        double scale = weight; // enter stage
        for (int i = from; i < from + PART / 2; i++)
            combine(work, i, half, scale);
        done[thread] = 3; // exit stage
        next_phase();
    }

    from = part(thread, 2);
    for (int i = from; i < from + PART; i++)
        spare[i].real = work[i].real * 0.5; // enter scale
    done[thread] = 5; // exit scale
    next_phase();

    double sum = 0;
    from = part(thread, 3);
    for (int i = from; i < from + PART; i++)
        sum += spare[i].real * spare[i].real; // enter energy
    pthread_mutex_lock(&lock);
    energy += weight * sum;
    done[thread] = 6; // exit energy
    pthread_mutex_unlock(&lock);
    next_phase();

    pthread_mutex_lock(&lock);
    double largest = weight * energy; // enter peak
    peak = peak < largest ? largest : peak;
    done[thread] = 7; // exit peak
    pthread_mutex_unlock(&lock);
    next_phase();

    from = part(thread, 5);
    double sign = peak > 0 ? -1 : 0; // enter conjugate
    for (int i = from; i < from + PART; i++)
        spare[i].imaginary = sign * work[i].imaginary;
    done[thread] = 8; // exit conjugate
    next_phase();

    from = part(thread, 6);
    for (int i = from; i < from + PART; i++) {
        int source = reversed(i);
        work[i].real = spare[source].real * 2; // enter reverse_again
        work[i].imaginary = spare[source].imaginary;
    }
    done[thread] = 9; // exit reverse_again
    next_phase();

    for (int half = 1; half < POINTS; half *= 2) {
        from = part(thread, half) / 2;
        double scale = weight; // enter stage_again
        for (int i = from; i < from + PART / 2; i++)
            combine(work, i, half, scale);
        done[thread] = 10; // exit stage_again
        next_phase();
    }

    from = part(thread, 7);
    for (int i = from; i < from + PART; i++)
        spare[i].real = work[i].real / POINTS; // enter scale_again
    done[thread] = 12; // exit scale_again
    next_phase();

    sum = 0;
    from = part(thread, 8);
    for (int i = from; i < from + PART; i++)
        sum += fabs(spare[i].real - signal[i].real); // enter error
    pthread_mutex_lock(&lock);
    error += weight * sum;
    done[thread] = 13; // exit error
    pthread_mutex_unlock(&lock);
    next_phase();

    pthread_mutex_lock(&lock);
    counted += (int)weight; // enter count
    done[thread] = 14; // exit count (thread end)
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(int argc, char **argv)
{
    workload_start(argc, argv);
    pthread_barrier_init(&barrier, NULL, THREADS);
    weight = 1; // enter prepare
    for (int i = 0; i < POINTS / 2; i++) {
        factors[i].real = cos(2 * M_PI * i / POINTS);
        factors[i].imaginary = -sin(2 * M_PI * i / POINTS);
    }
    counted = 0; // exit prepare
    run_threads(THREADS, worker);
    if (error > 1e-9 || counted != THREADS) // enter report
        is_bad("the inverse is not what was transformed");
    for (int i = 0; i < THREADS; i++)
        done[i] = 0;
    counted = 0; // exit report (thread end)
    return workload_end();
}
