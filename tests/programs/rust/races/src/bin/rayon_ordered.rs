//! All that rayon orders: what is plain memory to one task was left there by another.
use races::Shared;
use rayon::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

/// Written and read without any lock.
static SUM: Shared<u64> = Shared::new(0);

fn add(number: u64) {
    unsafe { *SUM.get() += number };
}

struct Tree(u64, Option<Box<(Tree, Tree)>>);

fn build(depth: u32, value: u64) -> Tree {
    let children = (depth > 0).then(|| {
        Box::new(rayon::join(|| build(depth - 1, 2 * value), || build(depth - 1, 2 * value + 1)))
    });
    Tree(value, children)
}

fn sum(tree: &Tree) -> u64 {
    tree.1.as_ref().map_or(0, |children| {
        let (a, b) = rayon::join(|| sum(&children.0), || sum(&children.1));
        a + b
    }) + tree.0
}

fn increase(values: &mut [u64]) {
    if values.len() < 8 {
        values.iter_mut().for_each(|value| *value += 1);
    } else {
        let (left, right) = values.split_at_mut(values.len() / 2);
        rayon::join_context(|_| increase(left), |_| increase(right));
    }
}

/// Counts by itself how often it is called, and says so when it is dropped.
struct Calls(Arc<AtomicUsize>, Box<[u64; 4]>);

impl Drop for Calls {
    fn drop(&mut self) {
        self.1[0] += 1;
    }
}

fn main() {
    add(1);
    for round in 0..50 {
        // Before, in, between and after joins.
        let mut own = vec![round; 4];
        rayon::join(|| own.push(1), || add(round));
        add(own.len() as u64);
        assert!(sum(&build(6, round)) > 0);
        let mut values: Vec<u64> = (0..2000).collect();
        increase(&mut values);
        values.par_iter_mut().for_each(|value| *value *= 3);
        values.par_sort_by_key(|value| std::cmp::Reverse(*value));
        let words: Vec<String> = values.par_iter().map(|value| value.to_string()).collect();
        assert_eq!(words[0], "6000");
        assert_eq!(words.par_iter().map(String::len).reduce(|| 0, usize::max), 4);

        // Scopes of all kinds, tasks that spawn tasks.
        let mut left = [0u64; 8];
        rayon::scope(|scope| {
            for place in &mut left {
                scope.spawn(move |scope| {
                    *place = 1;
                    scope.spawn(move |_| *place += 1);
                });
            }
            add(1);
        });
        rayon::scope_fifo(|scope| left.iter_mut().for_each(|place| scope.spawn_fifo(move |_| *place += 1)));
        rayon::in_place_scope(|scope| {
            add(1);
            left.iter_mut().for_each(|place| scope.spawn(move |_| *place += 1));
        });
        assert_eq!(left, [4; 8]);

        // Tasks that nobody waits for.
        let (sender, receiver) = mpsc::channel();
        let text = Box::new([round; 16]);
        rayon::spawn(move || {
            add(text[3]);
            sender.send(text).unwrap();
        });
        add(receiver.recv().unwrap()[7]);
        rayon::yield_now();

        // One for each thread.
        let shared: Vec<u64> = (0..64).collect();
        let sums = rayon::broadcast(|context| vec![shared.iter().sum::<u64>(); context.index() + 1]);
        assert_eq!(sums.iter().map(|sums| sums[0]).max(), Some(2016));
        let (sender, receiver) = mpsc::channel();
        rayon::spawn_broadcast(move |context| sender.send(Box::new(context.index())).unwrap());
        add(receiver.iter().map(|index| *index as u64).sum());

        // What a half that panics has done and passes on, and what the other one has.
        let mut seen = (Vec::new(), vec![1]);
        let caught = catch_unwind(AssertUnwindSafe(|| {
            rayon::join(
                || seen.0.push(round),
                || {
                    seen.1.push(round);
                    std::panic::resume_unwind(Box::new([round; 4]));
                },
            )
        }));
        add(caught.unwrap_err().downcast::<[u64; 4]>().unwrap()[2]);
        assert_eq!((seen.0.len(), seen.1.len()), (1, 2));
        let mut dropped = vec![Arc::new(round)];
        let caught = catch_unwind(AssertUnwindSafe(|| {
            rayon::join(
                || std::panic::resume_unwind(Box::new(())),
                || {
                    dropped.push(Arc::new(1));
                    dropped.clone()
                },
            )
        }));
        assert!(caught.is_err() && Arc::strong_count(&dropped[0]) == 1);
    }

    // Pools that come and go, with handlers, and calls of them from outside.
    for round in 0..20 {
        let count = Arc::new(AtomicUsize::new(0));
        let calls = || Calls(count.clone(), Box::new([round; 4]));
        let (first, last) = (calls(), calls());
        let pool = rayon::ThreadPoolBuilder::new()
            .start_handler(move |_| _ = first.0.fetch_add(first.1[0] as usize, Ordering::Relaxed))
            .exit_handler(move |_| _ = last.0.fetch_add(last.1[0] as usize, Ordering::Relaxed))
            .build()
            .unwrap();
        let mut own = vec![round];
        pool.install(|| own.push(1));
        let (length, more) = pool.join(|| own.len(), || vec![round; 3]);
        add((length + more.len()) as u64);
        pool.scope(|scope| scope.spawn(|_| own.push(2)));
        assert_eq!(own, [round, 1, 2]);
        assert_eq!(pool.install(|| sum(&build(3, round))), sum(&build(3, round)));
    }
    println!("{}", unsafe { *SUM.get() });
}
