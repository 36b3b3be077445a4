//! Sets of held locks, each told by a small number.
//!
//! A lockset is a set of pairs of a lock and a mode. The same set always has the same [`LocksetId`], however it came
//! about, so that cells can keep it in four bytes and two sets are compared by their numbers. What was worked out once
//! (taking or releasing a lock, an intersection, a question about two sets) is remembered in small tables of fixed
//! size; what fell out of them is worked out again.
//!
//! **Form.** A set is a binary trie over the numbers of its locks, and equal tries are one trie (hash-consing). So a set
//! that differs from a known one by a lock costs a few nodes, not a copy: a thread that holds ten thousand locks is no
//! special case. Shared parts are also skipped by intersections.
//!
//! **Bits.** Whether one set is a subset of another, or excludes it, is answered by bits as long as the locks have small
//! numbers.
//!
//! **Cost.** A remembered answer: one look-up. A new one: logarithmic in the number of locks to take or release one,
//! linear in what the sets do not share for the rest. Memory: 32 bytes and an entry of a hash table for each node of the
//! distinct sets of the run; sets are never forgotten.

mod marks;

use crate::event::{LockId, LockMode};
use marks::Marks;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::{BuildHasher, Hash};

/// A set of locks with modes, interned by [`Locksets`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct LocksetId(u32);

impl LocksetId {
    /// The set without locks.
    pub const EMPTY: Self = Self(0);

    /// No set at all.
    pub const ABSENT: Self = Self(u32::MAX);

    /// True for the set without locks.
    #[inline]
    pub fn is_empty(self) -> bool {
        self == Self::EMPTY
    }

    /// The number of the set.
    #[inline]
    pub fn number(self) -> u32 {
        self.0
    }

    /// The set with a number that [`LocksetId::number`] gave.
    #[inline]
    pub fn of_number(number: u32) -> Self {
        Self(number)
    }
}

/// The modes in which a set has a lock, one bit each. (A lock can be held in both: taken for reading while it is held for
/// writing.)
type Modes = u8;

const EXCLUSIVE: Modes = 1;
const SHARED: Modes = 2;

#[inline]
fn bit_of(mode: LockMode) -> Modes {
    match mode {
        LockMode::Exclusive => EXCLUSIVE,
        LockMode::Shared => SHARED,
    }
}

/// True if two threads cannot hold a lock in such modes at the same time.
#[inline]
fn exclude(modes: Modes, others: Modes) -> bool {
    modes != 0 && others != 0 && (modes | others) & EXCLUSIVE != 0
}

/// A node of a trie.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Node {
    /// Stands only at number 0.
    Empty,
    Leaf {
        lock: u32,
        modes: Modes,
    },
    Branch {
        /// The bits above `bit` that all locks below have in common; the rest is zero.
        prefix: u32,
        /// Locks without this bit are on the left, those with it on the right.
        bit: u8,
        /// Some lock below is there in shared mode.
        some_shared: bool,
        left: LocksetId,
        right: LocksetId,
    },
}

const _: () = assert!(size_of::<Node>() == 16);

/// The part of a lock's number above `bit`.
#[inline]
fn above(lock: u32, bit: u8) -> u32 {
    lock & (u32::MAX << bit << 1)
}

#[inline]
fn is_right(lock: u32, bit: u8) -> bool {
    lock >> bit & 1 == 1
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Change {
    Add,
    Remove,
}

/// A question about two sets whose answer is yes or no.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Question {
    Subset,
    Excludes,
}

/// All locksets of a run.
#[derive(Debug)]
pub struct Locksets {
    nodes: Vec<Node>,
    /// For each node which locks are in it, as far as bits go.
    marks: Vec<Marks>,
    numbers: FxHashMap<Node, LocksetId>,
    transitions: Memory<(LocksetId, u32, Modes, Change), LocksetId>,
    intersections: Memory<(LocksetId, LocksetId), LocksetId>,
    for_reads: Memory<LocksetId, LocksetId>,
    for_writes: Memory<LocksetId, LocksetId>,
    answers: Memory<(LocksetId, LocksetId, Question), bool>,
}

