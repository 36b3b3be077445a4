//! Sections that are passed over, and order that is not told again: what the analysis finds is what it finds offline, where all of them are told.

use super::*;
use crate::rust::sections::{Sections, Teller, Use};
use keirin_core::analysis::tasks::LastUse;

/// What is done under one hold of a lock, to the object that it guards: the lock, and whether each use is a write.
type Section = (usize, Vec<bool>);

/// What comes next.
#[derive(Clone, Copy, Debug)]
enum Next {
    /// One of the sections, so many times.
    Section(usize, usize),
    /// Lets others know, or learns, by one of two tokens, so many times.
    Signal(usize, usize),
    Receive(usize, usize),
    /// Something else.
    Deed(Deed),
}

/// Nothing is suspended: whose calls go with a task tells that by itself (`rust/futures.rs`), and here nobody does.
fn next() -> impl Strategy<Value = Next> {
    let deed = prop_oneof![
        2 => Just(Deed::Spawn),
        4 => (0usize..4).prop_map(Deed::Begin),
        2 => Just(Deed::End),
        1 => Just(Deed::Wait),
        2 => (0usize..2, 1usize..3).prop_map(|(left, entered)| Deed::Call { left, entered }),
    ];
    prop_oneof![
        3 => (0usize..4, 1usize..4).prop_map(|(which, times)| Next::Section(which, times)),
        1 => deed.prop_map(Next::Deed),
        1 => (0usize..2, 1usize..3).prop_map(|(token, times)| Next::Signal(token, times)),
        1 => (0usize..2, 1usize..3).prop_map(|(token, times)| Next::Receive(token, times)),
    ]
}

/// Tells the driver.
struct Online<'a, A: KeepsPlain> {
    driver: &'a TaskDriver<A>,
    thread: &'a mut Thread,
    /// The calls that are open, and those that were looked at last.
    open: Vec<(usize, usize)>,
    looked_at: Option<Vec<(usize, usize)>>,
    told: usize,
}

impl<A: KeepsPlain + Sync> Teller for Online<'_, A> {
    fn acquired(&mut self, lock: usize, mode: LockMode, pc: usize) {
        self.driver.lock_acquired(self.thread, lock, mode, pc);
    }

    fn used(&mut self, used: Use, object: usize) {
        self.told += 1;
        self.thread.look_again();
        self.driver.access(self.thread, used.kind, object, 1, used.pc);
        self.thread.look_away();
    }

    fn released(&mut self, lock: usize, pc: usize) {
        self.driver.lock_released(self.thread, lock, pc);
    }

    fn last_read(&mut self, object: usize) -> Option<LastUse> {
        self.driver.last_read(self.thread, object)
    }

    fn leaves(&mut self, object: usize, read: Option<LastUse>) -> bool {
        self.driver.set_last_read(self.thread, object, read)
    }

    fn is_still_at(&self, _: usize) -> bool {
        self.looked_at.as_ref() == Some(&self.open)
    }

    fn look_at(&mut self, _: usize) {
        self.thread.look_at_stack(&self.open, 0);
        self.thread.look_away();
        self.looked_at = Some(self.open.clone());
    }

    fn calls(&self) -> u64 {
        self.thread.look.number()
    }
}

