//! Boxes through a channel.
use std::sync::mpsc;

fn main() {
    kernels::kernel(800_000, |messages| {
        let (sender, receiver) = mpsc::channel::<Box<[u64; 4]>>();
        let reader = std::thread::spawn(move || receiver.iter().map(|message| message[3]).sum::<u64>());
        kernels::in_all(|number| {
            for step in 0..messages {
                sender.send(Box::new([number as u64, step as u64, 0, 1])).unwrap();
            }
        });
        drop(sender);
        reader.join().unwrap()
    });
}
