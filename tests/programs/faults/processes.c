// Makes other processes, in every way that there is.
#include "race.h"
#include <errno.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static int await(pid_t child)
{
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 98;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void *hang(void *unused)
{
    for (;;)
        pause();
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    char *another[] = {argv[2], "child", NULL};
    char *nothing[] = {"true", NULL};
    CASE("child") {
        race();
        say("child\n");
        return 5;
    }
    CASE("fork") {
        pid_t child = fork();
        if (child == 0) {
            race();
            say("child\n");
            exit(5);
        }
        return await(child);
    }
    CASE("fork-both") {
        race();
        pid_t child = fork();
        if (child == 0) {
            race();
            say("child\n");
            _exit(5);
        }
        return await(child);
    }
    CASE("fork-of-many") {
        pthread_create(&thread, NULL, hang, NULL);
        race();
        pid_t child = fork();
        if (child == 0) {
            // Malloc and a new thread work in glibc's children.
            free(malloc(100));
            say("child\n");
            exit(5);
        }
        return await(child);
    }
    CASE("fork-and-exec") {
        pid_t child = fork();
        if (child == 0) {
            execv(argv[2], another);
            _exit(97);
        }
        return await(child);
    }
    CASE("fork-of-many-and-exec") {
        pthread_create(&thread, NULL, hang, NULL);
        pid_t child = fork();
        if (child == 0) {
            execv(argv[2], another);
            _exit(97);
        }
        return await(child);
    }
    CASE("vfork") {
        pid_t child = vfork();
        if (child == 0) {
            execv(argv[2], another);
            _exit(97);
        }
        return await(child);
    }
    CASE("exec") {
        race();
        execv(argv[2], another);
        return 97;
    }
    CASE("exec-of-a-stranger") {
        race();
        execvp("true", nothing);
        return 97;
    }
    CASE("failed-exec") {
        execl("/does/not/exist", "exist", (char *)NULL);
        int error = errno;
        race();
        say(error == ENOENT ? "not found\n" : "wrong error\n");
        return 0;
    }
    CASE("spawn") {
        pid_t child;
        race();
        if (posix_spawn(&child, argv[2], NULL, NULL, another, environ))
            return 97;
        return await(child);
    }
    CASE("spawn-of-a-stranger") {
        pid_t child;
        race();
        if (posix_spawnp(&child, "true", NULL, NULL, nothing, environ))
            return 97;
        return await(child);
    }
    CASE("system") {
        race();
        return system("echo shell; exit 3") >> 8;
    }
    CASE("many") {
        // Children one after the other and at the same time, each with threads.
        for (int i = 0; i < 20; i++) {
            pid_t child = fork();
            if (child == 0) {
                race();
                exit(0);
            }
            if (i % 2 && wait(NULL) < 0)
                return 97;
        }
        while (wait(NULL) > 0)
            ;
        return 0;
    }
    return 99;
}
