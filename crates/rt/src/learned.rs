//! Learned regions in a running program: they are entered and left where `keirin infer` has found their ends, by the
//! instruction that accesses memory. The program need not be built again.
//!
//! A region begins right before the access at its entry and ends right after the one at its exit, as
//! `keirin_core::analysis::atomtracker::follow` puts them into a trace. Blocks that the program itself marks are left out.
//!
//! **Who may touch what.** The marks do not change once they are loaded. Where a thread is belongs to the thread.

use crate::modules;
use crate::spin::Spin;
use crate::thread::Thread;
use crate::watcher::Watcher;
use keirin_core::analysis::atomtracker::regions::{
    Crossing, Inside, Mark, Marks, Region, Regions, Support, code_name,
};
use keirin_core::event::RegionId;
use rustc_hash::FxHashMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Instructions that a thread remembers.
const RECENT: usize = 256;

struct Learned {
    marks: Marks,
    /// A region is given up after so many exits of others.
    most_mismatches: u32,
    by_instruction: Spin<FxHashMap<usize, Option<Mark>>>,
    given_up: AtomicU64,
}

static LEARNED: OnceLock<Learned> = OnceLock::new();

/// Where a thread is.
#[derive(Default)]
pub(crate) struct Followed {
    inside: Inside,
    /// Marks of instructions, by their last digits.
    recent: Vec<(usize, Option<Mark>)>,
}

/// Reads the regions: in each line, separated by tabs, the entry, `outer` or `plain`, and the exits. Gives the number of lines
/// that are not understood.
pub(crate) fn load(text: &str, most_mismatches: u32) -> usize {
    let mut regions = Regions::default();
    let mut strange = 0;
    for line in text.lines().filter(|line| !line.is_empty()) {
        let mut fields = line.split('\t');
        let (Some(entry), Some(kind @ ("outer" | "plain"))) = (fields.next(), fields.next()) else {
            strange += 1;
            continue;
        };
        let exits = fields.map(|exit| (exit.into(), Support::new())).collect();
        let region = Region { outer: kind == "outer", exits, thread_end: Support::new() };
        regions.by_entry.insert(entry.into(), region);
    }
    let marks = Marks::new(&regions);
    let _ = LEARNED.set(Learned {
        marks,
        most_mismatches,
        by_instruction: Spin::default(),
        given_up: AtomicU64::new(0),
    });
    strange
}

/// True if regions were learned, so that those that the program marks do not count.
#[inline]
pub(crate) fn is_on() -> bool {
    LEARNED.get().is_some()
}

/// How many regions were given up.
pub(crate) fn given_up() -> u64 {
    LEARNED.get().map_or(0, |learned| learned.given_up.load(Ordering::Relaxed))
}

impl Learned {
    fn mark(&self, thread: &mut Thread, pc: usize) -> Option<Mark> {
        let recent = &mut thread.followed.recent;
        if recent.is_empty() {
            recent.resize(RECENT, (0, None));
        }
        let known = &mut recent[(pc ^ pc >> 8) % RECENT];
        if known.0 != pc {
            *known = (pc, self.look_up(pc));
        }
        known.1
    }

    #[cold]
    fn look_up(&self, pc: usize) -> Option<Mark> {
        let mut known = self.by_instruction.lock();
        *known.entry(pc).or_insert_with(|| {
            let module = modules::find(pc)?;
            self.marks.find(&code_name(&module.path, (pc - module.bias) as u64))
        })
    }
}

/// Does an access, and what its place means to regions before and after it. `counts`: it is not disregarded.
#[inline]
pub(crate) fn follow(
    watcher: &dyn Watcher,
    thread: &mut Thread,
    pc: usize,
    counts: bool,
    access: impl FnOnce(&mut Thread),
) {
    match LEARNED.get() {
        Some(learned) if counts => learned.follow(watcher, thread, pc, access),
        _ => access(thread),
    }
}

impl Learned {
    fn follow(
        &self,
        watcher: &dyn Watcher,
        thread: &mut Thread,
        pc: usize,
        access: impl FnOnce(&mut Thread),
    ) {
        let mark = self.mark(thread, pc);
        if let Crossing::Entered { .. } = thread.followed.inside.before(&self.marks, mark)
            && let Some(open) = thread.followed.inside.innermost()
        {
            watcher.learned_begin(thread, RegionId(open.entry.0), pc);
        }
        access(thread);
        let crossing = thread.followed.inside.after(&self.marks, mark, self.most_mismatches);
        if crossing == Crossing::GivenUp {
            self.given_up.fetch_add(1, Ordering::Relaxed);
        }
        if matches!(crossing, Crossing::Left | Crossing::GivenUp) {
            watcher.learned_end(thread);
        }
    }
}

/// The thread ends, and with it the regions that it is in.
pub(crate) fn thread_ends(watcher: &dyn Watcher, thread: &mut Thread) {
    let inside = std::mem::take(&mut thread.followed.inside);
    for _ in [inside.innermost(), inside.around()].into_iter().flatten() {
        watcher.learned_end(thread);
    }
}
