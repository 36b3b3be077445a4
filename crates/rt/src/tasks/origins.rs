//! Where tasks come from: the places at which they and their ancestors were spawned.
//!
//! A task is described by the way from the root to it, as a list of places. A place that is on the way already is not added
//! again: recursion leads back to where it began. So there are few ways, however many tasks there are.

use crate::places::PlaceNumber;
use crate::spin::Spin;
use keirin_core::event::{SiteId, TaskId, ThreadId};
use keirin_core::finding::{Lineage, Moment, RawTask};
use keirin_core::tasks::Actor;
use rustc_hash::{FxBuildHasher, FxHashMap};

/// A way. 0: the first thread, or one that nobody has created.
pub(super) type Origin = u32;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Way {
    parent: Origin,
    place: PlaceNumber,
    /// The thread that was created there, if it is one.
    thread: Option<ThreadId>,
}

struct Known {
    ways: Vec<Way>,
    numbers: FxHashMap<Way, Origin>,
}

static KNOWN: Spin<Known> =
    Spin::new(Known { ways: Vec::new(), numbers: FxHashMap::with_hasher(FxBuildHasher) });
/// More are not told apart from their parents.
const MOST: usize = 1 << 20;

impl Known {
    fn way(&self, origin: Origin) -> Option<&Way> {
        self.ways.get((origin as usize).checked_sub(1)?)
    }

    /// The ways from below the root down to this one.
    fn path(&self, origin: Origin) -> Vec<Origin> {
        let mut path = Vec::new();
        let mut next = origin;
        while let Some(way) = self.way(next) {
            path.push(next);
            next = way.parent;
        }
        path.reverse();
        path
    }
}

/// The way of what is spawned, or of a thread that is created, at a place.
pub(super) fn child(parent: Origin, place: PlaceNumber, thread: Option<ThreadId>) -> Origin {
    let mut known = KNOWN.lock();
    if thread.is_none() {
        let mut next = parent;
        while let Some(way) = known.way(next) {
            if way.place == place && way.thread.is_none() {
                return next;
            }
            next = way.parent;
        }
    }
    let way = Way { parent, place, thread };
    if let Some(origin) = known.numbers.get(&way) {
        return *origin;
    }
    if known.ways.len() >= MOST {
        return parent;
    }
    known.ways.push(way);
    let origin = known.ways.len() as Origin;
    known.numbers.insert(way, origin);
    origin
}

/// What a thread has asked for lately: it mostly spawns at a few places, again and again.
#[derive(Clone, Copy)]
pub(super) struct Asked([(Origin, PlaceNumber, Origin); Self::PLACES]);

impl Asked {
    const PLACES: usize = 16;
    /// No way has this parent.
    const NONE: (Origin, PlaceNumber, Origin) = (Origin::MAX, 0, 0);

    pub(super) fn new() -> Self {
        Self([Self::NONE; Self::PLACES])
    }

    /// The same as [`child`], of what is no thread.
    #[inline]
    pub(super) fn child(&mut self, parent: Origin, place: PlaceNumber) -> Origin {
        let known = &mut self.0[(parent.wrapping_mul(7) ^ place) as usize % Self::PLACES];
        if (known.0, known.1) != (parent, place) {
            *known = (parent, place, child(parent, place, None));
        }
        known.2
    }
}

/// How tasks with these ways descend from each other. `same` tells for each which of the others it is.
pub(super) fn lineage(tasks: &[(Origin, usize)]) -> Lineage {
    let known = KNOWN.lock();
    let paths: Vec<Vec<Origin>> = tasks.iter().map(|(origin, _)| known.path(*origin)).collect();
    let shortest = paths.iter().map(Vec::len).min().unwrap_or(0);
    let mut common =
        (0..shortest).take_while(|&at| paths.iter().all(|path| path[at] == paths[0][at])).count();
    let all_one = tasks.iter().all(|(_, who)| *who == tasks[0].1);
    if common > 0 && !all_one && paths.iter().all(|path| path.len() == common) {
        // Different tasks of one origin: their parent is what they have in common.
        common -= 1;
    }
    let describe = |origin: Origin, who: usize| match known.way(origin) {
        Some(Way { place, thread, .. }) => {
            let actor = match thread {
                Some(thread) => Actor::Thread(*thread),
                None => Actor::Task(TaskId(origin * 4 + who as u32 % 4)),
            };
            RawTask { actor, spawned: Moment { site: SiteId(*place), ..Moment::default() } }
        }
        None => RawTask { actor: Actor::Thread(ThreadId(0)), spawned: Moment::default() },
    };
    let ancestor = common.checked_sub(1).map_or(0, |last| paths[0][last]);
    Lineage {
        common: describe(ancestor, 0),
        paths: paths
            .iter()
            .zip(tasks)
            .map(|(path, (_, who))| path[common..].iter().map(|origin| describe(*origin, *who)).collect())
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recursion_leads_back_and_siblings_have_their_parent_in_common() {
        let outer = child(0, 71, None);
        let (left, right) = (child(outer, 72, None), child(outer, 73, None));
        assert_ne!(left, right);
        assert_eq!(child(child(left, 74, None), 72, None), left);
        let told = lineage(&[(left, 0), (right, 1)]);
        assert_eq!(told.common.spawned.site, SiteId(71));
        assert_eq!(told.paths.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1]);
        let told = lineage(&[(left, 0), (left, 1)]);
        assert_eq!(told.common.spawned.site, SiteId(71));
        assert_ne!(told.paths[0][0].actor, told.paths[1][0].actor);
        let told = lineage(&[(outer, 0), (left, 1)]);
        assert_eq!((told.common.spawned.site, told.paths[0].len(), told.paths[1].len()), (SiteId(71), 0, 1));
    }
}
