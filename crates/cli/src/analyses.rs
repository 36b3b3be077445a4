//! Which analyses run: the one place where a name becomes an algorithm.
//!
//! Each analysis, and each pair of analyses, is compiled into a driver of its own, so that nothing is looked up while
//! events pass. More than two run as several such drivers over the same batches of one pass.

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
    checkers.extend(names.chunks(2).map(checker));
    checkers
}

/// Makes a checker of one or two analyses. Pairs come in the order of [`AnalysisName`].
fn checker(names: &[AnalysisName]) -> Box<dyn Checker> {
    use AnalysisName::{
        Aerodrome as A, Atomizer as Z, Empty as N, Eraser as E, FastTrack as F, Velodrome as V,
    };
    let velodrome = || Velodrome::new(Reach::default());
    match names {
        [V] => Box::new(velodrome()),
        [A] => Box::new(AeroDrome::default()),
        [F] => Box::new(FastTrack),
        [E] => Box::new(Eraser::default()),
        [Z] => Box::new(Atomizer::default()),
        [V, A] => Box::new((velodrome(), AeroDrome::default())),
        [V, F] => Box::new((velodrome(), FastTrack)),
        [V, E] => Box::new((velodrome(), Eraser::default())),
        [V, Z] => Box::new((velodrome(), Atomizer::default())),
        [A, F] => Box::new((AeroDrome::default(), FastTrack)),
        [A, E] => Box::new((AeroDrome::default(), Eraser::default())),
        [A, Z] => Box::new((AeroDrome::default(), Atomizer::default())),
        [F, E] => Box::new((FastTrack, Eraser::default())),
        [F, Z] => Box::new((FastTrack, Atomizer::default())),
        [E, Z] => Box::new((Eraser::default(), Atomizer::default())),
        // With another one, the empty analysis adds nothing.
        [other, N] => checker(&[*other]),
        _ => Box::new(Empty),
    }
}
