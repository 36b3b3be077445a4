// Accesses that lie side by side, of one line of the program, told at once instead of one by one: those of a loop that was unrolled, or of
// an object that is copied; and two words side by side, such as the coordinates of a point, as one access of sixteen bytes, and the halves of a
// word as one of eight.
//
// Within a block in which nothing may end the step (`quiet.h`) all of them happen, so that they are told like those of a loop
// (`ranges.h`): reads where the first one is, writes where the last one is.
#pragma once

#include "minded.h"

#include "llvm/ADT/MapVector.h"

namespace keirin {

class Neighbours {
public:
  Neighbours(Function &F, Accesses &Memory, Calls &Runtime, Minded &Seldom) : F(F), Memory(Memory), Runtime(Runtime), Seldom(Seldom) {}

  /// Puts the calls for many in. Returns how many accesses are told by them.
  unsigned tell() {
    return tell([](std::vector<std::vector<One>> &Found, std::vector<One> &Group) {
      if (Group.size() >= Fewest)
        Found.push_back(Group);
    });
  }

  /// The same for pairs of words, and of halves of what is probably a word. Behind `repeats.h`: what is told already makes no pair.
  unsigned tellPairs() {
    return tell([](std::vector<std::vector<One>> &Found, std::vector<One> &Group) {
      uint64_t Size = Group.front().What.Size;
      for (size_t K = 0; K + 1 < Group.size(); ++K) {
        // Whether an object of halves begins at a word is not known, but mostly so.
        bool IsWords = Size == WordBytes && alignmentOf(Group[K]) >= WordBytes;
        bool IsHalves = Size == WordBytes / 2 && alignmentOf(Group[K]) >= Size && Group[K].Distance % int64_t(WordBytes) == 0;
        if (!IsWords && !IsHalves)
          continue;
        Found.push_back({Group[K], Group[K + 1]});
        ++K;
      }
    });
  }

private:
  struct One;
  /// Takes what is to be told together of accesses without gaps between them.
  using Choice = function_ref<void(std::vector<std::vector<One>> &, std::vector<One> &)>;

  unsigned tell(Choice Choose) {
    std::vector<std::vector<One>> Found;
    for (BasicBlock &B : F) {
      Open.clear();
      unsigned Order = 0;
      for (Instruction &I : B) {
        if (stirOf(I) == Stir::Ends)
          close(Found, Choose);
        for (const Access &A : Memory.of(I))
          if (isOrdinary(A) && A.Size <= 8)
            add(A, ++Order);
      }
      close(Found, Choose);
    }
    unsigned Count = 0;
    for (auto &Group : Found) {
      tell(Group);
      Count += Group.size();
    }
    return Count;
  }

  static uint64_t alignmentOf(const One &Of) { return getLoadStoreAlignment(Of.What.At).value(); }

  /// Fewer are told as fast by calls for two words.
  static constexpr unsigned Fewest = 4;
  static constexpr uint64_t WordBytes = 8;

  struct One {
    Access What;
    int64_t Distance;
    unsigned Order;
  };
  /// The value that addresses are computed from, the place in the program, the size, and the kind: whether they are writes, and whether they are
  /// told only if somebody minds.
  using Kind = std::pair<std::pair<Value *, DILocation *>, uint64_t>;

  void add(const Access &A, unsigned Order) {
    APInt Distance(64, 0);
    Value *Base = A.Address->stripAndAccumulateConstantOffsets(Memory.Layout, Distance, /*AllowNonInbounds=*/true);
    uint64_t What = A.Size << 2 | Seldom.isWrittenBehind(A.At) << 1 | A.Write;
    Open[{{Base, lineOf(*A.At)}, What}].push_back({A, Distance.getSExtValue(), Order});
  }

  /// Looks for stretches without gaps.
  void close(std::vector<std::vector<One>> &Found, Choice Choose) {
    for (auto &[Kind, All] : Open) {
      std::stable_sort(All.begin(), All.end(), [](const One &A, const One &B) { return A.Distance < B.Distance; });
      std::vector<One> Group;
      auto Finish = [&] {
        if (!Group.empty())
          Choose(Found, Group);
        Group.clear();
      };
      for (const One &Next : All) {
        // What is accessed again is told by itself.
        if (!Group.empty() && Next.Distance == Group.back().Distance)
          continue;
        if (!Group.empty() && Next.Distance != Group.back().Distance + int64_t(Next.What.Size))
          Finish();
        Group.push_back(Next);
      }
      Finish();
    }
    Open.clear();
  }

  void tell(std::vector<One> &Group) {
    const One &Lowest = Group.front();
    bool Write = Lowest.What.Write;
    auto Before = [](const One &A, const One &B) { return A.Order < B.Order; };
    const One &At = Write ? *std::max_element(Group.begin(), Group.end(), Before) : *std::min_element(Group.begin(), Group.end(), Before);
    IRBuilder<> Builder(Write ? At.What.At->getNextNode() : At.What.At);
    APInt Distance(64, 0);
    Value *Base = Lowest.What.Address->stripAndAccumulateConstantOffsets(Memory.Layout, Distance, /*AllowNonInbounds=*/true);
    Value *First = Builder.CreateGEP(Builder.getInt8Ty(), Base, Runtime.word(Lowest.Distance));
    uint64_t Size = Lowest.What.Size;
    if (Group.size() < Fewest) {
      bool Aligned = alignmentOf(Lowest) >= std::min(2 * Size, WordBytes);
      std::string Name = (Twine(Aligned ? "__tsan_" : "__tsan_unaligned_") + (Write ? "write" : "read") + Twine(2 * Size)).str();
      CallInst *Call = Runtime.call(Builder, Name, {First}, At.What.At->getDebugLoc());
      Runtime.keepsNot(Call, 0);
      Call->setOnlyAccessesInaccessibleMemory();
      if (Seldom.isWrittenBehind(Lowest.What.At))
        Seldom.tell(Call);
      for (One &Each : Group)
        unwatched(Each.What.At);
      return;
    }
    Value *What = Runtime.word(Group.size() << 8 | Size | (Write ? Calls::Writes : 0));
    CallInst *Call = Runtime.accesses(Builder, {First, What, Runtime.word(Size), Runtime.word(1), Runtime.word(0)}, At.What.At->getDebugLoc());
    if (Seldom.isWrittenBehind(Lowest.What.At))
      Seldom.tell(Call);
    for (One &Each : Group)
      unwatched(Each.What.At);
  }

  Function &F;
  Accesses &Memory;
  Calls &Runtime;
  Minded &Seldom;
  MapVector<Kind, std::vector<One>> Open;
};

} // namespace keirin
