// Addresses of the other side, computed on the side that is executed: the instructions that lead to them are cloned there. A load is
// cloned only where it can do no harm, since on this side nobody has checked that its address is good.
#pragma once

#include "sides.h"

#include "llvm/Analysis/MemoryBuiltins.h"

#include <map>

namespace keirin {

/// Clones what leads to values of a side.
class Slice {
public:
  Slice(const Side &From, Instruction &Branch, const DominatorTree &Dominators, Accesses &Memory, IRBuilder<> &At)
      : From(From), Branch(Branch), Dominators(Dominators), Memory(Memory), At(At) {}

  /// The value, or null; then `Why` says why.
  Value *of(Ref R, unsigned Depth = 0) {
    R = From.resolve(R);
    if (!R.F) {
      auto *I = dyn_cast<Instruction>(R.V);
      if (!I || Dominators.dominates(I, &Branch))
        return R.V;
      return refuse("it is computed in a way that cannot be repeated");
    }
    if (auto Found = Done.find({R.V, R.F}); Found != Done.end())
      return Found->second;
    auto *I = dyn_cast<Instruction>(R.V);
    if (!I || Depth > Deepest)
      return refuse("it is computed in too many steps");
    Value *Made = clone(*I, R.F, Depth);
    if (Made)
      Done[{R.V, R.F}] = Made;
    return Made;
  }

  std::string Why;

private:
  static constexpr unsigned Deepest = 24;

  Value *refuse(const Twine &Reason) {
    Why = Reason.str();
    return nullptr;
  }

  Value *clone(Instruction &I, const Frame *Where, unsigned Depth) {
    if (auto *Load = dyn_cast<LoadInst>(&I))
      return clone(*Load, Where, Depth);
    bool Computes = isa<GetElementPtrInst>(I) || isa<CastInst>(I) || isa<SelectInst>(I) || isa<CmpInst>(I) || isa<FreezeInst>(I) ||
                    (isa<BinaryOperator>(I) && !I.isIntDivRem()) || isa<ExtractValueInst>(I);
    if (isa<PHINode>(I))
      return refuse("it depends on a branch or a loop in between");
    if (isa<AllocaInst>(I))
      return refuse("it is in memory of the function that is called");
    if (isa<CallBase>(I))
      return refuse("a call computes it");
    if (!Computes)
      return refuse(Twine("an instruction computes it that is not repeated: ") + I.getOpcodeName());
    SmallVector<Value *, 4> Operands;
    for (Value *Operand : I.operands()) {
      Value *Made = of({Operand, Where}, Depth + 1);
      if (!Made)
        return nullptr;
      Operands.push_back(Made);
    }
    Instruction *Copy = I.clone();
    for (unsigned K = 0; K < Operands.size(); ++K)
      Copy->setOperand(K, Operands[K]);
    // What was known of the operands on the other side need not hold here.
    Copy->dropPoisonGeneratingFlags();
    At.Insert(Copy);
    Copy->setDebugLoc(At.getCurrentDebugLocation());
    return Copy;
  }

  Value *clone(LoadInst &Load, const Frame *Where, unsigned Depth) {
    if (Load.isAtomic() || Load.isVolatile())
      return refuse("an atomic or volatile variable says where it is");
    Ref Address{Load.getPointerOperand(), Where};
    if (mayChange(Address, Memory.Layout.getTypeStoreSize(Load.getType()), From.Loads.lookup({&Load, Where})))
      return refuse("the other side writes what says where it is");
    Value *Pointer = of(Address, Depth + 1);
    if (!Pointer)
      return nullptr;
    if (!isReadable(Pointer, Memory.Layout.getTypeStoreSize(Load.getType())))
      return refuse("a pointer says where it is that may be invalid on this side");
    LoadInst *Copy = At.CreateAlignedLoad(Load.getType(), Pointer, Load.getAlign());
    // Made one with a load of the program it would be told of, as if the program had done it here.
    Copy->setVolatile(true);
    unwatched(Copy);
    return Copy;
  }

  /// True if the other side may write some memory before it loads from there.
  bool mayChange(Ref Address, uint64_t Size, unsigned Before) {
    if (From.ChangesUnknown < Before)
      return true;
    auto [Base, Distance] = From.base(Address, Memory.Layout);
    auto Overlaps = [&, Base = Base, Distance = Distance](Ref Written, uint64_t Bytes) {
      auto [Other, OtherDistance] = From.base(Written, Memory.Layout);
      if (Other == Base)
        return !Bytes || (Distance < OtherDistance + int64_t(Bytes) && OtherDistance < Distance + int64_t(Size));
      // Two variables are never the same memory, whatever is added to their addresses.
      const Value *One = getUnderlyingObject(Base.V), *Two = getUnderlyingObject(Other.V);
      auto IsVariable = [](const Value *V) { return isa<GlobalVariable>(V) || isa<AllocaInst>(V); };
      return One == Two || !IsVariable(One) || !IsVariable(Two);
    };
    for (unsigned K = 0; K < From.Steps.size() && K < Before; ++K)
      if (From.Steps[K].What == Step::Write && Overlaps(From.Steps[K].Address, From.Steps[K].Length.V ? 0 : From.Steps[K].Size))
        return true;
    return any_of(From.Changes, [&](const auto &Change) { return Change.second < Before && Overlaps(Change.first, 0); });
  }

  /// True if memory can be read at the branch, whichever way it goes.
  bool isReadable(Value *Pointer, uint64_t Size) {
    APInt Offset(64, 0);
    Value *Object = Pointer->stripAndAccumulateConstantOffsets(Memory.Layout, Offset, /*AllowNonInbounds=*/true);
    if (Offset.isNegative())
      return false;
    auto Within = [&](uint64_t Bytes) { return (Offset + Size).ule(Bytes); };
    if (auto *Global = dyn_cast<GlobalVariable>(Object))
      return !Global->hasExternalWeakLinkage() && Within(Memory.Layout.getTypeAllocSize(Global->getValueType()));
    if (auto *Local = dyn_cast<AllocaInst>(Object))
      return !Local->isArrayAllocation() && Within(Memory.Layout.getTypeAllocSize(Local->getAllocatedType()));
    bool MayBeNull = false, MayBeFreed = false;
    uint64_t Bytes = Object->getPointerDereferenceableBytes(Memory.Layout, MayBeNull, MayBeFreed);
    return !MayBeNull && Within(Bytes) && !isFreed(Object);
  }

  /// True if this function may free an object, such as by `delete this`.
  bool isFreed(Value *Object) {
    for (User *U : Object->users())
      if (auto *Call = dyn_cast<CallBase>(U))
        if (Function *F = Call->getCalledFunction())
          if (F->getName() == "free" || F->getName().substr(0, 5) == "_ZdlP" || F->getName().substr(0, 5) == "_ZdaP")
            return true;
    return false;
  }

  const Side &From;
  Instruction &Branch;
  const DominatorTree &Dominators;
  Accesses &Memory;
  IRBuilder<> &At;
  std::map<std::pair<const Value *, const Frame *>, Value *> Done;
};

} // namespace keirin
