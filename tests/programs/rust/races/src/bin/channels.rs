//! What is sent belongs to who receives it: channels without bound, with one, and without any room.
use races::{Shared, in_all};
use std::sync::mpsc::{Receiver, channel, sync_channel};
use std::time::Duration;

/// The rest of a channel, by all ways to receive.
fn drain(receiver: Receiver<Box<Shared<u64>>>) -> u64 {
    let value = |message: Box<Shared<u64>>| unsafe { *message.get() };
    let mut sum = 0;
    if let Ok(message) = receiver.recv_timeout(Duration::from_millis(100)) {
        sum += value(message);
    }
    if let Ok(message) = receiver.try_recv() {
        sum += value(message);
    }
    sum + receiver.iter().map(value).sum::<u64>()
}

fn main() {
    let (open, from_open) = channel();
    let (narrow, from_narrow) = sync_channel(3);
    let (direct, from_direct) = sync_channel(0);
    let receivers = std::thread::spawn(|| {
        let drains =
            [from_open, from_narrow, from_direct].map(|receiver| std::thread::spawn(|| drain(receiver)));
        drains.map(|thread| thread.join().unwrap())
    });
    in_all(|_| {
        for _ in 0..50 {
            let message = Box::new(Shared::new(0));
            unsafe { message.get().write(2) };
            open.send(message).unwrap();
            narrow.send(Box::new(Shared::new(3))).unwrap();
            direct.send(Box::new(Shared::new(4))).unwrap();
        }
    });
    drop((open, narrow, direct));
    let sums = receivers.join().unwrap();
    println!("{:?}", sums.map(|sum| sum % 50));
}
