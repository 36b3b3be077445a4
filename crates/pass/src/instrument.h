// Puts the calls into a function, as it was planned.
#pragma once

#include "plan.h"
#include "slice.h"
#include "values.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Support/xxhash.h"

namespace keirin {

/// A block on the way from one to another, for all edges between them.
inline BasicBlock *blockBetween(Instruction *From, BasicBlock *To) {
  BasicBlock *Before = From->getParent();
  BasicBlock *Made = BasicBlock::Create(From->getContext(), "", Before->getParent(), To);
  BranchInst::Create(To, Made)->setDebugLoc(From->getDebugLoc());
  for (PHINode &P : To->phis()) {
    bool First = true;
    for (unsigned K = 0; K < P.getNumIncomingValues();) {
      if (P.getIncomingBlock(K) == Before && First) {
        P.setIncomingBlock(K, Made);
        First = false;
      } else if (P.getIncomingBlock(K) == Before) {
        P.removeIncomingValue(K, false);
        continue;
      }
      ++K;
    }
  }
  From->replaceSuccessorWith(To, Made);
  return Made;
}

class Instrument {
public:
  Instrument(Plan &What, Surroundings &Around, Calls &Runtime, Unfollowed &Missing, const Options &Asked)
      : What(What), Around(Around), Runtime(Runtime), Missing(Missing), Asked(Asked), Known(Around, Runtime), Numbers(What.F, Runtime.Int, Runtime, "keirin.reads"),
        Sides(What.F, Runtime.Word, Runtime, "keirin.side"), Told(Runtime, Known, Numbers) {}

  void run() {
    if (Asked.Values)
      Told.tell(What.Memory);
    else if (Asked.Branches)
      tasksOfLibrary();
    for (Branch &B : What.Branches)
      branch(B);
    if (Asked.Values)
      Told.finish();
    if (Asked.Loops)
      loops();
  }

private:
  /// A step with its address, computed on the executed side.
  struct Ready {
    const Step *What;
    Value *Address, *Size, *Stored;
  };

  /// Before an atomic operation by which oneTBB hands out tasks: what it reads decides nothing of what the program does.
  void tasksOfLibrary() {
    for (const Access &A : What.Memory) {
      if (!A.Atomic || isa<StoreInst>(A.At) || !isOfTbbTasks(*A.At))
        continue;
      IRBuilder<> At(A.At);
      CallInst *Call = Runtime.call(At, "__keirin_atomic_of_library", {A.Address}, A.At->getDebugLoc());
      Runtime.keepsNot(Call, 0);
    }
  }

  void branch(Branch &B) {
    // Formulas are made where the condition is, before the blocks between are.
    std::vector<Formula> Conditions;
    for (auto &T : B.Targets)
      Conditions.push_back(condition(B, *T));
    bool Reported = false;
    for (unsigned Executed = 0; Executed < B.Targets.size(); ++Executed) {
      bool Records = false;
      for (auto &T : B.Targets)
        Records |= B.Records && T != B.Targets[Executed] && !T->Told.empty();
      if (!Records && !Asked.Values)
        continue;
      BasicBlock *Place = blockBetween(B.At, B.Targets[Executed]->Block);
      // Values are told throughout, and what other sides would do with them.
      IRBuilder<> At(Asked.Values ? Place->getTerminator() : Runtime.ifOtherSidesMatter(Place->getTerminator()));
      At.SetCurrentDebugLocation(B.At->getDebugLoc());
      bool Said = false;
      for (unsigned Other = 0; Records && Other < B.Targets.size(); ++Other)
        if (Other != Executed && !B.Targets[Other]->Told.empty())
          Said |= sideOf(B, Executed, Other, Conditions, At, Reported);
      if (Asked.Values && !(Said && isa<BranchInst>(B.At)))
        say(At, B, isa<SwitchInst>(B.At) || Executed == 0, Conditions[Executed]);
    }
  }

  Formula condition(Branch &B, Target &T) {
    if (!Asked.Values)
      return {};
    if (isa<BranchInst>(B.At))
      return Known.of(B.Condition);
    SmallVector<ConstantInt *, 4> Cases(T.Cases);
    if (T.Default) {
      Cases.clear();
      for (auto &Other : B.Targets)
        if (Other.get() != &T)
          Cases.append(Other->Cases);
    }
    return Known.ofCases(B.Condition, Cases, T.Default);
  }

  CallInst *say(IRBuilder<> &At, Branch &B, bool Taken, const Formula &Condition) {
    auto [Text, Count, Reads] = Told.arguments(At, Condition);
    CallInst *Call = Runtime.call(At, "__keirin_branch", {Runtime.number(Taken), Text, Count, Reads}, B.At->getDebugLoc());
    Runtime.keepsNot(Call, 3);
    return Call;
  }

