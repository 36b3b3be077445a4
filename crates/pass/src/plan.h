// What is to be told of a function, found out before anything is changed.
#pragma once

#include "formulas.h"
#include "unfollowed.h"

namespace keirin {

/// Where a branch can go.
struct Target {
  BasicBlock *Block;
  /// Of a switch: the values that lead there. The default has all others.
  SmallVector<ConstantInt *, 4> Cases;
  bool Default = false;
  Side Does;
  /// The steps that the other targets do not do anyway.
  std::vector<const Step *> Told;
};

/// A branch or a switch.
struct Branch {
  Instruction *At;
  Value *Condition;
  std::vector<std::unique_ptr<Target>> Targets = {};
  /// What its sides do is told: it may go another way, and it is not the library's.
  bool Records = false;
};

struct Plan {
  explicit Plan(Function &F) : F(F), Dominators(F) {}
  Function &F;
  DominatorTree Dominators;
  std::vector<Access> Memory;
  std::vector<Branch> Branches;
};

/// Looks at a function.
class Planner {
public:
  Planner(Surroundings &Around, Calls &Runtime, Unfollowed &Missing, const Options &Asked)
      : Around(Around), Independence(Around, Runtime), Missing(Missing), Asked(Asked) {}

  std::unique_ptr<Plan> plan(Function &F) {
    auto Made = std::make_unique<Plan>(F);
    for (Instruction &I : instructions(F)) {
      append_range(Made->Memory, Around.Memory.of(I));
      if (auto *Two = dyn_cast<BranchInst>(&I); Two && Two->isConditional())
        branch(*Made, I, Two->getCondition());
      else if (auto *Many = dyn_cast<SwitchInst>(&I))
        branch(*Made, I, Many->getCondition());
    }
    return Made;
  }

private:
  static constexpr unsigned MostTargets = 8;

  void branch(Plan &Into, Instruction &I, Value *Condition) {
    StringRef Origin = originOf(I);
    if (Origin.empty())
      Origin = I.getFunction()->getName();
    // How the library hands out tasks is not for the program to decide.
    if (isOfTbb(Origin) || Independence.isIndependent(Condition))
      return;
    Branch Made{&I, Condition};
    targets(Made);
    Flow &Ways = Around.flow(*I.getFunction());
    if (Made.Targets.size() < 2)
      return;
    Made.Records = Asked.Branches && !isOfStandardLibrary(Origin) && Ways.next(I.getParent()).size() >= 2 && dependsOnOthers(Condition);
    if (Made.Records)
      follow(Into, Made);
    Into.Branches.push_back(std::move(Made));
  }

  void targets(Branch &Made) {
    auto Of = [&](BasicBlock *Block) -> Target & {
      for (auto &T : Made.Targets)
        if (T->Block == Block)
          return *T;
      Made.Targets.push_back(std::make_unique<Target>());
      Made.Targets.back()->Block = Block;
      return *Made.Targets.back();
    };
    if (auto *Two = dyn_cast<BranchInst>(Made.At)) {
      Of(Two->getSuccessor(0));
      Of(Two->getSuccessor(1));
      return;
    }
    auto *Many = cast<SwitchInst>(Made.At);
    for (auto &Case : Many->cases())
      Of(Case.getCaseSuccessor()).Cases.push_back(Case.getCaseValue());
    Of(Many->getDefaultDest()).Default = true;
  }

  void follow(Plan &Into, Branch &Made) {
    Flow &Ways = Around.flow(*Made.At->getFunction());
    if (Made.Targets.size() > MostTargets || triesLock(Made.Condition)) {
      Made.Records = false;
      Missing.add(*Made.At, Made.Targets.size() > MostTargets ? "it has too many sides" : "it depends on whether a lock could be taken",
                  DebugLoc());
      return;
    }
    bool Whole = true, Any = false;
    for (auto &T : Made.Targets) {
      if (!Ways.returns(T->Block))
        continue;
      Walk(Around, Into.Dominators, T->Does).side(*Made.At, T->Block);
    }
    for (auto &T : Made.Targets) {
      choose(Made, *T);
      Any |= !T->Told.empty();
      if (Whole && !T->Does.Lost.empty()) {
        Whole = false;
        Missing.add(*Made.At, T->Does.Lost, T->Does.LostAt);
      }
    }
    if (Whole && Any)
      Missing.followed();
  }