impl Default for Locksets {
    fn default() -> Self {
        Self::new()
    }
}

impl Locksets {
    /// Knows the empty set only.
    pub fn new() -> Self {
        Self {
            nodes: vec![Node::Empty],
            marks: vec![Marks::default()],
            numbers: FxHashMap::default(),
            transitions: Memory::new(),
            intersections: Memory::new(),
            for_reads: Memory::new(),
            for_writes: Memory::new(),
            answers: Memory::new(),
        }
    }

    /// The set with a lock in a mode; the same set if it is in already.
    #[inline]
    pub fn add(&mut self, set: LocksetId, lock: LockId, mode: LockMode) -> LocksetId {
        self.transition(set, lock.0, bit_of(mode), Change::Add)
    }

    /// The set without a lock in a mode; the same set if it is not in. In which order locks are released does not
    /// matter.
    #[inline]
    pub fn remove(&mut self, set: LocksetId, lock: LockId, mode: LockMode) -> LocksetId {
        self.transition(set, lock.0, bit_of(mode), Change::Remove)
    }

    /// The locks that protect a read by a thread that holds `set`: all of them. The result has each in exclusive mode,
    /// so that intersections with other results do not depend on modes.
    #[inline]
    pub fn for_reads(&mut self, set: LocksetId) -> LocksetId {
        if self.some_shared(set) { self.work_out_for_reads(set) } else { set }
    }

    /// The locks that protect a write by a thread that holds `set`: those held exclusively.
    #[inline]
    pub fn for_writes(&mut self, set: LocksetId) -> LocksetId {
        if self.some_shared(set) { self.work_out_for_writes(set) } else { set }
    }

    /// The pairs of lock and mode that are in both sets.
    #[inline]
    pub fn intersection(&mut self, a: LocksetId, b: LocksetId) -> LocksetId {
        if a == b || a.is_empty() {
            return a;
        }
        if b.is_empty() {
            return b;
        }
        let key = if a < b { (a, b) } else { (b, a) };
        if let Some(known) = self.intersections.get(&key) {
            return known;
        }
        let result = self.work_out_intersection(a, b);
        self.intersections.put(key, result);
        result
    }

    /// True if each pair of lock and mode of `a` is in `b`.
    #[inline]
    pub fn is_subset(&mut self, a: LocksetId, b: LocksetId) -> bool {
        if a == b || a.is_empty() {
            return true;
        }
        if let Some(answer) = self.marks(a).is_subset(self.marks(b)) {
            return answer;
        }
        if let Node::Leaf { lock, modes } = self.node(a) {
            return modes & !self.modes(b, lock) == 0;
        }
        let key = (a, b, Question::Subset);
        self.answers.get(&key).unwrap_or_else(|| {
            let answer = self.work_out_subset(a, b);
            self.answers.put(key, answer);
            answer
        })
    }

    /// True if two threads cannot hold the two sets at the same time: some lock is in both, and in one of them
    /// exclusively.
    #[inline]
    pub fn excludes(&mut self, a: LocksetId, b: LocksetId) -> bool {
        if a.is_empty() || b.is_empty() {
            return false;
        }
        if let Some(answer) = self.marks(a).excludes(self.marks(b)) {
            return answer;
        }
        // A look at one lock of a set costs no more than a look at what was worked out before.
        match (self.node(a), self.node(b)) {
            (Node::Leaf { lock, modes }, _) => return exclude(modes, self.modes(b, lock)),
            (_, Node::Leaf { lock, modes }) => return exclude(modes, self.modes(a, lock)),
            _ => {}
        }
        let key = if a < b { (a, b, Question::Excludes) } else { (b, a, Question::Excludes) };
        self.answers.get(&key).unwrap_or_else(|| {
            let answer = self.work_out_excludes(a, b);
            self.answers.put(key, answer);
            answer
        })
    }

