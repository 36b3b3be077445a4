// A name is replaced by strcpy while another thread measures it by strlen.
//
// cc: -fno-builtin
// expect: data-race (A) (B)

#include <pthread.h>
#include <string.h>

char host[32] = "localhost";
static const char *volatile new_host = "example.org";

static void *rename_host(void *unused)
{
    strcpy(host, new_host); // (A)
    return unused;
}

int main(void)
{
    pthread_t renamer;
    pthread_create(&renamer, NULL, rename_host, NULL);
    size_t length = strlen(host); // (B)
    pthread_join(renamer, NULL);
    return length > 31;
}
