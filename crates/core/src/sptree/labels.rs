//! A table of labels.
//!
//! **Idea.** English-Hebrew and offset-span labels (Nudler and Rudolph 1986; Mellor-Crummey, Supercomputing 1991) give
//! each step a name from which its relations follow, so that nothing has to be kept in order. [`super::label`] has the
//! labels used here and their rules; this is the table that makes steps of them.
//!
//! Steps are also linked in English order, as in [`super::ranks`], for one purpose: what stands between the step before
//! a scope and the one after it is what was within, and can be collapsed. Labels stay true after that.
//!
//! **Cost.** 32 bytes for the label of a step and 8 for the links that let it be collapsed. A question reads two labels.
//! Making a step reads the place of its task and writes one label, and seldom a chunk.
//!
//! **Who may touch what.** Each thread that lets the structure grow has a hand of its own, [`Labels`]: the numbers that it gives to steps next, and
//! the steps that it has collapsed. All hands share one table. A label is written once, by who makes its step, and never changes
//! while somebody may refer to that; all threads may compare labels meanwhile. The link of a step belongs to who runs its task. What is within a
//! scope belongs to who closes the scope: all tasks within have ended then, and that is known to it. Steps are forgotten when nobody else does anything.

use super::label::{ChunkTable, Chunks, Cursor, Label};
use super::{Hands, Relation, Relations, StepId, Structure};
use crate::numbers::{Apart, Numbers};
use crate::segments::Segments;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const NONE: u32 = u32::MAX;
/// So many numbers a hand keeps of the steps that it forgets.
const MOST_KEPT: usize = 1 << 13;
/// A hand tells how many steps it has collapsed when there are so many more.
const TOLD_AT_ONCE: usize = 128;

/// The labels of all steps, for those who compare them.
#[derive(Debug)]
pub struct LabelTable {
    labels: Segments<[AtomicU64; 4]>,
    links: Segments<Links>,
    chunks: Arc<ChunkTable>,
    numbers: Numbers,
    /// How many steps were collapsed and not forgotten, as far as the hands have told.
    collapsed: Apart<AtomicUsize>,
    hands: Mutex<AllHands>,
}

/// What is known of the hands.
#[derive(Debug, Default)]
struct AllHands {
    /// How many steps each has made.
    made: Vec<Arc<Apart<AtomicU64>>>,
    /// The same of those that are gone, and the steps that they have collapsed.
    made_before: u64,
    collapsed: Vec<u32>,
    forgotten: u64,
}

/// What a step has to do with others.
#[derive(Debug, Default)]
struct Links {
    /// The next step in English order.
    next: AtomicU32,
    /// Of a collapsed step the one that stands for it, and one; else 0. Questions shorten the way.
    stand_in: AtomicU32,
    tag: AtomicU32,
}

impl LabelTable {
    #[inline]
    fn numbers(&self, step: StepId) -> [u64; 4] {
        self.labels.get(step.0).each_ref().map(|number| number.load(Ordering::Relaxed))
    }

    fn label(&self, step: StepId) -> Label {
        Label::of_numbers(self.numbers(step))
    }

    /// Makes room for a step.
    fn make(&self, step: u32) {
        self.labels.make(step);
        self.links.make(step);
    }

    #[inline]
    fn put(&self, step: u32, label: Label) {
        for (place, number) in self.labels.get(step).iter().zip(label.to_numbers()) {
            place.store(number, Ordering::Relaxed);
        }
    }

    fn hands(&self) -> MutexGuard<'_, AllHands> {
        // Nothing fails in between.
        self.hands.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many steps there ever were.
    pub fn made(&self) -> u64 {
        let hands = self.hands();
        hands.made_before + hands.made.iter().map(|made| made.load(Ordering::Relaxed)).sum::<u64>()
    }

    /// How many steps are remembered.
    pub fn remembered(&self) -> u64 {
        self.made() - self.hands().forgotten
    }

    /// How many steps were collapsed and not forgotten, about.
    #[inline]
    pub fn collapsed(&self) -> usize {
        self.collapsed.load(Ordering::Relaxed)
    }

    /// What was noted about a step.
    pub fn tag(&self, step: StepId) -> u32 {
        self.links.get(step.0).tag.load(Ordering::Relaxed)
    }

