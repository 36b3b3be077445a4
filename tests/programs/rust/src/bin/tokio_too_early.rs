//! A task sends before it writes, so that the message orders nothing of what follows.
// expect: lock-gap (A) (B) (C)
use std::sync::Arc;
use tokio::sync::{Mutex, oneshot};

fn main() {
    programs::with_tokio(async {
        let number = Arc::new(Mutex::new(0));
        let (sender, receiver) = oneshot::channel();
        let own = Arc::clone(&number);
        let task = tokio::spawn(async move {
            sender.send(()).unwrap();
            *own.lock().await = 7; // (C)
        });
        receiver.await.unwrap();
        let before = *number.lock().await; // (A)
        *number.lock().await = before + 1; // (B)
        task.await.unwrap();
    });
}
