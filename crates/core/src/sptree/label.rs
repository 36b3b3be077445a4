//! The label of a step: its way through the tree, written so that two of them can be compared at a glance.
//!
//! A label is the path from the root to the step. Each component is the place of a child among its siblings and whether
//! it is an async node. Comparing two steps means finding the first component in which their paths differ: the smaller
//! ordinal stands to the left, and the steps are parallel if the left component is async.
//!
//! **Ordinals.** A task's steps, scopes and spawned tasks share them, so that paths are short:
//!
//! | happens to the step `P·(k, serial)` | new |
//! |---|---|
//! | a task is spawned | `P·(k, async)`; the step goes on as `P·(k+1, serial)` |
//! | a scope opens | `P·(k, serial)·(1, serial)`; behind it there will be `P·(k+1, serial)` |
//! | it is followed by another | `P·(k+1, serial)` |
//!
//! At equal ordinals serial comes first. The first step of a task is `(0, serial)` below it, and that is left out at the
//! end of a path. A step is thus its own path followed by zeros, before everything that goes on from it.
//!
//! **Nibbles.** A component is made of nibbles, each with three bits of the ordinal and, lowest, the async bit, which is
//! the same in all nibbles of a component. Ordinals up to 6 have one nibble. Larger ones have the digit 7, then a digit
//! that announces how many octal digits follow (0 to 7: 1, 2, 3, 4, 5, 7, 9 or 14), then the digits of what they exceed 7
//! by. Longer codes are of larger ordinals, so comparing digits compares ordinals.
//!
//! **Chunks.** A label has room for 48 nibbles. If a component does not fit behind the path of its parent node, that path
//! becomes a chunk, once for each node, and the label goes on from there. Chunks form a tree with jump pointers (Myers:
//! An applicative random-access stack, 1983), in which the common ancestor is found in logarithmic time. The unused end
//! of a chunk is filled with digits 7: what goes on below had a code too long for it, so it stands to the right of
//! whatever did fit, and of the right one the async bit does not matter.
//!
//! **Cost.** 32 bytes for each label, 40 for each chunk. A question takes an exclusive or and leading zeros, if the paths
//! do not share a chunk also the search for the common one.
//!
//! **State.** Labels and chunks never change. Making one needs the [`Cursor`] of its task, which belongs to that task, and
//! seldom a new chunk; so this serves online as well.

use super::Relation;
use crate::numbers::Numbers;
use crate::segments::Segments;
use std::hint::select_unpredictable as either;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many nibbles a label or chunk has room for.
const ROOM: u32 = 48;
const NIBBLES_OF_WORD: u32 = 16;
/// The first digit of large ordinals, and the first that is one.
const ESCAPE: u64 = 7;
/// How many octal digits the largest ordinals have. With the two digits in front, such a code is as long as a word.
const MOST_DIGITS: u32 = 14;
/// The async bits of a word.
const ASYNC: u64 = 0x1111_1111_1111_1111;

type Path = [u64; 3];

/// The path of a step or node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Label {
    path: Path,
    /// The chunk the path goes on from; 0 if there is none.
    chunk: u32,
    /// How many nibbles are in use.
    length: u8,
    /// The chunk was made for this label: it can go when the label goes, for all others that use it stand below the
    /// same node.
    made_chunk: bool,
}

impl Label {
    /// How the step with this label stands to another one. Equal labels: [`Relation::Before`].
    #[inline]
    pub fn relation(&self, other: &Self, chunks: &ChunkTable) -> Relation {
        Self::relation_of(self.to_numbers(), other.to_numbers(), chunks)
    }

    /// The chunk that nobody needs any more when this label and everything else below its node is gone.
    pub fn chunk_made(&self) -> Option<ChunkId> {
        self.made_chunk.then_some(ChunkId(self.chunk))
    }

    /// The label as four numbers, for a table.
    #[inline]
    pub(super) fn to_numbers(self) -> [u64; 4] {
        let [a, b, c] = self.path;
        let rest = u64::from(self.chunk) | u64::from(self.length) << 32 | u64::from(self.made_chunk) << 40;
        [a, b, c, rest]
    }

