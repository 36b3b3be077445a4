// Small objects that are copied, or filled with zeros: done word by word, so that the sanitizer tells of accesses to words, which the program
// can look at itself (`known.h`) and which lie side by side (`neighbours.h`), in place of a call that copies.
#pragma once

#include "access.h"

namespace keirin {

class Copies {
public:
  Copies(Function &F, Accesses &Memory) : F(F), Memory(Memory) {}

  /// Changes them. Returns how many there are.
  unsigned spread() {
    std::vector<MemIntrinsic *> Found;
    for (Instruction &I : instructions(F))
      if (auto *Whole = dyn_cast<MemIntrinsic>(&I); Whole && isSmall(*Whole) && !Memory.of(I).empty())
        Found.push_back(Whole);
    for (MemIntrinsic *Whole : Found)
      spread(*Whole);
    return Found.size();
  }

private:
  static constexpr uint64_t WordBytes = 8, MostBytes = 64;

  bool isSmall(MemIntrinsic &Whole) {
    auto *Length = dyn_cast<ConstantInt>(Whole.getLength());
    if (!Length || Whole.isVolatile() || Length->isZero() || Length->getZExtValue() > MostBytes ||
        Length->getZExtValue() % WordBytes != 0 || Whole.getDestAlign().valueOrOne().value() < WordBytes)
      return false;
    if (auto *Copy = dyn_cast<MemTransferInst>(&Whole))
      return Copy->getSourceAlign().valueOrOne().value() >= WordBytes;
    auto *Filled = dyn_cast<ConstantInt>(cast<MemSetInst>(Whole).getValue());
    return Filled && Filled->isZero();
  }

  void spread(MemIntrinsic &Whole) {
    IRBuilder<> At(&Whole);
    Type *Word = At.getInt64Ty();
    uint64_t Words = cast<ConstantInt>(Whole.getLength())->getZExtValue() / WordBytes;
    auto Place = [&](Value *Base, uint64_t Index) { return At.CreateConstInBoundsGEP1_64(Word, Base, Index); };
    SmallVector<Value *, MostBytes / WordBytes> Values(Words, At.getInt64(0));
    // All is read before the first word is written: the two may be the same object.
    if (auto *Copy = dyn_cast<MemTransferInst>(&Whole))
      for (uint64_t Index = 0; Index < Words; ++Index)
        Values[Index] = At.CreateAlignedLoad(Word, Place(Copy->getRawSource(), Index), Align(WordBytes));
    for (uint64_t Index = 0; Index < Words; ++Index)
      At.CreateAlignedStore(Values[Index], Place(Whole.getRawDest(), Index), Align(WordBytes));
    Whole.eraseFromParent();
  }

  Function &F;
  Accesses &Memory;
};

} // namespace keirin
