//! Which analyses run: the one place where a name becomes an algorithm.
//!
//! Each analysis, and each combination of up to three, is compiled into a driver of its own, so that nothing is looked up
//! while events pass. More than three run as several such drivers over the same batches of one pass. Analyses of tasks
//! have a driver each.

use crate::options::{Algorithm, AnalysisName, Check, Options, StructureName, Switch};
use keirin_core::analysis::aerodrome::AeroDrome;
use keirin_core::analysis::atomizer::Atomizer;
use keirin_core::analysis::empty::Empty;
use keirin_core::analysis::eraser::Eraser;
use keirin_core::analysis::fasttrack::FastTrack;
use keirin_core::analysis::tasks::all_sets::AllSets;
use keirin_core::analysis::tasks::atomicity::published::Published;
use keirin_core::analysis::tasks::atomicity::{Modes, TaskAtomicity};
use keirin_core::analysis::tasks::ptracer::PtRacer;
use keirin_core::analysis::tasks::published_ptracer::PublishedPtRacer;
use keirin_core::analysis::tasks::spd3::Spd3;
use keirin_core::analysis::tasks::{Flagged, TaskAnalysis};
use keirin_core::analysis::velodrome::Velodrome;
use keirin_core::analysis::velodrome::graph::{Graph, GraphOptions};
use keirin_core::analysis::velodrome::reach::Reach;
use keirin_core::replay::Checker;
use keirin_core::replay::tasks::{TaskChecker, TaskOptions};
use keirin_core::sptree::Structure;
use keirin_core::sptree::labels::Labels;
use keirin_core::sptree::ranks::Ranks;
use keirin_core::sptree::tree::Tree;
use keirin_core::witness::{Diagnosis, Examination, Examine};

/// How many analyses share a driver. Every combination costs time to compile.
const AT_ONCE: usize = 3;

/// The checkers for the analyses that were asked for.
pub(crate) fn checkers(names: &[AnalysisName], options: &Options) -> Vec<Box<dyn Checker>> {
    let (tasks, mut names): (Vec<_>, Vec<_>) = names.iter().partition(|name| name.is_of_tasks());
    names.sort_unstable();
    let mut checkers: Vec<Box<dyn Checker>> = Vec::new();
    if options.algorithm == Algorithm::Published && names.contains(&AnalysisName::Velodrome) {
        names.retain(|name| *name != AnalysisName::Velodrome);
        let graph = GraphOptions { merge: !options.no_merge, collect: !options.no_gc };
        checkers.push(Box::new(Velodrome::new(Graph::new(graph))));
    }
    checkers.extend(names.chunks(AT_ONCE).map(checker));
    checkers.extend(tasks.iter().map(|name| match options.structure {
        StructureName::Ranks => task_checker::<Ranks>(*name, options),
        StructureName::Labels => task_checker::<Labels>(*name, options),
        StructureName::Tree => task_checker::<Tree>(*name, options),
    }));
    checkers
}

/// What the options say about the driver of tasks.
fn task_options(options: &Options) -> TaskOptions {
    TaskOptions {
        access_cache: options.access_cache,
        verdict_cache: match options.verdict_cache {
            Some(switch) => switch == Switch::On,
            // Only a walk up the tree costs more than looking the answer up.
            None => options.structure == StructureName::Tree,
        },
        count: options.stats,
        possible: options.diagnose,
    }
}

/// Which regions must be whole.
fn modes(options: &Options) -> Modes {
    let has = |check| options.check.0.contains(&check);
    Modes {
        blocks: has(Check::Annotated) || has(Check::Functions),
        steps: has(Check::Steps),
        gaps: has(Check::Gaps),
    }
}

/// The checker that looks into what analyses of tasks have flagged: does some schedule show it?
pub(crate) fn examination(
    flagged: &Flagged,
    options: &Options,
    diagnosis: Option<Diagnosis>,
) -> Box<dyn Checker> {
    let names = &options.analysis.0;
    let races = [AnalysisName::Spd3, AnalysisName::PtRacer, AnalysisName::AllSets];
    let atomicity = names.contains(&AnalysisName::TaskAtomicity);
    let published = options.algorithm == Algorithm::Published;
    let modes = modes(options);
    let examine = Examine {
        races: names.iter().any(|name| races.contains(name)),
        blocks: atomicity && !published && modes.blocks,
        steps: atomicity && (published || modes.steps),
        gaps: atomicity && !published && modes.gaps,
        groups: atomicity && !published,
    };
    let mut examination = Examination::new(flagged, examine);
    if let Some(diagnosis) = diagnosis {
        examination = examination.diagnosing(diagnosis);
    }
    Box::new(TaskChecker::<_, Ranks>::new(
        examination,
        "examination",
        TaskOptions { access_cache: options.access_cache, ..TaskOptions::default() },
    ))
}

