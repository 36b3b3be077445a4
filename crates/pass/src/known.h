// What the hooks of the runtime look at first, looked at by the program itself: whether the running step of a task has written a word of
// memory, or reads it again, or runs while nothing else can. Then nothing is to be told, and the hook is not called.
// (`crates/rt/src/abi/access.rs` tells more.)
//
// This is done last, behind the sanitizer and all optimizations, for one or two whole words only. The numbers below are those of the runtime's
// `layout.rs` and `tasks/words.rs`; a test there compares them. Whoever changes them changes the number at the end of the name as well: then a
// program whose parts were compiled for different ones is not linked.
#pragma once

#include "common.h"

#include "llvm/Transforms/Utils/BasicBlockUtils.h"

namespace keirin {

class Known {
public:
  explicit Known(Module &M) : M(M), Word(Type::getInt64Ty(M.getContext())) {}

  /// Puts the look before the calls of hooks. Returns how many there are.
  unsigned look(Function &F) {
    SmallVector<Hooked, 32> Found;
    for (Instruction &I : instructions(F)) {
      auto *Call = dyn_cast<CallInst>(&I);
      const Function *Hook = Call ? Call->getCalledFunction() : nullptr;
      if (!Hook || Call->hasFnAttr(Seldom) || Call->arg_size() != 1)
        continue;
      StringRef Name = Hook->getName();
      if (Name == "__tsan_read8" || Name == "__tsan_write8" || Name == "__tsan_read_write8")
        Found.push_back({Call, Name != "__tsan_read8", 1});
      else if (Name == "__tsan_read16" || Name == "__tsan_write16")
        Found.push_back({Call, Name != "__tsan_read16", 2});
    }
    for (const Hooked &Each : Found)
      look(Each.Call, Each.Write, Each.Words);
    return Found.size();
  }

  /// Of calls that are seldom made, so that it is not worth while to look before.
  static constexpr const char *Seldom = "keirin-seldom";

private:
  static constexpr const char *Patterns = "__keirin_known_2";
  static constexpr uint64_t WordsMask = 0xffffffffff8, ShadowBase = 0x100000000000;
  /// The bits of a word that tells that a step has written all bytes, and of one that tells that it has read them.
  static constexpr uint64_t WroteMask = 0xffffff8000003f03, ReadMask = 0x7fffffc0fe;

  /// A call of a hook, and how many words it is about.
  struct Hooked {
    CallInst *Call;
    bool Write;
    unsigned Words;
  };

  void look(CallInst *Call, bool Write, unsigned Words) {
    MDNode *Weights = MDBuilder(M.getContext()).createBranchWeights(1, 64);
    IRBuilder<> At(Call);
    At.SetCurrentDebugLocation(Call->getDebugLoc());
    // The patterns of a read and of a write by the running step; zeros if there is none, ones if nothing need be told.
    Value *Wrote = pattern(At, 1);
    Value *AllKnown = ConstantInt::get(Word, 1);
    BasicBlock *Before = Call->getParent();
    Instruction *Told = SplitBlockAndInsertIfThen(At.CreateICmpULE(Wrote, AllKnown), Call, false, Weights);
    BasicBlock *Slow = Told->getParent(), *Behind = Call->getParent();
    // From here: Before goes to Slow or to Behind, which begins with the call. What is to be looked at stands in between.
    BasicBlock *Look = BasicBlock::Create(M.getContext(), "", Behind->getParent(), Slow);
    auto *Fork = cast<BranchInst>(Before->getTerminator());
    Fork->setSuccessor(Fork->getSuccessor(0) == Slow ? 1 : 0, Look);
    // Who comes there because of the look is asked once more, which is next to nothing beside the call.
    At.SetInsertPoint(Told);
    At.SetCurrentDebugLocation(Call->getDebugLoc());
    Instruction *Tells = SplitBlockAndInsertIfThen(At.CreateICmpNE(Wrote, AllKnown), Told, false);
    Call->moveBefore(Tells);
    // Two of them that are made one would have no place.
    Call->addFnAttr(Attribute::NoMerge);
    At.SetInsertPoint(Look);
    Value *Address = At.CreatePtrToInt(Call->getArgOperand(0), Word);
    Value *Shadow = At.CreateAdd(At.CreateAnd(Address, WordsMask), ConstantInt::get(Word, ShadowBase));
    Value *First = At.CreateIntToPtr(Shadow, PointerType::get(M.getContext(), 0));
    SmallVector<Value *, 2> Now;
    for (unsigned Index = 0; Index < Words; ++Index) {
      LoadInst *Each = At.CreateLoad(Word, At.CreateConstGEP1_64(Word, First, Index));
      unwatched(Each);
      Now.push_back(Each);
    }
    // All were read, or all were written. Of others the hook knows more.
    Value *New = differ(At, Now, Wrote, WroteMask);
    if (!Write)
      New = At.CreateAnd(differ(At, Now, pattern(At, 0), ReadMask), New);
    At.CreateCondBr(New, Slow, Behind, Weights);
  }

  Value *pattern(IRBuilder<> &At, unsigned Which) {
    auto *Known = cast<GlobalVariable>(M.getOrInsertGlobal(Patterns, ArrayType::get(Word, 2)));
    Known->setThreadLocalMode(GlobalValue::InitialExecTLSModel);
    Value *Own = At.CreateThreadLocalAddress(Known);
    LoadInst *Pattern = At.CreateLoad(Word, At.CreateConstInBoundsGEP1_64(Word, Own, Which));
    unwatched(Pattern);
    return Pattern;
  }

  /// True if some of the words do not look like a pattern.
  Value *differ(IRBuilder<> &At, ArrayRef<Value *> Now, Value *Pattern, uint64_t Mask) {
    Value *All = nullptr;
    for (Value *Each : Now) {
      Value *Here = At.CreateXor(Each, Pattern);
      All = All ? At.CreateOr(All, Here) : Here;
    }
    return At.CreateIsNotNull(At.CreateAnd(All, Mask));
  }

  Module &M;
  Type *Word;
};

} // namespace keirin
