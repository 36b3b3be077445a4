// Which calls take and release locks, and which other calls a lock does not care about.
//
// The functions of C++ headers that spin, or try again, are kept out of line (`keepLocks`): behind such a loop nothing could be
// followed. Guards are always inlined, and all else usually is, so that in the end `std::mutex` is a call of pthread, and a guard is
// nothing at all. Only the guards of `tbb::queuing_mutex` stay: they are part of its queue.
#pragma once

#include "common.h"

#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Demangle/Demangle.h"

namespace keirin {

/// What a call does to locks.
struct LockOperation {
  enum Kind {
    None,
    Acquire,
    Release,
    /// Takes it or not, and says so.
    Try,
  };
  Kind What = None;
  /// Held by readers, together. Of a release it is not always known.
  bool Shared = false;
  /// Arguments of the call: the first lock and how many follow it.
  unsigned Lock = 0, Locks = 1;
  /// The argument that is the guard, by which a lock is released that the call does not name; -1 if there is none.
  int Guard = -1;
};

namespace locks {

struct Known {
  StringRef Name;
  LockOperation Operation;
};

using Op = LockOperation;

/// Functions of C.
inline const Known *ofC() {
  static const Known Table[] = {
      {"pthread_mutex_lock", {Op::Acquire}},
      {"pthread_mutex_unlock", {Op::Release}},
      {"pthread_mutex_trylock", {Op::Try}},
      {"pthread_mutex_timedlock", {Op::Try}},
      {"pthread_mutex_clocklock", {Op::Try}},
      {"pthread_spin_lock", {Op::Acquire}},
      {"pthread_spin_unlock", {Op::Release}},
      {"pthread_spin_trylock", {Op::Try}},
      {"pthread_rwlock_rdlock", {Op::Acquire, true}},
      {"pthread_rwlock_wrlock", {Op::Acquire}},
      {"pthread_rwlock_unlock", {Op::Release}},
      {"pthread_rwlock_tryrdlock", {Op::Try, true}},
      {"pthread_rwlock_trywrlock", {Op::Try}},
      {"pthread_rwlock_timedrdlock", {Op::Try, true}},
      {"pthread_rwlock_timedwrlock", {Op::Try}},
      {"pthread_rwlock_clockrdlock", {Op::Try, true}},
      {"pthread_rwlock_clockwrlock", {Op::Try}},
      {"mtx_lock", {Op::Acquire}},
      {"mtx_unlock", {Op::Release}},
      {"mtx_trylock", {Op::Try}},
      {"mtx_timedlock", {Op::Try}},
      {"omp_set_lock", {Op::Acquire}},
      {"omp_unset_lock", {Op::Release}},
      {"omp_test_lock", {Op::Try}},
      {"omp_set_nest_lock", {Op::Acquire}},
      {"omp_unset_nest_lock", {Op::Release}},
      {"omp_test_nest_lock", {Op::Try}},
      // What the compiler makes of `omp critical`: place, thread, the variable that stands for its name.
      {"__kmpc_critical", {Op::Acquire, false, 2}},
      {"__kmpc_critical_with_hint", {Op::Acquire, false, 2}},
      {"__kmpc_end_critical", {Op::Release, false, 2}},
      {"", {}},
  };
  return Table;
}

/// Methods, by their names behind that of a class which is a lock.
inline const Known *ofClasses() {
  static const Known Table[] = {
      {"lock", {Op::Acquire}},
      {"unlock", {Op::Release}},
      {"try_lock", {Op::Try}},
      {"try_lock_for", {Op::Try}},
      {"try_lock_until", {Op::Try}},
      {"lock_shared", {Op::Acquire, true}},
      {"unlock_shared", {Op::Release, true}},
      {"try_lock_shared", {Op::Try, true}},
      {"try_lock_shared_for", {Op::Try, true}},
      {"try_lock_shared_until", {Op::Try, true}},
      {"", {}},
  };
  return Table;
}

inline bool isLockClass(StringRef Class) {
  for (StringRef Name :
       {"std::mutex", "std::recursive_mutex", "std::timed_mutex", "std::recursive_timed_mutex", "std::shared_mutex",
        "std::shared_timed_mutex", "std::__shared_mutex_pthread", "tbb::spin_mutex", "tbb::mutex",
        "tbb::spin_rw_mutex", "tbb::rw_mutex", "tbb::rtm_mutex", "tbb::rtm_rw_mutex"})
    if (Class == Name)
      return true;
  return false;
}

/// A demangled name without its template arguments and parameters, and without the namespaces that libraries use for versions.
inline std::string plainName(StringRef Demangled) {
  std::string Plain;
  int Depth = 0;
  for (char C : Demangled) {
    if (C == '<')
      ++Depth;
    else if (C == '>')
      --Depth;
    else if (C == '(' && !Depth)
      break;
    else if (!Depth)
      Plain += C;
  }
  // A template has its result in front.
  size_t Blank = Plain.rfind(' ');
  if (Blank != std::string::npos)
    Plain.erase(0, Blank + 1);
  for (StringRef Version : {"__1::", "detail::", "d0::", "d1::", "d2::", "r1::"})
    for (size_t At; (At = Plain.find(Version.str())) != std::string::npos;)
      Plain.erase(At, Version.size());
  return Plain;
}

inline LockOperation ofName(const Function &F) {
  StringRef Name = F.getName();
  for (const Known *K = ofC(); !K->Name.empty(); ++K)
    if (K->Name == Name)
      return K->Operation;
  if (!isOfStandardLibrary(Name) && !isOfTbb(Name))
    return {};
  std::string Plain = plainName(demangle(Name.str()));
  StringRef Rest(Plain);
  if (Rest == "std::lock" && F.arg_size() >= 2)
    return {Op::Acquire, false, 0, unsigned(F.arg_size())};
  if (Rest == "tbb::queuing_mutex::scoped_lock::acquire" || (Rest == "tbb::queuing_mutex::scoped_lock::scoped_lock" && F.arg_size() == 2))
    return {Op::Acquire, false, 1, 1, 0};
  if (Rest == "tbb::queuing_mutex::scoped_lock::release" || Rest == "tbb::queuing_mutex::scoped_lock::~scoped_lock")
    return {Op::Release, false, 0, 0, 0};
  if (Rest == "tbb::queuing_mutex::scoped_lock::try_acquire")
    return {Op::Try};
  size_t Colon = Rest.rfind("::");
  if (Colon == StringRef::npos || !isLockClass(Rest.substr(0, Colon)))
    return {};
  for (const Known *K = ofClasses(); !K->Name.empty(); ++K)
    if (K->Name == Rest.substr(Colon + 2))
      return K->Operation;
  return {};
}

} // namespace locks

/// Answers for the functions of a module, each found out once.
class Locks {
public:
  LockOperation of(const Function *F) {
    if (!F || !F->hasName())
      return {};
    auto [Found, New] = Known.try_emplace(F);
    if (New)
      Found->second = locks::ofName(*F);
    return Found->second;
  }
  LockOperation of(const CallBase &Call) { return of(Call.getCalledFunction()); }

private:
  DenseMap<const Function *, LockOperation> Known;
};

/// True for methods of guards.
inline bool isOfGuard(const Function &F) {
  if (!isOfStandardLibrary(F.getName()) && !isOfTbb(F.getName()))
    return false;
  std::string Plain = locks::plainName(demangle(F.getName().str()));
  StringRef Class = StringRef(Plain).substr(0, StringRef(Plain).rfind("::"));
  for (StringRef Name : {"std::lock_guard", "std::unique_lock", "std::shared_lock", "std::scoped_lock", "tbb::unique_scoped_lock",
                         "tbb::rw_scoped_lock"})
    if (Class == Name)
      return true;
  return false;
}

/// Keeps functions with loops, by which locks are taken, as calls until the pass has seen them, and has guards inlined.
inline void keepLocks(Module &M) {
  Locks Known;
  auto Loops = [](StringRef Name) { return isOfTbb(Name) || Name.contains("lock_shared") || Name.substr(0, 9) == "_ZSt4lock"; };
  for (Function &F : M)
    if (!F.isDeclaration() && Loops(F.getName()) && Known.of(&F).What != LockOperation::None) {
      F.removeFnAttr(Attribute::AlwaysInline);
      F.addFnAttr(Attribute::NoInline);
    } else if (!F.isDeclaration() && !F.hasFnAttribute(Attribute::NoInline) && isOfGuard(F)) {
      F.addFnAttr(Attribute::AlwaysInline);
    }
}

/// True for calls that give new memory.
inline bool isAllocation(const CallBase &Call) {
  const Function *F = Call.getCalledFunction();
  StringRef Name = F ? F->getName() : StringRef();
  return Name == "malloc" || Name == "calloc" || Name.substr(0, 5) == "_Znwm" || Name.substr(0, 5) == "_Znam";
}

/// True if a call has nothing to do with locks, threads or tasks, whatever it does otherwise.
inline bool isHarmless(const CallBase &Call, const TargetLibraryInfo &Library) {
  if (isa<IntrinsicInst>(Call) || Call.doesNotAccessMemory() || Call.onlyReadsMemory())
    return true;
  const Function *F = Call.getCalledFunction();
  if (!F)
    return false;
  LibFunc Known;
  if (Library.getLibFunc(*F, Known))
    return true;
  StringRef Name = F->getName();
  for (StringRef Start : {"omp_get_", "__cxa_", "_ZNSo", "_ZNSi", "_ZSt16__ostream_insert", "_ZStls", "_ZSt4endl", "_ZSt5flush",
                          "_ZNSt7__cxx1112basic_string", "__keirin_", "_ZSt20__throw"})
    if (Name.substr(0, Start.size()) == Start)
      return Name.substr(0, 16) != "__cxa_guard_acqu";
  for (StringRef Other : {"__kmpc_global_thread_num", "usleep", "nanosleep", "sched_yield", "clock_gettime", "gettimeofday", "time",
                          "pthread_self", "rand", "random", "rand_r", "getenv", "sleep"})
    if (Name == Other)
      return true;
  return false;
}

} // namespace keirin