    /// How the steps with two labels, as numbers, stand to each other.
    #[inline]
    pub(super) fn relation_of([a, b, c, rest]: [u64; 4], other: [u64; 4], chunks: &ChunkTable) -> Relation {
        if rest as u32 == other[3] as u32 {
            compare(&[a, b, c], &[other[0], other[1], other[2]])
        } else {
            chunks.compare_numbers_below([a, b, c, rest], other)
        }
    }

    /// True if a path shares with that of two others, as numbers, whatever these share. False: perhaps it does.
    #[inline]
    pub(super) fn shares_with_both(path: [u64; 4], one: [u64; 4], other: [u64; 4]) -> bool {
        let differs = |a: [u64; 4], b: [u64; 4]| {
            (0..3)
                .find(|word| a[*word] != b[*word])
                .map_or(ROOM, |word| word as u32 * NIBBLES_OF_WORD + (a[word] ^ b[word]).leading_zeros() / 4)
        };
        let same_chunk = path[3] as u32 == one[3] as u32 && path[3] as u32 == other[3] as u32;
        same_chunk && differs(path, one) >= differs(one, other)
    }

    /// The label of four numbers.
    #[inline]
    pub(super) fn of_numbers([a, b, c, rest]: [u64; 4]) -> Self {
        let (length, made_chunk) = ((rest >> 32) as u8, rest >> 40 != 0);
        Self { path: [a, b, c], chunk: rest as u32, length, made_chunk }
    }

    /// Nothing is looked up by an index here: a path can stay in registers.
    #[inline]
    fn push(&mut self, code: Code) {
        let (word, offset) = (u32::from(self.length) / NIBBLES_OF_WORD, self.length % 16 * 4);
        let (upper, lower) = (code.bits >> offset, code.bits << 1 << (63 - offset));
        let part = |of: u32| match of.wrapping_sub(word) {
            0 => upper,
            1 => lower,
            _ => 0,
        };
        self.path = [self.path[0] | part(0), self.path[1] | part(1), self.path[2] | part(2)];
        self.length += code.length as u8;
    }
}

/// A component of a path in nibbles, at the upper end of the word.
#[derive(Clone, Copy)]
struct Code {
    bits: u64,
    length: u32,
}

impl Code {
    #[inline]
    fn new(ordinal: u64, is_async: bool) -> Self {
        let (bits, length) = if ordinal < ESCAPE {
            (ordinal << 61, 1)
        } else {
            let rest = ordinal - ESCAPE;
            let digits = (u64::BITS - (rest | 1).leading_zeros()).div_ceil(3);
            debug_assert!(digits <= MOST_DIGITS, "that many constructs take years");
            let announced = match digits {
                0..=5 => digits - 1,
                6..=7 => 5,
                8..=9 => 6,
                _ => 7,
            };
            let length = length_announced(announced.into());
            let behind = spread_digits(rest) << 1 << (64 - 4 * length);
            (ESCAPE << 61 | u64::from(announced) << 57 | behind, length)
        };
        let marks = if is_async { ASYNC >> (64 - 4 * length) << (64 - 4 * length) } else { 0 };
        Self { bits: bits | marks, length }
    }
}

/// How many nibbles a large ordinal has, with the escape and this digit that announces it.
#[inline]
fn length_announced(digit: u64) -> u32 {
    (0x100B_0907_0605_0403u64 >> (8 * digit)) as u32 & 0xFF
}

/// Gives each octal digit a nibble, by halves.
fn spread_digits(number: u64) -> u64 {
    let number = number & 0xFF_FFFF | number >> 24 << 32;
    let number = number & 0x0000_0FFF_0000_0FFF | (number & 0x00FF_F000_00FF_F000) << 4;
    let number = number & 0x003F_003F_003F_003F | (number & 0x0FC0_0FC0_0FC0_0FC0) << 2;
    number & 0x0707_0707_0707_0707 | (number & 0x3838_3838_3838_3838) << 1
}

