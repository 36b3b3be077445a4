// Text, times and sorted elements that functions of the C library write into memory which another thread uses without any
// order; with the functions that check the room, and without.
//
// cc: -O2 -D_FORTIFY_SOURCE=2
// expect: data-race (snprintf) (use-of-snprintf)
// expect: data-race (sprintf) (use-of-sprintf)
// expect: data-race (vsnprintf) (use-of-vsnprintf)
// expect: data-race (unchecked) (use-of-unchecked)
// expect: data-race (clock) (use-of-clock)
// expect: data-race (calendar) (use-of-calendar)
// expect: data-race (sort) (use-of-sort)
// expect: data-race (getline) (use-of-getline)
// expect: data-race (fputs) (change-of-fputs)

#define _GNU_SOURCE
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

char by_snprintf[32], by_sprintf[32], by_vsnprintf[32];
char *volatile by_unchecked;
struct timespec now;
struct tm day;
int elements[4] = {4, 3, 2, 1};
char *line;
size_t room;
char text[8] = "text\n";
int failures;

static void must_be(int wanted, int result)
{
    if (result != wanted)
        failures++;
}

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) static int print(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int length = vsnprintf(by_vsnprintf, sizeof by_vsnprintf, format, list); // (vsnprintf)
    va_end(list);
    return length;
}

static void *functions(void *unused)
{
    // More arguments than registers, and of both kinds.
    const char *format = "%d %d %d %g %d %d %d %d";
    const char *volatile fixed = "%d";
    must_be(17, snprintf(by_snprintf, sizeof by_snprintf, format, 1, 2, 3, 4.5, 5, 6, 7, 8)); // (snprintf)
    must_be(0, strcmp(by_snprintf, "1 2 3 4.5 5 6 7 8"));
    must_be(2, sprintf(by_sprintf, fixed, 42)); // (sprintf)
    must_be(0, strcmp(by_sprintf, "42"));
    must_be(5, print("%s %.1f", "a", 2.5));
    must_be(0, strcmp(by_vsnprintf, "a 2.5"));
    char *unchecked = by_unchecked;
    must_be(3, snprintf(unchecked, 3, "%g", 1.5)); // (unchecked)
    must_be(0, strcmp(unchecked, "1."));
    clock_gettime(CLOCK_REALTIME, &now); // (clock)
    time_t zero = 0;
    gmtime_r(&zero, &day);                  // (calendar)
    qsort(elements, 4, sizeof(int), compare); // (sort)
    FILE *file = tmpfile();
    fputs(text, file); // (fputs)
    rewind(file);
    must_be(5, getline(&line, &room, file)); // (getline)
    fclose(file);
    return unused;
}

int main(void)
{
    by_unchecked = malloc(8);
    memset(by_unchecked, 0, 8);
    pthread_t caller;
    pthread_create(&caller, NULL, functions, NULL);
    long sum = by_snprintf[17];   // (use-of-snprintf)
    sum += by_sprintf[1];         // (use-of-sprintf)
    sum += by_vsnprintf[3];       // (use-of-vsnprintf)
    sum += by_unchecked[2];       // (use-of-unchecked)
    sum += now.tv_nsec > 0;       // (use-of-clock)
    sum += day.tm_year;           // (use-of-calendar)
    sum += elements[2];           // (use-of-sort)
    sum += room > 0;              // (use-of-getline)
    text[2] = 't';                // (change-of-fputs)
    pthread_join(caller, NULL);
    return failures || sum < 0;
}