    /// True if a step stands in the tree below the lowest node that has two others below it. False: perhaps it does.
    #[inline]
    pub fn is_among(&self, step: StepId, one: StepId, other: StepId) -> bool {
        Label::shares_with_both(self.numbers(step), self.numbers(one), self.numbers(other))
    }

    /// Notes something about a step, which stays with it until its number is used again.
    pub fn set_tag(&self, step: StepId, tag: u32) {
        self.links.get(step.0).tag.store(tag, Ordering::Relaxed);
    }

    /// The step that stands for this one since a collapse; the step itself if there was none.
    pub fn resolve(&self, step: StepId) -> StepId {
        let stand_in = |step: u32| &self.links.get(step).stand_in;
        let mut at = step.0;
        loop {
            let next = stand_in(at).load(Ordering::Relaxed);
            if next == 0 {
                return StepId(at);
            }
            let after = stand_in(next - 1).load(Ordering::Relaxed);
            if after != 0 {
                stand_in(at).store(after, Ordering::Relaxed);
            }
            at = next - 1;
        }
    }
}

impl Relations for LabelTable {
    #[inline]
    fn relation(&self, step: StepId, other: StepId) -> Relation {
        Label::relation_of(self.numbers(step), self.numbers(other), &self.chunks)
    }
}

/// All steps with their labels, in one of the hands that let their number grow.
#[derive(Debug)]
pub struct Labels {
    table: Arc<LabelTable>,
    chunks: Chunks,
    free: Vec<u32>,
    collapsed: Vec<u32>,
    /// How many of the collapsed ones were told.
    told: usize,
    made: Arc<Apart<AtomicU64>>,
}

/// Where a task is: its step and what its next label is made of.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    cursor: Cursor,
    step: StepId,
}

/// A scope: the step before it, and where its task will be after it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scope {
    before: StepId,
    after: Place,
}

impl Default for Labels {
    fn default() -> Self {
        let chunks = Chunks::default();
        let table = LabelTable {
            labels: Segments::default(),
            links: Segments::default(),
            chunks: Arc::clone(chunks.table()),
            numbers: Numbers::from(0),
            collapsed: Apart::default(),
            hands: Mutex::default(),
        };
        Self::of(Arc::new(table), chunks)
    }
}

impl Labels {
    fn of(table: Arc<LabelTable>, chunks: Chunks) -> Self {
        let made = Arc::<Apart<AtomicU64>>::default();
        table.hands().made.push(Arc::clone(&made));
        Self { table, chunks, free: Vec::new(), collapsed: Vec::new(), told: 0, made }
    }

    /// The labels, for those who compare them.
    pub fn table(&self) -> &Arc<LabelTable> {
        &self.table
    }

    /// A new step behind another one in English order.
    #[inline]
    fn put_behind(&mut self, step: StepId, label: Label) -> StepId {
        // Nobody else changes it.
        self.made.store(self.made.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        let table = &*self.table;
        let new = table.numbers.take(&mut self.free, |index| table.make(index));
        table.put(new, label);
        let mut next = NONE;
        if step.is_some() {
            let before = &table.links.get(step.0).next;
            next = before.load(Ordering::Relaxed);
            before.store(new, Ordering::Relaxed);
        }
        table.links.get(new).next.store(next, Ordering::Relaxed);
        StepId(new)
    }

    /// The chunks of the labels.
    pub fn chunks(&self) -> &Chunks {
        &self.chunks
    }
}

impl Hands for Labels {
    fn another(&self) -> Self {
        Self::of(Arc::clone(&self.table), self.chunks.another())
    }

    fn give_back(&mut self) {
        self.table.numbers.put_down(&mut self.free, 0);
        self.chunks.give_back();
        self.table.collapsed.fetch_add(self.collapsed.len() - self.told, Ordering::Relaxed);
        self.told = 0;
        let mut hands = self.table.hands();
        hands.collapsed.append(&mut self.collapsed);
        hands.made.retain(|made| !Arc::ptr_eq(made, &self.made));
        hands.made_before += self.made.swap(0, Ordering::Relaxed);
    }
}

impl Relations for Labels {
    #[inline]
    fn relation(&self, step: StepId, other: StepId) -> Relation {
        self.table.relation(step, other)
    }
}

impl Structure for Labels {
    type Place = Place;
    type Scope = Scope;

