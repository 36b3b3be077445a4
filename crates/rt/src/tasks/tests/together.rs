//! Several threads tell of the tasks of one run at the same time: nobody touches what belongs to another (a debug build checks it), and
//! in the end nothing is left.

use super::super::order::Slots;
use keirin_core::event::{TaskId, ThreadId};
use keirin_core::sptree::labels::Labels;
use keirin_core::sptree::{Relations, StepId, Structure};
use keirin_core::tasks::{Actor, Effect, Hand, Running};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

const THREADS: u32 = 4;
const DEPTH: u32 = 9;

/// A task that waits to be run.
struct Spawned {
    id: TaskId,
    depth: u32,
    /// Who spawned it looks there whether it has ended.
    ended: Arc<AtomicUsize>,
    /// The step in which it was spawned.
    before: StepId,
}

struct Run {
    tree: Slots,
    spawned: Mutex<Vec<Spawned>>,
    /// Tasks that have not ended.
    live: AtomicUsize,
    next: AtomicU32,
}

struct Me<'a> {
    run: &'a Run,
    hand: Hand<Labels>,
    running: Running,
    thread: ThreadId,
}

impl Me<'_> {
    /// Spawns two tasks, and runs others until they have ended; some wait for them, and some leave them to who is above.
    fn body(&mut self, depth: u32, waits: bool) {
        if depth == 0 {
            return;
        }
        let run = self.run;
        let by = self.running.current().unwrap();
        let ended = Arc::new(AtomicUsize::new(0));
        let mut steps = Vec::new();
        for _ in 0..2 {
            let id = TaskId(run.next.fetch_add(1, Ordering::Relaxed));
            let before = run.tree.step(by);
            let child = run.tree.spawn(&mut self.hand, by, Actor::Task(id)).unwrap();
            steps.push(run.tree.step(child));
            run.live.fetch_add(1, Ordering::Relaxed);
            let task = Spawned { id, depth: depth - 1, ended: Arc::clone(&ended), before };
            run.spawned.lock().unwrap().push(task);
        }
        assert!(self.hand.structure().relation(steps[0], steps[1]).is_parallel());
        if waits {
            while ended.load(Ordering::Acquire) < 2 {
                self.run_one();
            }
            assert_eq!(run.tree.wait(&mut self.hand, by), Ok(Effect::NewStep));
            // By the tree, or beside it if those below have left tasks behind.
            let (now, known) = run.tree.now(by);
            let labels = self.hand.structure();
            let is_over =
                |step: &StepId| !labels.relation(*step, now).is_parallel() || known.covers(labels, *step);
            assert!(steps.iter().all(is_over));
        }
    }

    /// Runs a task, if there is one.
    fn run_one(&mut self) {
        let Some(task) = self.run.spawned.lock().unwrap().pop() else { return std::thread::yield_now() };
        let tree = &self.run.tree;
        let slot = tree.begin(&mut self.running, task.id).unwrap();
        assert!(!self.hand.structure().relation(task.before, tree.step(slot)).is_parallel());
        // Below the upper ones nobody waits for some.
        self.body(task.depth, task.depth > DEPTH - 3 || task.id.0 % 3 > 0);
        tree.end(&mut self.hand, &mut self.running, self.thread, task.id).unwrap();
        task.ended.fetch_add(1, Ordering::Release);
        self.run.live.fetch_sub(1, Ordering::Release);
    }
}

#[test]
fn threads_that_tell_of_tasks_do_not_meet() {
    let (tree, hand) = Slots::new();
    let run = Run { tree, spawned: Mutex::default(), live: AtomicUsize::new(0), next: AtomicU32::new(0) };
    let hands: Vec<_> = (1..THREADS).map(|_| run.tree.another_hand(&hand)).collect();
    let mut me = Me { run: &run, hand, running: Running::default(), thread: ThreadId(0) };
    let root = run.tree.acting(&mut me.hand, &mut me.running, ThreadId(0));
    let rounds = 20;
    let over = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for (number, hand) in (1..).zip(hands) {
            let (run, over) = (&run, &over);
            scope.spawn(move || {
                let mut me = Me { run, hand, running: Running::default(), thread: ThreadId(number) };
                while over.load(Ordering::Acquire) == 0 {
                    me.run_one();
                }
                run.tree.give_back(me.hand);
            });
        }
        for _ in 0..rounds {
            run.tree.finish_begin(&mut me.hand, root);
            me.body(DEPTH, true);
            while run.live.load(Ordering::Acquire) > 0 {
                me.run_one();
            }
            // Nothing is left but the root.
            assert_eq!(run.tree.finish_end(&mut me.hand, root), Ok(Effect::Serial));
            assert!(run.tree.is_alone(root));
        }
        over.store(1, Ordering::Release);
    });
    assert_eq!(run.tree.counts().spawned, rounds * ((1 << (DEPTH + 1)) - 2));
    run.tree.resolve(&me.hand);
    me.hand.structure_mut().forget_collapsed();
    // The root's first step and its last one, and those from which threads branch off that nobody has forked.
    assert!(me.hand.structure().steps() < 100, "{} steps are left", me.hand.structure().steps());
}
