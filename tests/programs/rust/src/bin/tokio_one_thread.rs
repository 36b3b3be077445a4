//! Tasks of a runtime with one thread come between each other wherever they wait, also with a lock of `std`.
// expect: lock-gap (A) (B)
use std::sync::{Arc, Mutex};

async fn look(number: &Mutex<u32>) -> u32 {
    *number.lock().unwrap() // (A)
}

async fn write(number: &Mutex<u32>, value: u32) {
    *number.lock().unwrap() = value; // (B)
}

async fn add(number: Arc<Mutex<u32>>) {
    let before = look(&number).await;
    tokio::task::yield_now().await;
    write(&number, before + 1).await;
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let number = Arc::new(Mutex::new(0));
        let tasks = [0, 1].map(|_| tokio::spawn(add(Arc::clone(&number))));
        for task in tasks {
            task.await.unwrap();
        }
    });
}