    const NAME: &'static str = "labels";

    fn root(&mut self) -> Place {
        Place { cursor: Cursor::root(), step: self.put_behind(StepId::NONE, Cursor::root_label()) }
    }

    #[inline]
    fn step(place: &Place) -> StepId {
        place.step
    }

    fn spawn(&mut self, place: &mut Place) -> Place {
        let label = place.cursor.spawn(&mut self.chunks);
        let task = Place { cursor: Cursor::task(label), step: self.put_behind(place.step, label) };
        let rest = place.cursor.advance(&mut self.chunks);
        place.step = self.put_behind(task.step, rest);
        task
    }

    fn open(&mut self, place: &mut Place) -> Scope {
        let before = place.step;
        let opened = place.cursor.open(&mut self.chunks);
        place.step = self.put_behind(before, opened.within);
        let after = self.put_behind(place.step, opened.after);
        Scope { before, after: Place { cursor: opened.cursor_after, step: after } }
    }

    fn open_and_spawn(&mut self, place: &mut Place) -> (Scope, Place) {
        // There is no step between the two.
        let before = place.step;
        let (after, cursor_after) = place.cursor.open_without_step(&mut self.chunks);
        let label = place.cursor.spawn(&mut self.chunks);
        let task = Place { cursor: Cursor::task(label), step: self.put_behind(before, label) };
        let rest = place.cursor.advance(&mut self.chunks);
        place.step = self.put_behind(task.step, rest);
        let after = self.put_behind(place.step, after);
        (Scope { before, after: Place { cursor: cursor_after, step: after } }, task)
    }

    fn close(&mut self, place: &mut Place, scope: Scope) {
        *place = scope.after;
    }

    fn advance(&mut self, place: &mut Place) {
        let label = place.cursor.advance(&mut self.chunks);
        place.step = self.put_behind(place.step, label);
    }

    fn collapse(&mut self, scope: Scope) {
        let (before, after) = (scope.before.0, scope.after.step.0);
        let first = &self.table.links.get(before).next;
        let mut at = first.load(Ordering::Relaxed);
        while at != after {
            let links = self.table.links.get(at);
            links.stand_in.store(before + 1, Ordering::Relaxed);
            self.collapsed.push(at);
            at = links.next.load(Ordering::Relaxed);
        }
        first.store(after, Ordering::Relaxed);
        let untold = self.collapsed.len() - self.told;
        if untold >= TOLD_AT_ONCE {
            self.table.collapsed.fetch_add(untold, Ordering::Relaxed);
            self.told = self.collapsed.len();
        }
    }

    fn resolve(&self, step: StepId) -> StepId {
        self.table.resolve(step)
    }

    fn collapsed(&self) -> usize {
        self.table.collapsed() + self.collapsed.len() - self.told
    }

    fn steps(&self) -> usize {
        self.table.remembered() as usize
    }

    fn nodes(&self) -> u64 {
        self.table.made()
    }

    fn bytes(&self) -> usize {
        let numbers = self.table.numbers.idle() + self.free.len() + self.collapsed.len();
        self.table.numbers.end() as usize * (size_of::<Label>() + size_of::<Links>())
            + numbers * size_of::<u32>()
            + self.chunks.bytes()
    }

    fn forget_collapsed(&mut self) {
        self.table.collapsed.fetch_sub(self.told, Ordering::Relaxed);
        self.told = 0;
        let mut hands = self.table.hands();
        self.table.collapsed.fetch_sub(hands.collapsed.len(), Ordering::Relaxed);
        self.collapsed.append(&mut hands.collapsed);
        hands.forgotten += self.collapsed.len() as u64;
        drop(hands);
        // Mostly no path is that long, and then no label has to be fetched.
        let has_chunks = self.table.chunks.is_any();
        for &index in &self.collapsed {
            self.table.links.get(index).stand_in.store(0, Ordering::Relaxed);
            if has_chunks && let Some(chunk) = self.table.label(StepId(index)).chunk_made() {
                self.chunks.forget(chunk);
            }
        }
        self.free.append(&mut self.collapsed);
        // The others may have made them.
        self.table.numbers.put_down(&mut self.free, MOST_KEPT);
    }
}
