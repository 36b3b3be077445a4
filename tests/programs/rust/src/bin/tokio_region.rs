//! A region goes on while its task waits, and belongs to that task: another one of the same thread tears it.
// expect: atomicity-violation (A) (B) (C)
use std::rc::Rc;
use std::sync::Mutex;
use tokio::task::{LocalSet, spawn_local, yield_now};

async fn add(number: &Mutex<u32>) {
    let _region = keirin::region("add");
    let before = *number.lock().unwrap(); // (A)
    yield_now().await;
    *number.lock().unwrap() = before + 1; // (B)
}

async fn clear(number: &Mutex<u32>) {
    yield_now().await;
    *number.lock().unwrap() = 0; // (C)
    yield_now().await;
    *number.lock().unwrap() = 0; // (C)
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let number = Rc::new(Mutex::new(0));
        let (first, second) = (Rc::clone(&number), Rc::clone(&number));
        let local = LocalSet::new();
        local
            .run_until(async move {
                let tasks = [
                    spawn_local(async move { add(&first).await }),
                    spawn_local(async move { clear(&second).await }),
                ];
                for task in tasks {
                    task.await.unwrap();
                }
            })
            .await;
    });
}