  /// Tells what another side would do, behind the condition that decides about it. False if nothing of it can be told.
  bool sideOf(Branch &B, unsigned Executed, unsigned Other, ArrayRef<Formula> Conditions, IRBuilder<> &At, bool &Reported) {
    Target &T = *B.Targets[Other];
    auto Say = [&](IRBuilder<> &Here) { return say(Here, B, isa<BranchInst>(B.At) && Executed == 0, Conditions[Other]); };
    // Before all else: the call keeps what is cloned on one side from being made one with what is on the other. Without values the two
    // are apart anyway, each where it is reached only if other sides matter.
    CallInst *Condition = Asked.Values ? Say(At) : nullptr;
    Slice Addresses(T.Does, *B.At, What.Dominators, Around.Memory, At);
    std::vector<Ready> Steps;
    auto Lost = [&](const Step &S) {
      if (!Reported && T.Does.Lost.empty())
        Missing.add(*B.At, "where memory or a lock is cannot be computed here: " + Addresses.Why, S.At->getDebugLoc());
      Reported = true;
    };
    for (const Step *S : T.Told) {
      Value *Address = Addresses.of(S->Address);
      Value *Size = S->Length.V && Address ? Addresses.of(S->Length) : Runtime.word(S->Size);
      if (!Address || !Size) {
        Lost(*S);
        if (S->isAccess())
          continue;
        break; // of what follows the locks are not known
      }
      Steps.push_back({S, Address, At.CreateZExtOrTrunc(Size, Runtime.Word), stored(T.Does, *S, B)});
    }
    while (!Steps.empty() && !Steps.back().What->isAccess())
      Steps.pop_back();
    if (Steps.empty()) {
      if (Condition)
        Condition->eraseFromParent();
      return false;
    }
    bool Whole = !Asked.Values && all_of(Steps, [](const Ready &R) { return isa<ConstantInt>(R.Size); });
    IRBuilder<> Each(Whole ? unlessTold(At, Steps, B) : &*At.GetInsertPoint());
    if (!Asked.Values)
      Say(Each);
    DebugLoc Last;
    for (const Ready &R : Steps) {
      Last = place(R.What->At, R.What->Where, B);
      tell(Each, R, Last);
    }
    Runtime.call(Each, "__keirin_other_end", {}, Last);
    return true;
  }

  /// A place that is reached only if the runtime, which is shown a side as a whole, has not heard all of it before.
  Instruction *unlessTold(IRBuilder<> &At, ArrayRef<Ready> Steps, Branch &B) {
    SmallVector<uint64_t, 16> Kinds;
    SmallVector<Value *, 16> Where;
    for (const Ready &R : Steps) {
      uint64_t Size = R.What->isAccess() ? cast<ConstantInt>(R.Size)->getZExtValue() : 0;
      Kinds.push_back(R.What->What | (R.What->Shared ? 4 : 0) | Size << 8);
      Where.push_back(At.CreatePtrToInt(R.Address, Runtime.Word));
    }
    Value *Memory = Sides.holding(At, Where);
    Value *Arguments[] = {Runtime.words(Kinds), Memory, Runtime.number(Steps.size())};
    CallInst *Call = Runtime.call(At, "__keirin_other_side", Runtime.Int, Arguments, B.At->getDebugLoc());
    Runtime.keepsNot(Call, 1);
    Instruction *Behind = &*At.GetInsertPoint();
    MDNode *Seldom = MDBuilder(Runtime.Context).createBranchWeights(1, 1000);
    Instruction *Within = SplitBlockAndInsertIfThen(At.CreateIsNull(Call), Behind, false, Seldom);
    At.SetInsertPoint(Behind);
    return Within;
  }

  /// What the other side would write, if that is known here.
  Value *stored(const Side &Does, const Step &S, Branch &B) {
    if (!S.Stored.V || !Asked.Values)
      return nullptr;
    Ref R = Does.resolve(S.Stored);
    if (R.F)
      return nullptr;
    auto *I = dyn_cast<Instruction>(R.V);
    return isa<ConstantInt>(R.V) || isa<ConstantPointerNull>(R.V) || isa<Argument>(R.V) || (I && What.Dominators.dominates(I, B.At))
               ? R.V
               : nullptr;
  }

