// How values and conditions are computed from what was read, as text (`slt32 (add32 $1 1) $2`, see docs/std-format.md), with the
// number that the runtime gave each of the reads when it happened.
//
// What comes from parameters, calls, floating point numbers or private memory is unknown. A value that is computed from constants
// alone, such as the counter of a loop, depends on nothing that was read.
#pragma once

#include "calls.h"
#include "sides.h"

#include <optional>

namespace keirin {

struct Formula {
  enum Kind { Independent, Unknown, Known };
  Kind What = Unknown;
  std::string Text;
  /// The numbers of `$1`, `$2`, ….
  SmallVector<Value *, 4> Reads;
};

class Formulas {
public:
  Formulas(Surroundings &Around, Calls &Runtime) : Around(Around), Runtime(Runtime) {}

  /// A read of which the runtime was told, and its number.
  void told(Value *Read, Value *Number) { Numbers[Read] = Number; }

  Formula of(Value *V) {
    Formula Made;
    if (isIndependent(V)) {
      Made.What = Formula::Independent;
      return Made;
    }
    Nodes = 0;
    std::optional<std::string> Text = operand(V, Made);
    if (!Text || Text->size() > Longest) {
      Made.Reads.clear();
      return Made;
    }
    Made.What = Formula::Known;
    // On its own it must be an operation.
    Made.Text = (*Text)[0] == '(' ? Text->substr(1, Text->size() - 2) : named("trunc", bitsOf(V->getType())) + " " + *Text;
    return Made;
  }

  /// Whether a value is one of some numbers, or none of them.
  Formula ofCases(Value *V, ArrayRef<ConstantInt *> Cases, bool None) {
    Formula Made;
    Nodes = 0;
    std::optional<std::string> Text = operand(V, Made);
    std::string Any;
    for (ConstantInt *Case : Cases) {
      std::string One = "(" + named("eq", bitsOf(V->getType())) + " " + Text.value_or("") + " " + utostr(Case->getZExtValue()) + ")";
      Any = Any.empty() ? One : "(or1 " + Any + " " + One + ")";
    }
    if (!Text || Any.empty() || Any.size() > Longest) {
      Made.Reads.clear();
      return Made;
    }
    Made.What = Formula::Known;
    Made.Text = None ? "not1 " + Any : Any.substr(1, Any.size() - 2);
    return Made;
  }

  /// True if nothing that was read, and nothing unknown, takes part in a value.
  bool isIndependent(Value *V) {
    SmallPtrSet<Value *, 16> Seen;
    SmallVector<Value *, 16> Open{V};
    while (!Open.empty()) {
      Value *Next = Open.pop_back_val();
      if (isa<Constant>(Next) || isa<BasicBlock>(Next) || isa<MetadataAsValue>(Next) || !Seen.insert(Next).second)
        continue;
      if (Seen.size() > 256)
        return false;
      auto *I = dyn_cast<Instruction>(Next);
      if (!I)
        return false;
      if (isa<AllocaInst>(I))
        continue;
      if (auto *Call = dyn_cast<CallBase>(I)) {
        // Whether a lock was taken is not for the program to decide, but for errors.
        if (Around.Known.of(*Call).What == LockOperation::Acquire || Around.Known.of(*Call).What == LockOperation::Release)
          continue;
        if (isOfOpenMp(*Call))
          continue;
        if (!isAllocation(*Call) && (!isa<IntrinsicInst>(Call) || Call->mayReadFromMemory()))
          return false;
        append_range(Open, Call->args());
        continue;
      }
      if (auto *Load = dyn_cast<LoadInst>(I)) {
        if (isShareOfLoop(Load->getPointerOperand()))
          continue;
        if (!Accesses::isConstant(Load->getPointerOperand()))
          return false;
      } else if (I->mayReadOrWriteMemory()) {
        return false;
      }
      append_range(Open, I->operands());
    }
    return true;
  }

  static std::string named(StringRef Operation, unsigned Bits) {
    return Bits == 64 ? Operation.str() : (Operation + Twine(Bits)).str();
  }

private:
  static constexpr unsigned MostNodes = 64, MostReads = 32, Longest = 1024;

  /// Calls by which OpenMP hands out work, such as that of `omp single`: who gets it is not for the program to decide.
  static bool isOfOpenMp(const CallBase &Call) {
    const Function *F = Call.getCalledFunction();
    return F && F->getName().substr(0, 7) == "__kmpc_";
  }