  /// True if what others write can take part in a condition: it is read here, or by a function of the program that is called. About
  /// one that comes from parameters alone nothing could be decided, and there are many of them.
  bool dependsOnOthers(Value *Condition) {
    SmallPtrSet<Value *, 16> Seen;
    SmallVector<Value *, 16> Open{Condition};
    while (!Open.empty() && Seen.size() < 256) {
      auto *I = dyn_cast<Instruction>(Open.pop_back_val());
      if (!I || !Seen.insert(I).second)
        continue;
      auto *Call = dyn_cast<CallBase>(I);
      if (Call && !isa<IntrinsicInst>(Call)) {
        if (Around.Known.of(*Call).What == LockOperation::Try || (!Around.harmless(*Call) && !Call->isInlineAsm()))
          return true;
      } else if (I->mayReadFromMemory()) {
        if (!Around.Memory.of(*I).empty())
          return true;
      } else {
        append_range(Open, I->operands());
      }
    }
    return false;
  }

  /// True if a condition says whether a lock was taken: then more than the condition decides what the sides may do.
  bool triesLock(Value *Condition) {
    SmallPtrSet<Value *, 8> Seen;
    SmallVector<Value *, 8> Open{Condition};
    while (!Open.empty() && Seen.size() < 32) {
      auto *I = dyn_cast<Instruction>(Open.pop_back_val());
      if (!I || !Seen.insert(I).second)
        continue;
      if (auto *Call = dyn_cast<CallBase>(I)) {
        if (Around.Known.of(*Call).What == LockOperation::Try)
          return true;
      } else if (!isa<LoadInst>(I)) {
        append_range(Open, I->operands());
      }
    }
    return false;
  }

  /// Leaves out what is told anyway: by the same access, with the same locks, on each other side, or right before or behind.
  void choose(Branch &Made, Target &T) {
    bool Plain = true;
    for (const Step &S : T.Does.Steps) {
      Plain &= S.isAccess();
      if (!(Plain && isRepeated(Made, T, S)))
        T.Told.push_back(&S);
    }
    // Locks matter for the accesses behind them.
    while (!T.Told.empty() && !T.Told.back()->isAccess())
      T.Told.pop_back();
  }

  bool isRepeated(Branch &Made, Target &T, const Step &S) {
    if (S.Length.V)
      return false;
    const DataLayout &Layout = Around.Memory.Layout;
    auto [Base, Distance] = T.Does.base(S.Address, Layout);
    if (Base.F)
      return false;
    auto Same = [&, Base = Base, Distance = Distance](Ref Other, int64_t OtherDistance, uint64_t Size, bool Write) {
      return Other == Base && OtherDistance == Distance && Size == S.Size && Write == (S.What == Step::Write);
    };
    auto InBlock = [&](Instruction &I) {
      for (const Access &A : Around.Memory.of(I)) {
        APInt Offset(64, 0);
        Value *Object = A.Address->stripAndAccumulateConstantOffsets(Layout, Offset, true);
        if (!A.Atomic && !A.Length && Same({Object, nullptr}, Offset.getSExtValue(), A.Size, A.Write))
          return true;
      }
      return false;
    };
    for (Instruction *I = Made.At->getPrevNode(); I && !Around.synchronizes(*I); I = I->getPrevNode())
      if (InBlock(*I))
        return true;
    bool Everywhere = true, AllPlain = true;
    for (auto &Other : Made.Targets) {
      if (Other.get() == &T || !Around.flow(*Made.At->getFunction()).returns(Other->Block))
        continue;
      AllPlain &= Other->Does.Plain;
      bool Found = false;
      for (const Step &O : Other->Does.Steps) {
        if (!O.isAccess())
          break;
        auto [OtherBase, OtherDistance] = Other->Does.base(O.Address, Layout);
        Found |= !O.Length.V && !OtherBase.F && Same(OtherBase, OtherDistance, O.Size, O.What == Step::Write);
      }
      Everywhere &= Found;
    }
    if (Everywhere)
      return true;
    BasicBlock *Join = Around.flow(*Made.At->getFunction()).join(Made.At->getParent());
    // Around a loop the same name may be another value.
    if (!AllPlain || !Join || isa<Instruction>(Base.V))
      return false;
    for (Instruction &I : *Join) {
      if (Around.synchronizes(I))
        return false;
      if (InBlock(I))
        return true;
    }
    return false;
  }

  Surroundings &Around;
  Formulas Independence;
  Unfollowed &Missing;
  const Options &Asked;
};

} // namespace keirin
