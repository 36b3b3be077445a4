// What could not be followed: a warning of the compiler for each branch, and a table for the runtime, so that the report can say
// it as well.
#pragma once

#include "calls.h"

#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/Support/Path.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

namespace keirin {

class Unfollowed {
public:
  explicit Unfollowed(Calls &Runtime) : Runtime(Runtime) {}

  void followed() { ++Followed; }

  /// Not everything of the other side of a branch is told.
  void add(Instruction &Branch, StringRef Reason, const DebugLoc &Where) {
    const DebugLoc &Place = Branch.getDebugLoc();
    std::string Text = Reason.str();
    if (Where && Place && (Where.getLine() != Place.getLine() || Where->getFilename() != Place->getFilename()))
      Text += (" (" + sys::path::filename(Where->getFilename()) + ":" + Twine(Where.getLine()) + ")").str();
    // A loop has a branch before it and one at its end, which look the same.
    std::string Name = Place ? Place->getFilename().str() : Runtime.M.getSourceFileName();
    unsigned Line = Place ? Place.getLine() : 0;
    if (any_of(Rows, [&](const Row &R) { return R.Line == Line && R.File == Name && R.Reason == Text; }))
      return;
    Rows.push_back({Name, Line, Text});
    // Clang shows it as a warning of the group `pass-failed`.
    if (Place)
      Runtime.Context.diagnose(DiagnosticInfoOptimizationFailure("keirin", "unfollowed", DiagnosticLocation(Place), Branch.getParent())
                               << "keirin does not see all that the other side of this branch would do: " << Text);
  }

  /// Has the runtime told when the program starts.
  void tell(const Options &Asked) {
    LLVMContext &Context = Runtime.Context;
    Type *Int = Runtime.Int, *Word = Runtime.Word;
    auto *RowType = StructType::get(Context, {Runtime.Pointer, Int, Runtime.Pointer});
    std::vector<Constant *> Table;
    for (const Row &R : Rows)
      Table.push_back(ConstantStruct::get(RowType, {Runtime.text(R.File), Runtime.number(R.Line), Runtime.text(R.Reason)}));
    Constant *First = Runtime.nothing();
    if (!Table.empty())
      First = global(ConstantArray::get(ArrayType::get(RowType, Table.size()), Table));
    unsigned Flags = (Asked.Branches ? 1 : 0) | (Asked.Values ? 2 : 0) | (Asked.Loops ? 4 : 0) | (Asked.Lean ? 8 : 0);
    auto *HeadType = StructType::get(Context, {Int, Int, Word, Word, Runtime.Pointer});
    Constant *Head = global(ConstantStruct::get(
        HeadType, {Runtime.number(1), Runtime.number(Flags), Runtime.word(Followed), Runtime.word(Rows.size()), First}));
    auto *Start = Function::Create(FunctionType::get(Runtime.Void, false), GlobalValue::InternalLinkage, "keirin.start", &Runtime.M);
    Start->setDoesNotThrow();
    IRBuilder<> At(BasicBlock::Create(Context, "", Start));
    Runtime.call(At, "__keirin_pass", {Head}, DebugLoc());
    At.CreateRetVoid();
    appendToGlobalCtors(Runtime.M, Start, 1);
  }

private:
  struct Row {
    std::string File;
    unsigned Line;
    std::string Reason;
  };

  Constant *global(Constant *Content) {
    auto *Made =
        new GlobalVariable(Runtime.M, Content->getType(), true, GlobalValue::PrivateLinkage, Content, "keirin.table");
    Made->setAlignment(Align(8));
    return Made;
  }

  Calls &Runtime;
  uint64_t Followed = 0;
  std::vector<Row> Rows;
};

} // namespace keirin