  /// True for a local that says which part of a loop a thread gets, which OpenMP fills in.
  bool isShareOfLoop(Value *Address) {
    auto *Local = dyn_cast<AllocaInst>(getUnderlyingObject(Address));
    if (!Local)
      return false;
    auto [Found, New] = Shares.try_emplace(Local, false);
    if (New)
      for (User *U : Local->users())
        if (auto *Call = dyn_cast<CallBase>(U); Call && Call->getCalledFunction()) {
          StringRef Name = Call->getCalledFunction()->getName();
          Found->second |= Name.contains("_for_static_init") || Name.contains("_dispatch_next");
        }
    return Found->second;
  }

  using Text = std::optional<std::string>;

  Text apply(StringRef Operation, unsigned Bits, std::initializer_list<Value *> Operands, Formula &Into) {
    std::string Made = "(" + named(Operation, Bits);
    for (Value *V : Operands) {
      Text Part = operand(V, Into);
      if (!Part)
        return {};
      Made += " " + *Part;
    }
    return Made + ")";
  }

  /// A value as an operand: a number, something that was read, or a formula in parentheses. Bits above its own are zero.
  Text operand(Value *V, Formula &Into) {
    if (auto *Number = dyn_cast<ConstantInt>(V))
      return Number->getBitWidth() <= 64 ? Text(utostr(Number->getZExtValue())) : Text();
    if (isa<ConstantPointerNull>(V))
      return std::string("0");
    if (Value *Number = numberOf(V))
      return read(Number, Into);
    auto *I = dyn_cast<Instruction>(V);
    unsigned Bits = bitsOf(V->getType());
    if (!I || !Bits || ++Nodes > MostNodes)
      return {};
    if (auto *Compare = dyn_cast<ICmpInst>(I))
      return compare(*Compare, Into);
    if (auto *Cast = dyn_cast<CastInst>(I))
      return cast(*Cast, Into);
    if (auto *Binary = dyn_cast<BinaryOperator>(I))
      return binary(*Binary, Into);
    if (auto *Choice = dyn_cast<SelectInst>(I))
      return Choice->getCondition()->getType()->isIntegerTy(1)
                 ? apply("select", Bits, {Choice->getCondition(), Choice->getTrueValue(), Choice->getFalseValue()}, Into)
                 : Text();
    if (isa<FreezeInst>(I))
      return operand(I->getOperand(0), Into);
    if (auto *Part = dyn_cast<ExtractValueInst>(I))
      return part(*Part, Into);
    if (auto *Address = dyn_cast<GetElementPtrInst>(I))
      return offset(*Address, Into);
    if (auto *Call = dyn_cast<IntrinsicInst>(I))
      return intrinsic(*Call, Into);
    return {};
  }

  Text read(Value *Number, Formula &Into) {
    auto Found = find(Into.Reads, Number);
    if (Found == Into.Reads.end()) {
      if (Into.Reads.size() == MostReads)
        return {};
      Into.Reads.push_back(Number);
      return "$" + utostr(Into.Reads.size());
    }
    return "$" + utostr(Found - Into.Reads.begin() + 1);
  }

  /// The number of a read; of one of several reads, where ways have met, the number of the one.
  Value *numberOf(Value *V) {
    if (auto Found = Numbers.find(V); Found != Numbers.end())
      return Found->second;
    auto *Choice = dyn_cast<PHINode>(V);
    if (!Choice || !isChoiceOfReads(Choice))
      return nullptr;
    // It may lead back to itself: it is entered before its parts.
    PHINode *Number = IRBuilder<>(Choice).CreatePHI(Runtime.Int, Choice->getNumIncomingValues(), "keirin.number");
    Numbers[Choice] = Number;
    for (unsigned K = 0; K < Choice->getNumIncomingValues(); ++K)
      Number->addIncoming(numberOf(Choice->getIncomingValue(K)), Choice->getIncomingBlock(K));
    return Number;
  }

  bool isChoiceOfReads(PHINode *Choice) {
    SmallPtrSet<Value *, 8> Seen;
    SmallVector<Value *, 8> Open{Choice};
    while (!Open.empty()) {
      Value *V = Open.pop_back_val();
      if (!Seen.insert(V).second || Numbers.count(V))
        continue;
      auto *P = dyn_cast<PHINode>(V);
      if (!P || Seen.size() > MostNodes)
        return false;
      append_range(Open, P->incoming_values());
    }
    return true;
  }

