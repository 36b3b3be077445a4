#ifndef SHARED_H
#define SHARED_H
#ifdef __cplusplus
extern "C" {
#endif
void count(int by);
int counted(void);
void put(int place, int value);
int at(int place);
#ifdef __cplusplus
}
#endif
#endif
