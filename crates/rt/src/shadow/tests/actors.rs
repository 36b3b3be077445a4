//! A thread that goes on as an actor whose thread has ended.

use super::alone;
use super::machine::new_driver;

use crate::thread::{Registry, Thread};
use crate::watcher::Watcher;
use crate::{shadow, tls};
use keirin_core::event::{AccessKind, ThreadId};

const BASE: usize = 0x2400_0000;
/// More than the shortcut does: the analysis is always asked.
const SIZE: usize = 32;

fn thread(id: ThreadId) -> &'static mut Thread {
    let thread = Registry::with(|registry| registry.entry(id).map(|entry| entry.thread));
    // SAFETY: it was just created, and nobody else uses it.
    unsafe { &mut *thread.expect("it is known") }
}

#[test]
fn what_the_ended_thread_did_is_of_another_epoch() {
    let _alone = alone();
    let driver = Box::leak(Box::new(new_driver()));
    // SAFETY: it was just made, and only this test knows it.
    let main = unsafe { &mut *driver.attach() };
    let child = driver.forked(main, 1).expect("there is room");
    driver.access(thread(child), AccessKind::Write, BASE, SIZE, 0x31);
    driver.ended(thread(child));
    driver.joined(main, child, 2);
    let next = driver.forked(main, 3).expect("there is room");
    assert_eq!(thread(next).actor, ThreadId(1), "it goes on as the one that has ended");
    driver.access(thread(next), AccessKind::Write, BASE, SIZE, 0x32);
    driver.access(main, AccessKind::Write, BASE, SIZE, 0x33);
    assert_eq!(main.findings.list().len(), 1, "nothing orders the two writes");
    tls::set_thread(std::ptr::null_mut());
    tls::set_epoch(0, 0);
    shadow::forget::<super::machine::Races>(BASE, SIZE);
}
