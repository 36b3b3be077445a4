// What the compiler itself writes and reads to hand a task of OpenMP its shared variables: the first word of the descriptor, which leads to a block
// with their addresses, and that block. The task that spawns writes the block before others know of it, it does not change from then on, and no
// expression of the program means it: nothing about it can be a race, nor be torn. So the sanitizer is not told.
//
// Private copies of variables lie behind the descriptor. They are told like all other memory: children of the task may share them.
#pragma once

#include "common.h"

namespace keirin {

class Descriptors {
public:
  explicit Descriptors(Module &M) {
    Function *Allocate = M.getFunction("__kmpc_omp_task_alloc");
    if (!Allocate)
      return;
    for (User *Use : Allocate->users()) {
      auto *Call = dyn_cast<CallBase>(Use);
      if (!Call || Call->getCalledFunction() != Allocate || Call->arg_size() <= EntryArgument)
        continue;
      Known.push_back(Call);
      // The function that the runtime calls with the descriptor.
      auto *Entry = dyn_cast<Function>(Call->getArgOperand(EntryArgument)->stripPointerCasts());
      if (Entry && Entry->hasLocalLinkage() && Entry->arg_size() == 2 && Entry->getArg(1)->getType()->isPointerTy())
        Known.push_back(Entry->getArg(1));
    }
  }

  /// Marks what a function does with them. Returns how many instructions these are.
  unsigned mark(Function &F) {
    unsigned Marked = 0;
    for (Value *Descriptor : Known) {
      auto *Call = dyn_cast<CallBase>(Descriptor);
      if ((Call ? Call->getFunction() : cast<Argument>(Descriptor)->getParent()) != &F)
        continue;
      for (User *Use : Descriptor->users())
        if (auto *Block = dyn_cast<LoadInst>(Use); Block && Block->getType()->isPointerTy() && Block->isSimple()) {
          Marked += mark(*Block);
          Marked += markBlock(Block);
        }
    }
    return Marked;
  }

private:
  static constexpr unsigned EntryArgument = 5;

  static unsigned mark(Instruction &I) {
    if (I.hasMetadata(LLVMContext::MD_nosanitize))
      return 0;
    unwatched(&I);
    return 1;
  }

  /// The words of the block.
  static unsigned markBlock(Value *Start) {
    unsigned Marked = 0;
    for (User *Use : Start->users()) {
      if (auto *Load = dyn_cast<LoadInst>(Use)) {
        Marked += mark(*Load);
      } else if (auto *Store = dyn_cast<StoreInst>(Use)) {
        if (Store->getPointerOperand() == Start)
          Marked += mark(*Store);
      } else if (auto *Place = dyn_cast<GetElementPtrInst>(Use)) {
        if (Place->hasAllConstantIndices())
          Marked += markBlock(Place);
      }
    }
    return Marked;
  }

  /// Calls that give a descriptor, and arguments that are one.
  SmallVector<Value *, 16> Known;
};

} // namespace keirin
