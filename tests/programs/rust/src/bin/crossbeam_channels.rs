//! Channels of each kind, a group that is waited for, and threads of a scope: what was done before comes before.
use crossbeam::channel::{Receiver, Sender, bounded, select, unbounded};
use crossbeam::sync::WaitGroup;
use std::sync::Mutex;

fn add(number: &Mutex<u32>) {
    let before = *number.lock().unwrap();
    *number.lock().unwrap() = before + 1;
}

/// One thread adds and tells it, the other one waits and adds.
fn by_message(number: &Mutex<u32>, (sender, receiver): (Sender<()>, Receiver<()>)) {
    crossbeam::scope(|scope| {
        scope.spawn(move |_| {
            add(number);
            sender.send(()).unwrap();
        });
        select! { recv(receiver) -> message => message.unwrap() }
        add(number);
    })
    .unwrap();
}

fn main() {
    let number = Mutex::new(0);
    for channel in [unbounded(), bounded(0), bounded(2)] {
        by_message(&number, channel);
    }
    let group = WaitGroup::new();
    crossbeam::scope(|scope| {
        let member = group.clone();
        scope.spawn(|_| {
            add(&number);
            drop(member);
        });
        group.wait();
        add(&number);
    })
    .unwrap();
    add(&number);
    assert_eq!(*number.lock().unwrap(), 9);
}
