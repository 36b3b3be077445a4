// A text buffer appends another one: it asks for the length under the other's lock, makes room, then copies under the
// lock again. If the other shrinks in between, the room is not filled.
//
// run: --analysis fasttrack,velodrome
// expect: atomicity-violation TextBuffer::append
// prints: 5 of 11

#include "schedule.h"
#include <cstdio>
#include <keirin.h>
#include <mutex>
#include <string>
#include <thread>

class TextBuffer {
public:
    explicit TextBuffer(std::string text) : text_(std::move(text)) {}

    std::size_t length()
    {
        std::lock_guard guard(lock_);
        return text_.size();
    }
    std::size_t copy_to(char *target, std::size_t room)
    {
        std::lock_guard guard(lock_);
        return text_.copy(target, room);
    }
    void shorten(std::size_t length)
    {
        std::lock_guard guard(lock_);
        text_.resize(length);
    }
    void append(TextBuffer &other)
    {
        std::lock_guard guard(lock_);
        KEIRIN_ATOMIC("TextBuffer::append")
        {
            std::size_t room = other.length();
            moment_reached(1);
            await_moment(2);
            std::string copy(room, ' ');
            std::printf("%zu of %zu\n", other.copy_to(copy.data(), room), room);
            text_ += copy;
        }
    }

private:
    std::mutex lock_;
    std::string text_;
};

int main()
{
    TextBuffer log(""), line("hello world");
    std::thread appender([&] { log.append(line); });
    std::thread editor([&] {
        await_moment(1);
        line.shorten(5);
        moment_reached(2);
    });
    appender.join();
    editor.join();
}
