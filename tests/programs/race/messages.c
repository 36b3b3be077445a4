// Buffers in pieces, messages and what belongs to them: functions of the system read and write them while another thread uses
// them without any order. The compilers' own -fsanitize=thread does not see the datagram and the events come.
//
// expect: data-race (pieces-sent) (change-of-pieces)
// expect: data-race (pieces-come) (use-of-pieces)
// expect: data-race (pieces-come) (second-piece)
// expect: data-race (message-sent) (change-of-message)
// expect: data-race (message-come) (use-of-message)
// expect: data-race (datagram-sent) (change-of-datagram)
// expect: data-race (datagram-come) (use-of-datagram)
// expect: data-race (file-written) (change-of-file)
// expect: data-race (file-read) (use-of-file)
// expect: data-race (events) (use-of-events)

#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

char pieces_sent[2][8] = {"first", "second"};
char pieces_come[2][8];
char message_sent[8] = "message", message_come[8];
char datagram_sent[8] = "diagram", datagram_come[8];
char file_written[8] = "content", file_read[8];
struct epoll_event events[2];
int failures;
int sum;

static void must_be(int wanted, ssize_t result)
{
    if (result != wanted)
        failures++;
}

static void *system_calls(void *unused)
{
    int pipe_ends[2], ends[2];
    must_be(0, pipe(pipe_ends));
    must_be(0, socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));

    struct iovec out[2] = {{pieces_sent[0], 8}, {pieces_sent[1], 8}};
    struct iovec in[2] = {{pieces_come[0], 8}, {pieces_come[1], 8}};
    must_be(16, writev(pipe_ends[1], out, 2)); // (pieces-sent)
    must_be(16, readv(pipe_ends[0], in, 2));   // (pieces-come)

    struct iovec piece = {message_sent, 8};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    must_be(8, sendmsg(ends[0], &message, 0)); // (message-sent)
    piece.iov_base = message_come;
    must_be(8, recvmsg(ends[1], &message, 0)); // (message-come)

    must_be(8, sendto(ends[0], datagram_sent, 8, 0, NULL, 0)); // (datagram-sent)

    int set = epoll_create1(0);
    struct epoll_event wanted = {.events = EPOLLIN};
    must_be(0, epoll_ctl(set, EPOLL_CTL_ADD, ends[1], &wanted));
    must_be(1, epoll_wait(set, events, 2, -1)); // (events)

    must_be(8, recvfrom(ends[1], datagram_come, 8, 0, NULL, NULL)); // (datagram-come)

    FILE *file = tmpfile();
    struct iovec written = {file_written, 8}, read = {file_read, 8};
    must_be(8, pwritev(fileno(file), &written, 1, 0)); // (file-written)
    must_be(8, preadv(fileno(file), &read, 1, 0));     // (file-read)
    fclose(file);
    return unused;
}

int main(void)
{
    pthread_t caller;
    pthread_create(&caller, NULL, system_calls, NULL);
    pieces_sent[1][7] = 1;        // (change-of-pieces)
    sum += pieces_come[0][0];     // (use-of-pieces)
    sum += pieces_come[1][7];     // (second-piece)
    message_sent[7] = 1;          // (change-of-message)
    sum += message_come[7];       // (use-of-message)
    datagram_sent[7] = 1;         // (change-of-datagram)
    sum += datagram_come[7];      // (use-of-datagram)
    file_written[7] = 1;          // (change-of-file)
    sum += file_read[7];          // (use-of-file)
    sum += events[0].events != 0; // (use-of-events)
    pthread_join(caller, NULL);
    return failures;
}
