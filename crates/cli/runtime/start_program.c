/* Starts the runtime in an executable: before the constructors of the program and of its libraries. */

extern void __keirin_start(int argc, char **argv, char **envp);

__attribute__((section(".preinit_array"), used)) static void (*const start)(int, char **, char **) = __keirin_start;
