// The pass that `keirin cc --branches`, `--diagnose`, `--loops` and `--lean` load into clang, beside -fsanitize=thread. It tells the
// runtime what the sanitizer's calls do not: what the other side of a branch would do, what branches depend on, values, and loops. Or it
// has fewer of these calls made (`--lean`): `hoist.h` takes out of loops what does not change in them, `descriptors.h` leaves out what the compiler
// does to hand tasks their variables, `copies.h` copies small objects word by word, `repeats.h` leaves out, `ranges.h` tells the accesses of a
// loop together, `neighbours.h` those that lie side by side, `minded.h` has some told only if more than races is looked for; functions of which
// nothing is told are not watched at all; `known.h` looks whether there is anything to tell before a call is made.
//
// Section 3.1 of PTRacer (Yoga, Nagarakatte, Gupta: Parallel data race detection for task parallel programs with locks, FSE 2016).
// Beyond it: branches in loops, nested branches as far as what happens for certain, values and conditions for the diagnosis.
//
// It runs on code that is optimized already, so that it sees the same accesses as the sanitizer. `plan.h` looks at the
// functions of a module, `instrument.h` changes them. What is called is described in docs/branches.md.
#include "copies.h"
#include "descriptors.h"
#include "hoist.h"
#include "instrument.h"
#include "known.h"
#include "neighbours.h"
#include "ranges.h"
#include "repeats.h"

#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/PassPlugin.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Path.h"

#include <dlfcn.h>

namespace keirin {
namespace {

/// What is asked for is in the name of the file that was loaded, such as `pass-branches-values.so`. Options of LLVM would have to be
/// known before the file is loaded, and variables of the environment are not seen by caches of compilers.
Options asked() {
  Options Asked;
  Dl_info File;
  if (!dladdr(reinterpret_cast<void *>(&asked), &File) || !File.dli_fname)
    return Asked;
  SmallVector<StringRef, 4> Words;
  StringRef(sys::path::stem(File.dli_fname)).split(Words, '-');
  for (StringRef Word : Words) {
    Asked.Branches |= Word == "branches";
    Asked.Values |= Word == "values";
    Asked.Loops |= Word == "loops";
    Asked.Lean |= Word == "lean";
  }
  return Asked;
}

bool isWatched(Function &F) {
  return !F.isDeclaration() && F.hasFnAttribute(Attribute::SanitizeThread) && !F.hasFnAttribute(Attribute::Naked) &&
         !F.hasFnAttribute(Attribute::DisableSanitizerInstrumentation) && !F.hasAvailableExternallyLinkage();
}

void verify(Function &F) {
  std::string Broken;
  raw_string_ostream Said(Broken);
  if (verifyFunction(F, &Said))
    report_fatal_error(Twine("keirin's pass has broken ") + F.getName() + ": " + Said.str());
}

struct KeepLocks : PassInfoMixin<KeepLocks> {
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) {
    keepLocks(M);
    return PreservedAnalyses::all();
  }
  static bool isRequired() { return true; }
};

struct Tell : PassInfoMixin<Tell> {
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &Manager) {
    const Options Asked = asked();
    auto &Functions = Manager.getResult<FunctionAnalysisManagerModuleProxy>(M).getManager();
    auto Library = [&](Function &F) -> const TargetLibraryInfo & { return Functions.getResult<TargetLibraryAnalysis>(F); };
    Surroundings Around(M, Library);
    Calls Runtime(M);
    Unfollowed Missing(Runtime);
    Planner Looking(Around, Runtime, Missing, Asked);
    std::vector<std::unique_ptr<Plan>> Plans;
    for (Function &F : M)
      if (isWatched(F) && Around.Known.of(&F).What == LockOperation::None)
        Plans.push_back(Looking.plan(F));
    if (Plans.empty())
      return PreservedAnalyses::all();
    for (auto &P : Plans) {
      Instrument(*P, Around, Runtime, Missing, Asked).run();
      verify(P->F);
    }
    Missing.tell(Asked);
    return PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }
};

