//! Random programs of joins and uses, run by workers that take halves from each other in a random order. However much of the tasks is told, each
//! use must stand to each other one as the program says.

use super::*;
use keirin_core::event::{TaskId, ThreadId};
use keirin_core::sptree::labels::Labels;
use keirin_core::sptree::{Relations, StepId};
use keirin_core::tasks::{Actor, TaskState, Tasks};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// What a task does.
#[derive(Clone, Debug)]
enum Deed {
    /// Something that is told.
    Use,
    Join(Vec<Deed>, Vec<Deed>),
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let leaf = prop::collection::vec(Just(Deed::Use), 0..2);
    leaf.prop_recursive(5, 40, 3, |task| {
        let join = (task.clone(), task).prop_map(|(first, second)| Deed::Join(first, second));
        prop::collection::vec(prop_oneof![1 => Just(Deed::Use), 3 => join], 0..4)
    })
}

/// Where a use stands in the program: for each task from the root on how far it had come, and then which half it was.
type Place = Vec<(usize, bool)>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stand {
    SameStep,
    Ordered,
    Parallel,
}

/// How two uses stand to each other by the text of the program. `joins` are the places of all joins.
fn by_definition(one: &Place, other: &Place, joins: &BTreeSet<Place>) -> Stand {
    let same = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    if one[same].0 == other[same].0 {
        return Stand::Parallel;
    }
    let (from, to) = (one[same].0.min(other[same].0), one[same].0.max(other[same].0));
    let join_between = (from..=to).any(|index| {
        let mut place = one[..same].to_vec();
        place.push((index, false));
        joins.contains(&place)
    });
    if join_between { Stand::Ordered } else { Stand::SameStep }
}

#[derive(Debug, Default)]
struct Nothing;

impl TaskState for Nothing {
    fn renew(&mut self) {}
}

/// What is told, and the half that each worker runs.
struct Told {
    lazily: bool,
    worker: usize,
    untold: Vec<*mut Half>,
    tasks: Tasks<Labels, Nothing>,
    spawned: u32,
    opened: BTreeSet<usize>,
    ended: u32,
}

impl Told {
    fn thread(&self) -> ThreadId {
        ThreadId(self.worker as u32)
    }

    /// The task that the worker runs as its `Ran` has it: its number and one.
    fn current(&self) -> usize {
        match self.tasks.current(self.thread()).map(|slot| self.tasks.actor(slot)) {
            Some(Actor::Task(task)) => task.0 as usize + 1,
            _ => 0,
        }
    }
}

impl Teller for Told {
    fn leaves_untold(&self) -> bool {
        self.lazily
    }

    fn untold(&self) -> *mut Half {
        self.untold[self.worker]
    }

    fn set_untold(&mut self, half: *mut Half) {
        self.untold[self.worker] = half;
    }

    fn spawn(&mut self, call: &Call) -> usize {
        let by = self.tasks.acting(self.thread());
        if self.opened.insert(std::ptr::from_ref(call) as usize) {
            self.tasks.finish_begin(by);
        }
        self.spawned += 1;
        self.tasks.spawn(by, Actor::Task(TaskId(self.spawned))).unwrap();
        self.spawned as usize
    }

    fn begin(&mut self, task: usize, _: usize) -> Ran {
        let ran = Ran { task: self.current(), stack_end: 0 };
        self.tasks.begin(self.thread(), TaskId(task as u32)).unwrap();
        ran
    }

    fn suspend(&mut self, ran: Ran) {
        let task = TaskId(self.current() as u32 - 1);
        self.tasks.suspend(self.thread(), task).unwrap();
        assert_eq!(self.current(), ran.task);
    }

    fn end(&mut self, ran: Ran) {
        let task = TaskId(self.current() as u32 - 1);
        self.tasks.end(self.thread(), task).unwrap();
        assert_eq!(self.current(), ran.task);
        self.ended += 1;
    }

    fn waited(&mut self, call: &Call) {
        assert!(self.opened.remove(&(std::ptr::from_ref(call) as usize)));
        let by = self.tasks.acting(self.thread());
        self.tasks.finish_end(by).unwrap();
    }
}

/// A join that is going on.
struct Going {
    notes: Box<std::mem::MaybeUninit<Join>>,
    second: Vec<Deed>,
    /// The place of its call.
    place: Place,
    taken: bool,
    first_ended: bool,
    second_ended: bool,
}

/// What a worker is within.
enum Frame {
    /// A task: what it does, how far it has come, its place without that, the half that it is.
    Task { deeds: Vec<Deed>, next: usize, place: Place, half: Option<(usize, bool)> },
    /// It waits for a join.
    Waits(usize),
}

struct Machine {
    told: Told,
    going: Vec<Going>,
    stacks: Vec<Vec<Frame>>,
    uses: Vec<(Place, StepId)>,
    joins: BTreeSet<Place>,
}

impl Machine {
    fn new(program: Vec<Deed>, workers: usize, lazily: bool) -> Self {
        let mut stacks: Vec<Vec<Frame>> = (0..workers).map(|_| Vec::new()).collect();
        stacks[0].push(Frame::Task { deeds: program, next: 0, place: Vec::new(), half: None });
        let mut tasks = Tasks::new();
        tasks.acting(ThreadId(0));
        let told = Told {
            lazily,
            worker: 0,
            untold: vec![std::ptr::null_mut(); workers],
            tasks,
            spawned: 0,
            opened: BTreeSet::new(),
            ended: 0,
        };
        Machine { told, going: Vec::new(), stacks, uses: Vec::new(), joins: BTreeSet::new() }
    }

    fn notes(&mut self, join: usize) -> *mut Join {
        self.going[join].notes.as_mut_ptr()
    }

