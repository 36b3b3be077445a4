// The control flow of a function as it goes when nothing fails: without unwinding, and without ways that never return, such as those
// to `throw` and `abort`. Only so does `std::mutex::lock`, which may throw, not split everything behind it.
#pragma once

#include "common.h"

namespace keirin {

class Flow {
public:
  explicit Flow(Function &F) {
    findReturning(F);
    findJoins(F);
  }

  /// True if the function can return from here.
  bool returns(const BasicBlock *B) const { return Returning.count(B); }

  /// Where it goes on behind a block, each place once.
  SmallVector<BasicBlock *, 2> next(const BasicBlock *B) const {
    SmallVector<BasicBlock *, 2> Found;
    for (BasicBlock *To : usual(B))
      if (returns(To) && !is_contained(Found, To))
        Found.push_back(To);
    return Found;
  }

  /// Where all ways from a block meet again; null if that is behind the end of the function.
  BasicBlock *join(const BasicBlock *B) const {
    auto Found = Joins.find(B);
    return Found == Joins.end() ? nullptr : Found->second;
  }

  /// All blocks on ways from a block to where they meet, without both.
  SmallVector<BasicBlock *, 8> between(BasicBlock *From) const {
    BasicBlock *End = join(From);
    SmallVector<BasicBlock *, 8> Found;
    SmallPtrSet<BasicBlock *, 16> Seen;
    SmallVector<BasicBlock *, 8> Open(next(From));
    while (!Open.empty()) {
      BasicBlock *B = Open.pop_back_val();
      if (B == End || B == From || !Seen.insert(B).second)
        continue;
      Found.push_back(B);
      for (BasicBlock *To : next(B))
        Open.push_back(To);
    }
    return Found;
  }

private:
  static SmallVector<BasicBlock *, 2> usual(const BasicBlock *B) {
    SmallVector<BasicBlock *, 2> Found;
    if (const auto *Call = dyn_cast<InvokeInst>(B->getTerminator())) {
      Found.push_back(Call->getNormalDest());
      return Found;
    }
    for (const BasicBlock *To : successors(B))
      Found.push_back(const_cast<BasicBlock *>(To));
    return Found;
  }

  void findReturning(Function &F) {
    DenseMap<BasicBlock *, SmallVector<BasicBlock *, 4>> Before;
    SmallVector<BasicBlock *, 16> Open;
    for (BasicBlock &B : F) {
      for (BasicBlock *To : usual(&B))
        Before[To].push_back(&B);
      if (isa<ReturnInst>(B.getTerminator())) {
        Returning.insert(&B);
        Open.push_back(&B);
      }
    }
    while (!Open.empty()) {
      BasicBlock *B = Open.pop_back_val();
      for (BasicBlock *From : Before[B])
        if (Returning.insert(From).second)
          Open.push_back(From);
    }
  }

  /// Immediate post-dominators, after Cooper, Harvey and Kennedy. Those of LLVM count ways that never return.
  void findJoins(Function &F) {
    // The end has the highest number, and every block a higher one than those before it on a shortest way.
    DenseMap<const BasicBlock *, SmallVector<BasicBlock *, 4>> Before;
    SmallVector<BasicBlock *, 4> Ends;
    for (BasicBlock &B : F) {
      if (!returns(&B))
        continue;
      auto To = next(&B);
      if (To.empty())
        Ends.push_back(&B);
      for (BasicBlock *Next : To)
        Before[Next].push_back(&B);
    }
    std::vector<BasicBlock *> Order;
    DenseMap<const BasicBlock *, unsigned> Number;
    SmallPtrSet<BasicBlock *, 32> Seen;
    for (BasicBlock *End : Ends) {
      if (!Seen.insert(End).second)
        continue;
      SmallVector<std::pair<BasicBlock *, unsigned>, 32> Open;
      Open.push_back({End, 0});
      while (!Open.empty()) {
        BasicBlock *B = Open.back().first;
        auto &Sources = Before[B];
        if (Open.back().second == Sources.size()) {
          Number[B] = Order.size();
          Order.push_back(B);
          Open.pop_back();
        } else if (BasicBlock *From = Sources[Open.back().second++]; Seen.insert(From).second) {
          Open.push_back({From, 0});
        }
      }
    }
    const unsigned End = Order.size();
    std::vector<unsigned> Join(End, ~0u);
    auto Meet = [&](unsigned A, unsigned B) {
      while (A != B) {
        while (A != End && A < B)
          A = Join[A];
        while (B != End && B < A)
          B = Join[B];
      }
      return A;
    };
    for (bool Changed = true; Changed;) {
      Changed = false;
      for (unsigned I = End; I-- > 0;) {
        auto To = next(Order[I]);
        unsigned Found = To.empty() ? End : ~0u;
        for (BasicBlock *Next : To) {
          unsigned N = Number[Next];
          if (Join[N] != ~0u)
            Found = Found == ~0u ? N : Meet(Found, N);
        }
        if (Found != Join[I]) {
          Join[I] = Found;
          Changed = true;
        }
      }
    }
    for (unsigned I = 0; I < End; ++I)
      Joins[Order[I]] = Join[I] >= End ? nullptr : Order[Join[I]];
  }

  SmallPtrSet<const BasicBlock *, 32> Returning;
  DenseMap<const BasicBlock *, BasicBlock *> Joins;
};

} // namespace keirin
