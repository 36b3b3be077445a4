// Values: what is read, and what is written with how it was computed.
#pragma once

#include "formulas.h"

#include "llvm/Transforms/Utils/BasicBlockUtils.h"

namespace keirin {

/// Memory of a function for numbers that are handed to the runtime.
class Scratch {
public:
  Scratch(Function &F, Type *Of, Calls &Runtime, StringRef Name) : F(F), Of(Of), Runtime(Runtime), Name(Name) {}

  Value *holding(IRBuilder<> &At, ArrayRef<Value *> Numbers) {
    if (Numbers.empty())
      return Runtime.nothing();
    if (!Memory) {
      IRBuilder<> Start(&*F.getEntryBlock().getFirstInsertionPt());
      Memory = Start.CreateAlloca(ArrayType::get(Of, Numbers.size()), nullptr, Name);
    } else if (Memory->getAllocatedType()->getArrayNumElements() < Numbers.size()) {
      Memory->setAllocatedType(ArrayType::get(Of, Numbers.size()));
    }
    for (unsigned K = 0; K < Numbers.size(); ++K)
      unwatched(At.CreateStore(Numbers[K], At.CreateConstInBoundsGEP1_64(Of, Memory, K)));
    return Memory;
  }

private:
  Function &F;
  Type *Of;
  Calls &Runtime;
  StringRef Name;
  AllocaInst *Memory = nullptr;
};

/// Tells the values of one function.
class Values {
public:
  Values(Calls &Runtime, Formulas &Known, Scratch &Numbers)
      : Runtime(Runtime), Known(Known), Numbers(Numbers) {}

  /// All accesses first, reads of which get their numbers; then what is written can be said.
  void tell(ArrayRef<Access> All) {
    for (const Access &A : All)
      if (!isOfTbb(originOf(*A.At)))
        tellRead(A);
    for (const Access &A : All)
      if (!isOfTbb(originOf(*A.At)))
        tellWrite(A);
  }

  /// What compare-and-exchanges write, if they do. That splits blocks, so it comes last.
  void finish() {
    for (const Access &A : Exchanges) {
      Value *Written = cast<AtomicCmpXchgInst>(A.At)->getNewValOperand();
      if (!bitsOf(Written->getType()))
        continue;
      Formula F = Known.of(Written);
      IRBuilder<> At(behind(*A.At));
      auto *Done = cast<Instruction>(At.CreateExtractValue(A.At, 1));
      At.SetInsertPoint(SplitBlockAndInsertIfThen(Done, Done->getNextNode(), false));
      write(At, A, Written, F);
    }
  }

  /// The arguments that stand for a formula.
  std::array<Value *, 3> arguments(IRBuilder<> &At, const Formula &F) {
    if (F.What == Formula::Independent)
      return {Runtime.nothing(), Runtime.number(0), Runtime.nothing()};
    if (F.What == Formula::Unknown)
      return {Runtime.text(""), Runtime.number(0), Runtime.nothing()};
    Value *Reads = Numbers.holding(At, F.Reads);
    return {Runtime.text(F.Text), Runtime.number(F.Reads.size()), Reads};
  }

private:
  void tellRead(const Access &A) {
    if (isa<StoreInst>(A.At) || isa<AnyMemIntrinsic>(A.At))
      return;
    IRBuilder<> At(A.At->getNextNode());
    Value *Read = A.At;
    if (isa<AtomicCmpXchgInst>(A.At))
      Read = At.CreateExtractValue(A.At, 0);
    if (!bitsOf(Read->getType()))
      return;
    Value *Number = Runtime.call(At, "__keirin_read_value", Runtime.Int, {A.Address, asWord(At, Read), Runtime.number(A.Size)},
                                 A.At->getDebugLoc());
    Known.told(A.At, Number);
    Told[A.At] = cast<Instruction>(Number);
  }

  void tellWrite(const Access &A) {
    if (auto *Store = dyn_cast<StoreInst>(A.At)) {
      Value *Written = Store->getValueOperand();
      if (!bitsOf(Written->getType()))
        return;
      IRBuilder<> At(Store->getNextNode());
      write(At, A, Written, Known.of(Written));
    } else if (auto *Change = dyn_cast<AtomicRMWInst>(A.At)) {
      changed(*Change, A);
    } else if (isa<AtomicCmpXchgInst>(A.At)) {
      Exchanges.push_back(A);
    }
  }

  void write(IRBuilder<> &At, const Access &A, Value *Written, const Formula &F) {
    auto [Text, Count, Reads] = arguments(At, F);
    Value *Word = asWord(At, Written);
    CallInst *Call = Runtime.call(At, "__keirin_write_value", {A.Address, Word, Runtime.number(A.Size), Text, Count, Reads},
                                  A.At->getDebugLoc());
    Runtime.keepsNot(Call, 5);
  }

  /// Behind an access, and behind the call that tells what it has read.
  Instruction *behind(Instruction &I) {
    Instruction *Call = Told.lookup(&I);
    return (Call ? Call : &I)->getNextNode();
  }

  /// The value that a read-modify-write has left is computed once more.
  void changed(AtomicRMWInst &I, const Access &A) {
    if (!I.getType()->isIntegerTy() || !bitsOf(I.getType()))
      return;
    IRBuilder<> At(behind(I));
    Value *With = I.getValOperand(), *Made = nullptr;
    switch (I.getOperation()) {
    case AtomicRMWInst::Xchg:
      return write(At, A, With, Known.of(With));
    case AtomicRMWInst::Add:
      Made = At.CreateAdd(&I, With);
      break;
    case AtomicRMWInst::Sub:
      Made = At.CreateSub(&I, With);
      break;
    case AtomicRMWInst::And:
      Made = At.CreateAnd(&I, With);
      break;
    case AtomicRMWInst::Or:
      Made = At.CreateOr(&I, With);
      break;
    case AtomicRMWInst::Xor:
      Made = At.CreateXor(&I, With);
      break;
    default:
      return;
    }
    write(At, A, Made, Known.of(Made));
  }

  Calls &Runtime;
  Formulas &Known;
  Scratch &Numbers;
  DenseMap<Instruction *, Instruction *> Told;
  std::vector<Access> Exchanges;
};

} // namespace keirin
