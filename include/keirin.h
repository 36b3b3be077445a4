/* Annotations for keirin, for C99 and C++11 and later.
 *
 * They tell keirin what only the author of a program knows: which steps must happen together, what orders threads without
 * the library's knowing. Without keirin they are nothing: no code, no symbols, no header but this one is needed.
 * `keirin cc` and `keirin c++` define __KEIRIN__ and find this header by themselves.
 *
 * Arguments must have no side effects: without keirin they are not evaluated.
 */
#ifndef KEIRIN_H
#define KEIRIN_H

#ifdef __KEIRIN__

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct keirin_member_ {
    const volatile void *address;
    size_t size;
};

void __keirin_atomic_begin(const char *label);
void __keirin_atomic_end(void);
void __keirin_group(const struct keirin_member_ *members, size_t count);
void __keirin_name(const volatile void *address, size_t size, const char *name);
void __keirin_happens_before(const volatile void *token);
void __keirin_happens_after(const volatile void *token);
void __keirin_ignore_begin(void);
void __keirin_ignore_end(void);

#ifdef __cplusplus
}
#endif

/* A block that is atomic ends with keirin_atomic_end(). The label must live as long as the program: use a literal. */
#define keirin_atomic_begin(label) __keirin_atomic_begin(label)
#define keirin_atomic_end() __keirin_atomic_end()

/* What this thread did so far comes before whatever follows a keirin_happens_after(token) of the same pointer. */
#define keirin_happens_before(token) __keirin_happens_before(token)
#define keirin_happens_after(token) __keirin_happens_after(token)

/* Accesses of this thread in between are disregarded. */
#define keirin_ignore_begin() __keirin_ignore_begin()
#define keirin_ignore_end() __keirin_ignore_end()

/* The variable that `address` points to has this name in reports. */
#define keirin_name(address, name) __keirin_name((address), sizeof *(address), (name))

#else /* without keirin */

/* The operand of sizeof is not evaluated, but counts as used. */
#define keirin_atomic_begin(label) ((void)sizeof(label))
#define keirin_atomic_end() ((void)0)
#define keirin_happens_before(token) ((void)sizeof(token))
#define keirin_happens_after(token) ((void)sizeof(token))
#define keirin_ignore_begin() ((void)0)
#define keirin_ignore_end() ((void)0)
#define keirin_name(address, name) ((void)sizeof(*(address)), (void)sizeof(name))

#endif

#define KEIRIN_JOIN_(a, b) a##b
#define KEIRIN_JOIN(a, b) KEIRIN_JOIN_(a, b)

/* KEIRIN_ATOMIC("label") { ... } is a block that is atomic, KEIRIN_IGNORE { ... } one whose accesses are disregarded. They
 * end however the block is left: at its end, by return, break, continue or goto, and by an exception.
 *
 * keirin_group(&a, &b, ...): these variables must be seen together. Up to eight of them.
 */
#ifdef __cplusplus

#ifdef __KEIRIN__

namespace keirin_detail {

class Atomic {
  public:
    explicit Atomic(const char *label) { __keirin_atomic_begin(label); }
    ~Atomic() { __keirin_atomic_end(); }
    Atomic(const Atomic &) = delete;
    Atomic &operator=(const Atomic &) = delete;
    explicit operator bool() const { return false; }
};

class Ignore {
  public:
    explicit Ignore(int) { __keirin_ignore_begin(); }
    ~Ignore() { __keirin_ignore_end(); }
    Ignore(const Ignore &) = delete;
    Ignore &operator=(const Ignore &) = delete;
    explicit operator bool() const { return false; }
};

template <class... Members> inline void group(Members *...members) {
    const keirin_member_ all[] = {{members, sizeof(Members)}...};
    __keirin_group(all, sizeof...(Members));
}

} // namespace keirin_detail

/* The object lives until the end of the else branch, which is the block. */
#define KEIRIN_ATOMIC(label)                                                                                                   \
    if (::keirin_detail::Atomic KEIRIN_JOIN(keirin_atomic_, __LINE__){label}) {                                                \
    } else
#define KEIRIN_IGNORE                                                                                                          \
    if (::keirin_detail::Ignore KEIRIN_JOIN(keirin_ignore_, __LINE__){0}) {                                                    \
    } else
#define keirin_group(...) ::keirin_detail::group(__VA_ARGS__)

#else /* C++ without keirin */

#define KEIRIN_ATOMIC(label)                                                                                                   \
    if (false) {                                                                                                               \
    } else
#define KEIRIN_IGNORE                                                                                                          \
    if (false) {                                                                                                               \
    } else

namespace keirin_detail {
template <class... Members> inline int group(Members *...);
}
#define keirin_group(...) ((void)sizeof(::keirin_detail::group(__VA_ARGS__)))

#endif

#else /* C */

/* In C the block is a loop that runs once: break and continue within it leave the block and not a loop around it. It is the
 * same loop without keirin, so that a program does the same. */
#ifdef __KEIRIN__

static inline int keirin_atomic_enter_(const char *label) {
    __keirin_atomic_begin(label);
    return 1;
}

