//! English and Hebrew ranks, kept while the run goes on.
//!
//! **Paper.** Bender, Fineman, Gilbert, Leiserson: On-the-fly maintenance of series-parallel relationships (SPAA 2004),
//! with the list labels of Bender, Cole, Demaine, Farach-Colton, Zito: Two simplified algorithms for maintaining order in
//! a list (ESA 2002).
//!
//! All steps stand in two lists. The step after which something happens is `u`:
//!
//! | happens | English list | Hebrew list |
//! |---|---|---|
//! | a task `s` is spawned, `u` goes on as `c` | u s c | u c s |
//! | a scope opens with step `b`; `j` will follow its end | u b j | u b j |
//! | a scope ends | (goes on as `j`) | |
//! | the step is followed by `n` | u n | u n |
//!
//! Whatever happens later within `s`, `c` or `b` is put behind that step, so it stands before what already follows. Each
//! step has in each list a number that grows along the list; one step comes before another if both numbers are smaller.
//!
//! **Cost.** A question: four numbers of two records. A step: two insertions. If there is no number left between two
//! neighbours, the numbers of a stretch of the list around them are spread; that is O(log n) for each insertion on
//! average, and on large shapes between 1 (a loop) and 10 (scopes and tasks nested in turn, 100,000 deep). 36 bytes for
//! each step. Collapsing costs a constant for each step, once.
//!
//! **State.** The whole structure belongs to one thread, the driver's; it is not for online use.

use super::{Relation, Relations, StepId, Structure};
use std::cell::Cell;

const BITS: u32 = 62;
/// Numbers are below this.
const END: u64 = 1 << BITS;
/// By how much the share of numbers in use shrinks when a stretch doubles that is to be spread. The larger, the fewer
/// steps are moved, and the fewer there can be before the whole list is moved each time: 450 million.
const SPARSER: f64 = 1.45;
/// The least distance of steps that were spread, so that some can be put between them.
const LEAST_DISTANCE: u64 = 128;
/// In place of an English number: the step was collapsed.
const COLLAPSED: u64 = u64::MAX;
const NONE: u32 = u32::MAX;

const ENGLISH: usize = 0;
const HEBREW: usize = 1;

/// Where in the room between two neighbours a new step is put.
///
/// It stands as far from its neighbour on one side as that one from the next: a loop then uses up room evenly and not by
/// halves. At most it takes a part of the room, `most` telling which, and never so little that nothing fits in between.
#[derive(Clone, Copy)]
enum Near {
    Left { most: u64 },
    Right { most: u64 },
    Middle,
}

impl Near {
    fn least_room(self) -> u64 {
        match self {
            Near::Middle => 2,
            Near::Left { .. } | Near::Right { .. } => 16,
        }
    }
}

fn distance(like: u64, gap: u64, most: u64) -> u64 {
    let (least, most) = ((gap >> 20).max(4), gap / most);
    like.clamp(least.min(most), most)
}

#[derive(Clone, Debug)]
struct Record {
    /// The number in each list.
    rank: [u64; 2],
    next: [u32; 2],
    previous: [u32; 2],
}

/// The two lists of all steps.
#[derive(Debug, Default)]
pub struct Ranks {
    records: Vec<Record>,
    /// For collapsed steps the one that stands for them. Questions shorten the way, hence the cells.
    stand_in: Vec<Cell<u32>>,
    /// Steps whose records can be used again.
    free: Vec<u32>,
    collapsed: Vec<u32>,
    nodes: u64,
    moved: u64,
}

/// A scope: the step before it and the one after it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scope {
    before: StepId,
    after: StepId,
}

impl Ranks {
    /// How often a step got another number to make room for others.
    pub fn moved(&self) -> u64 {
        self.moved
    }

    fn record(&mut self) -> u32 {
        self.nodes += 1;
        let record = Record { rank: [0; 2], next: [NONE; 2], previous: [NONE; 2] };
        match self.free.pop() {
            Some(index) => {
                self.records[index as usize] = record;
                index
            }
            None => {
                self.records.push(record);
                self.stand_in.push(Cell::new(NONE));
                (self.records.len() - 1) as u32
            }
        }
    }

