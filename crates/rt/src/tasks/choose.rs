//! Which analyses of tasks run.

use super::TaskDriver;
use crate::options::Options;
use crate::telling;
use crate::thread::Thread;
use crate::watch::Ranges;
use crate::watcher::Watcher;
use keirin_core::analysis::tasks::all_sets::AllSets;
use keirin_core::analysis::tasks::atomicity::published::Published;
use keirin_core::analysis::tasks::atomicity::{Modes, TaskAtomicity};
use keirin_core::analysis::tasks::plain::KeepsPlain;
use keirin_core::analysis::tasks::ptracer::PtRacer;
use keirin_core::analysis::tasks::published_ptracer::PublishedPtRacer;
use keirin_core::analysis::tasks::several::Both;
use keirin_core::analysis::tasks::spd3::Spd3;
use keirin_core::event::AccessKind;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// An access that may be one of the commonest: see [`TaskDriver::short_access`].
type ShortAccess = Box<dyn Fn(&mut Thread, AccessKind, (usize, usize), usize, usize) -> bool + Send + Sync>;

static SHORT: OnceLock<ShortAccess> = OnceLock::new();

/// An access of any size: see [`TaskDriver::copy_access`].
type CopyAccess = Box<dyn Fn(&mut Thread, AccessKind, (usize, usize), usize) -> bool + Send + Sync>;

static COPY: OnceLock<CopyAccess> = OnceLock::new();

/// Accesses of a loop: see [`TaskDriver::range_access`].
type RangeAccess = Box<dyn Fn(&mut Thread, &Ranges, usize) -> bool + Send + Sync>;

static RANGES: OnceLock<RangeAccess> = OnceLock::new();

/// The way for accesses of a loop, if tasks are watched.
#[inline(always)]
pub(crate) fn range_access() -> Option<&'static RangeAccess> {
    RANGES.get()
}

/// The way for accesses that no hook of an access tells, if tasks are watched.
#[inline(always)]
pub(crate) fn copy_access() -> Option<&'static CopyAccess> {
    COPY.get()
}

/// The way for the commonest accesses, if tasks are watched.
#[inline(always)]
pub(crate) fn short_access() -> Option<&'static ShortAccess> {
    SHORT.get()
}

/// Not 0 if somebody wants to hear of accesses that are nothing new to races: the step has accessed the same bytes before, with nothing in
/// between that could make a difference. Programs that were built with `--lean` look at it themselves.
#[allow(non_upper_case_globals)]
#[unsafe(no_mangle)]
static __keirin_repeats: AtomicU32 = AtomicU32::new(1);

fn start<A: KeepsPlain + Send + Sync + 'static>(analysis: A) -> &'static dyn Watcher {
    let driver: &'static TaskDriver<A> = Box::leak(Box::new(TaskDriver::new(analysis)));
    __keirin_repeats.store(u32::from(!A::ONLY_RACES), Ordering::Relaxed);
    let _ = SHORT.set(Box::new(|thread, kind, bytes, pc, run_at| {
        driver.short_access(thread, kind, bytes, pc, run_at)
    }));
    let _ = COPY.set(Box::new(|thread, kind, bytes, pc| driver.copy_access(thread, kind, bytes, pc)));
    let _ = RANGES.set(Box::new(|thread, ranges, pc| driver.range_access(thread, ranges, pc)));
    driver
}

/// Which regions must be whole.
fn modes(options: &Options) -> Modes {
    let mut modes = Modes { blocks: false, steps: false, gaps: false };
    for mode in &options.check {
        match &**mode {
            // Functions are told as blocks.
            "annotated" | "functions" => modes.blocks = true,
            "steps" => modes.steps = true,
            "gaps" => modes.gaps = true,
            other => telling::note(&format!("the runtime does not know the regions `{other}`")),
        }
    }
    if options.check.is_empty() { Modes { blocks: true, steps: false, gaps: true } } else { modes }
}

/// The driver for the analyses of tasks that are asked for; None if there are none.
pub(crate) fn choose(options: &Options) -> Option<&'static dyn Watcher> {
    super::KEEP_ALL.store(options.order_beside_tree, Ordering::Relaxed);
    let wants = |name: &str| options.analyses.iter().any(|wanted| wanted == name);
    let names = ["spd3", "ptracer", "all-sets", "task-atomicity"];
    let [spd3, ptracer, all_sets, atomicity] = names.map(wants);
    if ![spd3, ptracer, all_sets, atomicity].contains(&true) {
        return None;
    }
    let (races, torn) = (races_going_on, || TaskAtomicity::new(modes(options)));
    Some(match (spd3, ptracer, all_sets, atomicity, options.published) {
        (true, false, false, false, _) => start(Spd3),
        (false, true, false, false, false) => start(races()),
        (false, false, false, true, false) => start(torn()),
        (false, true, false, true, false) => start(Both(races(), torn())),
        (_, _, _, _, published) => {
            let races = Both(spd3.then_some(Spd3), all_sets.then_some(AllSets));
            let locked = Both(
                (ptracer && !published).then(races_going_on),
                (ptracer && published).then_some(PublishedPtRacer),
            );
            let atomicity =
                Both((atomicity && !published).then(torn), (atomicity && published).then_some(Published));
            start(Both(races, Both(locked, atomicity)))
        }
    })
}

fn races_going_on() -> PtRacer {
    PtRacer { goes_on: true }
}
