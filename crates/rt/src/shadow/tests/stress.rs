//! Many threads at once on the same words.

use super::machine::{ACTORS, Races, drop_thread, new_driver, new_thread, tell_access, tell_atomic};
use super::{alone, kept, words_with_more};
use crate::driver::Driver;
use crate::layout::WORD_BYTES;
use crate::shadow::{self, Word};
use crate::thread::Thread;
use crate::watcher::Watcher;
use crate::{tls, watch};
use keirin_core::event::{AccessKind, AtomicKind, MemoryOrder};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

const BASE: usize = 0x2300_0000;
const WORDS: usize = 3;
const ROUNDS: usize = 100_000;
/// Many times longer than it takes: if it is not over by then it never will be.
const LIMIT: Duration = Duration::from_secs(120);

/// Who holds the lock of a word knows that nobody else does.
static HELD: [AtomicBool; WORDS] = [const { AtomicBool::new(false) }; WORDS];

/// Numbers that are different for each seed.
fn random(state: &mut u64) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 11) as usize
}

fn one_round(driver: &Driver<Races>, thread: &mut Thread, random: usize, words: usize, whole: bool) {
    let (choice, random) = (random % 16, random / 16);
    let size = 1 << (random % 4);
    let byte = random / 4 % (words * WORD_BYTES - size + 1);
    let (address, word) = (BASE + byte, byte / WORD_BYTES);
    match choice {
        0..6 => tell_access(driver, thread, AccessKind::Read, address, size, random % 8),
        6..10 => tell_access(driver, thread, AccessKind::Write, address, size, random % 8),
        10 | 11 => {
            let kind = if choice == 10 { AtomicKind::Load } else { AtomicKind::ReadModifyWrite };
            let order = if random % 64 == 0 { MemoryOrder::AcquireRelease } else { MemoryOrder::Relaxed };
            tell_atomic(driver, thread, (kind, order), address, size, 9);
        }
        12 if random % 64 == 0 => driver.happens_before(thread, BASE + word * WORD_BYTES, 10),
        12 => driver.happens_after(thread, BASE + word * WORD_BYTES, 10),
        13 => driver.object_forgotten(BASE + word * WORD_BYTES),
        14 => {
            let mut locked = Word::of(address).lock::<Races>().expect("the runtime is on");
            // Forgetting a whole word also resets its lock.
            let held = HELD[word].swap(true, Ordering::Relaxed);
            assert!(whole || !held, "two hold the lock of word {word}");
            locked.make_record().objects.at(address).token();
            assert!(locked.has_record());
            HELD[word].store(false, Ordering::Relaxed);
        }
        // A word that is forgotten as a whole is reset without its lock, and may lose a record that is just made.
        _ if whole => shadow::forget::<Races>(address, size),
        _ => {
            let byte = byte.min(words * WORD_BYTES - 5);
            shadow::forget::<Races>(BASE + byte, size.min(5).min(WORD_BYTES - byte % WORD_BYTES));
        }
    }
    thread.findings = keirin_core::finding::Findings::new();
    thread.told.clear();
}

/// Lets several threads do random things to a few words. Fails if that does not come to an end.
fn run(words: usize, whole: bool) {
    let driver: &'static Driver<Races> = Box::leak(Box::new(new_driver()));
    watch::pretend_on(true);
    let (tell, told) = mpsc::channel();
    let workers: Vec<_> = (0..ACTORS)
        .map(|id| {
            let tell = tell.clone();
            std::thread::spawn(move || {
                let mut thread = new_thread(id);
                let mut state = 0x9e37_79b9_7f4a_7c15 ^ (id as u64 + 1) << 32;
                for _ in 0..ROUNDS {
                    one_round(driver, &mut thread, random(&mut state), words, whole);
                }
                tls::set_epoch(0, 0);
                drop_thread(thread);
                tell.send(()).expect("somebody waits");
            })
        })
        .collect();
    drop(tell);
    for _ in &workers {
        // Who has failed tells nothing: then all others come to an end, and this does as well.
        match told.recv_timeout(LIMIT) {
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("the threads wait for each other"),
            Ok(()) | Err(mpsc::RecvTimeoutError::Disconnected) => {}
        }
    }
    watch::pretend_on(false);
    workers.into_iter().for_each(|worker| worker.join().expect("no thread fails"));
}

