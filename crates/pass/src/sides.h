// What a side of a branch does for certain, from the branch to where its sides meet again: accesses, and locks that it takes and
// releases, in order. Called functions are followed if their code is here. Where a side branches itself, or loops, what happens for
// certain goes on where these ways meet; what is between is lost, and that is told. At a call of which nothing is known the
// rest is lost: it might release a lock, or wait for a task.
#pragma once

#include "access.h"
#include "flow.h"
#include "locks.h"

#include "llvm/IR/Dominators.h"

namespace keirin {

/// A walk through a function, on a side of a branch: that of the branch, or one that is called.
struct Frame {
  /// The call through which the walk came here; null in the function of the branch.
  CallBase *Call = nullptr;
  const Frame *Up = nullptr;
  SmallPtrSet<const BasicBlock *, 8> Visited;
};

/// A value as a walk sees it. Without a frame it is the value that it had at the branch: in a loop, a side may come through the
/// instruction once more.
struct Ref {
  Value *V = nullptr;
  const Frame *F = nullptr;
  bool operator==(const Ref &Other) const { return V == Other.V && F == Other.F; }
};

/// One thing that a side does.
struct Step {
  enum Kind { Read, Write, Acquire, Release };
  Kind What;
  Instruction *At;
  const Frame *Where;
  /// Of the memory, or of the lock.
  Ref Address;
  uint64_t Size = 0;
  Ref Length = {};
  /// What is written, if that is a word.
  Ref Stored = {};
  bool Shared = false;
  bool isAccess() const { return What == Read || What == Write; }
};

/// A side of a branch.
struct Side {
  std::vector<Step> Steps;
  /// Why something of it is not in the steps; empty if nothing is missing.
  std::string Lost;
  DebugLoc LostAt;
  /// True if the walk came to the end of the side, and took or released nothing.
  bool Plain = false;
  /// What it may write in a way that is not in the steps, and before which step. Addresses must not depend on it.
  std::vector<std::pair<Ref, unsigned>> Changes;
  unsigned ChangesUnknown = ~0u;
  /// Before which step a load comes.
  DenseMap<std::pair<const Value *, const Frame *>, unsigned> Loads;

  std::vector<std::unique_ptr<Frame>> Frames;
  DenseMap<std::pair<const Value *, const Frame *>, Ref> Phis, Returned;

  void lose(const Twine &Why, const Instruction *At) {
    if (Lost.empty()) {
      Lost = Why.str();
      // In the function itself: lines of inlined library code say little.
      LostAt = At->getDebugLoc();
      while (LostAt && LostAt->getInlinedAt())
        LostAt = LostAt->getInlinedAt();
    }
  }

  /// The value behind one that is only another name for it: of a parameter the argument, of a call what it returns.
  Ref resolve(Ref R) const {
    for (unsigned Turns = 0; Turns < 64; ++Turns) {
      if (!R.F || isa<Constant>(R.V))
        return {R.V, nullptr};
      if (auto *A = dyn_cast<Argument>(R.V)) {
        if (!R.F->Call)
          return {R.V, nullptr};
        R = {R.F->Call->getArgOperand(A->getArgNo()), R.F->Up};
        continue;
      }
      auto *I = dyn_cast<Instruction>(R.V);
      if (I && !R.F->Call && !R.F->Visited.count(I->getParent()))
        return {R.V, nullptr};
      if (auto Found = Phis.find({R.V, R.F}); Found != Phis.end()) {
        R = Found->second;
        continue;
      }
      if (auto Found = Returned.find({R.V, R.F}); Found != Returned.end()) {
        R = Found->second;
        continue;
      }
      return R;
    }
    return R;
  }

  /// An address as another one and a distance from it.
  std::pair<Ref, int64_t> base(Ref R, const DataLayout &Layout) const {
    int64_t Distance = 0;
    for (unsigned Turns = 0; Turns < 64; ++Turns) {
      R = resolve(R);
      APInt Offset(64, 0);
      Value *V = R.V->stripAndAccumulateConstantOffsets(Layout, Offset, /*AllowNonInbounds=*/true);
      Distance += Offset.getSExtValue();
      if (V == R.V)
        break;
      R.V = V;
    }
    return {R, Distance};
  }
};

/// What is known of all functions of a module, before any of them is changed.
class Surroundings {
public:
  Surroundings(Module &M, function_ref<const TargetLibraryInfo &(Function &)> Library)
      : Memory(M.getDataLayout()), Library(Library) {
    for (Function &F : M)
      if (!F.isDeclaration())
        Flows[&F] = std::make_unique<Flow>(F);
  }

  Flow &flow(Function &F) { return *Flows[&F]; }
  bool harmless(CallBase &Call) { return isHarmless(Call, Library(*Call.getFunction())); }

  /// The function that a call goes to, if its code is here and is what will run.
  static Function *callee(CallBase &Call) {
    Function *F = Call.getCalledFunction();
    bool Known = F && !F->isDeclaration() && !F->isInterposable() && !F->isVarArg() && F->arg_size() == Call.arg_size();
    return Known ? F : nullptr;
  }

