//! Large runs of simple shapes: the structures agree on random pairs.

use super::*;

/// A small generator of random numbers; the same ones in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ mixed >> 31) % bound as u64) as usize
    }
}

/// Steps in the order in which they came to be, whatever the structure calls them.
struct Shape<S: Structure> {
    structure: S,
    steps: Vec<StepId>,
}

impl<S: Structure> Shape<S> {
    fn new(build: impl FnOnce(&mut Self, S::Place)) -> Self {
        let mut structure = S::default();
        let root = structure.root();
        let mut shape = Self { structure, steps: vec![S::step(&root)] };
        build(&mut shape, root);
        shape
    }

    fn spawn(&mut self, place: &mut S::Place) -> S::Place {
        let task = self.structure.spawn(place);
        self.steps.push(S::step(&task));
        self.steps.push(S::step(place));
        task
    }

    fn open(&mut self, place: &mut S::Place) -> S::Scope {
        let scope = self.structure.open(place);
        self.steps.push(S::step(place));
        scope
    }

    fn close(&mut self, place: &mut S::Place, scope: S::Scope) {
        self.structure.close(place, scope);
        self.steps.push(S::step(place));
    }
}

/// All tasks of a loop in one scope, each with a scope of its own now and then.
fn flat<S: Structure>(tasks: usize) -> Shape<S> {
    Shape::new(|shape, mut place| {
        let scope = shape.open(&mut place);
        for number in 0..tasks {
            let mut task = shape.spawn(&mut place);
            if number % 1000 == 0 {
                let inner = shape.open(&mut task);
                shape.spawn(&mut task);
                shape.close(&mut task, inner);
            }
        }
        shape.close(&mut place, scope);
    })
}

fn phases<S: Structure>(phases: usize, tasks: usize) -> Shape<S> {
    Shape::new(|shape, mut place| {
        let outer = shape.open(&mut place);
        for _ in 0..phases {
            let scope = shape.open(&mut place);
            for _ in 0..tasks {
                shape.spawn(&mut place);
            }
            shape.close(&mut place, scope);
        }
        shape.close(&mut place, outer);
    })
}

/// Tasks that divide their work: one half is spawned, the other done, and a scope waits for both.
fn halves<S: Structure>(depth: usize) -> Shape<S> {
    fn divide<S: Structure>(shape: &mut Shape<S>, place: &mut S::Place, depth: usize) {
        if depth == 0 {
            return;
        }
        let scope = shape.open(place);
        let mut task = shape.spawn(place);
        divide(shape, &mut task, depth - 1);
        divide(shape, place, depth - 1);
        shape.close(place, scope);
    }
    Shape::new(|shape, mut place| divide(shape, &mut place, depth))
}

#[derive(Clone, Copy)]
enum Nesting {
    Tasks,
    Scopes,
    Both,
}

/// Each task or scope within the one before; then everything goes on once more from the inside outwards.
fn nested<S: Structure>(depth: usize, nesting: Nesting) -> Shape<S> {
    Shape::new(|shape, mut place| {
        let (mut tasks, mut scopes) = (Vec::new(), Vec::new());
        for _ in 0..depth {
            if !matches!(nesting, Nesting::Tasks) {
                scopes.push((tasks.len(), shape.open(&mut place)));
            }
            if !matches!(nesting, Nesting::Scopes) {
                let task = shape.spawn(&mut place);
                tasks.push(place);
                place = task;
            }
        }
        loop {
            while let Some(&(owner, scope)) = scopes.last() {
                if owner != tasks.len() {
                    break;
                }
                shape.close(&mut place, scope);
                scopes.pop();
            }
            shape.spawn(&mut place);
            match tasks.pop() {
                Some(spawner) => place = spawner,
                None => break,
            }
        }
    })
}

fn agree<A: Structure, B: Structure>(a: &Shape<A>, b: &Shape<B>, pairs: usize) {
    assert_eq!(a.steps.len(), b.steps.len());
    let mut random = Random(a.steps.len() as u64);
    for pair in 0..pairs {
        let one = random.below(a.steps.len());
        // Half of the pairs are near each other.
        let other = match pair % 2 {
            0 => random.below(a.steps.len()),
            _ => (one + random.below(40)).min(a.steps.len() - 1),
        };
        let in_a = a.structure.relation(a.steps[one], a.steps[other]);
        let in_b = b.structure.relation(b.steps[one], b.steps[other]);
        assert_eq!(in_a, in_b, "{} and {} on steps {one} and {other}", A::NAME, B::NAME);
    }
}

#[test]
fn a_flat_loop_of_two_million_tasks() {
    let ranks = flat::<Ranks>(2_000_000);
    agree(&ranks, &flat::<Labels>(2_000_000), 200_000);
    agree(&ranks, &flat::<Tree>(2_000_000), 200_000);
}

#[test]
fn phases_of_a_loop() {
    let ranks = phases::<Ranks>(200, 2000);
    agree(&ranks, &phases::<Labels>(200, 2000), 200_000);
    agree(&ranks, &phases::<Tree>(200, 2000), 200_000);
}

#[test]
fn work_divided_into_halves() {
    let ranks = halves::<Ranks>(17);
    agree(&ranks, &halves::<Labels>(17), 200_000);
    agree(&ranks, &halves::<Tree>(17), 200_000);
}

#[test]
fn nesting_100_000_deep() {
    for nesting in [Nesting::Tasks, Nesting::Scopes, Nesting::Both] {
        let ranks = nested::<Ranks>(100_000, nesting);
        agree(&ranks, &nested::<Labels>(100_000, nesting), 100_000);
        agree(&ranks, &nested::<Tree>(100_000, nesting), 500);
    }
}

/// A count, not a time: how many steps get new numbers for each one that is put into a list.
#[test]
fn making_room_moves_few_steps() {
    let shapes = [
        ("a loop", flat::<Ranks>(2_000_000)),
        ("phases", phases(400, 4096)),
        ("halves", halves(17)),
        ("nested tasks", nested(100_000, Nesting::Tasks)),
        ("nested scopes", nested(100_000, Nesting::Scopes)),
        ("nested tasks and scopes", nested(100_000, Nesting::Both)),
    ];
    for (name, Shape { structure, .. }) in &shapes {
        let insertions = 2 * structure.nodes();
        assert!(structure.moved() < 15 * insertions, "{name}: {} moved for {insertions}", structure.moved());
    }
}
