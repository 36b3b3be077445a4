/* Starts the runtime as a shared object, which has no .preinit_array. */

extern void __keirin_start(int argc, char **argv, char **envp);

__attribute__((section(".init_array"), used)) static void (*const start)(int, char **, char **) = __keirin_start;