static inline void keirin_atomic_leave_(int *once) {
    (void)once;
    __keirin_atomic_end();
}

static inline int keirin_ignore_enter_(void) {
    __keirin_ignore_begin();
    return 1;
}

static inline void keirin_ignore_leave_(int *once) {
    (void)once;
    __keirin_ignore_end();
}

#define KEIRIN_BLOCK_(once, enter, leave) for (int once __attribute__((__cleanup__(leave))) = enter; once; once = 0)
#define KEIRIN_ATOMIC(label)                                                                                                   \
    KEIRIN_BLOCK_(KEIRIN_JOIN(keirin_atomic_, __LINE__), keirin_atomic_enter_(label), keirin_atomic_leave_)
#define KEIRIN_IGNORE KEIRIN_BLOCK_(KEIRIN_JOIN(keirin_ignore_, __LINE__), keirin_ignore_enter_(), keirin_ignore_leave_)

#define KEIRIN_MEMBER_(p) {(p), sizeof *(p)}
#define KEIRIN_MEMBERS_1_(a) KEIRIN_MEMBER_(a)
#define KEIRIN_MEMBERS_2_(a, b) KEIRIN_MEMBERS_1_(a), KEIRIN_MEMBER_(b)
#define KEIRIN_MEMBERS_3_(a, b, c) KEIRIN_MEMBERS_2_(a, b), KEIRIN_MEMBER_(c)
#define KEIRIN_MEMBERS_4_(a, b, c, d) KEIRIN_MEMBERS_3_(a, b, c), KEIRIN_MEMBER_(d)
#define KEIRIN_MEMBERS_5_(a, b, c, d, e) KEIRIN_MEMBERS_4_(a, b, c, d), KEIRIN_MEMBER_(e)
#define KEIRIN_MEMBERS_6_(a, b, c, d, e, f) KEIRIN_MEMBERS_5_(a, b, c, d, e), KEIRIN_MEMBER_(f)
#define KEIRIN_MEMBERS_7_(a, b, c, d, e, f, g) KEIRIN_MEMBERS_6_(a, b, c, d, e, f), KEIRIN_MEMBER_(g)
#define KEIRIN_MEMBERS_8_(a, b, c, d, e, f, g, h) KEIRIN_MEMBERS_7_(a, b, c, d, e, f, g), KEIRIN_MEMBER_(h)
#define keirin_group(...)                                                                                                      \
    __keirin_group(                                                                                                            \
        (const struct keirin_member_[]){KEIRIN_JOIN(KEIRIN_MEMBERS_, KEIRIN_COUNT_(__VA_ARGS__))(__VA_ARGS__)},                \
        KEIRIN_NUMBER_(__VA_ARGS__))

#else /* C without keirin */

#define KEIRIN_BLOCK_(once) for (int once = 1; once; once = 0)
#define KEIRIN_ATOMIC(label) KEIRIN_BLOCK_(KEIRIN_JOIN(keirin_atomic_, __LINE__))
#define KEIRIN_IGNORE KEIRIN_BLOCK_(KEIRIN_JOIN(keirin_ignore_, __LINE__))

#define KEIRIN_MEMBERS_1_(a) ((void)sizeof(a))
#define KEIRIN_MEMBERS_2_(a, b) (KEIRIN_MEMBERS_1_(a), KEIRIN_MEMBERS_1_(b))
#define KEIRIN_MEMBERS_3_(a, b, c) (KEIRIN_MEMBERS_2_(a, b), KEIRIN_MEMBERS_1_(c))
#define KEIRIN_MEMBERS_4_(a, b, c, d) (KEIRIN_MEMBERS_3_(a, b, c), KEIRIN_MEMBERS_1_(d))
#define KEIRIN_MEMBERS_5_(a, b, c, d, e) (KEIRIN_MEMBERS_4_(a, b, c, d), KEIRIN_MEMBERS_1_(e))
#define KEIRIN_MEMBERS_6_(a, b, c, d, e, f) (KEIRIN_MEMBERS_5_(a, b, c, d, e), KEIRIN_MEMBERS_1_(f))
#define KEIRIN_MEMBERS_7_(a, b, c, d, e, f, g) (KEIRIN_MEMBERS_6_(a, b, c, d, e, f), KEIRIN_MEMBERS_1_(g))
#define KEIRIN_MEMBERS_8_(a, b, c, d, e, f, g, h) (KEIRIN_MEMBERS_7_(a, b, c, d, e, f, g), KEIRIN_MEMBERS_1_(h))
#define keirin_group(...) KEIRIN_JOIN(KEIRIN_MEMBERS_, KEIRIN_COUNT_(__VA_ARGS__))(__VA_ARGS__)

#endif

/* How many arguments there are: as a number, and as the end of a macro's name. */
#define KEIRIN_PICK_(a, b, c, d, e, f, g, h, count, ...) count
#define KEIRIN_NUMBER_(...) KEIRIN_PICK_(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define KEIRIN_COUNT_(...) KEIRIN_PICK_(__VA_ARGS__, 8_, 7_, 6_, 5_, 4_, 3_, 2_, 1_, 0)

#endif

#endif
