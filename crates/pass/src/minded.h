// Accesses that tell nothing new to races, but something to other analyses: told only while somebody minds (`__keirin_repeats`).
//
// One kind of them is found here: reads of memory that is written behind them, as of `a += b`, in the same block and with nothing between the
// two that may end the step (`quiet.h`). Whoever is parallel to the read and in conflict with it is so to the write, under the same locks: a race
// of the read is one of the write.
#pragma once

#include "calls.h"
#include "known.h"
#include "quiet.h"

#include "llvm/ADT/SetVector.h"

namespace keirin {

class Minded {
public:
  Minded(Function &F, Accesses &Memory, Calls &Runtime) : Memory(Memory), Runtime(Runtime) {
    for (BasicBlock &B : F)
      collect(B);
  }

  /// True for a read of memory that is written behind it.
  bool isWrittenBehind(Instruction *Read) const { return WrittenBehind.contains(Read); }

  /// An access that the sanitizer would tell.
  void tell(Instruction *I) {
    Alone.push_back(Memory.of(*I).front());
    unwatched(I);
  }

  /// What a call tells that was put in.
  void tell(CallInst *Call) { Together.push_back(Call); }

  /// What is left of the reads that are written behind is told as well. All the calls are marked, and become conditional only behind all
  /// optimizations (`makeConditional`): branches would hide from them what is known before a loop.
  void finish() {
    for (Instruction *Read : WrittenBehind)
      if (!Memory.of(*Read).empty())
        tell(Read);
    for (const Access &A : Alone) {
      bool Aligned = getLoadStoreAlignment(A.At).value() >= std::min<uint64_t>(A.Size, 8);
      std::string Name = (Twine(Aligned || A.Size == 1 ? "__tsan_" : "__tsan_unaligned_") + (A.Write ? "write" : "read") + Twine(A.Size)).str();
      IRBuilder<> At(A.At);
      CallInst *Call = Runtime.call(At, Name, {A.Address}, A.At->getDebugLoc());
      Runtime.keepsNot(Call, 0);
      Call->setOnlyAccessesInaccessibleMemory();
      Together.push_back(Call);
    }
    for (CallInst *Call : Together)
      for (const char *Mark : {IfMinded, Known::Seldom})
        Call->addFnAttr(Attribute::get(Call->getContext(), Mark));
  }

  /// Has the marked calls made only while somebody minds. Returns how many there are.
  static unsigned makeConditional(Function &F, Calls &Runtime) {
    SmallVector<CallInst *, 16> Found;
    for (Instruction &I : instructions(F))
      if (auto *Call = dyn_cast<CallInst>(&I); Call && Call->hasFnAttr(IfMinded))
        Found.push_back(Call);
    for (CallInst *Call : Found)
      Call->moveBefore(Runtime.ifMinded("__keirin_repeats", Call));
    return Found.size();
  }

private:
  static constexpr const char *IfMinded = "keirin-if-minded";

  struct Open {
    Instruction *Read;
    Value *Base;
    int64_t Distance;
    uint64_t Size;
  };

  void collect(BasicBlock &B) {
    SmallVector<Open, 16> Reads;
    for (Instruction &I : B) {
      if (stirOf(I) == Stir::Ends)
        Reads.clear();
      for (const Access &A : Memory.of(I)) {
        if (!isOrdinary(A))
          continue;
        APInt Offset(64, 0);
        Value *Base = A.Address->stripAndAccumulateConstantOffsets(Memory.Layout, Offset, /*AllowNonInbounds=*/true);
        Open Here{&I, Base, Offset.getSExtValue(), A.Size};
        if (!A.Write) {
          Reads.push_back(Here);
          continue;
        }
        for (const Open &Read : Reads)
          if (Read.Base == Base && Here.Distance <= Read.Distance &&
              Read.Distance + int64_t(Read.Size) <= Here.Distance + int64_t(Here.Size))
            WrittenBehind.insert(Read.Read);
      }
    }
  }

  Accesses &Memory;
  Calls &Runtime;
  SmallSetVector<Instruction *, 16> WrittenBehind;
  std::vector<Access> Alone;
  std::vector<CallInst *> Together;
};

} // namespace keirin
