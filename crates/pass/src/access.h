// What the sanitizer tells of: reads and writes of memory that others may see. The pass tells of exactly the same.
#pragma once

#include "common.h"

#include "llvm/Analysis/CaptureTracking.h"
#include "llvm/Analysis/ValueTracking.h"

namespace keirin {

/// Memory that an instruction reads or writes.
struct Access {
  Instruction *At = nullptr;
  Value *Address = nullptr;
  uint64_t Size = 0;
  /// Of a copy of a length that is known only when it happens.
  Value *Length = nullptr;
  bool Write = false;
  bool Atomic = false;
};

/// The accesses of functions. They are looked at before the first call is put in, since a call with an address hands it to others.
class Accesses {
public:
  explicit Accesses(const DataLayout &Layout) : Layout(Layout) {}

  /// What an instruction accesses, first what it reads. Atomic ones that do both are one access, a write.
  SmallVector<Access, 2> of(Instruction &I) {
    SmallVector<Access, 2> Found;
    if (I.hasMetadata(LLVMContext::MD_nosanitize))
      return Found;
    auto Add = [&](Value *Address, Type *T, bool Write, bool Atomic) {
      TypeSize Size = Layout.getTypeStoreSize(T);
      if (!Size.isScalable() && isShared(Address))
        Found.push_back({&I, Address, Size.getFixedValue(), nullptr, Write, Atomic});
    };
    if (auto *Load = dyn_cast<LoadInst>(&I)) {
      Add(Load->getPointerOperand(), Load->getType(), false, Load->isAtomic());
    } else if (auto *Store = dyn_cast<StoreInst>(&I)) {
      Add(Store->getPointerOperand(), Store->getValueOperand()->getType(), true, Store->isAtomic());
    } else if (auto *Change = dyn_cast<AtomicRMWInst>(&I)) {
      Add(Change->getPointerOperand(), Change->getType(), true, true);
    } else if (auto *Exchange = dyn_cast<AtomicCmpXchgInst>(&I)) {
      Add(Exchange->getPointerOperand(), Exchange->getNewValOperand()->getType(), true, true);
    } else if (auto *Memory = dyn_cast<AnyMemIntrinsic>(&I)) {
      auto AddRange = [&](Value *Address, bool Write) {
        auto *Constant = dyn_cast<ConstantInt>(Memory->getLength());
        if (isShared(Address) && !(Constant && Constant->isZero()))
          Found.push_back({&I, Address, Constant ? Constant->getZExtValue() : 0, Constant ? nullptr : Memory->getLength(), Write,
                           false});
      };
      if (auto *Copy = dyn_cast<AnyMemTransferInst>(Memory))
        AddRange(Copy->getRawSource(), false);
      AddRange(Memory->getRawDest(), true);
    }
    return Found;
  }

  /// False for memory that only this call of the function can see, and for what never changes.
  bool isShared(Value *Address) {
    if (Address->getType()->getPointerAddressSpace() != 0 || Address->isSwiftError())
      return false;
    Value *Object = const_cast<Value *>(getUnderlyingObject(Address, 12));
    if (auto *Global = dyn_cast<GlobalVariable>(Object))
      return !Global->isConstant() && !Global->isThreadLocal() && Global->getName().substr(0, 6) != "__llvm";
    if (auto *Intrinsic = dyn_cast<IntrinsicInst>(Object); Intrinsic && Intrinsic->getIntrinsicID() == Intrinsic::threadlocal_address)
      return false;
    auto *Local = dyn_cast<AllocaInst>(Object);
    return !Local || isCaptured(Local);
  }

  /// True if memory is only read in the whole program.
  static bool isConstant(Value *Address) {
    auto *Global = dyn_cast<GlobalVariable>(getUnderlyingObject(Address, 12));
    return Global && Global->isConstant();
  }

  bool isCaptured(AllocaInst *Local) {
    auto [Found, New] = Captured.try_emplace(Local, false);
    if (New) {
#if LLVM_VERSION_MAJOR >= 21
      Found->second = PointerMayBeCaptured(Local, /*ReturnCaptures=*/true);
#else
      Found->second = PointerMayBeCaptured(Local, /*ReturnCaptures=*/true, /*StoreCaptures=*/true);
#endif
    }
    return Found->second;
  }

  const DataLayout &Layout;

private:
  DenseMap<AllocaInst *, bool> Captured;
};

} // namespace keirin
