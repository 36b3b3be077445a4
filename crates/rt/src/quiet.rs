//! Atomic operations that order nothing, remembered by the thread that does them.
//!
//! A load, or a relaxed read-modify-write, of a variable through which nobody publishes anything changes nothing but what is to be
//! remembered about the variable: it races with plain accesses that come later. The same is true of a load of whatever was published, if the thread
//! has taken that over: until something else is done to the variable there is no news. (That is kept only after some loads in turn: what is written at
//! every turn would have to be taken from all threads each time.) If that went into the shadow each time, all
//! threads that count something, or look at a flag, would wait for one another. So each thread keeps it in a table of its own, and the shadow
//! only tells that some thread does. Whoever does anything else with the variable takes the entries of all threads first.
//!
//! | | does, in this order |
//! |---|---|
//! | the thread | stores what it is about to do; does it; looks whether the entry is still its own |
//! | who takes the entry | holds the lock of the word; takes the entry, which is a fence; reads what was stored |
//!
//! A read-modify-write is a fence. A load is none: what it stores is a fence, unless the entry tells of the same epoch already.
//! So one of the two sees the other. A thread that finds its entry taken tells the operation in full.
//!
//! **Who may touch what.** A thread makes entries in its own table, while it holds the lock of the word. Anybody takes them,
//! holding that lock. Tables are never given back, only used again.

use crate::shadow::Word;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

/// Entries of a table: as many counters can a thread use at once without waiting for others.
const ENTRIES: usize = 1024;

/// What a thread did last with a variable.
pub(crate) struct Entry {
    /// Which variable; 0: none.
    key: AtomicU64,
    /// The operation, as the analysis remembers it.
    operation: AtomicU64,
}

/// The entries of a thread.
pub(crate) struct Table {
    taken: AtomicBool,
    next: *const Table,
    entries: [Entry; ENTRIES],
}

static TABLES: AtomicPtr<Table> = AtomicPtr::new(std::ptr::null_mut());

/// The bytes of a word that a mask tells, as a number that is not 0.
#[inline]
pub(crate) fn key(word: &Word, mask: u8) -> u64 {
    (std::ptr::from_ref(word).addr() as u64) << 8 | u64::from(mask)
}

/// Set in the key of an entry about loads; the others are about operations that write.
const LOADS: u64 = 1 << 63;

/// The key of an entry about loads of these bytes.
#[inline]
pub(crate) fn key_of_loads(word: &Word, mask: u8) -> u64 {
    key(word, mask) | LOADS
}

/// The word of a key, and the mask.
fn word_of(key: u64) -> (&'static Word, u8) {
    // SAFETY: a key is made from a word of the shadow, which is never unmapped.
    (unsafe { &*std::ptr::with_exposed_provenance(((key & !LOADS) >> 8) as usize) }, key as u8)
}

/// All tables that there ever were.
fn tables() -> impl Iterator<Item = &'static Table> {
    // SAFETY: tables are never given back.
    let first = unsafe { TABLES.load(Ordering::Acquire).as_ref() };
    // SAFETY: as above; `next` is set before a table can be found.
    std::iter::successors(first, |table| unsafe { table.next.as_ref() })
}

/// Takes what all threads have kept about a variable, loads or others. The lock of the word must be held.
pub(crate) fn take(key: u64, mut each: impl FnMut(u64)) {
    for table in tables() {
        let entry = table.entry(key);
        if entry.key.load(Ordering::Relaxed) & !LOADS == key {
            entry.key.swap(0, Ordering::SeqCst);
            each(entry.operation.load(Ordering::SeqCst));
        }
    }
}

impl Entry {
    /// True if this is about the variable.
    #[inline(always)]
    pub(crate) fn is_about(&self, key: u64) -> bool {
        self.key.load(Ordering::Relaxed) == key
    }

    /// The thread is about to do this. It must be followed by a fence.
    #[inline(always)]
    pub(crate) fn set(&self, operation: u64) {
        self.operation.store(operation, Ordering::Relaxed);
    }

    /// The thread is about to do this, in an epoch that the entry may not tell of yet.
    #[inline(always)]
    pub(crate) fn set_load(&self, operation: u64, is_same_epoch: impl FnOnce(u64) -> bool) {
        if is_same_epoch(self.operation.load(Ordering::Relaxed)) {
            self.set(operation);
        } else {
            self.operation.swap(operation, Ordering::SeqCst);
        }
    }

    /// Makes the entry one about a variable, whose word is locked. False if it is about another one.
    pub(crate) fn make(&self, key: u64, operation: u64) -> bool {
        if self.key.load(Ordering::Relaxed) != 0 {
            return false;
        }
        self.operation.store(operation, Ordering::Relaxed);
        self.key.store(key, Ordering::Release);
        true
    }
}

impl Table {
    /// A table for the calling thread; none if there is no memory.
    pub(crate) fn claim() -> Option<&'static Table> {
        let free = |table: &&Table| {
            table.taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
        };
        if let Some(table) = tables().find(free) {
            return Some(table);
        }
        // Not made on the stack, of which the program may have little.
        let table: *mut Table = crate::arena::map(size_of::<Table>()).cast();
        // SAFETY: it is null or was just mapped, for this table, and is never unmapped; zeros are a table without entries.
        let table = unsafe { table.as_mut() }?;
        table.taken = AtomicBool::new(true);
        table.next = TABLES.load(Ordering::Acquire);
        while let Err(other) =
            TABLES.compare_exchange(table.next.cast_mut(), table, Ordering::AcqRel, Ordering::Acquire)
        {
            table.next = other;
        }
        Some(table)
    }

    /// The place for what is done to a variable.
    #[inline(always)]
    pub(crate) fn entry(&self, key: u64) -> &Entry {
        // Both halves of a word have a place of their own.
        let upper_half = usize::from(key & 0xf == 0);
        let word = (key >> 8) as usize / size_of::<Word>();
        &self.entries[(word * 2 + upper_half) % ENTRIES]
    }

    /// Makes room for another variable: `keep` gets the word and the mask of the one that is there, to take it.
    pub(crate) fn make_room(&self, key: u64, keep: impl Fn(&'static Word, u8)) {
        let key = self.entry(key).key.load(Ordering::Relaxed);
        if key != 0 {
            let (word, mask) = word_of(key);
            keep(word, mask);
        }
    }

    /// The thread has ended.
    pub(crate) fn release(&self, keep: impl Fn(&'static Word, u8)) {
        for entry in &self.entries {
            let key = entry.key.load(Ordering::Relaxed);
            if key != 0 {
                let (word, mask) = word_of(key);
                keep(word, mask);
                entry.key.store(0, Ordering::Relaxed);
            }
        }
        self.taken.store(false, Ordering::Release);
    }

    /// Takes what this thread has kept about a variable, if nobody else has. The lock of the word must be held.
    pub(crate) fn take(&self, key: u64) -> Option<u64> {
        let entry = self.entry(key);
        let own = entry.key.load(Ordering::Relaxed) & !LOADS == key;
        own.then(|| {
            entry.key.store(0, Ordering::Relaxed);
            entry.operation.load(Ordering::Relaxed)
        })
    }
}

// SAFETY: entries are atomics, and `next` never changes once others can see the table.
unsafe impl Sync for Table {}
