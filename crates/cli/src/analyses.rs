//! Which analyses run: the one place where a name becomes an algorithm.
//!
//! Each analysis, and each combination of up to three, is compiled into a driver of its own, so that nothing is looked up
//! while events pass. More than three run as several such drivers over the same batches of one pass.

use crate::options::{Algorithm, AnalysisName, Options};
use keirin_core::analysis::aerodrome::AeroDrome;
use keirin_core::analysis::atomizer::Atomizer;
use keirin_core::analysis::empty::Empty;
use keirin_core::analysis::eraser::Eraser;
use keirin_core::analysis::fasttrack::FastTrack;
use keirin_core::analysis::velodrome::Velodrome;
use keirin_core::analysis::velodrome::graph::{Graph, GraphOptions};
use keirin_core::analysis::velodrome::reach::Reach;
use keirin_core::replay::Checker;

/// How many analyses share a driver. Every combination costs time to compile.
const AT_ONCE: usize = 3;

/// The checkers for the analyses that were asked for.
pub(crate) fn checkers(names: &[AnalysisName], options: &Options) -> Vec<Box<dyn Checker>> {
    let mut names = names.to_vec();
    names.sort_unstable();
    let mut checkers: Vec<Box<dyn Checker>> = Vec::new();
    if options.algorithm == Algorithm::Published && names.contains(&AnalysisName::Velodrome) {
        names.retain(|name| *name != AnalysisName::Velodrome);
        let graph = GraphOptions { merge: !options.no_merge, collect: !options.no_gc };
        checkers.push(Box::new(Velodrome::new(Graph::new(graph))));
    }
    checkers.extend(names.chunks(AT_ONCE).map(checker));
    checkers
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
    let aerodrome = AeroDrome::default;
    let eraser = Eraser::default;
    let atomizer = Atomizer::default;
    match names {
        [V] => Box::new(velodrome()),
        [A] => Box::new(aerodrome()),
        [F] => Box::new(FastTrack),
        [E] => Box::new(eraser()),
        [Z] => Box::new(atomizer()),
        [V, A] => Box::new(together!(velodrome(), aerodrome())),
        [V, F] => Box::new(together!(velodrome(), FastTrack)),
        [V, E] => Box::new(together!(velodrome(), eraser())),
        [V, Z] => Box::new(together!(velodrome(), atomizer())),
        [A, F] => Box::new(together!(aerodrome(), FastTrack)),
        [A, E] => Box::new(together!(aerodrome(), eraser())),
        [A, Z] => Box::new(together!(aerodrome(), atomizer())),
        [F, E] => Box::new(together!(FastTrack, eraser())),
        [F, Z] => Box::new(together!(FastTrack, atomizer())),
        [E, Z] => Box::new(together!(eraser(), atomizer())),
        [V, A, F] => Box::new(together!(velodrome(), aerodrome(), FastTrack)),
        [V, A, E] => Box::new(together!(velodrome(), aerodrome(), eraser())),
        [V, A, Z] => Box::new(together!(velodrome(), aerodrome(), atomizer())),
        [V, F, E] => Box::new(together!(velodrome(), FastTrack, eraser())),
        [V, F, Z] => Box::new(together!(velodrome(), FastTrack, atomizer())),
        [V, E, Z] => Box::new(together!(velodrome(), eraser(), atomizer())),
        [A, F, E] => Box::new(together!(aerodrome(), FastTrack, eraser())),
        [A, F, Z] => Box::new(together!(aerodrome(), FastTrack, atomizer())),
        [A, E, Z] => Box::new(together!(aerodrome(), eraser(), atomizer())),
        [F, E, Z] => Box::new(together!(FastTrack, eraser(), atomizer())),
        // Beside others, the empty analysis adds nothing.
        [others @ .., N] if !others.is_empty() => checker(others),
        _ => Box::new(Empty),
    }
}
