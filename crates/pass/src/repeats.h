// Accesses that tell nothing new, because the same bytes were accessed just before: the sanitizer is kept from telling them.
//
// A *stretch* is a way through a function on which nothing may end the step, order threads, or take or release a lock (`quiet.h`).
// Within it all accesses of a thread have the same step, locks and time. What can be found with an access then depends on:
//
// | what | so an access is nothing new if before it in the stretch, on every way |
// |---|---|
// | races | the bytes were written, or they were read and it is a read |
// | torn regions: it is the one in the middle | the same |
// | torn regions: it is the first of two | the same: whatever fits in later fits in since the earlier one |
// | torn regions: it is the second of two, the first before the stretch | the same |
// | torn regions: both in the stretch | there are two accesses already; if it is a write, two writes: only a pair of writes is torn by a read |
// | gaps between two holds of a lock: a read that no write follows, then a write | the last access of the bytes was of the same kind |
//
// So for each location these are followed: how many accesses there were (up to two), how many writes (up to two), the kind of the
// last one, and whether something of the other kind came since at an address that may be the same memory. A read is left out behind two
// accesses of which the last was a read; a write behind two writes of which the last access was one, and nothing disturbs it. A read
// that is disturbed is left out all the same: compilers repeat hardly any others. If the addresses are the same, then it comes behind a write,
// and a gap that begins with it is missed; none is made up.
//
// For races alone one access is enough, by the first line of the table, and a read may also come before a write (`minded.h`). What
// tells nothing new to those, but something to the others, is told only if the runtime minds.
//
// Locations are a value and a distance from it. A value that is computed again, as in a loop, is another one.
//
// What is lost: lines. The third read of a step is never one of the two places of a finding. Analyses of the observed order
// (velodrome and the like) see the left out access too early.
#pragma once

#include "minded.h"

#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/Analysis/AliasAnalysis.h"

namespace keirin {

class Repeats {
public:
  Repeats(Function &F, Accesses &Memory, AAResults &Aliases, Minded &Seldom)
      : F(F), Memory(Memory), Aliases(Aliases), Seldom(Seldom) {}

  /// Marks what is left out. Returns how many accesses that are.
  unsigned leaveOut() {
    collect();
    if (Locations.size() < 1 || Locations.size() > MostLocations)
      return 0;
    flow();
    unsigned Count = 0;
    for (BasicBlock &B : F) {
      auto Found = Ends.find(&B);
      if (Found == Ends.end())
        continue; // nothing leads there
      State Here = atStart(B);
      for (Instruction &I : B) {
        auto Known = At.find(&I);
        if (Known != At.end() && isNothingNew(Here, Known->second)) {
          Redundant.push_back(&I);
          ++Count;
        } else if (Known != At.end() && isNoNewRace(Here, Known->second)) {
          Repeated.push_back(&I);
          ++Count;
        }
        pass(Here, I);
      }
    }
    for (Instruction *I : Redundant)
      unwatched(I);
    for (Instruction *I : Repeated)
      Seldom.tell(I);
    return Count;
  }

private:
  /// More would take too long; such functions are made by programs.
  static constexpr unsigned MostLocations = 512;

  struct Location {
    Value *Base;
    int64_t Distance;
    uint64_t Size;
    bool holds(const Location &Other) const {
      return Base == Other.Base && Distance <= Other.Distance &&
             Distance + int64_t(Size) >= Other.Distance + int64_t(Other.Size);
    }
    bool meets(const Location &Other) const {
      return Base == Other.Base && Distance < Other.Distance + int64_t(Other.Size) && Other.Distance < Distance + int64_t(Size);
    }
  };

  enum Kind : uint8_t { Read, Write, Unknown };

  /// What is known of a location: numbers up to two, and the last access.
  struct Fact {
    uint8_t Accesses = 0, Writes = 0;
    Kind Last = Unknown;
    bool Disturbed = false;
    bool operator==(const Fact &O) const {
      return Accesses == O.Accesses && Writes == O.Writes && Last == O.Last && Disturbed == O.Disturbed;
    }
  };
  using State = std::vector<Fact>;

  struct Use {
    unsigned Where;
    Kind What;
  };

  void collect() {
    std::vector<std::pair<Instruction *, Access>> Found;
    for (Instruction &I : instructions(F))
      for (const Access &A : Memory.of(I))
        if (isOrdinary(A))
          Found.push_back({&I, A});
    for (auto &[I, A] : Found) {
      APInt Distance(64, 0);
      Value *Base = A.Address->stripAndAccumulateConstantOffsets(Memory.Layout, Distance, /*AllowNonInbounds=*/true);
      Location Here{Base, Distance.getSExtValue(), A.Size};
      unsigned Where = 0;
      auto Same = [&](const Location &L) { return L.Base == Base && L.Distance == Here.Distance && L.Size == Here.Size; };
      for (unsigned K : OfBase[Base])
        if (Same(Locations[K]))
          Where = K + 1;
      if (!Where) {
        OfBase[Base].push_back(Locations.size());
        Locations.push_back(Here);
        Examples.push_back(MemoryLocation(A.Address, LocationSize::precise(A.Size)));
        Where = Locations.size();
        if (Locations.size() > MostLocations)
          return;
      }
      At[I] = {Where - 1, A.Write ? Write : Read};
    }
  }

