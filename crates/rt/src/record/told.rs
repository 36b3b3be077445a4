//! What a recording tells beside what happens: values, how they were computed, what the other sides of branches would do.
//!
//! A value belongs to the access that its thread has recorded last. If that is another one, because the compiler has put no hook
//! at the access or it is not recorded, nothing is told, and whatever is computed from it is unknown.

use super::{Held, Recorder};
use crate::thread::Thread;
use keirin_core::event::{AccessKind, Addr, AtomicKind, FormulaId, LoopId, Op, TaskId};
use keirin_core::trace::NameKind;

/// A formula has no more operands than these.
const MOST_READS: usize = 64;

/// How many reads a task has told.
#[derive(Clone, Copy)]
struct Reads {
    task: TaskId,
    count: u32,
}

/// What a thread keeps to tell values.
pub(super) struct Telling {
    /// What it has recorded last, other than values and the like.
    last: Option<Op>,
    /// The number of its read, if that was told.
    number: u32,
    /// For the tasks that it runs, the innermost last, and for what it does outside of them.
    reads: Vec<Reads>,
}

impl Default for Telling {
    fn default() -> Self {
        Self { last: None, number: 0, reads: vec![Reads { task: TaskId::NONE, count: 0 }] }
    }
}

impl Telling {
    /// Something is recorded.
    #[inline]
    pub(super) fn note(&mut self, recorder: &Recorder, op: Op) {
        match op {
            Op::Value { .. } | Op::Operand { .. } | Op::Formula { .. } => return,
            Op::TaskBegin { task } => {
                let count = recorder.suspended.lock().remove(&task).unwrap_or(0);
                self.reads.push(Reads { task, count });
            }
            Op::TaskSuspend { task } | Op::TaskEnd { task } if self.reads.len() > 1 => {
                if let Some(reads) = self.reads.pop()
                    && op == (Op::TaskSuspend { task })
                    && reads.task == task
                    && reads.count > 0
                {
                    recorder.suspended.lock().insert(task, reads.count);
                }
            }
            _ => {}
        }
        (self.last, self.number) = (Some(op), 0);
    }

    fn count(&self) -> u32 {
        self.reads.last().map_or(0, |reads| reads.count)
    }
}

/// True if an operation reads, or writes, just this.
fn is_access(op: Option<Op>, wanted: AccessKind, addr: usize, size: u32) -> bool {
    let here = Addr(addr as u64);
    match op {
        Some(Op::Access { kind, size: told, addr }) => kind == wanted && (told, addr) == (size, here),
        Some(Op::Atomic { kind, size: told, addr, .. }) => {
            let other = if wanted == AccessKind::Read { AtomicKind::Store } else { AtomicKind::Load };
            kind != other && (u32::from(told), addr) == (size, here)
        }
        _ => false,
    }
}

impl Recorder {
    /// Looks at what the thread keeps to tell values, or changes it.
    fn telling<R>(&self, thread: &Thread, look: impl FnOnce(&mut Telling) -> R) -> Option<R> {
        let recorder = thread.writer.as_ref()?;
        let mut held = recorder.0.lock();
        let Held { telling, .. } = &mut *held;
        Some(look(telling))
    }

    /// What the thread's last access has read. Gives its number in the running task, from 1; 0 if it is not told.
    pub(crate) fn read_value(&self, thread: &mut Thread, addr: usize, bits: u64, size: u32) -> u32 {
        let number = self.telling(thread, |telling| {
            if !is_access(telling.last, AccessKind::Read, addr, size) {
                return Err(0);
            }
            if telling.number > 0 {
                return Err(telling.number);
            }
            let Some(reads) = telling.reads.last_mut() else { return Err(0) };
            reads.count = reads.count.checked_add(1).ok_or(0u32)?;
            telling.number = reads.count;
            Ok(reads.count)
        });
        match number {
            Some(Ok(number)) => {
                self.event(thread, Op::Value { bits }, 0, false);
                number
            }
            Some(Err(number)) => number,
            None => 0,
        }
    }

