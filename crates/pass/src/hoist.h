// What does not change in a loop is taken out of it, as optimizations do, but past calls of mathematical functions as well: of what the program
// can see they write nothing but `errno`. So addresses that a loop computes from what is in memory become known before it (`ranges.h`).
//
// Functions that look at `errno` themselves are left as they are. In others such a call keeps its place among all other calls: whoever looks
// at `errno` there finds the same.
#pragma once

#include "quiet.h"

#include "llvm/IR/PassManager.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"

namespace keirin {

inline void hoist(Function &F, FunctionAnalysisManager &Functions) {
  SmallVector<CallBase *, 8> Calls;
  for (Instruction &I : instructions(F)) {
    auto *Call = dyn_cast<CallBase>(&I);
    const Function *Called = Call ? Call->getCalledFunction() : nullptr;
    if (!Called || !Called->isDeclaration() || Called->isIntrinsic())
      continue;
    if (Called->getName() == "__errno_location")
      return;
    if (isMathematical(Called->getName()))
      Calls.push_back(Call);
  }
  if (Calls.empty())
    return;
  for (CallBase *Call : Calls)
    if (!Call->doesNotAccessMemory())
      Call->setOnlyAccessesInaccessibleMemory();
  FunctionPassManager Passes;
  Passes.addPass(createFunctionToLoopPassAdaptor(LICMPass(LICMOptions()), /*UseMemorySSA=*/true));
  Functions.invalidate(F, Passes.run(F, Functions));
}

} // namespace keirin
