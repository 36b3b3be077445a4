// Accesses of loops, told all at once instead of one by one.
//
// In a loop in which nothing may end the step, order threads, or take or release a lock (`quiet.h`), it makes no difference when within
// the loop an access is told. So one that happens in every iteration, at addresses that are at equal distances, is kept from the
// sanitizer, and told by a single call: a read before the loop, a write behind it. If the loop stands in another one of that kind, in every
// iteration of it, the call is taken out of that one as well: then it tells rows, each of which is a range.
//
// Never is an access told that does not happen: the loop has one exit, and how often it comes round is known before it. Where an access
// does not happen at all if some condition that does not change in the loop is false, the condition goes into the number of accesses.
//
// What is accessed at the same address again and again is told twice, if the loop comes round more than once (see `repeats.h`).
//
// Accesses of one line that lie side by side in each iteration, such as the parts of an object or those of a loop that was unrolled, are told
// together (`join`), and what one line does twice is told as what happens again.
//
// Reads before the loop and writes behind it: of a gap between two holds of a lock it matters whether the step has read a location since
// it wrote it last. Told in this way it never looks as if it had read something last that in truth it wrote: no gap is made up. One
// can be missed, if in such a loop one instruction writes what another reads in a later iteration.
#pragma once

#include "minded.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

namespace keirin {

class Ranges {
public:
  Ranges(Function &F, FunctionAnalysisManager &Manager, Accesses &Memory, Calls &Runtime, Minded &Seldom)
      : F(F), Memory(Memory), Runtime(Runtime), Seldom(Seldom), Loops(Manager.getResult<LoopAnalysis>(F)),
        Dominators(Manager.getResult<DominatorTreeAnalysis>(F)), Evolution(Manager.getResult<ScalarEvolutionAnalysis>(F)),
        Assumptions(Manager.getResult<AssumptionAnalysis>(F)), Expander(Evolution, Memory.Layout, "keirin", /*PreserveLCSSA=*/false) {}

  /// Puts the calls in. Returns how many accesses are told by them.
  unsigned tell() {
    if (Loops.empty())
      return 0;
    for (Loop *L : Loops)
      simplifyLoop(L, &Dominators, &Loops, &Evolution, &Assumptions, nullptr, /*PreserveLCSSA=*/false);
    Joins.recalculate(F);
    std::vector<Access> Candidates;
    for (Instruction &I : instructions(F))
      if (Loops.getLoopFor(I.getParent()))
        for (const Access &A : Memory.of(I))
          if (isOrdinary(A))
            Candidates.push_back(A);
    std::vector<Range> Found;
    for (const Access &A : Candidates) {
      Range R(A, Evolution.getSCEV(A.Address));
      lift(R);
      R.IfMinded = Seldom.isWrittenBehind(A.At);
      if (R.From)
        Found.push_back(std::move(R));
    }
    for (Range &R : join(Found))
      tell(R);
    return Found.size();
  }

private:
  /// Accesses at equal distances: so many of them.
  struct Dimension {
    const SCEV *Distance, *Count;
    bool operator==(const Dimension &Other) const { return Distance == Other.Distance && Count == Other.Count; }
  };

  struct Range {
    Range(const Access &What, const SCEV *First) : What(What), First(First), Block(What.At->getParent()) {}
    Access What;
    /// The address of the first one.
    const SCEV *First;
    /// From the innermost outwards.
    SmallVector<Dimension, 2> Dimensions;
    /// How often all that happens, for each loop in which the addresses are the same. Empty: once.
    SmallVector<const SCEV *, 2> Times;
    /// What must be so, or it happens not at all.
    SmallVector<std::pair<Value *, bool>, 2> Conditions;
    /// Where it happens, as seen from the loop that is looked at.
    BasicBlock *Block;
    /// The outermost loop that it was taken out of.
    Loop *From = nullptr;
    /// All of it happens more than once, whatever the times are.
    bool Again = false;
    /// It tells nothing new to races.
    bool IfMinded = false;
    /// Other instructions that are told with it.
    SmallVector<Instruction *, 2> Others;
  };