  /// True if a function may take or release locks, or do something of which nothing is known.
  bool synchronizes(Function &F) {
    auto [Found, New] = Synchronizes.try_emplace(&F, true); // of a function that calls itself nothing is known
    if (New) {
      bool Any = false;
      for (BasicBlock &B : F)
        for (Instruction &I : B)
          Any |= flow(F).returns(&B) && synchronizes(I);
      Synchronizes[&F] = Any;
      return Any;
    }
    return Found->second;
  }
  bool synchronizes(Instruction &I) {
    auto *Call = dyn_cast<CallBase>(&I);
    if (!Call)
      return false;
    if (Known.of(*Call).What != LockOperation::None)
      return true;
    if (harmless(*Call) || Call->isInlineAsm())
      return false;
    Function *F = callee(*Call);
    return !F || synchronizes(*F);
  }

  Accesses Memory;
  Locks Known;

private:
  function_ref<const TargetLibraryInfo &(Function &)> Library;
  DenseMap<Function *, std::unique_ptr<Flow>> Flows;
  DenseMap<Function *, bool> Synchronizes;
};

/// Walks along a side.
class Walk {
public:
  Walk(Surroundings &Around, const DominatorTree &Dominators, Side &Into)
      : Around(Around), Dominators(Dominators), Into(Into) {}

  /// From a branch, along the way to one of its successors.
  void side(Instruction &Branch, BasicBlock *First) {
    Function &F = *Branch.getFunction();
    Origin = &Branch;
    Frame *Here = enter(nullptr, nullptr);
    bool Whole = along(F, Branch.getParent(), First, Around.flow(F).join(Branch.getParent()), Here);
    Into.Plain = Whole && none_of(Into.Steps, [](const Step &S) { return !S.isAccess(); });
  }

private:
  /// Called functions are followed so deep.
  static constexpr unsigned Deepest = 4;
  static constexpr unsigned MostSteps = 64;

  unsigned now() const { return Into.Steps.size(); }

  Frame *enter(CallBase *Call, const Frame *Up) {
    Into.Frames.push_back(std::make_unique<Frame>());
    Into.Frames.back()->Call = Call;
    Into.Frames.back()->Up = Up;
    return Into.Frames.back().get();
  }

  /// From one block to another, or to the end of the function. False if the rest is lost.
  bool along(Function &F, BasicBlock *From, BasicBlock *B, BasicBlock *End, Frame *Here) {
    Flow &Ways = Around.flow(F);
    while (B && B != End) {
      // Around a loop, back to before the branch: nothing new. (A side may begin there, if the branch ends the loop.)
      bool Back = !Here->Call && !Here->Visited.empty() && Dominators.dominates(B, Origin->getParent());
      if (Back || !Here->Visited.insert(B).second)
        return true;
      // What the phis are is settled by the way that was taken, if there was one way.
      for (PHINode &P : B->phis())
        if (From && P.getBasicBlockIndex(From) >= 0)
          Into.Phis[{&P, Here}] = {P.getIncomingValueForBlock(From), before(P.getIncomingValueForBlock(From), B, Here)};
      for (Instruction &I : *B)
        if (!instruction(I, Here))
          return false;
      Instruction *Last = B->getTerminator();
      if (Last == Origin && !Here->Call)
        return true;
      auto To = Ways.next(B);
      if (auto *Return = dyn_cast<ReturnInst>(Last)) {
        if (Here->Call && Return->getReturnValue())
          Into.Returned[{Here->Call, Here->Up}] = {Return->getReturnValue(), Here};
        return true;
      }
      if (To.empty())
        return false;
      if (To.size() == 1) {
        From = B;
        B = To[0];
        continue;
      }
      if (!skip(Ways.between(B), Last, Here))
        return false;
      From = nullptr;
      B = Ways.join(B);
      if (!B && Here->Call)
        return true;
    }
    return true;
  }

  /// What comes into a block by its phis was computed before it: on this side, or before the branch.
  const Frame *before(Value *V, BasicBlock *Entered, Frame *Here) {
    auto *I = dyn_cast<Instruction>(V);
    if (I && !Here->Call && (I->getParent() == Entered || !Here->Visited.count(I->getParent())))
      return nullptr;
    return Here;
  }

  /// Goes past blocks of which it is not certain that they are executed.
  bool skip(ArrayRef<BasicBlock *> Blocks, Instruction *Branch, Frame *Here) {
    for (BasicBlock *B : Blocks)
      for (Instruction &I : *B) {
        if (Around.synchronizes(I)) {
          Into.lose("a branch inside of it takes or releases locks, or calls what cannot be followed", &I);
          return false;
        }
        for (const Access &A : Around.Memory.of(I)) {
          if (A.Write)
            Into.Changes.push_back({{A.Address, Here}, now()});
          if (!A.Atomic)
            Into.lose("it has a branch or a loop inside", Branch);
        }
        if (auto *Call = dyn_cast<CallBase>(&I))
          if (Surroundings::callee(*Call)) {
            Into.ChangesUnknown = std::min(Into.ChangesUnknown, now());
            Into.lose("it has a branch or a loop inside", Branch);
          }
      }
    return true;
  }

