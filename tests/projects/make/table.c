#include "shared.h"
#include <string.h>

static struct { int values[16]; } now, before;

void put(int place, int value) {
    memcpy(&before, &now, sizeof now);
    now.values[place & 15] = value;
}

int at(int place) { return now.values[place & 15] - before.values[place & 15]; }