  /// Ranges that differ in nothing but where they begin, each with the distance from the first one that was found.
  using Alike = std::vector<std::pair<int64_t, Range *>>;

  /// Expressions beyond that are not worth their code.
  static constexpr unsigned LargestExpression = 24;

  /// True if nothing in a loop ends a step and it is left in one way, after a number of iterations that is known before it.
  bool isSteady(Loop *L) {
    auto [Known, New] = Steady.try_emplace(L, false);
    if (!New)
      return Known->second;
    BasicBlock *Exit = L->getExitBlock();
    if (!L->getLoopPreheader() || !L->getExitingBlock() || !L->getLoopLatch() || !Exit || Exit->isEHPad() || !L->hasDedicatedExits())
      return false;
    const SCEV *Back = Evolution.getBackedgeTakenCount(L);
    if (isa<SCEVCouldNotCompute>(Back) || !isUsable(Back, L))
      return false;
    for (BasicBlock *B : L->blocks())
      for (Instruction &I : *B)
        if (stirOf(I) == Stir::Ends)
          return false;
    return Steady[L] = true;
  }

  /// True if an expression can be computed before a loop.
  bool isUsable(const SCEV *S, Loop *L) {
    return Evolution.isLoopInvariant(S, L) && S->getExpressionSize() <= LargestExpression &&
           Expander.isSafeToExpandAt(S, L->getLoopPreheader()->getTerminator());
  }

  /// Takes an access out of as many loops as possible.
  void lift(Range &R) {
    for (Loop *L = Loops.getLoopFor(R.Block); L && isSteady(L) && liftOutOf(R, L); L = L->getParentLoop()) {
      R.From = L;
      R.Block = L->getLoopPreheader();
    }
  }

  bool liftOutOf(Range &R, Loop *L) {
    Range New = R;
    const SCEV *Count = countIn(New, L);
    if (!Count)
      return false;
    for (auto &[Condition, Holds] : New.Conditions)
      if (!L->isLoopInvariant(Condition))
        return false;
    for (const Dimension &D : New.Dimensions)
      if (!isUsable(D.Distance, L) || !isUsable(D.Count, L))
        return false;
    for (const SCEV *Times : New.Times)
      if (!isUsable(Times, L))
        return false;
    if (auto *Along = dyn_cast<SCEVAddRecExpr>(New.First); Along && Along->getLoop() == L) {
      if (!Along->isAffine())
        return false;
      const SCEV *Distance = Along->getStepRecurrence(Evolution);
      New.First = Along->getStart();
      if (!isUsable(Distance, L) || Evolution.getTypeSizeInBits(Distance->getType()) != 64)
        return false;
      if (!add(New.Dimensions, {Distance, Count}))
        return false;
    } else if (Evolution.isLoopInvariant(New.First, L)) {
      New.Times.push_back(Count);
    } else {
      return false;
    }
    if (!isUsable(New.First, L))
      return false;
    R = std::move(New);
    return true;
  }

  bool add(SmallVector<Dimension, 2> &Dimensions, Dimension More) {
    if (!Dimensions.empty()) {
      Dimension &Last = Dimensions.back();
      if (Evolution.getMulExpr(Last.Distance, Last.Count) == More.Distance) {
        Last.Count = Evolution.getMulExpr(Last.Count, More.Count);
        return true;
      }
    }
    if (Dimensions.size() == 2)
      return false;
    Dimensions.push_back(More);
    return true;
  }