  void tell(IRBuilder<> &At, const Ready &R, const DebugLoc &Place) {
    Value *Shared = Runtime.number(R.What->Shared);
    switch (R.What->What) {
    case Step::Read:
      Runtime.call(At, "__keirin_other_read", {R.Address, R.Size}, Place);
      break;
    case Step::Write:
      Runtime.call(At, "__keirin_other_write", {R.Address, R.Size}, Place);
      if (R.Stored)
        Runtime.call(At, "__keirin_other_value", {asWord(At, R.Stored)}, Place);
      break;
    case Step::Acquire:
      Runtime.call(At, "__keirin_other_acquire", {R.Address, Shared}, Place);
      break;
    case Step::Release:
      Runtime.call(At, "__keirin_other_release", {R.Address, Shared}, Place);
      break;
    }
  }

  /// The place of an instruction of the other side: in a called function it looks as if that were inlined.
  DebugLoc place(const Instruction *At, const Frame *Where, Branch &B) {
    if (!What.F.getSubprogram())
      return DebugLoc();
    DebugLoc Own = At->getDebugLoc();
    if (!Where || !Where->Call)
      return Own ? Own : B.At->getDebugLoc();
    DebugLoc Outer = place(Where->Call, Where->Up, B);
    if (!Own || !Outer)
      return Outer;
    DILocation *Site = DILocation::getDistinct(Runtime.Context, Outer.getLine(), Outer.getCol(), Outer.getScope(), Outer.getInlinedAt());
    DenseMap<const MDNode *, MDNode *> Cache;
    DebugLoc Chain = DebugLoc::appendInlinedAt(Own, Site, Runtime.Context, Cache);
    return DILocation::get(Runtime.Context, Own.getLine(), Own.getCol(), Own.getScope(), Chain);
  }

  /// Loops are entered, begin another iteration, and are left. One that is left by an exception is not told of.
  void loops() {
    DominatorTree Dominators(What.F);
    LoopInfo Found(Dominators);
    struct Edge {
      Instruction *From;
      BasicBlock *To;
      StringRef Call;
      uint64_t Loop;
      DebugLoc Place;
    };
    std::vector<Edge> Edges;
    std::vector<std::pair<BasicBlock *, std::pair<uint64_t, DebugLoc>>> Headers;
    unsigned Ordinal = 0;
    for (Loop *L : Found.getLoopsInPreorder()) {
      uint64_t Name = nameOf(Ordinal++);
      DebugLoc Place = L->getStartLoc();
      BasicBlock *Header = L->getHeader();
      Headers.push_back({Header, {Name, Place}});
      SmallPtrSet<BasicBlock *, 4> Seen;
      for (BasicBlock *From : predecessors(Header))
        if (!L->contains(From) && Seen.insert(From).second)
          Edges.push_back({From->getTerminator(), Header, "__keirin_loop_enter", Name, Place});
      for (BasicBlock *From : L->blocks())
        for (BasicBlock *To : successors(From))
          if (!L->contains(To) && !To->isEHPad())
            Edges.push_back({From->getTerminator(), To, "__keirin_loop_exit", Name, Place});
    }
    for (auto &[Header, Loop] : Headers) {
      IRBuilder<> At(&*Header->getFirstInsertionPt());
      Runtime.call(At, "__keirin_loop_iteration", {Runtime.word(Loop.first)}, Loop.second);
    }
    // An edge may leave two loops, or leave one and enter another: the inner one is left first, and entering comes last.
    std::stable_sort(Edges.begin(), Edges.end(), [](const Edge &A, const Edge &B) {
      return A.Call.size() < B.Call.size(); // "exit" before "enter"
    });
    DenseMap<std::pair<Instruction *, BasicBlock *>, BasicBlock *> Between;
    for (Edge &E : Edges) {
      if (!isa<BranchInst>(E.From) && !isa<SwitchInst>(E.From) && !isa<InvokeInst>(E.From))
        continue;
      BasicBlock *&Place = Between[{E.From, E.To}];
      bool New = !Place;
      if (New)
        Place = blockBetween(E.From, E.To);
      IRBuilder<> At(Place->getTerminator());
      bool Leaves = E.Call == "__keirin_loop_exit";
      if (Leaves && !New)
        At.SetInsertPoint(&Place->front());
      Runtime.call(At, E.Call, {Runtime.word(E.Loop)}, E.Place);
    }
  }

  uint64_t nameOf(unsigned Ordinal) {
    std::string Key = What.F.getParent()->getSourceFileName() + "|" + What.F.getName().str() + "|" + utostr(Ordinal);
#if LLVM_VERSION_MAJOR >= 17
    return xxh3_64bits(StringRef(Key));
#else
    return xxHash64(StringRef(Key));
#endif
  }

  Plan &What;
  Surroundings &Around;
  Calls &Runtime;
  Unfollowed &Missing;
  const Options &Asked;
  Formulas Known;
  Scratch Numbers, Sides;
  Values Told;
};

} // namespace keirin