/// Has fewer accesses told. What the other modes tell is about single accesses, so that they do not go together.
struct LeaveOut : PassInfoMixin<LeaveOut> {
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &Manager) {
    auto &Functions = Manager.getResult<FunctionAnalysisManagerModuleProxy>(M).getManager();
    Calls Runtime(M);
    Accesses Memory(M.getDataLayout());
    Descriptors Glue(M);
    unsigned Changed = 0;
    for (Function &F : M) {
      if (!isWatched(F))
        continue;
      hoist(F, Functions);
      Changed += Copies(F, Memory).spread();
      Changed += Glue.mark(F);
      Minded Seldom(F, Memory, Runtime);
      Changed += Ranges(F, Functions, Memory, Runtime, Seldom).tell();
      Changed += Neighbours(F, Memory, Runtime, Seldom).tell();
      verify(F);
      Changed += Repeats(F, Memory, Functions.getResult<AAManager>(F), Seldom).leaveOut();
      Changed += Neighbours(F, Memory, Runtime, Seldom).tellPairs();
      Seldom.finish();
      verify(F);
      if (isSilent(F, Memory))
        F.addFnAttr(Attribute::DisableSanitizerInstrumentation);
    }
    if (Changed)
      Unfollowed(Runtime).tell(asked());
    return PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }
};

/// Has programs look whether there is anything to tell, and whether anybody minds, behind all else.
struct LookFirst : PassInfoMixin<LookFirst> {
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) {
    Known Looking(M);
    Calls Runtime(M);
    unsigned Changed = 0;
    for (Function &F : M) {
      if (!isWatched(F))
        continue;
      if (unsigned Here = Minded::makeConditional(F, Runtime) + Looking.look(F)) {
        verify(F);
        Changed += Here;
      }
    }
    return Changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
  }
  static bool isRequired() { return true; }
};

/// Marks the looks at variables of the runtime once more, right before the sanitizer runs: optimizations that make one of two such looks, as
/// on both ways of a branch, lose the mark.
struct MarkAgain : PassInfoMixin<MarkAgain> {
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) {
    for (GlobalVariable &Variable : M.globals())
      if (Variable.getName().take_front(9) == "__keirin_")
        for (User *Use : Variable.users())
          if (auto *Look = dyn_cast<LoadInst>(Use))
            unwatched(Look);
    return PreservedAnalyses::all();
  }
  static bool isRequired() { return true; }
};

/// Has the sanitizer run right behind this pass. Where it usually does, behind all optimizations, what it is to leave alone is not known
/// any more: marks are lost when loops become loops over vectors.
void sanitizeEarly() {
  auto &Known = cl::getRegisteredOptions();
  auto Found = Known.find("sanitizer-early-opt-ep");
  if (Found != Known.end())
    static_cast<cl::opt<bool> *>(Found->second)->setValue(true);
}

void registerPasses(PassBuilder &Builder) {
  auto Add = [](ModulePassManager &Passes) {
    if (asked().Lean)
      Passes.addPass(LeaveOut());
    else
      Passes.addPass(Tell());
  };
  if (asked().Lean)
    sanitizeEarly();
  else
    Builder.registerPipelineStartEPCallback([](ModulePassManager &Passes, OptimizationLevel) { Passes.addPass(KeepLocks()); });
  auto AddLast = [](ModulePassManager &Passes) {
    if (asked().Lean)
      Passes.addPass(LookFirst());
    else
      Passes.addPass(MarkAgain());
  };
#if LLVM_VERSION_MAJOR >= 20
  Builder.registerOptimizerEarlyEPCallback(
      [Add](ModulePassManager &Passes, OptimizationLevel, ThinOrFullLTOPhase) { Add(Passes); });
  Builder.registerOptimizerLastEPCallback(
      [AddLast](ModulePassManager &Passes, OptimizationLevel, ThinOrFullLTOPhase) { AddLast(Passes); });
#else
  Builder.registerOptimizerEarlyEPCallback([Add](ModulePassManager &Passes, OptimizationLevel) { Add(Passes); });
  Builder.registerOptimizerLastEPCallback([AddLast](ModulePassManager &Passes, OptimizationLevel) { AddLast(Passes); });
#endif
}

} // namespace
} // namespace keirin

extern "C" __attribute__((visibility("default"))) llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "keirin", "1", keirin::registerPasses};
}
