// A library that is loaded and unloaded many times.
static int total;

int add(int number)
{
    total += number;
    return total;
}