  /// Makes one of ranges of the same line that lie side by side. What another line does again tells nothing new to races.
  std::vector<Range> join(std::vector<Range> &All) {
    for (Alike &Group : alike(All, /*ByLine=*/false)) {
      auto *First = &Group.front();
      for (auto &Next : drop_begin(Group)) {
        if (Next.first != First->first)
          First = &Next;
        else if (lineOf(*Next.second->What.At) != lineOf(*First->second->What.At))
          Next.second->IfMinded = true;
      }
    }
    std::vector<Range> Joined;
    for (Alike &Group : alike(All, /*ByLine=*/true)) {
      Alike Different;
      for (auto &[Distance, Next] : Group) {
        if (Different.empty() || Different.back().first != Distance) {
          Different.push_back({Distance, Next});
          continue;
        }
        Different.back().second->Again = true;
        Different.back().second->Others.push_back(Next->What.At);
      }
      Alike Stretch;
      auto Finish = [&] {
        if (Stretch.size() > 1 && widen(*Stretch.front().second, Stretch.size())) {
          for (auto &[Distance, Next] : drop_begin(Stretch)) {
            Stretch.front().second->Others.push_back(Next->What.At);
            append_range(Stretch.front().second->Others, Next->Others);
          }
          Stretch.resize(1);
        }
        for (auto &[Distance, Next] : Stretch)
          Joined.push_back(std::move(*Next));
        Stretch.clear();
      };
      for (auto &[Distance, Next] : Different) {
        if (!Stretch.empty() && (Distance != Stretch.back().first + int64_t(Next->What.Size) || Next->Again != Stretch.back().second->Again))
          Finish();
        Stretch.push_back({Distance, Next});
      }
      Finish();
    }
    return Joined;
  }

  /// Ranges that differ in nothing but where they begin, and in the line if that is not asked for; by where they begin.
  std::vector<Alike> alike(std::vector<Range> &All, bool ByLine) {
    // The loop, the line, the size and the kind, and what addresses are computed from.
    using Kind = std::tuple<Loop *, DILocation *, uint64_t, const SCEV *>;
    MapVector<Kind, SmallVector<Alike, 1>> Groups;
    for (Range &R : All) {
      uint64_t What = R.What.Size << 2 | (ByLine && R.IfMinded) << 1 | R.What.Write;
      auto &Known = Groups[{R.From, ByLine ? lineOf(*R.What.At) : nullptr, What, Evolution.getPointerBase(R.First)}];
      bool Found = false;
      for (Alike &Group : Known) {
        Range &First = *Group.front().second;
        auto *Distance = dyn_cast<SCEVConstant>(Evolution.getMinusSCEV(R.First, First.First));
        if (!Distance || R.Dimensions != First.Dimensions || R.Times != First.Times || R.Conditions != First.Conditions)
          continue;
        Group.push_back({Distance->getAPInt().getSExtValue(), &R});
        Found = true;
        break;
      }
      if (!Found)
        Known.push_back({{0, &R}});
    }
    std::vector<Alike> Sorted;
    for (auto &[Kind, Known] : Groups)
      append_range(Sorted, Known);
    for (Alike &Group : Sorted)
      std::stable_sort(Group.begin(), Group.end(), [](const auto &A, const auto &B) { return A.first < B.first; });
    return Sorted;
  }

  /// Makes so many accesses, side by side, of each access of a range. False: it would have too many dimensions.
  bool widen(Range &R, uint64_t Number) {
    Type *Word = Runtime.Word;
    SmallVector<Dimension, 2> Dimensions{{Evolution.getConstant(Word, R.What.Size), Evolution.getConstant(Word, Number)}};
    for (const Dimension &D : R.Dimensions)
      if (!add(Dimensions, D))
        return false;
    R.Dimensions = std::move(Dimensions);
    return true;
  }

  /// In how many iterations of a loop the block of an access is come to. Null: not in a certain number.
  const SCEV *countIn(Range &R, Loop *L) {
    BasicBlock *Exiting = L->getExitingBlock(), *Latch = L->getLoopLatch();
    // Blocks that stand between conditions that are the same in all iterations.
    while (!Dominators.dominates(R.Block, Latch)) {
      auto *Node = Dominators.getNode(R.Block);
      BasicBlock *Above = Node && Node->getIDom() ? Node->getIDom()->getBlock() : nullptr;
      if (!Above || !L->contains(Above))
        return nullptr;
      if (!Joins.dominates(R.Block, Above)) {
        auto *Fork = dyn_cast<BranchInst>(Above->getTerminator());
        if (!Fork || !Fork->isConditional() || !L->isLoopInvariant(Fork->getCondition()) || !R.Block->getSinglePredecessor() ||
            Fork->getSuccessor(0) == Fork->getSuccessor(1))
          return nullptr;
        R.Conditions.push_back({Fork->getCondition(), Fork->getSuccessor(0) == R.Block});
      }
      R.Block = Above;
    }
    const SCEV *Back = Evolution.getBackedgeTakenCount(L);
    Type *Word = Runtime.Word;
    if (Evolution.getTypeSizeInBits(Back->getType()) > 64)
      return nullptr;
    Back = Evolution.getNoopOrZeroExtend(Back, Word);
    if (Dominators.dominates(R.Block, Exiting))
      return Evolution.getAddExpr(Back, Evolution.getOne(Word));
    return Dominators.dominates(Exiting, R.Block) ? Back : nullptr;
  }

