#include "counter.h"

int help(int number) { return number * 2; }