/// Compares two paths that go on from the same chunk.
///
/// Whether the async bits of large ordinals differ is another matter with each question, and a processor would guess
/// wrong as often as not; hence the compiler is asked for no branch there.
#[inline]
fn compare(a: &Path, b: &Path) -> Relation {
    // The word with the first difference and the one behind it.
    let (a, behind_a, b, behind_b) = if a[0] != b[0] {
        (a[0], a[1], b[0], b[1])
    } else if a[1] != b[1] {
        (a[1], a[2], b[1], b[2])
    } else if a[2] != b[2] {
        (a[2], 0, b[2], 0)
    } else {
        return Relation::Before;
    };
    let offset = (a ^ b).leading_zeros() & !3;
    let (a, b) = (window(a, behind_a, offset), window(b, behind_b, offset));
    // The order of nibbles is that of ordinals, and serial before async. Only where the async bits of large ordinals
    // differ, the first digit that differs decides, if it belongs to them still.
    let large = ((a ^ b) >> 60 == 1) & (a >> 61 == ESCAPE);
    let digit = ((a ^ b) & !ASYNC | 1).leading_zeros() & !3;
    let belongs = digit < 4 * length_announced(a >> 57 & 7);
    let decisive = either(large & belongs, digit, 0);
    let (in_a, in_b) = (a << decisive >> 60, b << decisive >> 60);
    verdict(in_a < in_b, in_a.min(in_b) & 1 != 0)
}

/// The word that starts at a bit of a word, with what is behind that.
#[inline]
fn window(word: u64, behind: u64, offset: u32) -> u64 {
    word << offset | behind >> 1 >> (63 - offset)
}

#[inline]
fn verdict(a_is_left: bool, left_is_async: bool) -> Relation {
    const VERDICTS: [Relation; 4] = [Relation::After, Relation::Before, Relation::Right, Relation::Left];
    VERDICTS[usize::from(left_is_async) * 2 + usize::from(a_is_left)]
}

/// A piece of path that labels share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChunkId(u32);

#[derive(Clone, Copy, Debug)]
struct Chunk {
    path: Path,
    parent: u32,
    /// Some ancestor, chosen so that every ancestor is reached in logarithmically many jumps and steps.
    jump: u32,
    depth: u32,
}

/// The chunks of all labels of a run, for those who compare labels.
#[derive(Debug)]
pub struct ChunkTable {
    chunks: Segments<[AtomicU64; 5]>,
    /// The first one stands above all and is no chunk.
    numbers: Numbers,
}

/// Makes and forgets chunks. Several hands may do so in one table.
#[derive(Debug)]
pub struct Chunks {
    table: Arc<ChunkTable>,
    free: Vec<u32>,
}

impl Default for Chunks {
    fn default() -> Self {
        let table = ChunkTable { chunks: Segments::default(), numbers: Numbers::from(1) };
        table.put(0, Chunk { path: [0; 3], parent: 0, jump: 0, depth: 0 });
        Self { table: Arc::new(table), free: Vec::new() }
    }
}

impl Chunks {
    /// Another hand for the same table.
    pub(super) fn another(&self) -> Self {
        Self { table: Arc::clone(&self.table), free: Vec::new() }
    }

    /// The chunks, for those who compare labels.
    pub fn table(&self) -> &Arc<ChunkTable> {
        &self.table
    }

    /// How many chunks there are, if there is no other hand.
    pub fn count(&self) -> usize {
        let numbers = &self.table.numbers;
        numbers.end() as usize - 1 - numbers.idle() - self.free.len()
    }

    /// How many bytes the chunks take.
    pub fn bytes(&self) -> usize {
        let numbers = &self.table.numbers;
        numbers.end() as usize * size_of::<Chunk>() + (numbers.idle() + self.free.len()) * size_of::<u32>()
    }

    /// Forgets a chunk that no label uses any more.
    pub fn forget(&mut self, chunk: ChunkId) {
        self.table.numbers.give_back(&mut self.free, chunk.0);
    }

    /// Others may use what was set aside here.
    pub(super) fn give_back(&mut self) {
        self.table.numbers.put_down(&mut self.free, 0);
    }