    /// The locks of a set in the order of their numbers; one that is in with both modes comes twice, exclusive first.
    pub fn locks(&self, set: LocksetId) -> Vec<(LockId, LockMode)> {
        let mut locks = Vec::new();
        self.collect(set, &mut locks);
        locks
    }

    /// Takes over the sets of another table that came after those that are known here, with their numbers. From then on this one
    /// may be asked about sets, and no set may be made in it: the same number would come to mean two sets.
    pub fn catch_up(&mut self, other: &Self) {
        let known = self.nodes.len();
        self.nodes.extend_from_slice(&other.nodes[known..]);
        self.marks.extend_from_slice(&other.marks[known..]);
    }

    /// How much is kept: the nodes of all distinct sets.
    pub fn nodes(&self) -> usize {
        self.nodes.len() - 1
    }

    fn collect(&self, set: LocksetId, locks: &mut Vec<(LockId, LockMode)>) {
        match self.node(set) {
            Node::Empty => {}
            Node::Leaf { lock, modes } => {
                for mode in [LockMode::Exclusive, LockMode::Shared] {
                    if modes & bit_of(mode) != 0 {
                        locks.push((LockId(lock), mode));
                    }
                }
            }
            Node::Branch { left, right, .. } => {
                self.collect(left, locks);
                self.collect(right, locks);
            }
        }
    }

    #[inline]
    fn node(&self, set: LocksetId) -> Node {
        self.nodes[set.0 as usize]
    }

    #[inline]
    fn marks(&self, set: LocksetId) -> Marks {
        self.marks[set.0 as usize]
    }

    #[inline]
    fn some_shared(&self, set: LocksetId) -> bool {
        match self.node(set) {
            Node::Empty => false,
            Node::Leaf { modes, .. } => modes & SHARED != 0,
            Node::Branch { some_shared, .. } => some_shared,
        }
    }

    fn intern(&mut self, node: Node) -> LocksetId {
        let (nodes, marks) = (&mut self.nodes, &mut self.marks);
        *self.numbers.entry(node).or_insert_with(|| {
            nodes.push(node);
            marks.push(match node {
                Node::Empty => Marks::default(),
                Node::Leaf { lock, modes } => Marks::of(lock, modes),
                Node::Branch { left, right, .. } => marks[left.0 as usize].both(marks[right.0 as usize]),
            });
            LocksetId(u32::try_from(nodes.len() - 1).expect("memory ends before the numbers do"))
        })
    }

    fn leaf(&mut self, lock: u32, modes: Modes) -> LocksetId {
        if modes == 0 { LocksetId::EMPTY } else { self.intern(Node::Leaf { lock, modes }) }
    }

    fn branch(&mut self, prefix: u32, bit: u8, left: LocksetId, right: LocksetId) -> LocksetId {
        if left.is_empty() {
            return right;
        }
        if right.is_empty() {
            return left;
        }
        let some_shared = self.some_shared(left) || self.some_shared(right);
        self.intern(Node::Branch { prefix, bit, some_shared, left, right })
    }

    /// The union of two sets whose numbers part somewhere; `a_lock` and `b_lock` tell where.
    fn join(&mut self, a_lock: u32, a: LocksetId, b_lock: u32, b: LocksetId) -> LocksetId {
        let bit = (31 - (a_lock ^ b_lock).leading_zeros()) as u8;
        let (left, right) = if is_right(a_lock, bit) { (b, a) } else { (a, b) };
        self.branch(above(a_lock, bit), bit, left, right)
    }

    #[inline]
    fn transition(&mut self, set: LocksetId, lock: u32, modes: Modes, change: Change) -> LocksetId {
        let key = (set, lock, modes, change);
        if let Some(known) = self.transitions.get(&key) {
            return known;
        }
        let result = self.work_out_transition(set, lock, modes, change);
        self.transitions.put(key, result);
        result
    }

