// A parser leaves deep recursion by longjmp, many times and in two threads; the calls that were skipped are forgotten,
// and what comes later is told with the right stack.
//
// prints: 2000 errors

#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>

struct parser {
    jmp_buf on_error;
    int depth;
    int errors;
};

__attribute__((noinline)) static void parse(struct parser *parser, int depth)
{
    parser->depth = depth;
    if (parser->errors < 0)
        return;
    if (depth == 20)
        longjmp(parser->on_error, 1);
    parse(parser, depth + 1);
    parser->depth = -1;
}

static void *parse_badly(void *argument)
{
    struct parser *parser = argument;
    for (volatile int i = 0; i < 1000; i++) {
        if (setjmp(parser->on_error) == 0)
            parse(parser, 0);
        else
            parser->errors++;
    }
    return NULL;
}

int main(void)
{
    static struct parser parsers[2];
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, parse_badly, &parsers[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%d errors\n", parsers[0].errors + parsers[1].errors);
    return 0;
}
