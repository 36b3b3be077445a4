// Changes what is around it, and then there is a race.
#define _GNU_SOURCE
#include "race.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static void *hold(void *memory) { return memory; }

int main(int argc, char **argv)
{
    int status = 0;
    CASE("close-range") {
        close_range(3, ~0u, 0);
    }
    CASE("close-loop") {
        for (int i = 3; i < 2000; i++)
            close(i);
    }
    CASE("close-standard") {
        // The next files that are opened get these numbers.
        close(0);
        close(2);
    }
    CASE("closefrom") closefrom(0);
    CASE("dup2") {
        // Whoever writes to one of these descriptors writes here.
        int mine = open(argv[2], O_CREAT | O_RDWR, 0600);
        for (int i = 3; i < 900; i++)
            if (i != mine && dup2(mine, i) != i)
                return 98;
        race();
        return lseek(mine, 0, SEEK_END) == 0 ? 0 : 97;
    }
    CASE("few-descriptors") {
        // The first that is free is the one that it is without us.
        int first = open("/dev/null", O_RDONLY);
        race();
        return first;
    }
    CASE("chdir") status = chdir("/");
    CASE("umask") umask(0777);
    CASE("chroot") {
        status = chroot(argv[2]) || chdir("/");
    }
    CASE("setuid") {
        status = setgid(65534) || setuid(65534);
    }
    CASE("setuid-and-close") {
        status = setgid(65534) || setuid(65534);
        close_range(3, ~0u, 0);
    }
    CASE("limit-data") {
        struct rlimit limit = {512 << 20, 512 << 20}, now;
        setrlimit(RLIMIT_DATA, &limit);
        getrlimit(RLIMIT_DATA, &now);
        race();
        void *little = malloc(1 << 20), *much = malloc(4ul << 30);
        int right = now.rlim_cur == limit.rlim_cur && now.rlim_max == limit.rlim_max;
        return (little != NULL) + 2 * (much == NULL && errno == ENOMEM) + 4 * right;
    }
    CASE("limit-space") {
        struct rlimit limit = {2ul << 30, RLIM_INFINITY}, now;
        setrlimit(RLIMIT_AS, &limit);
        prlimit(0, RLIMIT_AS, NULL, &now);
        race();
        void *little = malloc(1 << 20), *much = malloc(8ul << 30);
        int right = now.rlim_cur == limit.rlim_cur && now.rlim_max == limit.rlim_max;
        return (little != NULL) + 2 * (much == NULL && errno == ENOMEM) + 4 * right;
    }
    CASE("no-memory-at-all") {
        // Asks the kernel itself: neither the program nor the runtime gets any more memory.
        race();
        char *kept = malloc(1 << 20);
        struct rlimit limit = {4096, RLIM_INFINITY};
        if (syscall(SYS_prlimit64, 0, RLIMIT_DATA, &limit, NULL))
            return 98;
        // Makes places, records and locks.
        for (int i = 0; i < 1 << 20; i++)
            kept[i] = (char)i;
        for (int i = 0; i < 4000; i++) {
            pthread_mutex_t *lock = (pthread_mutex_t *)(kept + i * 200);
            pthread_mutex_init(lock, NULL);
            pthread_mutex_lock(lock);
            pthread_mutex_unlock(lock);
        }
        void *much = malloc(8 << 20);
        say(much ? "memory\n" : "no memory\n");
        hold(kept);
        return 3;
    }
    CASE("huge") {
        void *volatile huge = malloc(1ul << 62);
        race();
        return huge == NULL ? 3 : 4;
    }
    if (status)
        return 98;
    race();
    CASE("closefrom") return 3;
    say("raced\n");
    return 3;
}