    /// What the thread's last access has written. `computed`: how, and from which reads.
    pub(crate) fn write_value(
        &self,
        thread: &mut Thread,
        addr: usize,
        bits: u64,
        size: u32,
        computed: Option<(&[u8], &[u32])>,
    ) {
        let last = self.telling(thread, |telling| telling.last).flatten();
        if !is_access(last, AccessKind::Write, addr, size) {
            return;
        }
        // The value of a read-modify-write is what it has read.
        let reads_too = matches!(last, Some(Op::Atomic { kind: AtomicKind::ReadModifyWrite, .. }));
        if !reads_too {
            self.event(thread, Op::Value { bits }, 0, false);
        }
        match computed {
            Some((formula, reads)) => self.computed(thread, formula, reads),
            None if reads_too => self.computed(thread, format!("or {bits} 0").as_bytes(), &[]),
            None => {}
        }
    }

    /// How what was recorded last was computed. With an empty formula, or from a read that was not told, that is not known.
    pub(crate) fn computed(&self, thread: &mut Thread, formula: &[u8], reads: &[u32]) {
        let count = self.telling(thread, |telling| telling.count()).unwrap_or(0);
        let is_told = |number: &u32| (1..=count).contains(number);
        let text = std::str::from_utf8(formula).ok();
        let known =
            text.filter(|text| !text.is_empty() && reads.len() <= MOST_READS && reads.iter().all(is_told));
        let formula = match known {
            Some(text) => {
                for number in reads {
                    self.event(thread, Op::Operand { back: count - number + 1 }, 0, false);
                }
                self.formula(thread, text)
            }
            None => FormulaId::NONE,
        };
        self.event(thread, Op::Formula { formula }, 0, false);
    }

    /// What the access would write that was told last, of the other side of a branch.
    pub(crate) fn other_value(&self, thread: &mut Thread, bits: u64) {
        let last = self.telling(thread, |telling| telling.last).flatten();
        if let Some(Op::OtherPath { kind: AccessKind::Write, .. }) = last {
            self.event(thread, Op::Value { bits }, 0, false);
        }
    }

    fn formula(&self, thread: &Thread, text: &str) -> FormulaId {
        let Some(recorder) = &thread.writer else { return FormulaId::NONE };
        if let Some(known) = recorder.0.lock().formulas.get(text) {
            return *known;
        }
        let id = {
            let mut recorded = self.names.lock();
            let recorded = &mut *recorded;
            match recorded.formulas.get(text) {
                Some(id) => *id,
                None => {
                    let id = FormulaId(recorded.names.tables.add_name(NameKind::Formula, text));
                    recorded.formulas.insert(text.into(), id);
                    self.new_names.store(true, std::sync::atomic::Ordering::Relaxed);
                    id
                }
            }
        };
        recorder.0.lock().formulas.insert(text.into(), id);
        id
    }

    /// A loop by its number, which is the same in every run.
    pub(crate) fn loop_id(&self, number: u64) -> LoopId {
        let mut recorded = self.names.lock();
        let recorded = &mut *recorded;
        *recorded.loops.entry(number).or_insert_with(|| {
            self.new_names.store(true, std::sync::atomic::Ordering::Relaxed);
            LoopId(recorded.names.tables.add_name(NameKind::Loop, &format!("{number:016x}")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keirin_core::event::MemoryOrder;

    #[test]
    fn a_value_belongs_to_the_last_access_of_the_same_bytes() {
        let read = Some(Op::Access { kind: AccessKind::Read, size: 4, addr: Addr(0x1000) });
        assert!(is_access(read, AccessKind::Read, 0x1000, 4));
        for (kind, addr, size) in
            [(AccessKind::Write, 0x1000, 4), (AccessKind::Read, 0x1004, 4), (AccessKind::Read, 0x1000, 8)]
        {
            assert!(!is_access(read, kind, addr, size));
        }
        let atomic = |kind| {
            let order = MemoryOrder::Relaxed;
            Some(Op::Atomic { kind, order, size: 8, addr: Addr(8) })
        };
        let reads = |kind| is_access(atomic(kind), AccessKind::Read, 8, 8);
        let writes = |kind| is_access(atomic(kind), AccessKind::Write, 8, 8);
        assert!(reads(AtomicKind::Load) && !writes(AtomicKind::Load));
        assert!(!reads(AtomicKind::Store) && writes(AtomicKind::Store));
        assert!(reads(AtomicKind::ReadModifyWrite) && writes(AtomicKind::ReadModifyWrite));
        assert!(!is_access(None, AccessKind::Read, 8, 8));
    }
}