    /// Makes the path of a node a chunk.
    #[cold]
    fn make(&mut self, node: &Label) -> u32 {
        let parent = node.chunk;
        let above = self.table.get(parent);
        let far = self.table.get(above.jump);
        let depth = above.depth + 1;
        // Two jumps of equal length make one of twice that and one.
        let even = above.depth - far.depth == far.depth - self.table.get(far.jump).depth;
        let jump = if even { far.jump } else { parent };
        let mut path = node.path;
        for nibble in u32::from(node.length)..ROOM {
            path[(nibble / NIBBLES_OF_WORD) as usize] |= ESCAPE << (61 - nibble % NIBBLES_OF_WORD * 4);
        }
        let table = &self.table;
        let index = table.numbers.take(&mut self.free, |index| _ = table.chunks.make(index));
        table.put(index, Chunk { path, parent, jump, depth });
        index
    }
}

impl ChunkTable {
    /// True if there ever was one.
    pub(super) fn is_any(&self) -> bool {
        self.numbers.end() > 1
    }

    #[inline]
    fn get(&self, index: u32) -> Chunk {
        let [a, b, c, links, depth] =
            self.chunks.get(index).each_ref().map(|number| number.load(Ordering::Relaxed));
        Chunk { path: [a, b, c], parent: links as u32, jump: (links >> 32) as u32, depth: depth as u32 }
    }

    fn put(&self, index: u32, chunk: Chunk) {
        let [a, b, c] = chunk.path;
        let links = u64::from(chunk.parent) | u64::from(chunk.jump) << 32;
        for (place, number) in self.chunks.make(index).iter().zip([a, b, c, links, u64::from(chunk.depth)]) {
            place.store(number, Ordering::Relaxed);
        }
    }

    #[cold]
    fn compare_numbers_below(&self, a: [u64; 4], b: [u64; 4]) -> Relation {
        self.compare_below(&Label::of_numbers(a), &Label::of_numbers(b))
    }

    /// Compares labels of different chunks: finds the chunk that both ways have in common and compares what follows.
    #[cold]
    fn compare_below(&self, a: &Label, b: &Label) -> Relation {
        let (mut path_of_a, mut path_of_b) = (a.path, b.path);
        let (mut at_a, mut at_b) = (self.get(a.chunk), self.get(b.chunk));
        let (mut id_of_a, mut id_of_b) = (a.chunk, b.chunk);
        let a_is_deeper = at_a.depth > at_b.depth;
        if a_is_deeper {
            at_a = self.ancestor(at_a, at_b.depth + 1);
            path_of_a = at_a.path;
            id_of_a = at_a.parent;
            at_a = self.get(id_of_a);
        } else if at_b.depth > at_a.depth {
            at_b = self.ancestor(at_b, at_a.depth + 1);
            path_of_b = at_b.path;
            id_of_b = at_b.parent;
            at_b = self.get(id_of_b);
        }
        if id_of_a != id_of_b {
            while at_a.parent != at_b.parent {
                // Chunks of the same depth jump equally far.
                if at_a.jump != at_b.jump {
                    (at_a, at_b) = (self.get(at_a.jump), self.get(at_b.jump));
                } else {
                    (at_a, at_b) = (self.get(at_a.parent), self.get(at_b.parent));
                }
            }
            (path_of_a, path_of_b) = (at_a.path, at_b.path);
        }
        // A step whose path is full is told from the node of the same path, which became a chunk, by the depth only. It
        // comes before everything below that node.
        if a_is_deeper && path_of_a == path_of_b {
            return Relation::After;
        }
        compare(&path_of_a, &path_of_b)
    }

    /// The ancestor of a chunk, or itself, at a depth.
    fn ancestor(&self, mut at: Chunk, depth: u32) -> Chunk {
        while at.depth > depth {
            let far = self.get(at.jump);
            at = if far.depth >= depth { far } else { self.get(at.parent) };
        }
        at
    }
}

/// Where a task is in the tree: what it needs to make labels.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cursor {
    /// The node below which the current step stands.
    node: Label,
    /// The chunk made of that node's path, 0 as long as there is none.
    split: u32,
    ordinal: u64,
}

/// What [`Cursor::open`] gives.
#[derive(Clone, Copy, Debug)]
pub struct Opened {
    /// The label of the first step within the scope.
    pub within: Label,
    /// The label of the step behind the scope.
    pub after: Label,
    /// Where the task will be at that step.
    pub cursor_after: Cursor,
}

