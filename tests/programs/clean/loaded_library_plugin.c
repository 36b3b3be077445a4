// The library of loaded_library.c. Its caller holds a lock.

static int memory[100];

int count(int index)
{
    memory[index] = index + 1;
    return memory[index];
}
