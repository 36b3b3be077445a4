// Data is handed over by messages in pieces, by datagrams, and by sets of descriptors: who gets them comes after who sent them.
// The compilers' own -fsanitize=thread, for which pairs of sockets order nothing, reports a race on what the message hands over.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static int by_pieces[2], by_message[2], by_datagram[2], set;
static int first, second, third;
static char datagram[8] = "is sent", buffer[64];

struct connection {
    int descriptor;
    int uses;
};

static void *sender(void *unused)
{
    char a = 'a', b[2] = "b";
    struct iovec pieces[2] = {{&a, 1}, {b, 2}};
    first = 1;
    if (writev(by_pieces[1], pieces, 2) != 3)
        abort();
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2};
    second = 2;
    if (sendmsg(by_message[0], &message, 0) != 3)
        abort();
    third = 3;
    if (sendto(by_datagram[0], datagram, 8, 0, NULL, 0) != 8)
        abort();

    // The connection belongs to who gets its events.
    struct connection *connection = malloc(sizeof *connection);
    connection->descriptor = by_pieces[0];
    connection->uses = 1;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    if (epoll_ctl(set, EPOLL_CTL_ADD, by_pieces[0], &event) != 0)
        abort();
    return unused;
}

static void *receiver(void *unused)
{
    char a[2], b[1];
    struct iovec pieces[2] = {{a, 2}, {b, 1}};
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2};
    if (recvmsg(by_message[1], &message, 0) != 3 || second != 2 || a[1] != 'b')
        abort();
    // A message that is longer than there is room for: nothing is written behind it.
    if (recvfrom(by_datagram[1], buffer, 4, MSG_TRUNC, NULL, NULL) != 8 || third != 3)
        abort();

    struct epoll_event event;
    if (epoll_wait(set, &event, 1, -1) != 1)
        abort();
    struct connection *connection = event.data.ptr;
    connection->uses++;
    if (readv(connection->descriptor, pieces, 2) != 3 || first != 1)
        abort();
    free(connection);
    return unused;
}

static void *neighbour(void *unused)
{
    strcpy(buffer + 4, "not touched");
    return unused;
}

int main(void)
{
    if (pipe(by_pieces) || socketpair(AF_UNIX, SOCK_STREAM, 0, by_message) ||
        socketpair(AF_UNIX, SOCK_DGRAM, 0, by_datagram))
        return 1;
    set = epoll_create1(EPOLL_CLOEXEC);
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, sender, NULL);
    pthread_create(&threads[1], NULL, receiver, NULL);
    pthread_create(&threads[2], NULL, neighbour, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return strcmp(buffer + 4, "not touched") != 0;
}
