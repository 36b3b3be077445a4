//! A lock around something whose type is not known.
// expect: lock-gap (A) (B)
use std::sync::{Arc, Mutex};
use std::thread;

trait Account: Send {
    fn balance(&self) -> u32;
    fn set(&mut self, balance: u32);
}

struct Plain(u32);

impl Account for Plain {
    fn balance(&self) -> u32 {
        self.0
    }

    fn set(&mut self, balance: u32) {
        self.0 = balance;
    }
}

fn main() {
    let account: Arc<Mutex<dyn Account>> = Arc::new(Mutex::new(Plain(0)));
    let threads = [0, 1].map(|_| {
        let account = Arc::clone(&account);
        thread::spawn(move || {
            let balance = account.lock().unwrap().balance(); // (A)
            account.lock().unwrap().set(balance + 1); // (B)
        })
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