  Text compare(ICmpInst &I, Formula &Into) {
    unsigned Bits = bitsOf(I.getOperand(0)->getType());
    if (!Bits)
      return {};
    StringRef Name = CmpInst::getPredicateName(I.getPredicate());
    return apply(Name, Bits, {I.getOperand(0), I.getOperand(1)}, Into);
  }

  Text cast(CastInst &I, Formula &Into) {
    unsigned From = bitsOf(I.getSrcTy()), To = bitsOf(I.getDestTy());
    if (!From || !To)
      return {};
    switch (I.getOpcode()) {
    case Instruction::Trunc:
      return apply("trunc", To, {I.getOperand(0)}, Into);
    case Instruction::SExt: {
      Text Extended = apply("sext", From, {I.getOperand(0)}, Into);
      return Extended && To != 64 ? "(" + named("trunc", To) + " " + *Extended + ")" : Extended;
    }
    case Instruction::ZExt:
      return operand(I.getOperand(0), Into);
    case Instruction::BitCast:
    case Instruction::PtrToInt:
    case Instruction::IntToPtr:
      return From == To ? operand(I.getOperand(0), Into) : Text();
    default:
      return {};
    }
  }

  Text binary(BinaryOperator &I, Formula &Into) {
    if (!I.getType()->isIntegerTy())
      return {};
    unsigned Bits = bitsOf(I.getType());
    auto *Right = dyn_cast<ConstantInt>(I.getOperand(1));
    if (I.getOpcode() == Instruction::Xor && Bits == 1 && Right && Right->isOne())
      return apply("not", 1, {I.getOperand(0)}, Into);
    // LLVM's names of these are the names of the formulas.
    return apply(I.getOpcodeName(), Bits, {I.getOperand(0), I.getOperand(1)}, Into);
  }

  /// What a compare-and-exchange has read, and whether it has written.
  Text part(ExtractValueInst &I, Formula &Into) {
    auto *Exchange = dyn_cast<AtomicCmpXchgInst>(I.getAggregateOperand());
    Value *Number = Exchange ? Numbers.lookup(Exchange) : nullptr;
    if (!Number || I.getNumIndices() != 1)
      return {};
    Text Old = read(Number, Into);
    if (!Old || I.getIndices()[0] == 0)
      return Old;
    Text Expected = operand(Exchange->getCompareOperand(), Into);
    unsigned Bits = bitsOf(Exchange->getCompareOperand()->getType());
    return Expected ? Text("(" + named("eq", Bits) + " " + *Old + " " + *Expected + ")") : Text();
  }

  Text offset(GetElementPtrInst &I, Formula &Into) {
    APInt Distance(64, 0);
    if (!I.getType()->isPointerTy() || !I.accumulateConstantOffset(Around.Memory.Layout, Distance))
      return {};
    Text Base = operand(I.getPointerOperand(), Into);
    return Base ? Text("(add " + *Base + " " + utostr(Distance.getZExtValue()) + ")") : Text();
  }

  Text intrinsic(IntrinsicInst &I, Formula &Into) {
    auto Chosen = [&](StringRef Compare) -> Text {
      Text A = operand(I.getArgOperand(0), Into), B = A ? operand(I.getArgOperand(1), Into) : Text();
      if (!B)
        return {};
      unsigned Bits = bitsOf(I.getType());
      return "(" + named("select", Bits) + " (" + named(Compare, Bits) + " " + *A + " " + *B + ") " + *A + " " + *B + ")";
    };
    switch (I.getIntrinsicID()) {
    case Intrinsic::smax:
      return Chosen("sgt");
    case Intrinsic::smin:
      return Chosen("slt");
    case Intrinsic::umax:
      return Chosen("ugt");
    case Intrinsic::umin:
      return Chosen("ult");
    case Intrinsic::expect:
      return operand(I.getArgOperand(0), Into);
    default:
      return {};
    }
  }

  Surroundings &Around;
  Calls &Runtime;
  DenseMap<Value *, Value *> Numbers;
  DenseMap<AllocaInst *, bool> Shares;
  unsigned Nodes = 0;
};

} // namespace keirin
