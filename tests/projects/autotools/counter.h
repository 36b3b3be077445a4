void count(void);
int counted(void);
int help(int number);