  bool instruction(Instruction &I, Frame *Here) {
    if (Into.Steps.size() > MostSteps) {
      Into.lose("it is too long", &I);
      return false;
    }
    if (isa<LoadInst>(I))
      Into.Loads[{&I, Here}] = now();
    for (const Access &A : Around.Memory.of(I))
      if (!A.Atomic)
        access(A, Here);
      else if (A.Write)
        Into.Changes.push_back({{A.Address, Here}, now()});
    auto *Call = dyn_cast<CallBase>(&I);
    if (!Call || isa<IntrinsicInst>(Call))
      return true;
    LockOperation Lock = Around.Known.of(*Call);
    if (Lock.What != LockOperation::None)
      return lock(*Call, Lock, Here);
    if (Around.harmless(*Call))
      return true;
    return follow(*Call, Here);
  }

  void access(const Access &A, Frame *Here) {
    // What the side makes for itself is not there if the side is not executed, and nobody else knows of it.
    Ref Object = Into.base({const_cast<Value *>(getUnderlyingObject(A.Address)), Here}, Around.Memory.Layout).first;
    auto *Call = dyn_cast<CallBase>(Object.V);
    if (Object.F && (isa<AllocaInst>(Object.V) || (Call && isAllocation(*Call))))
      return;
    Step S{A.Write ? Step::Write : Step::Read, A.At, Here, {A.Address, Here}};
    S.Size = A.Size;
    if (A.Length)
      S.Length = {A.Length, Here};
    if (auto *Store = dyn_cast<StoreInst>(A.At); Store && bitsOf(Store->getValueOperand()->getType()))
      S.Stored = {Store->getValueOperand(), Here};
    Into.Steps.push_back(S);
  }

  bool lock(CallBase &Call, const LockOperation &Lock, Frame *Here) {
    if (Lock.What == LockOperation::Try) {
      Into.lose("it tries to take a lock", &Call);
      return false;
    }
    if (Lock.What == LockOperation::Release && Lock.Locks == 0) {
      // By its guard: the lock is the one that this guard has taken.
      Ref Guard = Into.resolve({Call.getArgOperand(Lock.Guard), Here});
      auto Found = find_if(Guards, [&](const auto &G) { return G.first == Guard; });
      if (Found == Guards.end()) {
        Into.lose("it releases a lock that is not known", &Call);
        return false;
      }
      // At its end a guard may have released it before.
      if (Found->second.V)
        Into.Steps.push_back({Step::Release, &Call, Here, Found->second});
      Found->second = {};
      return true;
    }
    for (unsigned K = Lock.Lock; K < Lock.Lock + Lock.Locks; ++K) {
      Step S{Lock.What == LockOperation::Acquire ? Step::Acquire : Step::Release, &Call, Here, {Call.getArgOperand(K), Here}};
      S.Shared = Lock.Shared;
      if (S.What == Step::Acquire && Lock.Guard >= 0)
        Guards.insert(Guards.begin(), std::pair<Ref, Ref>{Into.resolve({Call.getArgOperand(Lock.Guard), Here}), S.Address});
      if (S.What == Step::Release)
        S.Shared |= wasShared(S.Address);
      Into.Steps.push_back(S);
    }
    return true;
  }

  /// `pthread_rwlock_unlock` does not say who releases.
  bool wasShared(Ref Lock) {
    const DataLayout &Layout = Around.Memory.Layout;
    for (auto S = Into.Steps.rbegin(); S != Into.Steps.rend(); ++S)
      if (S->What == Step::Acquire && Into.base(S->Address, Layout) == Into.base(Lock, Layout))
        return S->Shared;
    return false;
  }

  bool follow(CallBase &Call, Frame *Here) {
    if (Call.isInlineAsm())
      return true;
    Function *F = Surroundings::callee(Call);
    std::string Name = Call.getCalledFunction() ? demangle(Call.getCalledFunction()->getName().str()) : "";
    if (!F) {
      Into.lose(Name.empty() ? Twine("it calls a function by its address") : "it calls `" + Twine(Name) + "`, whose code is elsewhere",
                &Call);
      return false;
    }
    unsigned Depth = 0;
    bool Recursive = F == Origin->getFunction();
    for (const Frame *Above = Here; Above; Above = Above->Up, ++Depth)
      Recursive |= Above->Call && Above->Call->getCalledFunction() == F;
    if (Recursive || Depth > Deepest) {
      Into.lose(Recursive ? "it calls `" + Twine(Name) + "`, which calls itself" : Twine("its calls are too deep"), &Call);
      return false;
    }
    if (!Around.flow(*F).returns(&F->getEntryBlock()))
      return false;
    return along(*F, nullptr, &F->getEntryBlock(), nullptr, enter(&Call, Here));
  }

  Surroundings &Around;
  const DominatorTree &Dominators;
  Side &Into;
  Instruction *Origin = nullptr;
  SmallVector<std::pair<Ref, Ref>, 2> Guards;
};

} // namespace keirin
