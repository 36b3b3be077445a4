/* What `keirin c++` puts in front of every C++ source, for programs that use oneTBB.
 *
 * The mutexes of oneTBB are code of its headers, which call `call_itt_notify` for profiling tools: without saying whether
 * a reader or a writer holds the lock. The functions below take these calls, since they fit better, and pass on the name
 * of the caller, `lock` or `lock_shared`. A source that does not include oneTBB is not changed by this. */
#pragma GCC system_header
#if defined(__cplusplus) && __cplusplus >= 201103L && !defined(KEIRIN_TBB_PRELUDE) && !defined(__TBB_profiling_H)
#define KEIRIN_TBB_PRELUDE
#ifndef TBB_USE_PROFILING_TOOLS
#define TBB_USE_PROFILING_TOOLS 1
#endif
extern "C" {
void __keirin_tbb_mutex(int what, const volatile void* mutex, unsigned long size, const char* function);
void __keirin_tbb_made(const volatile void* mutex, int readers);
void __keirin_tbb_own(void);
void __keirin_tbb_reference(int what, const volatile void* counted, unsigned long size);
void __keirin_tbb_node(int what, const volatile void* node);
}
namespace tbb {
namespace detail {
namespace d1 {
class wait_context;
struct node;
template <typename First, typename Second, typename Third>
struct invoke_subroot_task;

/* Mutexes are the classes with a guard of their own. Whatever else calls is heard by its atomic operations. */
template <typename Mutex>
__attribute__((always_inline)) inline auto keirin_tell(int what, Mutex* mutex, const char* function, int)
    -> decltype(sizeof(typename Mutex::scoped_lock), void()) {
  __keirin_tbb_mutex(what, mutex, sizeof(Mutex), function);
}
template <typename Other>
__attribute__((always_inline)) inline void keirin_tell(int, Other*, const char* function, long) {
  /* How a thread finds its own in a table of all. */
  if (__builtin_strcmp(function, "table_lookup") == 0) __keirin_tbb_own();
}

template <typename What, typename Object>
__attribute__((always_inline)) inline void call_itt_notify(What what, Object* object,
                                                           const char* function = __builtin_FUNCTION()) {
  keirin_tell(static_cast<int>(what), object, function, 0);
}

template <typename Mutex>
__attribute__((always_inline)) inline void create_itt_sync(Mutex* mutex, const char*, const char*) {
  __keirin_tbb_made(mutex, Mutex::is_rw_mutex);
}

/* Counts of references, with how large the object is that they are in. */
template <typename What>
__attribute__((always_inline)) inline void call_itt_task_notify(What what, wait_context* wait) {
  __keirin_tbb_reference(static_cast<int>(what), wait, 2 * sizeof(void*));
}
template <typename What, typename First, typename Second, typename Third>
__attribute__((always_inline)) inline void call_itt_task_notify(What what, invoke_subroot_task<First, Second, Third>* all) {
  __keirin_tbb_reference(static_cast<int>(what), all, sizeof(*all));
}
template <typename What>
__attribute__((always_inline)) inline void call_itt_task_notify(What what, node* parent) {
  __keirin_tbb_node(static_cast<int>(what), parent);
}
}  // namespace d1
}  // namespace detail
}  // namespace tbb
#endif
