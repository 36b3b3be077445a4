//! What was done before a message was sent comes before what its receiver does.
use std::sync::Mutex;
use std::sync::mpsc::{channel, sync_channel};

fn main() {
    let items = Mutex::new(Vec::new());
    let (sender, receiver) = channel();
    let (bounded, answers) = sync_channel(0);
    let (receiver, answers) = (Mutex::new(receiver), Mutex::new(answers));
    programs::twice(|number| {
        if number == 0 {
            items.lock().unwrap().push(1);
            sender.send(()).unwrap();
            answers.lock().unwrap().recv().unwrap();
            items.lock().unwrap().push(3);
        } else {
            receiver.lock().unwrap().recv().unwrap();
            let count = items.lock().unwrap().len();
            items.lock().unwrap().push(count);
            bounded.send(()).unwrap();
        }
    });
}