impl Cursor {
    /// At the first step of a run.
    pub fn root() -> Self {
        Self::task(Self::root_label())
    }

    /// The label of the first step of a run.
    pub fn root_label() -> Label {
        Label { path: [0; 3], chunk: 0, length: 0, made_chunk: false }
    }

    /// At the first step of the task with this label, which is the label of that step as well.
    #[inline]
    pub fn task(label: Label) -> Self {
        Self { node: Label { made_chunk: false, ..label }, split: 0, ordinal: 0 }
    }

    /// Spawns a task and gives its label. The spawning task has to [`Self::advance`].
    #[inline]
    pub fn spawn(&mut self, chunks: &mut Chunks) -> Label {
        self.component(true, chunks)
    }

    /// Goes on to the next step and gives its label.
    #[inline]
    pub fn advance(&mut self, chunks: &mut Chunks) -> Label {
        self.ordinal += 1;
        self.component(false, chunks)
    }

    /// Opens a scope and goes on to the first step within.
    pub fn open(&mut self, chunks: &mut Chunks) -> Opened {
        let (after, cursor_after) = self.open_without_step(chunks);
        Opened { within: self.component(false, chunks), after, cursor_after }
    }

    /// The same where nothing happens before what comes next within, which then is what the first step would have been. Gives the label of the
    /// step behind the scope, and where the task will be at that step.
    pub fn open_without_step(&mut self, chunks: &mut Chunks) -> (Label, Self) {
        let mut outer = *self;
        // First the step behind it: should there be a new chunk, it must be for a label that lives as long as the node.
        let after = outer.advance(chunks);
        let node = Self { ordinal: self.ordinal, ..outer }.component(false, chunks);
        *self = Self { ordinal: 1, ..Self::task(node) };
        (after, outer)
    }

    fn component(&mut self, is_async: bool, chunks: &mut Chunks) -> Label {
        let code = Code::new(self.ordinal, is_async);
        let mut label = self.node;
        if u32::from(label.length) + code.length > ROOM {
            let made_chunk = self.split == 0;
            if made_chunk {
                self.split = chunks.make(&self.node);
            }
            label = Label { path: [0; 3], chunk: self.split, length: 0, made_chunk };
        }
        label.push(code);
        label
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Ordinals of all lengths.
    fn ordinals() -> impl Strategy<Value = u64> {
        (0u32..42, any::<u64>()).prop_map(|(bits, number)| number & ((1 << bits) - 1))
    }

    fn component(cursor: &mut Cursor, ordinal: u64, is_async: bool, chunks: &mut Chunks) -> Label {
        cursor.ordinal = ordinal;
        cursor.component(is_async, chunks)
    }

    proptest! {
        /// Below a node at any depth, near the end of its room too, with something below the two components.
        #[test]
        fn components_compare_like_ordinals(
            depth in 0..=ROOM,
            one in ordinals(),
            other in prop_oneof![ordinals().prop_map(Some), Just(None)],
            asyncs in any::<(bool, bool)>(),
            below in (ordinals(), ordinals()),
        ) {
            let other = other.unwrap_or(one);
            prop_assume!((one, asyncs.0) != (other, asyncs.1));
            let mut chunks = Chunks::default();
            let mut cursor = Cursor::root();
            for _ in 0..depth {
                cursor = Cursor::task(cursor.spawn(&mut chunks));
            }
            let a = component(&mut cursor, one, asyncs.0, &mut chunks);
            let b = component(&mut cursor, other, asyncs.1, &mut chunks);
            let a_is_left = (one, asyncs.0) < (other, asyncs.1);
            let expected = verdict(a_is_left, if a_is_left { asyncs.0 } else { asyncs.1 });
            prop_assert_eq!(a.relation(&b, chunks.table()), expected);
            let a = component(&mut Cursor::task(a), below.0, false, &mut chunks);
            let b = component(&mut Cursor::task(b), below.1, true, &mut chunks);
            prop_assert_eq!(a.relation(&b, chunks.table()), expected);
        }
    }

    #[test]
    fn each_octal_digit_gets_a_nibble() {
        assert_eq!(spread_digits(0o12_345_670_123_456), 0x0012_3456_7012_3456);
    }
}
