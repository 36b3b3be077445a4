// The library of in_a_library.c.

int records;

void *record(void *unused)
{
    records++; // (A)
    return unused;
}