    /// Puts a new step behind another one.
    fn put_behind(&mut self, list: usize, step: u32, new: u32, near: Near) {
        let next = self.records[step as usize].next[list];
        if self.room(list, step, next) < near.least_room() {
            self.spread(list, step);
        }
        let gap = self.room(list, step, next);
        let at = self.records[step as usize].rank[list];
        let rank = match near {
            Near::Middle => at + gap / 2,
            Near::Left { most } => {
                let previous = self.records[step as usize].previous[list];
                let like =
                    if previous == NONE { END } else { at - self.records[previous as usize].rank[list] };
                at + distance(like, gap, most)
            }
            Near::Right { most } => {
                let like = if next == NONE {
                    END
                } else {
                    self.room(list, next, self.records[next as usize].next[list])
                };
                at + gap - distance(like, gap, most)
            }
        };
        let record = &mut self.records[new as usize];
        record.rank[list] = rank;
        record.next[list] = next;
        record.previous[list] = step;
        self.records[step as usize].next[list] = new;
        if next != NONE {
            self.records[next as usize].previous[list] = new;
        }
    }

    fn room(&self, list: usize, step: u32, next: u32) -> u64 {
        let upper = if next == NONE { END } else { self.records[next as usize].rank[list] };
        upper - self.records[step as usize].rank[list]
    }

    /// Makes room behind a step: finds the smallest aligned stretch of numbers around it that is sparse enough, gives
    /// its steps numbers at equal distances, and leaves half of the stretch free behind the step, because what comes
    /// next is mostly put there as well.
    #[cold]
    fn spread(&mut self, list: usize, step: u32) {
        let rank = self.records[step as usize].rank[list];
        let (mut first, mut last, mut count) = (step, step, 1u64);
        // How many steps a stretch may have. That they may take a smaller share of a larger stretch makes room last.
        let mut most = 1.0f64;
        for bits in 1..=BITS {
            most *= 2.0 / SPARSER;
            let low = rank >> bits << bits;
            let size = 1u64 << bits;
            loop {
                let previous = self.records[first as usize].previous[list];
                if previous == NONE || self.records[previous as usize].rank[list] < low {
                    break;
                }
                first = previous;
                count += 1;
            }
            loop {
                let next = self.records[last as usize].next[list];
                if next == NONE || self.records[next as usize].rank[list] >= low + size {
                    break;
                }
                last = next;
                count += 1;
            }
            let distance = size / 2 / (count + 1);
            if (count as f64) < most && distance >= LEAST_DISTANCE || bits == BITS {
                self.moved += count;
                let (mut at, mut rank) = (first, low);
                for _ in 0..count {
                    rank += distance;
                    self.records[at as usize].rank[list] = rank;
                    if at == step {
                        rank += size / 2;
                    }
                    at = self.records[at as usize].next[list];
                }
                return;
            }
        }
    }

    /// The step that stands for a collapsed one.
    #[cold]
    fn find(&self, step: StepId) -> StepId {
        let mut at = step.0;
        loop {
            let next = self.stand_in[at as usize].get();
            if next == NONE {
                return StepId(at);
            }
            let after = self.stand_in[next as usize].get();
            if after != NONE {
                self.stand_in[at as usize].set(after);
            }
            at = next;
        }
    }
}

impl Relations for Ranks {
    #[inline]
    fn relation(&self, step: StepId, other: StepId) -> Relation {
        let mut a = &self.records[step.index()];
        let mut b = &self.records[other.index()];
        if a.rank[ENGLISH] == COLLAPSED {
            a = &self.records[self.find(step).index()];
        }
        if b.rank[ENGLISH] == COLLAPSED {
            b = &self.records[self.find(other).index()];
        }
        match (a.rank[ENGLISH] <= b.rank[ENGLISH], a.rank[HEBREW] <= b.rank[HEBREW]) {
            (true, true) => Relation::Before,
            (true, false) => Relation::Left,
            (false, true) => Relation::Right,
            (false, false) => Relation::After,
        }
    }
}

impl Structure for Ranks {
    type Place = StepId;
    type Scope = Scope;

    const NAME: &'static str = "ranks";

    fn root(&mut self) -> StepId {
        StepId(self.record())
    }

    #[inline]
    fn step(place: &StepId) -> StepId {
        *place
    }

    fn spawn(&mut self, place: &mut StepId) -> StepId {
        let (task, rest) = (self.record(), self.record());
        // Loops that spawn are longer than recursions are deep, so most of the room goes to the spawning task.
        self.put_behind(ENGLISH, place.0, rest, Near::Left { most: 4 });
        self.put_behind(ENGLISH, place.0, task, Near::Middle);
        self.put_behind(HEBREW, place.0, task, Near::Right { most: 4 });
        self.put_behind(HEBREW, place.0, rest, Near::Left { most: 8 });
        *place = StepId(rest);
        StepId(task)
    }

