//! How fast native traces are written and read, in million events a second.
//!
//! `cargo bench -p keirin-core --bench decode`. The best of five runs is printed; nothing is asserted.
#![allow(missing_docs, clippy::print_stdout)]

use keirin_core::event::{AccessKind, Addr, Event, LockId, LockMode, Op, SiteId, ThreadId};
use keirin_core::trace::native::{Reader, Writer};
use keirin_core::trace::{BATCH_EVENTS, Batch, Sink, Source, Tables};
use std::io::Cursor;
use std::time::Instant;

const EVENTS: usize = 4_000_000;

/// Enough to see that the check works, for `cargo test --all-targets`.
const FEW_EVENTS: usize = 10_000;

const RUNS: usize = 5;

/// A small generator of numbers that look random (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

/// What a thread is doing: it walks over an array of its own, and now and then touches shared memory under a lock.
fn next_op(random: &mut Random, thread: u64, step: u64) -> (SiteId, Op) {
    let private = 0x7F00_0000_0000 + (thread << 24);
    let access = |kind, size, addr| Op::Access { kind, size, addr: Addr(addr) };
    let site = |number| SiteId(number + 100 * (thread as u32 % 3));
    match step % 8 {
        0 if random.below(4) == 0 => {
            (site(1), Op::Acquire { lock: LockId(random.below(16) as u32), mode: LockMode::Exclusive })
        }
        1 if random.below(4) == 0 => {
            (site(2), Op::Release { lock: LockId(random.below(16) as u32), mode: LockMode::Exclusive })
        }
        2 => (site(3), access(AccessKind::Write, 4, 0x5555_0000_0000 + random.below(4096) * 4)),
        3 => (site(4), access(AccessKind::Read, 4, 0x5555_0000_0000 + random.below(4096) * 4)),
        4 | 5 => (site(5), access(AccessKind::Read, 8, private + step * 8 % 0x10_0000)),
        6 => (site(6), access(AccessKind::Write, 8, private + step * 8 % 0x10_0000)),
        _ => (site(7), access(AccessKind::Read, 8, private + 0x10_0000 + random.below(64) * 8)),
    }
}

fn make(count: usize, threads: u64, run_length: u64) -> Vec<Event> {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut steps = vec![0; threads as usize];
    let mut events = Vec::with_capacity(count);
    while events.len() < count {
        let thread = random.below(threads);
        for _ in 0..1 + random.below(2 * run_length - 1) {
            let step = &mut steps[thread as usize];
            *step += 1;
            let (site, op) = next_op(&mut random, thread, *step);
            events.push(Event { thread: ThreadId(thread as u32), site, op });
        }
    }
    events
}

fn best(mut measured: impl FnMut()) -> f64 {
    (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            measured();
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}

fn main() {
    let count = if std::env::args().any(|argument| argument == "--bench") { EVENTS } else { FEW_EVENTS };
    println!("{:>8} {:>6} {:>14} {:>14} {:>12}", "threads", "run", "write M/s", "read M/s", "bytes/event");
    for (threads, run_length) in [(1, 1000), (2, 3), (4, 3), (8, 3), (16, 3), (8, 50), (100, 3), (2000, 3)] {
        let events = make(count, threads, run_length);
        let batches: Vec<Batch> = (0..)
            .zip(events.chunks(BATCH_EVENTS))
            .map(|(index, chunk)| {
                let mut batch = Batch::new();
                batch.extend(1 + index * BATCH_EVENTS as u64, chunk);
                batch
            })
            .collect();
        let tables = Tables::default();
        let mut bytes = Vec::new();
        let write = best(|| {
            let mut writer = Writer::new(Vec::with_capacity(events.len() * 8)).unwrap();
            batches.iter().for_each(|batch| writer.write(batch, &tables).unwrap());
            writer.finish(&tables).unwrap();
            bytes = writer.into_inner();
        });
        let mut sum = 0u64;
        let read = best(|| {
            let mut reader = Reader::new(Cursor::new(&bytes)).unwrap();
            let mut batch = Batch::new();
            let mut read = 0;
            loop {
                let more = reader.fill(&mut batch).unwrap();
                read += batch.events().len();
                sum += batch.events().last().map_or(0, |event| u64::from(event.thread.0));
                if !more {
                    break;
                }
            }
            assert_eq!(read, events.len());
        });
        std::hint::black_box(sum);
        let million = events.len() as f64 / 1e6;
        println!(
            "{threads:>8} {run_length:>6} {:>14.1} {:>14.1} {:>12.2}",
            million / write,
            million / read,
            bytes.len() as f64 / events.len() as f64
        );
    }
}