#[test]
fn records_and_tables_of_busy_words_are_neither_lost_nor_given_back_twice() {
    let _alone = alone();
    for words in [1, WORDS] {
        run(words, false);
        assert_eq!(kept(), words_with_more(BASE, WORDS * WORD_BYTES));
        shadow::forget::<Races>(BASE, WORDS * WORD_BYTES);
        assert_eq!(kept(), 0);
    }
}

#[test]
fn words_that_are_forgotten_while_they_are_used_stay_usable() {
    let _alone = alone();
    run(WORDS, true);
    // Some records may be lost, but none is given back twice, and no word stays locked.
    assert!(kept() >= words_with_more(BASE, WORDS * WORD_BYTES));
    for word in 0..WORDS {
        assert!(Word::of(BASE + word * WORD_BYTES).lock::<Races>().is_some());
    }
    shadow::forget::<Races>(BASE, WORDS * WORD_BYTES);
    assert_eq!(words_with_more(BASE, WORDS * WORD_BYTES), 0);
    super::KEPT.store(0, Ordering::Relaxed);
}

/// A read among others takes no lock. Of such a read and a write that nothing orders one at least is told, however close they are.
#[test]
fn a_read_among_others_and_a_write_at_the_same_moment_are_told() {
    const ROUNDS: usize = 20_000;
    let _alone = alone();
    let driver: &'static Driver<Races> = Box::leak(Box::new(new_driver()));
    watch::pretend_on(true);
    let (address, [token, other_token]) = (BASE + 0x1000, [BASE + 0x1100, BASE + 0x1200]);
    // How far the reader and the writer have come, in steps of all rounds, and how often the writer has told the race.
    let (reader, writer, told) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let wait_for = |who: &AtomicUsize, step: usize| {
        while who.load(Ordering::Acquire) < step {
            std::hint::spin_loop();
            if step % 2 == 1 {
                std::thread::yield_now();
            }
        }
    };
    let forget_findings = |thread: &mut Thread| {
        thread.findings = keirin_core::finding::Findings::new();
        thread.told.clear();
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut thread = new_thread(2);
            for round in 0..ROUNDS {
                wait_for(&reader, 2 * round + 1);
                // It knows the reads of before.
                driver.happens_after(&mut thread, token, 1);
                driver.happens_after(&mut thread, other_token, 1);
                forget_findings(&mut thread);
                writer.store(2 * round + 1, Ordering::Release);
                wait_for(&reader, 2 * round + 2);
                tell_access(driver, &mut thread, AccessKind::Write, address, WORD_BYTES, 2);
                told.fetch_add(thread.findings.list().len(), Ordering::Relaxed);
                writer.store(2 * round + 2, Ordering::Release);
            }
            drop_thread(thread);
        });
        let (mut first, mut second) = (new_thread(0), new_thread(1));
        for round in 0..ROUNDS {
            shadow::forget::<Races>(address, WORD_BYTES);
            for _ in 0..2 {
                tell_access(driver, &mut first, AccessKind::Read, address, WORD_BYTES, 3);
                tell_access(driver, &mut second, AccessKind::Read, address, WORD_BYTES, 4);
            }
            driver.happens_before(&mut first, token, 5);
            driver.happens_before(&mut second, other_token, 6);
            // Of the two one is the last reader, and one is beside it.
            let again = if round % 2 == 0 { &mut first } else { &mut second };
            forget_findings(again);
            told.store(0, Ordering::Relaxed);
            reader.store(2 * round + 1, Ordering::Release);
            wait_for(&writer, 2 * round + 1);
            reader.store(2 * round + 2, Ordering::Release);
            tell_access(driver, again, AccessKind::Read, address, WORD_BYTES, 7);
            wait_for(&writer, 2 * round + 2);
            let all = again.findings.list().len() + told.load(Ordering::Relaxed);
            assert!(all > 0, "round {round}: neither has told it");
        }
        [first, second].into_iter().for_each(drop_thread);
    });
    watch::pretend_on(false);
    for used in [address, token, other_token] {
        shadow::forget::<Races>(used, WORD_BYTES);
    }
}