    fn work_out_transition(&mut self, set: LocksetId, lock: u32, modes: Modes, change: Change) -> LocksetId {
        match self.node(set) {
            Node::Leaf { lock: own, modes: before } if own == lock => match change {
                Change::Add => self.leaf(lock, before | modes),
                Change::Remove => self.leaf(lock, before & !modes),
            },
            Node::Branch { prefix, bit, left, right, .. } if above(lock, bit) == prefix => {
                if is_right(lock, bit) {
                    let right = self.work_out_transition(right, lock, modes, change);
                    self.branch(prefix, bit, left, right)
                } else {
                    let left = self.work_out_transition(left, lock, modes, change);
                    self.branch(prefix, bit, left, right)
                }
            }
            _ if change == Change::Remove => set,
            Node::Empty => self.leaf(lock, modes),
            Node::Leaf { lock: other, .. } | Node::Branch { prefix: other, .. } => {
                let leaf = self.leaf(lock, modes);
                self.join(lock, leaf, other, set)
            }
        }
    }

    fn work_out_for_reads(&mut self, set: LocksetId) -> LocksetId {
        if let Some(known) = self.for_reads.get(&set) {
            return known;
        }
        let result = match self.node(set) {
            Node::Empty => set,
            Node::Leaf { lock, .. } => self.leaf(lock, EXCLUSIVE),
            Node::Branch { prefix, bit, left, right, .. } => {
                let left = self.for_reads(left);
                let right = self.for_reads(right);
                self.branch(prefix, bit, left, right)
            }
        };
        self.for_reads.put(set, result);
        result
    }

    fn work_out_for_writes(&mut self, set: LocksetId) -> LocksetId {
        if let Some(known) = self.for_writes.get(&set) {
            return known;
        }
        let result = match self.node(set) {
            Node::Empty => set,
            Node::Leaf { lock, modes } => self.leaf(lock, modes & EXCLUSIVE),
            Node::Branch { prefix, bit, left, right, .. } => {
                let left = self.for_writes(left);
                let right = self.for_writes(right);
                self.branch(prefix, bit, left, right)
            }
        };
        self.for_writes.put(set, result);
        result
    }

    /// The modes in which a set has a lock.
    fn modes(&self, mut set: LocksetId, lock: u32) -> Modes {
        loop {
            match self.node(set) {
                Node::Leaf { lock: own, modes } if own == lock => return modes,
                Node::Branch { prefix, bit, left, right, .. } if above(lock, bit) == prefix => {
                    set = if is_right(lock, bit) { right } else { left };
                }
                _ => return 0,
            }
        }
    }

    /// What of two sets, neither a single lock nor empty, can have locks in common.
    fn pair_up(&self, a: LocksetId, b: LocksetId) -> Pairing {
        let (
            Node::Branch { prefix: a_prefix, bit: a_bit, left: a_left, right: a_right, .. },
            Node::Branch { prefix: b_prefix, bit: b_bit, left: b_left, right: b_right, .. },
        ) = (self.node(a), self.node(b))
        else {
            return Pairing::Apart;
        };
        if a_bit == b_bit && a_prefix == b_prefix {
            Pairing::Halves {
                prefix: a_prefix,
                bit: a_bit,
                left: (a_left, b_left),
                right: (a_right, b_right),
            }
        } else if a_bit > b_bit && above(b_prefix, a_bit) == a_prefix {
            Pairing::InsideFirst(if is_right(b_prefix, a_bit) { a_right } else { a_left })
        } else if b_bit > a_bit && above(a_prefix, b_bit) == b_prefix {
            Pairing::InsideSecond(if is_right(a_prefix, b_bit) { b_right } else { b_left })
        } else {
            Pairing::Apart
        }
    }