/// Does everything in both ways. Gives how much was found, and how many uses were passed over, and how much order.
fn compare_sections(sections: &[Section], order: &[Next]) -> Result<[usize; 3], TestCaseError> {
    let modes = Modes { blocks: false, steps: false, gaps: true };
    let offline = TaskAtomicity::new(modes);
    let case = Case::new(TaskAtomicity::new(modes));
    let memory = case.memory.address;
    // SAFETY: it was just made, and belongs to this thread until the end of the test.
    let thread = unsafe { &mut *case.thread };
    let driver = &case.driver;
    let options = ReplayOptions { keep_all: true, ..ReplayOptions::default() };
    let mut replay: TaskReplay<'_, _, Ranks> =
        TaskReplay::new(&offline, "test", options, TaskOptions::default());
    driver.keep_all.store(true, Ordering::Relaxed);
    let mut online = Online { driver, thread, open: Vec::new(), looked_at: None, told: 0 };
    let mut kept = Sections::default();
    let (mut tasks, mut waiting, mut running) = (0, Vec::new(), Vec::new());
    let mut calls = OpenCalls::default();
    let (mut position, mut uses) = (0, 0);
    // What a thread has signalled last, if it has told nothing since; and what was not told.
    let (mut signalled, mut untold) = (None, 0);
    for next in order {
        let told_before = online.told;
        match *next {
            Next::Signal(token, times) | Next::Receive(token, times) => {
                let signals = matches!(next, Next::Signal(..));
                let (token, address) = (token as u64, memory + 2048 + token * 8);
                for _ in 0..times {
                    position += 1;
                    let op = match signals {
                        true => Op::HappensBefore { token },
                        false => Op::HappensAfter { token },
                    };
                    let event = Event { thread: ThreadId(0), site: SiteId(position as u32), op };
                    prop_assert!(replay.event(position, &event).is_ok());
                    let again = match signals {
                        true => signalled == Some(token),
                        false => driver.has_learned(online.thread, address),
                    };
                    if again && !kept.is_open() {
                        untold += 1;
                        continue;
                    }
                    kept.settle(&mut online);
                    online.looked_at = None;
                    signalled = signals.then_some(token);
                    match signals {
                        true => driver.happens_before(online.thread, address, 7),
                        false => driver.happens_after(online.thread, address, 7),
                    }
                }
            }
            Next::Section(which, times) => {
                let which = which % sections.len();
                let (lock, writes) = &sections[which];
                if calls.current(running.len()).is_empty() {
                    calls.change(running.len(), 0, 1);
                }
                online.open = calls.on_stack(running.len());
                let (id, mode) = (LockId(*lock as u32), LockMode::Exclusive);
                let (lock, object) = (memory + BYTES + 8 + lock * 8, memory + lock * 8);
                for _ in 0..times {
                    let mut event = |op, code: usize| {
                        position += 1;
                        replay.set_calls(calls.innermost(running.len()), code as u64);
                        let event = Event { thread: ThreadId(0), site: SiteId(code as u32), op };
                        replay.event(position, &event).is_ok()
                    };
                    assert!(event(Op::Acquire { lock: id, mode }, 0));
                    if !kept.acquired_again(lock, mode, 7) {
                        kept.acquired(&mut online, lock, mode, 7);
                    }
                    for (number, writes) in writes.iter().enumerate() {
                        let kind = if *writes { AccessKind::Write } else { AccessKind::Read };
                        let pc = 0x100 + which * 16 + number;
                        assert!(event(Op::Access { kind, size: 1, addr: Addr(object as u64) }, pc));
                        uses += 1;
                        let again = Use { pc, kind, calls: online.calls() };
                        if !(online.is_still_at(0) && kept.used_again(object, again)) {
                            kept.used(&mut online, object, kind, (pc, 0));
                        }
                    }
                    assert!(event(Op::Release { lock: id, mode }, 0));
                    if !kept.released_again(lock) {
                        kept.released(&mut online, lock, 8);
                    }
                }
            }
            Next::Deed(Deed::Call { left, entered }) => calls.change(running.len(), left, entered),
            Next::Deed(deed) => {
                let Some(op) = op_of(deed, memory, tasks, (&waiting, &running), [None; LOCKS]) else {
                    continue;
                };
                position += 1;
                let event = Event { thread: ThreadId(0), site: SiteId(position as u32), op };
                if replay.event(position, &event).is_err() {
                    continue;
                }
                follow(op, &mut tasks, &mut waiting, &mut running);
                kept.settle(&mut online);
                (online.looked_at, signalled) = (None, None);
                act(driver, online.thread, op, 0x1000 + position as usize, memory);
            }
        }
        if online.told > told_before {
            signalled = None;
        }
    }
    kept.settle(&mut online);
    let told = online.told;
    let outcome = replay.finish();
    let (worker, _) = driver.parts(online.thread);
    let found = flagged(&worker.flagged, memory, 8);
    if !outcome.needs_all {
        prop_assert_eq!(&found, &flagged(&outcome.flagged, memory, 8));
    }
    Ok([found.len(), uses - told, untold])
}

#[test]
fn gaps_of_sections_that_are_passed_over_are_those_offline() {
    let section = (0..LOCKS, proptest::collection::vec(any::<bool>(), 1..3));
    let cases = (proptest::collection::vec(section, 1..4), proptest::collection::vec(next(), 1..60));
    let counts = Cell::new([0; 3]);
    let compared = TestRunner::new(config()).run(&cases, |(sections, order)| {
        let more = compare_sections(&sections, &order)?;
        counts.set(std::array::from_fn(|index| counts.get()[index] + more[index]));
        Ok(())
    });
    compared.unwrap_or_else(|difference| panic!("{difference}"));
    let [found, passed, untold] = counts.get();
    assert!(found > 100 && passed > 1000, "{found} found, {passed} uses passed over");
    assert!(untold > 1000, "{untold} times order was not told again");
}