  /// True if two locations with different bases may be the same memory.
  bool mayMeet(unsigned A, unsigned B) {
    auto [Known, New] = Met.try_emplace({std::min(A, B), std::max(A, B)}, false);
    if (New)
      Known->second = !Aliases.isNoAlias(Examples[A], Examples[B]);
    return Known->second;
  }

  bool isNothingNew(const State &Here, const Use &U) {
    for (unsigned K : OfBase[Locations[U.Where].Base]) {
      const Fact &Known = Here[K];
      bool Enough = U.What == Read ? Known.Accesses == 2 : Known.Writes == 2 && !Known.Disturbed;
      if (Enough && Known.Last == U.What && Locations[K].holds(Locations[U.Where]))
        return true;
    }
    return false;
  }

  bool isNoNewRace(const State &Here, const Use &U) {
    return any_of(OfBase[Locations[U.Where].Base], [&](unsigned K) {
      return (U.What == Read ? Here[K].Accesses : Here[K].Writes) > 0 && Locations[K].holds(Locations[U.Where]);
    });
  }

  void pass(State &Here, Instruction &I) {
    auto Base = OfBase.find(&I);
    if (Base != OfBase.end())
      for (unsigned K : Base->second)
        Here[K] = {};
    Stir Done = stirOf(I);
    if (Done == Stir::Ends) {
      std::fill(Here.begin(), Here.end(), Fact());
    } else if (Done == Stir::Touches) {
      for (Fact &Known : Here)
        Known.Disturbed = true;
    } else if (auto Found = At.find(&I); Found != At.end()) {
      Use U = Found->second;
      for (unsigned K = 0; K < Here.size(); ++K) {
        if (K == U.Where || Here[K].Last == U.What)
          continue;
        if (Locations[K].Base != Locations[U.Where].Base)
          Here[K].Disturbed = Here[K].Disturbed || mayMeet(K, U.Where);
        else if (Locations[K].meets(Locations[U.Where]))
          Here[K].Last = Unknown;
      }
      Fact &Known = Here[U.Where];
      Known.Accesses = std::min(2, Known.Accesses + 1);
      Known.Writes = std::min(2, Known.Writes + (U.What == Write));
      Known.Last = U.What;
      Known.Disturbed = false;
    }
  }

  /// What all ways that are known to lead to a block have in common.
  State atStart(BasicBlock &B) {
    State Common(Locations.size());
    bool First = true;
    if (&B == &F.getEntryBlock() || B.isEHPad())
      return Common;
    for (BasicBlock *Before : predecessors(&B)) {
      auto Found = Ends.find(Before);
      if (Found == Ends.end())
        continue;
      if (First)
        Common = Found->second;
      for (unsigned K = 0; K < Common.size(); ++K) {
        const Fact &Other = Found->second[K];
        Common[K].Accesses = std::min(Common[K].Accesses, Other.Accesses);
        Common[K].Writes = std::min(Common[K].Writes, Other.Writes);
        if (Common[K].Last != Other.Last)
          Common[K].Last = Unknown;
        Common[K].Disturbed |= Other.Disturbed;
      }
      First = false;
    }
    return Common;
  }

  void flow() {
    ReversePostOrderTraversal<Function *> Order(&F);
    for (bool Changed = true; Changed;) {
      Changed = false;
      for (BasicBlock *B : Order) {
        State Here = atStart(*B);
        for (Instruction &I : *B)
          pass(Here, I);
        auto [Known, New] = Ends.try_emplace(B);
        if (New || Known->second != Here) {
          Known->second = std::move(Here);
          Changed = true;
        }
      }
    }
  }

  Function &F;
  Accesses &Memory;
  AAResults &Aliases;
  Minded &Seldom;
  std::vector<Location> Locations;
  /// Of each location the memory as some instruction names it.
  std::vector<MemoryLocation> Examples;
  DenseMap<Value *, SmallVector<unsigned, 4>> OfBase;
  DenseMap<Instruction *, Use> At;
  DenseMap<std::pair<unsigned, unsigned>, bool> Met;
  DenseMap<BasicBlock *, State> Ends;
  std::vector<Instruction *> Redundant, Repeated;
};

} // namespace keirin