    fn work_out_intersection(&mut self, a: LocksetId, b: LocksetId) -> LocksetId {
        match (self.node(a), self.node(b)) {
            (Node::Leaf { lock, modes }, _) => {
                let common = modes & self.modes(b, lock);
                self.leaf(lock, common)
            }
            (_, Node::Leaf { .. }) => self.work_out_intersection(b, a),
            _ => match self.pair_up(a, b) {
                Pairing::Apart => LocksetId::EMPTY,
                Pairing::InsideFirst(part) => self.intersection(part, b),
                Pairing::InsideSecond(part) => self.intersection(a, part),
                Pairing::Halves { prefix, bit, left, right } => {
                    let left = self.intersection(left.0, left.1);
                    let right = self.intersection(right.0, right.1);
                    self.branch(prefix, bit, left, right)
                }
            },
        }
    }

    /// For sets of which the first is neither empty nor a single lock.
    fn work_out_subset(&mut self, a: LocksetId, b: LocksetId) -> bool {
        match self.pair_up(a, b) {
            Pairing::Apart | Pairing::InsideFirst(_) => false,
            Pairing::InsideSecond(part) => self.is_subset(a, part),
            Pairing::Halves { left, right, .. } => {
                self.is_subset(left.0, left.1) && self.is_subset(right.0, right.1)
            }
        }
    }

    /// For sets that are neither empty nor a single lock.
    fn work_out_excludes(&mut self, a: LocksetId, b: LocksetId) -> bool {
        match self.pair_up(a, b) {
            Pairing::Apart => false,
            Pairing::InsideFirst(part) => self.excludes(part, b),
            Pairing::InsideSecond(part) => self.excludes(a, part),
            Pairing::Halves { left, right, .. } => {
                self.excludes(left.0, left.1) || self.excludes(right.0, right.1)
            }
        }
    }
}

/// How two branches lie to each other.
enum Pairing {
    /// No lock can be in both.
    Apart,
    /// All that both can have is in this half of the first set.
    InsideFirst(LocksetId),
    /// All that both can have is in this half of the second set.
    InsideSecond(LocksetId),
    /// The halves match one by one.
    Halves { prefix: u32, bit: u8, left: (LocksetId, LocksetId), right: (LocksetId, LocksetId) },
}

/// Answers that were worked out lately. One slot for each hash, so that its size does not grow with the run.
#[derive(Debug)]
struct Memory<K, V>(Box<[Option<(K, V)>]>);

impl<K: Copy + Eq + Hash, V: Copy> Memory<K, V> {
    const SLOTS: usize = 1024;

    fn new() -> Self {
        Self(vec![None; Self::SLOTS].into_boxed_slice())
    }

    #[inline]
    fn slot(key: &K) -> usize {
        FxBuildHasher.hash_one(key) as usize % Self::SLOTS
    }

    #[inline]
    fn get(&self, key: &K) -> Option<V> {
        self.0[Self::slot(key)].filter(|(known, _)| known == key).map(|(_, value)| value)
    }

