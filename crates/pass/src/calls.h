// The calls of the runtime. Each has the place in the source of what it tells: the runtime takes the place from where it was called.
#pragma once

#include "common.h"

#include "llvm/Transforms/Utils/BasicBlockUtils.h"

namespace keirin {

class Calls {
public:
  explicit Calls(Module &M)
      : M(M), Context(M.getContext()), Void(Type::getVoidTy(Context)), Int(Type::getInt32Ty(Context)),
        Word(Type::getInt64Ty(Context)), Pointer(PointerType::get(Context, 0)) {}

  CallInst *call(IRBuilder<> &At, StringRef Name, Type *Result, ArrayRef<Value *> Arguments, const DebugLoc &Place) {
    SmallVector<Type *, 6> Types;
    for (Value *V : Arguments)
      Types.push_back(V->getType());
    FunctionCallee Callee = M.getOrInsertFunction(Name, FunctionType::get(Result, Types, false));
    if (auto *F = dyn_cast<Function>(Callee.getCallee()))
      F->setDoesNotThrow();
    CallInst *Call = At.CreateCall(Callee, Arguments);
    Call->setDoesNotThrow();
    // Two of them that are made one would have no place, and one in place of the function would have that of its caller.
    Call->addFnAttr(Attribute::NoMerge);
    Call->setTailCallKind(CallInst::TCK_NoTail);
    DebugLoc Somewhere = Place;
    if (DISubprogram *Function = At.GetInsertBlock()->getParent()->getSubprogram(); !Somewhere && Function)
      Somewhere = DILocation::get(Context, 0, 0, Function);
    Call->setDebugLoc(Somewhere);
    return Call;
  }
  CallInst *call(IRBuilder<> &At, StringRef Name, ArrayRef<Value *> Arguments, const DebugLoc &Place) {
    return call(At, Name, Void, Arguments, Place);
  }

  /// A place before an instruction that is reached only while the runtime listens to what other sides of branches would do.
  Instruction *ifOtherSidesMatter(Instruction *Before) { return ifMinded("__keirin_other_sides", Before); }

  /// A place before an instruction that is reached only while a variable of the runtime is not 0.
  Instruction *ifMinded(StringRef Variable, Instruction *Before) {
    IRBuilder<> At(Before);
    // Not known to be ours: the linker makes no copy of it, so that the program and the runtime see the same.
    Constant *Listens = M.getOrInsertGlobal(Variable, Int);
    LoadInst *Now = At.CreateLoad(Int, Listens);
    unwatched(Now);
    MDNode *Seldom = MDBuilder(Context).createBranchWeights(1, 1000);
    return SplitBlockAndInsertIfThen(At.CreateIsNotNull(Now), Before, false, Seldom);
  }

  /// The runtime does not keep the address that is an argument. So what is there stays private, and the sanitizer leaves it alone.
  void keepsNot(CallInst *Call, unsigned Argument) {
#if LLVM_VERSION_MAJOR >= 21
    Call->addParamAttr(Argument, Attribute::getWithCaptureInfo(Context, CaptureInfo::none()));
#else
    Call->addParamAttr(Argument, Attribute::NoCapture);
#endif
  }

  /// Accesses at equal distances: address, size with what is below and their number, distance, number of rows, and their distance.
  CallInst *accesses(IRBuilder<> &At, ArrayRef<Value *> Arguments, const DebugLoc &Place) {
    CallInst *Call = call(At, "__keirin_accesses", Arguments, Place);
    keepsNot(Call, 0);
    // What it does to the memory of the runtime is no reason to keep the program's in memory.
    Call->setOnlyAccessesInaccessibleMemory();
    return Call;
  }
  /// Bits beside the size and below the number: they write; they happen more than once.
  static constexpr uint64_t Writes = 32, Repeated = 64;

  Constant *number(uint64_t Value) { return ConstantInt::get(Int, Value); }
  Constant *word(uint64_t Value) { return ConstantInt::get(Word, Value); }
  Constant *nothing() { return ConstantPointerNull::get(Pointer); }

  /// A text that stays; the same for the same text.
  Constant *text(StringRef Text) {
    Constant *&Known = Texts[Text];
    if (!Known) {
      Constant *Bytes = ConstantDataArray::getString(Context, Text);
      auto *Global = new GlobalVariable(M, Bytes->getType(), true, GlobalValue::PrivateLinkage, Bytes, "keirin.text");
      Global->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
      Known = Global;
    }
    return Known;
  }

  /// Numbers that stay.
  Constant *words(ArrayRef<uint64_t> Numbers) {
    Constant *All = ConstantDataArray::get(Context, Numbers);
    auto *Global = new GlobalVariable(M, All->getType(), true, GlobalValue::PrivateLinkage, All, "keirin.words");
    Global->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
    return Global;
  }

  Module &M;
  LLVMContext &Context;
  Type *Void, *Int, *Word;
  PointerType *Pointer;

private:
  StringMap<Constant *> Texts;
};

} // namespace keirin