    fn open(&mut self, place: &mut StepId) -> Scope {
        let (within, after) = (self.record(), self.record());
        for list in [ENGLISH, HEBREW] {
            self.put_behind(list, place.0, after, Near::Right { most: 4 });
            self.put_behind(list, place.0, within, Near::Left { most: 8 });
        }
        let scope = Scope { before: *place, after: StepId(after) };
        *place = StepId(within);
        scope
    }

    fn open_and_spawn(&mut self, place: &mut StepId) -> (Scope, StepId) {
        // There is no step between the two.
        let (task, rest, after) = (self.record(), self.record(), self.record());
        self.put_behind(ENGLISH, place.0, after, Near::Right { most: 4 });
        self.put_behind(ENGLISH, place.0, rest, Near::Left { most: 4 });
        self.put_behind(ENGLISH, place.0, task, Near::Middle);
        self.put_behind(HEBREW, place.0, after, Near::Right { most: 4 });
        self.put_behind(HEBREW, place.0, task, Near::Right { most: 4 });
        self.put_behind(HEBREW, place.0, rest, Near::Left { most: 8 });
        let scope = Scope { before: *place, after: StepId(after) };
        *place = StepId(rest);
        (scope, StepId(task))
    }

    fn close(&mut self, place: &mut StepId, scope: Scope) {
        *place = scope.after;
    }

    fn advance(&mut self, place: &mut StepId) {
        let new = self.record();
        for list in [ENGLISH, HEBREW] {
            self.put_behind(list, place.0, new, Near::Left { most: 8 });
        }
        *place = StepId(new);
    }

    fn collapse(&mut self, scope: Scope) {
        let (before, after) = (scope.before.0, scope.after.0);
        // What is within stands together in both lists.
        let mut at = self.records[before as usize].next[ENGLISH];
        while at != after {
            let record = &mut self.records[at as usize];
            let next = record.next[ENGLISH];
            record.rank[ENGLISH] = COLLAPSED;
            self.stand_in[at as usize].set(before);
            self.collapsed.push(at);
            at = next;
        }
        for list in [ENGLISH, HEBREW] {
            self.records[before as usize].next[list] = after;
            self.records[after as usize].previous[list] = before;
        }
    }

    fn restart(&mut self, _: Scope, kept: &[StepId]) {
        let Some(&last) = kept.last() else { return };
        let orders = [ENGLISH, HEBREW].map(|list| {
            let mut order: Vec<u32> = kept.iter().map(|step| step.0).collect();
            order.sort_unstable_by_key(|step| self.records[*step as usize].rank[list]);
            order
        });
        let Some(mut at) = orders[ENGLISH].first().copied() else { return };
        while self.records[at as usize].previous[ENGLISH] != NONE {
            at = self.records[at as usize].previous[ENGLISH];
        }
        while at != NONE {
            let next = self.records[at as usize].next[ENGLISH];
            if !kept.contains(&StepId(at)) {
                self.records[at as usize].rank[ENGLISH] = COLLAPSED;
                self.stand_in[at as usize].set(last.0);
                self.collapsed.push(at);
            }
            at = next;
        }
        // The few that are left have all the room.
        for (list, order) in [ENGLISH, HEBREW].into_iter().zip(&orders) {
            let distance = END / (order.len() as u64 + 1);
            let mut previous = NONE;
            for (number, &step) in (1..).zip(order.iter()) {
                let record = &mut self.records[step as usize];
                record.rank[list] = number * distance;
                record.previous[list] = previous;
                record.next[list] = NONE;
                if previous != NONE {
                    self.records[previous as usize].next[list] = step;
                }
                previous = step;
            }
        }
    }

    #[inline]
    fn resolve(&self, step: StepId) -> StepId {
        if self.records[step.index()].rank[ENGLISH] == COLLAPSED { self.find(step) } else { step }
    }

    fn collapsed(&self) -> usize {
        self.collapsed.len()
    }

    fn steps(&self) -> usize {
        self.records.len() - self.free.len()
    }

    fn nodes(&self) -> u64 {
        self.nodes
    }

    fn bytes(&self) -> usize {
        self.records.len() * size_of::<Record>()
            + (self.stand_in.len() + self.free.len() + self.collapsed.len()) * size_of::<u32>()
    }

    fn forget_collapsed(&mut self) {
        for &index in &self.collapsed {
            self.stand_in[index as usize].set(NONE);
        }
        self.free.append(&mut self.collapsed);
    }
}