    fn put(&mut self, key: K, value: V) {
        self.0[Self::slot(&key)] = Some((key, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    type Plain = BTreeSet<(LockId, LockMode)>;

    fn lock() -> impl Strategy<Value = LockId> {
        // Neighbours, and numbers that part at any bit.
        prop_oneof![0u32..6, any::<u32>(), (0u32..32).prop_map(|bit| 1 << bit), Just(u32::MAX)]
            .prop_map(LockId)
    }

    fn mode() -> impl Strategy<Value = LockMode> {
        prop_oneof![Just(LockMode::Exclusive), Just(LockMode::Shared)]
    }

    /// For each step: which of four sets, take (not release), which lock, how.
    fn steps() -> impl Strategy<Value = Vec<(usize, bool, LockId, LockMode)>> {
        prop::collection::vec(lock(), 1..12).prop_flat_map(|locks| {
            let one = prop::sample::select(locks);
            prop::collection::vec((0usize..4, prop::bool::weighted(0.6), one, mode()), 0..60)
        })
    }

    fn excludes(a: &Plain, b: &Plain) -> bool {
        a.iter().any(|(lock, mode)| {
            b.iter().any(|(other, other_mode)| {
                lock == other && (*mode == LockMode::Exclusive || *other_mode == LockMode::Exclusive)
            })
        })
    }

    proptest! {
        #[test]
        fn sets_are_those_that_a_tree_set_keeps(steps in steps()) {
            let mut locksets = Locksets::new();
            let mut sets = [LocksetId::EMPTY; 4];
            let mut plain: [Plain; 4] = Default::default();
            for (which, take, lock, mode) in steps {
                if take {
                    sets[which] = locksets.add(sets[which], lock, mode);
                    plain[which].insert((lock, mode));
                } else {
                    sets[which] = locksets.remove(sets[which], lock, mode);
                    plain[which].remove(&(lock, mode));
                }
                for (set, plain) in sets.into_iter().zip(&plain) {
                    prop_assert_eq!(locksets.locks(set), plain.iter().copied().collect::<Vec<_>>());
                    let reads: Plain = plain.iter().map(|(lock, _)| (*lock, LockMode::Exclusive)).collect();
                    let for_reads = locksets.for_reads(set);
                    prop_assert_eq!(locksets.locks(for_reads), reads.into_iter().collect::<Vec<_>>());
                    let mut writes = plain.clone();
                    writes.retain(|(_, mode)| *mode == LockMode::Exclusive);
                    let for_writes = locksets.for_writes(set);
                    prop_assert_eq!(locksets.locks(for_writes), writes.into_iter().collect::<Vec<_>>());
                }
                for (a, a_plain) in sets.into_iter().zip(&plain) {
                    for (b, b_plain) in sets.into_iter().zip(&plain) {
                        prop_assert_eq!(a == b, a_plain == b_plain);
                        prop_assert_eq!(locksets.is_subset(a, b), a_plain.is_subset(b_plain));
                        prop_assert_eq!(locksets.excludes(a, b), excludes(a_plain, b_plain));
                        let both: Vec<_> = a_plain.intersection(b_plain).copied().collect();
                        let intersection = locksets.intersection(a, b);
                        prop_assert_eq!(locksets.locks(intersection), both);
                    }
                }
            }
        }

        /// In whatever order a set came about, it has one number.
        #[test]
        fn the_order_does_not_matter(locks in prop::collection::btree_set(lock(), 0..40), seed in any::<u64>()) {
            let mut locksets = Locksets::new();
            let add = |locksets: &mut Locksets, set, lock: &LockId| locksets.add(set, *lock, LockMode::Exclusive);
            let forward = locks.iter().fold(LocksetId::EMPTY, |set, lock| add(&mut locksets, set, lock));
            let mut shuffled: Vec<LockId> = locks.iter().copied().collect();
            shuffled.sort_by_key(|lock| FxBuildHasher.hash_one((seed, lock)));
            let other = shuffled.iter().fold(LocksetId::EMPTY, |set, lock| add(&mut locksets, set, lock));
            prop_assert_eq!(forward, other);
            let none = shuffled.iter().fold(other, |set, lock| locksets.remove(set, *lock, LockMode::Exclusive));
            prop_assert!(none.is_empty());
        }
    }

    #[test]
    fn many_locks_held_at_once_take_little_memory() {
        let mut locksets = Locksets::new();
        let mut set = LocksetId::EMPTY;
        for lock in 0..20_000 {
            set = locksets.add(set, LockId(lock), LockMode::Exclusive);
        }
        assert_eq!(locksets.locks(set).len(), 20_000);
        assert!(locksets.nodes() < 20_000 * 20, "{} nodes", locksets.nodes());
    }
}