  Value *compute(const SCEV *S, Type *T, Instruction *Before) {
#if LLVM_VERSION_MAJOR >= 19
    return Expander.expandCodeFor(S, T, Before->getIterator());
#else
    return Expander.expandCodeFor(S, T, Before);
#endif
  }

  void tell(Range &R) {
    Type *Word = Runtime.Word;
    Instruction *Before = R.From->getLoopPreheader()->getTerminator();
    Value *First = compute(R.First, Runtime.Pointer, Before);
    // A single one is a range as well.
    Dimension Inner{Evolution.getConstant(Word, R.What.Size), Evolution.getOne(Word)}, Outer{Evolution.getZero(Word), Evolution.getOne(Word)};
    if (R.Dimensions.size() > 0)
      Inner = R.Dimensions[0];
    if (R.Dimensions.size() > 1)
      Outer = R.Dimensions[1];
    Value *Count = compute(Inner.Count, Word, Before), *Distance = compute(Inner.Distance, Word, Before);
    Value *Rows = compute(Outer.Count, Word, Before), *RowDistance = compute(Outer.Distance, Word, Before);
    Value *Times = nullptr;
    for (const SCEV *More : R.Times) {
      Value *Here = compute(More, Word, Before);
      IRBuilder<> At(Before);
      Times = Times ? At.CreateMul(Times, Here) : Here;
    }
    IRBuilder<> At(Before);
    uint64_t Always = R.What.Size | (R.What.Write ? Calls::Writes : 0) | (R.Again ? Calls::Repeated : 0);
    Value *What = At.CreateOr(At.CreateShl(Count, 8), Runtime.word(Always));
    if (Times) {
      Value *Again = At.CreateICmpUGT(Times, Runtime.word(1));
      What = At.CreateOr(What, At.CreateSelect(Again, Runtime.word(Calls::Repeated), Runtime.word(0)));
      Rows = At.CreateSelect(At.CreateICmpEQ(Times, Runtime.word(0)), Runtime.word(0), Rows);
    }
    for (auto &[Condition, Holds] : R.Conditions)
      Rows = Holds ? At.CreateSelect(At.CreateFreeze(Condition), Rows, Runtime.word(0))
                   : At.CreateSelect(At.CreateFreeze(Condition), Runtime.word(0), Rows);
    if (R.What.Write) {
      BasicBlock *Behind = R.From->getExitBlock();
      Instruction *Last = LastBehind.lookup(Behind);
      At.SetInsertPoint(Last ? Last->getNextNode() : &*Behind->getFirstInsertionPt());
    }
    CallInst *Call = Runtime.accesses(At, {First, What, Distance, Rows, RowDistance}, R.What.At->getDebugLoc());
    if (R.What.Write)
      LastBehind[R.From->getExitBlock()] = Call;
    if (R.IfMinded)
      Seldom.tell(Call);
    unwatched(R.What.At);
    for (Instruction *Other : R.Others)
      unwatched(Other);
  }

  Function &F;
  Accesses &Memory;
  Calls &Runtime;
  Minded &Seldom;
  LoopInfo &Loops;
  DominatorTree &Dominators;
  ScalarEvolution &Evolution;
  AssumptionCache &Assumptions;
  PostDominatorTree Joins;
  SCEVExpander Expander;
  DenseMap<Loop *, bool> Steady;
  DenseMap<BasicBlock *, Instruction *> LastBehind;
};

} // namespace keirin
