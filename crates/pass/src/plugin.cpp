// The pass that `keirin cc --branches`, `--diagnose` and `--loops` load into clang, beside -fsanitize=thread. It tells the runtime what
// the sanitizer's calls do not: what the other side of a branch would do, what branches depend on, values, and loops.
//
// Section 3.1 of PTRacer (Yoga, Nagarakatte, Gupta: Parallel data race detection for task parallel programs with locks, FSE 2016).
// Beyond it: branches in loops, nested branches as far as what happens for certain, values and conditions for the diagnosis.
//
// It runs on code that is optimized already, and right before the sanitizer, so that it sees the same accesses. `plan.h` looks at the
// functions of a module, `instrument.h` changes them. What is called is described in docs/branches.md.
#include "instrument.h"

#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/PassPlugin.h"
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
  }
  return Asked;
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
      std::string Broken;
      raw_string_ostream Said(Broken);
      if (verifyFunction(P->F, &Said))
        report_fatal_error(Twine("keirin's pass has broken ") + P->F.getName() + ": " + Said.str());
    }
    Missing.tell(Asked);
    return PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }

private:
  static bool isWatched(Function &F) {
    return !F.isDeclaration() && F.hasFnAttribute(Attribute::SanitizeThread) && !F.hasFnAttribute(Attribute::Naked) &&
           !F.hasFnAttribute(Attribute::DisableSanitizerInstrumentation) && !F.hasAvailableExternallyLinkage();
  }
};

void registerPasses(PassBuilder &Builder) {
  Builder.registerPipelineStartEPCallback([](ModulePassManager &Passes, OptimizationLevel) { Passes.addPass(KeepLocks()); });
#if LLVM_VERSION_MAJOR >= 20
  Builder.registerOptimizerEarlyEPCallback(
      [](ModulePassManager &Passes, OptimizationLevel, ThinOrFullLTOPhase) { Passes.addPass(Tell()); });
#else
  Builder.registerOptimizerEarlyEPCallback([](ModulePassManager &Passes, OptimizationLevel) { Passes.addPass(Tell()); });
#endif
}

} // namespace
} // namespace keirin

extern "C" __attribute__((visibility("default"))) llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "keirin", "1", keirin::registerPasses};
}
