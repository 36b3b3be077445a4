// What may end a step of a task, order threads, or change which locks are held. Between two such things all accesses of a thread have the
// same step, the same locks and the same place among what other threads do.
//
// Stricter than `isHarmless`, which is asked about locks alone: here all that is not known to be nothing of the kind counts.
#pragma once

#include "access.h"
#include "locks.h"

#include "llvm/IR/InstIterator.h"

namespace keirin {

/// True for functions of the C library that compute something from their arguments.
inline bool isMathematical(StringRef Name) {
  static const StringSet<> Known = [] {
    StringSet<> Names;
    for (StringRef Name :
         {"acos",  "acosh", "asin",   "asinh", "atan",  "atan2",     "atanh",     "cbrt",    "ceil",  "copysign", "cos",
          "cosh",  "erf",   "erfc",   "exp",   "exp2",  "expm1",     "fabs",      "fdim",    "floor", "fma",      "fmax",
          "fmin",  "fmod",  "hypot",  "ldexp", "log",   "log10",     "log1p",     "log2",    "logb",  "lrint",    "lround",
          "llrint", "llround", "nearbyint", "pow", "remainder", "rint", "round", "scalbn", "sin", "sinh",  "sqrt",
          "tan",   "tanh",  "tgamma", "trunc", "abs",   "labs",      "llabs"}) {
      Names.insert(Name);
      Names.insert((Name + "f").str());
      Names.insert((Name + "l").str());
    }
    return Names;
  }();
  return Known.count(Name);
}

/// What an instruction is to accesses before and behind it.
enum class Stir {
  /// Nothing.
  None,
  /// It accesses memory in a way that is not looked at.
  Touches,
  /// A step, locks or order may be others behind it.
  Ends,
};

inline Stir stirOf(Instruction &I) {
  if (isa<FenceInst>(I) || I.isAtomic())
    return Stir::Ends;
  auto *Call = dyn_cast<CallBase>(&I);
  if (!Call)
    return I.isVolatile() ? Stir::Touches : Stir::None;
  if (isa<AnyMemIntrinsic>(Call))
    return Stir::Touches;
  if (isa<IntrinsicInst>(Call))
    return Call->doesNotThrow() ? Stir::None : Stir::Ends;
  if (Call->isInlineAsm() || !Call->doesNotThrow())
    return Stir::Ends;
  const Function *F = Call->getCalledFunction();
  StringRef Name = F ? F->getName() : StringRef();
  if (Name == "__keirin_accesses")
    return Stir::Touches;
  if (Call->doesNotAccessMemory() || (F && F->isDeclaration() && isMathematical(Name)))
    return Stir::None;
  return Stir::Ends;
}

/// True if what the sanitizer tells of an instruction can be told in another way: a plain read or write of a usual size.
inline bool isOrdinary(const Access &A) {
  if (A.Atomic || A.Length || !(isa<LoadInst>(A.At) || isa<StoreInst>(A.At)) || A.At->isVolatile())
    return false;
  if (A.Size > 16 || !isPowerOf2_64(A.Size))
    return false;
  // The sanitizer has calls of its own for pointers to tables of virtual functions.
  MDNode *Kind = A.At->getMetadata(LLVMContext::MD_tbaa);
  return !Kind || !Kind->isTBAAVtableAccess();
}

/// True if nothing that a function does is told, nor anything that it calls. Then nobody needs to know that it is among the open calls.
inline bool isSilent(Function &F, Accesses &Memory) {
  return all_of(instructions(F), [&](Instruction &I) { return stirOf(I) == Stir::None && Memory.of(I).empty(); });
}

} // namespace keirin
