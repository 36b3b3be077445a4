// What all parts of the pass use.
//
// The pass is one translation unit, `plugin.cpp`: it is compiled on the machine of the user, and reading LLVM's headers takes most
// of that time. So the parts are headers with code in them.
#pragma once

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Path.h"

#include <memory>
#include <string>
#include <vector>

namespace keirin {
using namespace llvm;

/// What a build shall tell. The name of the plugin's file says it, see `plugin.cpp`.
struct Options {
  /// What the other sides of branches would do.
  bool Branches = false;
  /// Values that are read and written, and conditions of branches.
  bool Values = false;
  /// Loops and their iterations.
  bool Loops = false;
  /// Accesses that tell nothing new are left out, and those of loops told together.
  bool Lean = false;
};

/// Marks what the pass itself reads and writes: the sanitizer leaves it alone.
inline void unwatched(Instruction *I) {
  I->setMetadata(LLVMContext::MD_nosanitize, MDNode::get(I->getContext(), {}));
}

/// The line that an instruction stands in, with the calls that were inlined, which do not tell columns apart. Null: it is not known.
inline DILocation *lineOf(const Instruction &I) {
  DILocation *At = I.getDebugLoc().get();
  return At ? DILocation::get(At->getContext(), At->getLine(), 0, At->getScope(), At->getInlinedAt()) : nullptr;
}

/// Where an instruction comes from: its innermost function by its mangled name, inlined or not. Empty if it is not known, as of
/// instructions that were moved.
inline StringRef originOf(const Instruction &I) {
  if (const DebugLoc &At = I.getDebugLoc())
    if (const auto *Scope = dyn_cast_or_null<DILocalScope>(At.getScope()))
      if (const DISubprogram *Function = Scope->getSubprogram())
        return Function->getLinkageName().empty() ? Function->getName() : Function->getLinkageName();
  return I.getFunction()->getSubprogram() ? StringRef() : I.getFunction()->getName();
}

/// True for names in a namespace of the C++ library.
inline bool isOfStandardLibrary(StringRef Mangled) {
  for (StringRef Start : {"_ZSt", "_ZNSt", "_ZNKSt", "_ZN9__gnu_cxx", "_ZNK9__gnu_cxx", "_ZNSa", "_ZNSs"})
    if (Mangled.substr(0, Start.size()) == Start)
      return true;
  return false;
}

/// True for names in the namespace of oneTBB.
inline bool isOfTbb(StringRef Mangled) {
  for (StringRef Start : {"_ZN3tbb", "_ZNK3tbb", "_ZNO3tbb"})
    if (Mangled.substr(0, Start.size()) == Start)
      return true;
  return false;
}

/// True for an instruction by which oneTBB hands out tasks and waits for them: its loops, groups and arenas, not its containers, which
/// the program asks. What the library calls belongs to it, except the program's own functions.
inline bool isOfTbbTasks(const Instruction &I) {
  for (const DILocation *At = I.getDebugLoc(); At; At = At->getInlinedAt()) {
    const DISubprogram *Function = At->getScope()->getSubprogram();
    StringRef Name = Function ? Function->getLinkageName() : StringRef();
    if (isOfStandardLibrary(Name))
      continue;
    if (!isOfTbb(Name))
      return false;
    StringRef File = sys::path::filename(Function->getFilename());
    // Waits and what is done once, for all parts of the library.
    if (File == "_utils.h")
      continue;
    for (StringRef Known : {"_task.h", "partitioner.h", "task_arena.h", "task_group.h"})
      if (File == Known)
        return true;
    return File.substr(0, 9) == "parallel_";
  }
  return false;
}

/// The bits of a value that fits into a word; 0 for all others.
inline unsigned bitsOf(Type *T) {
  if (T->isPointerTy())
    return 64;
  if (T->isIntegerTy() && T->getIntegerBitWidth() <= 64)
    return T->getIntegerBitWidth();
  if (T->isFloatTy())
    return 32;
  if (T->isDoubleTy())
    return 64;
  return 0;
}

/// A value as a word of 64 bits, the upper ones zero.
inline Value *asWord(IRBuilder<> &At, Value *V) {
  Type *Word = At.getInt64Ty();
  if (V->getType()->isPointerTy())
    return At.CreatePtrToInt(V, Word);
  if (V->getType()->isFloatingPointTy())
    V = At.CreateBitCast(V, At.getIntNTy(bitsOf(V->getType())));
  return At.CreateZExtOrTrunc(V, Word);
}

} // namespace keirin
