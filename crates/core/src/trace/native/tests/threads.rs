//! Many threads write one trace at once.

use super::*;
use crate::trace::NameKind;
use crate::trace::native::{SharedWriter, ThreadWriter};
use std::sync::Mutex;

#[test]
fn locks_are_seen_in_the_order_in_which_they_were_taken() {
    const THREADS: u32 = 8;
    const ROUNDS: u32 = 3000;
    let shared = SharedWriter::new(Vec::new()).unwrap();
    let lock = Mutex::new(0u64);
    let exclusive = LockMode::Exclusive;
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (shared, lock) = (&shared, &lock);
            scope.spawn(move || {
                let mut writer = ThreadWriter::new(ThreadId(thread)).unwrap();
                let site = SiteId(thread);
                for _ in 0..ROUNDS {
                    let mut counter = lock.lock().unwrap();
                    writer.push(shared, site, Op::Acquire { lock: LockId(0), mode: exclusive }).unwrap();
                    writer.seal(shared).unwrap();
                    writer.push(shared, site, Op::Value { bits: *counter }).unwrap();
                    *counter += 1;
                    writer.push(shared, site, Op::Release { lock: LockId(0), mode: exclusive }).unwrap();
                    writer.seal(shared).unwrap();
                    drop(counter);
                    writer.push(shared, site, Op::Branch { taken: true }).unwrap();
                }
                writer.push(shared, site, Op::ThreadEnd).unwrap();
                writer.flush(shared).unwrap();
            });
        }
    });
    let mut tables = Tables::default();
    tables.add_name(NameKind::Lock, "the lock");
    shared.finish(&tables).unwrap();
    let read = read(&shared.into_inner(), STRICT).unwrap();
    assert_eq!(read.loss, None);
    assert_eq!(read.tables, tables);
    assert_eq!(read.events.len() as u32, THREADS * (ROUNDS * 4 + 1));
    let mut holder = None;
    let mut values = 0;
    for event in &read.events {
        match event.op {
            Op::Acquire { .. } => assert_eq!(holder.replace(event.thread), None),
            Op::Release { .. } => assert_eq!(holder.take(), Some(event.thread)),
            Op::Value { bits } => {
                assert_eq!((bits, holder), (values, Some(event.thread)));
                values += 1;
            }
            _ => {}
        }
    }
}

#[test]
fn more_than_a_thousand_threads_at_once() {
    const THREADS: u32 = 1200;
    let shared = SharedWriter::new(Vec::new()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let shared = &shared;
            scope.spawn(move || {
                let mut writer = ThreadWriter::new(ThreadId(thread)).unwrap();
                for bits in 0..100 {
                    writer.push(shared, SiteId::NONE, Op::Value { bits }).unwrap();
                    if bits % 10 == 0 {
                        writer.seal(shared).unwrap();
                    }
                    if bits % 30 == 0 {
                        writer.flush(shared).unwrap();
                    }
                }
                writer.flush(shared).unwrap();
            });
        }
    });
    shared.finish(&Tables::default()).unwrap();
    let read = read(&shared.into_inner(), STRICT).unwrap();
    assert_eq!((read.events.len() as u32, read.loss), (THREADS * 100, None));
    let mut next = vec![0; THREADS as usize];
    for event in read.events {
        assert_eq!(event.op, Op::Value { bits: next[event.thread.index()] });
        next[event.thread.index()] += 1;
    }
}

#[test]
fn a_caller_may_bring_its_own_clock() {
    let shared = SharedWriter::new(Vec::new()).unwrap();
    let mut first = ThreadWriter::new(ThreadId(0)).unwrap();
    let mut second = ThreadWriter::new(ThreadId(1)).unwrap();
    // Runs that overlap, equal stamps, and gaps.
    let stamps = [(0, vec![10, 11, 12, 13, 40]), (1, vec![1, 11, 12, 30, 41, 42])];
    let mut expected = Vec::new();
    for (thread, stamps) in &stamps {
        let writer = if *thread == 0 { &mut first } else { &mut second };
        for &stamp in stamps {
            writer.append(&shared, stamp, SiteId(0), Op::Value { bits: stamp }).unwrap();
            expected.push((stamp, *thread));
        }
        assert!(writer.append(&shared, 13, SiteId(0), Op::End).is_err(), "stamps must grow");
        assert!(writer.append(&shared, u64::MAX, SiteId(0), Op::End).is_err());
        writer.flush(&shared).unwrap();
    }
    shared.finish(&Tables::default()).unwrap();
    assert!(second.append(&shared, 50, SiteId(0), Op::End).is_ok());
    assert!(second.flush(&shared).is_err(), "the trace is finished");
    expected.sort_unstable();
    let read = read(&shared.into_inner(), STRICT).unwrap();
    let found: Vec<_> = read
        .events
        .iter()
        .map(|event| match event.op {
            Op::Value { bits } => (bits, event.thread.0),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(found, expected);
}

proptest! {
    #[test]
    fn the_merge_sorts_by_stamp_and_thread(
        gaps in prop::collection::vec((0u32..40, 0u64..5, 1u64..6), 1..300),
    ) {
        let shared = SharedWriter::new(Vec::new()).unwrap();
        let mut writers: Vec<_> = (0..40).map(|thread| ThreadWriter::new(ThreadId(thread)).unwrap()).collect();
        let mut next = [0; 40];
        let mut expected = Vec::new();
        for (index, &(thread, gap, length)) in gaps.iter().enumerate() {
            next[thread as usize] += gap;
            for _ in 0..length {
                let stamp = next[thread as usize];
                next[thread as usize] += 1;
                expected.push((stamp, thread));
                let op = Op::Value { bits: stamp };
                writers[thread as usize].append(&shared, stamp, SiteId::NONE, op).unwrap();
            }
            if index % 7 == 0 {
                writers[thread as usize].flush(&shared).unwrap();
            }
        }
        writers.iter_mut().for_each(|writer| writer.flush(&shared).unwrap());
        shared.finish(&Tables::default()).unwrap();
        expected.sort_unstable();
        let expected: Vec<_> = expected
            .into_iter()
            .map(|(bits, thread)| event(thread, u32::MAX, Op::Value { bits }))
            .collect();
        prop_assert_eq!(read(&shared.into_inner(), STRICT).unwrap().events, expected);
    }
}

/// A destination that fails after some bytes.
struct Full(usize);

impl std::io::Write for Full {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0 < bytes.len() {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        self.0 -= bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn nothing_follows_a_failed_write() {
    let shared = SharedWriter::new(Full(60)).unwrap();
    let mut writer = ThreadWriter::new(ThreadId(0)).unwrap();
    for stamp in 0..2 {
        for _ in 0..50 {
            writer.push(&shared, SiteId(stamp), Op::Value { bits: u64::MAX }).unwrap();
        }
        assert!(writer.flush(&shared).is_err());
    }
    writer.push(&shared, SiteId(0), Op::End).unwrap();
    assert!(writer.flush(&shared).unwrap_err().to_string().contains("earlier"));
    assert!(shared.finish(&Tables::default()).is_err());
}