    fn begin_half(&mut self, worker: usize, join: usize, second: bool, deeds: Vec<Deed>) {
        // SAFETY: the join goes on, and each half is begun once.
        let half = unsafe { Join::half(self.notes(join), second) };
        // SAFETY: as above.
        unsafe { Half::begin(half, &mut self.told, 7) };
        let mut place = self.going[join].place.clone();
        place.last_mut().unwrap().1 = second;
        self.stacks[worker].push(Frame::Task { deeds, next: 0, place, half: Some((join, second)) });
    }

    /// Takes the second half of a join that nobody runs.
    fn take(&mut self, worker: usize, choice: usize) {
        let free: Vec<usize> = (0..self.going.len()).filter(|join| !self.going[*join].taken).collect();
        if !free.is_empty() {
            let join = free[choice % free.len()];
            self.going[join].taken = true;
            let deeds = self.going[join].second.clone();
            self.begin_half(worker, join, true, deeds);
        }
    }

    /// A worker does something. False if the program has ended.
    fn act(&mut self, worker: usize, choice: usize) -> bool {
        self.told.worker = worker;
        match self.stacks[worker].last_mut() {
            None if worker == 0 => return false,
            None => self.take(worker, choice),
            Some(Frame::Waits(join)) => {
                let join = *join;
                if self.going[join].first_ended && self.going[join].second_ended {
                    // SAFETY: it was begun, and both halves have ended.
                    unsafe { &*self.notes(join) }.end(&mut self.told);
                    self.stacks[worker].pop();
                } else if self.going[join].first_ended && !self.going[join].taken {
                    self.going[join].taken = true;
                    let deeds = self.going[join].second.clone();
                    self.begin_half(worker, join, true, deeds);
                } else {
                    self.take(worker, choice);
                }
            }
            Some(Frame::Task { deeds, next, place, half }) => {
                let Some(deed) = deeds.get(*next).cloned() else {
                    let half = *half;
                    self.stacks[worker].pop();
                    if let Some((join, second)) = half {
                        // SAFETY: the worker runs it.
                        unsafe { Half::end(Join::half(self.notes(join), second), &mut self.told) };
                        let going = &mut self.going[join];
                        if second { going.second_ended = true } else { going.first_ended = true }
                    }
                    return true;
                };
                let mut place = place.clone();
                place.push((*next, false));
                *next += 1;
                match deed {
                    Deed::Use => {
                        if !self.told.untold().is_null() {
                            // SAFETY: the worker runs it.
                            unsafe { tell(self.told.untold(), &mut self.told) };
                        }
                        let slot = self.told.tasks.acting(self.told.thread());
                        self.uses.push((place, self.told.tasks.step(slot)));
                    }
                    Deed::Join(first, second) => {
                        self.joins.insert(place.clone());
                        let join = self.going.len();
                        self.going.push(Going {
                            notes: Box::new_uninit(),
                            second,
                            place,
                            taken: false,
                            first_ended: false,
                            second_ended: false,
                        });
                        let notes = self.notes(join);
                        // SAFETY: the memory stays where it is.
                        unsafe { Join::begin(notes, &mut self.told, false, (1, 2)) };
                        self.stacks[worker].push(Frame::Waits(join));
                        self.begin_half(worker, join, false, first);
                    }
                }
            }
        }
        true
    }

    fn stand(&self, one: StepId, other: StepId) -> Stand {
        if one == other {
            return Stand::SameStep;
        }
        let parallel = self.told.tasks.structure().relation(one, other).is_parallel();
        if parallel { Stand::Parallel } else { Stand::Ordered }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(3000) })]
    #[test]
    fn uses_stand_to_each_other_as_the_program_says(
        program in deeds(),
        workers in 1..4usize,
        choices in prop::collection::vec((0..4usize, 0..64usize), 0..300),
    ) {
        for lazily in [true, false] {
            let mut machine = Machine::new(program.clone(), workers, lazily);
            let later = (0..).map(|number| (number, number / 3));
            for (worker, choice) in choices.iter().copied().chain(later) {
                if !machine.act(worker % workers, choice) {
                    break;
                }
            }
            prop_assert!(machine.told.opened.is_empty());
            prop_assert_eq!(machine.told.ended, machine.told.spawned);
            if !lazily {
                prop_assert_eq!(machine.told.spawned as usize, 2 * machine.going.len());
            }
            for (place, step) in &machine.uses {
                for (other, other_step) in machine.uses.iter().filter(|(other, _)| other != place) {
                    let (stand, told) =
                        (by_definition(place, other, &machine.joins), machine.stand(*step, *other_step));
                    prop_assert_eq!(stand, told, "{:?} and {:?}, lazily: {}", place, other, lazily);
                }
            }
        }
    }
}

/// A tree of joins that ends in tasks with these deeds.
fn tree(depth: u32, leaf: &[Deed]) -> Vec<Deed> {
    match depth {
        0 => leaf.to_vec(),
        _ => vec![Deed::Join(tree(depth - 1, leaf), tree(depth - 1, leaf))],
    }
}

#[test]
fn tasks_without_uses_are_not_told() {
    for (leaf, most) in [(vec![], 2), (vec![Deed::Use], 2046)] {
        let before = untold_tasks();
        let mut machine = Machine::new(tree(10, &leaf), 2, true);
        let mut turn = 0;
        while machine.act(turn % 2, turn) {
            turn += 1;
        }
        assert_eq!(machine.told.spawned, most, "the halves of the outermost join are spawned at once");
        assert!(untold_tasks() - before >= u64::from(2046 - most), "those that are not told are counted");
    }
}