/// Makes a checker of one analysis of tasks.
fn task_checker<S: Structure + 'static>(name: AnalysisName, options: &Options) -> Box<dyn Checker> {
    fn boxed<S: Structure + 'static>(
        analysis: impl TaskAnalysis + 'static,
        name: AnalysisName,
        options: &Options,
    ) -> Box<dyn Checker> {
        Box::new(TaskChecker::<_, S>::new(analysis, name.text(), task_options(options)))
    }
    let published = options.algorithm == Algorithm::Published;
    match name {
        AnalysisName::Spd3 => boxed::<S>(Spd3, name, options),
        AnalysisName::PtRacer if published => boxed::<S>(PublishedPtRacer, name, options),
        AnalysisName::PtRacer => boxed::<S>(PtRacer::default(), name, options),
        AnalysisName::AllSets => boxed::<S>(AllSets, name, options),
        AnalysisName::TaskAtomicity if published => boxed::<S>(Published, name, options),
        AnalysisName::TaskAtomicity => boxed::<S>(TaskAtomicity::new(modes(options)), name, options),
        _ => Box::new(Empty),
    }
}

/// Makes one value of several analyses: pairs of pairs.
macro_rules! together {
    ($analysis:expr) => { $analysis };
    ($analysis:expr, $($others:expr),+) => { ($analysis, together!($($others),+)) };
}

/// Makes a checker of one to three analyses, in the order of [`AnalysisName`].
fn checker(names: &[AnalysisName]) -> Box<dyn Checker> {
    use AnalysisName::{
        Aerodrome as A, Atomizer as Z, Empty as N, Eraser as E, FastTrack as F, Velodrome as V,
    };
    let velodrome = || Velodrome::new(Reach::default());
    let aerodrome = AeroDrome::new;
    let fasttrack = FastTrack::exact;
    let eraser = Eraser::new;
    let atomizer = Atomizer::new;
    match names {
        [V] => Box::new(velodrome()),
        [A] => Box::new(aerodrome()),
        [F] => Box::new(fasttrack()),
        [E] => Box::new(eraser()),
        [Z] => Box::new(atomizer()),
        [V, A] => Box::new(together!(velodrome(), aerodrome())),
        [V, F] => Box::new(together!(velodrome(), fasttrack())),
        [V, E] => Box::new(together!(velodrome(), eraser())),
        [V, Z] => Box::new(together!(velodrome(), atomizer())),
        [A, F] => Box::new(together!(aerodrome(), fasttrack())),
        [A, E] => Box::new(together!(aerodrome(), eraser())),
        [A, Z] => Box::new(together!(aerodrome(), atomizer())),
        [F, E] => Box::new(together!(fasttrack(), eraser())),
        [F, Z] => Box::new(together!(fasttrack(), atomizer())),
        [E, Z] => Box::new(together!(eraser(), atomizer())),
        [V, A, F] => Box::new(together!(velodrome(), aerodrome(), fasttrack())),
        [V, A, E] => Box::new(together!(velodrome(), aerodrome(), eraser())),
        [V, A, Z] => Box::new(together!(velodrome(), aerodrome(), atomizer())),
        [V, F, E] => Box::new(together!(velodrome(), fasttrack(), eraser())),
        [V, F, Z] => Box::new(together!(velodrome(), fasttrack(), atomizer())),
        [V, E, Z] => Box::new(together!(velodrome(), eraser(), atomizer())),
        [A, F, E] => Box::new(together!(aerodrome(), fasttrack(), eraser())),
        [A, F, Z] => Box::new(together!(aerodrome(), fasttrack(), atomizer())),
        [A, E, Z] => Box::new(together!(aerodrome(), eraser(), atomizer())),
        [F, E, Z] => Box::new(together!(fasttrack(), eraser(), atomizer())),
        // Beside others, the empty analysis adds nothing.
        [others @ .., N] if !others.is_empty() => checker(others),
        _ => Box::new(Empty),
    }
}
