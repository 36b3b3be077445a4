//! Guards that are kept while a task waits, that are lowered, and that others get: nobody comes between.
use std::sync::Arc;
use tokio::sync::{Mutex, MutexGuard, RwLock, RwLockWriteGuard};

struct Shared {
    outer: Mutex<()>,
    number: Mutex<u32>,
    pair: Arc<RwLock<(u32, u32)>>,
    parts: RwLock<(u32, u32)>,
    attempts: Mutex<u32>,
}

/// Both sections are within another one, which lasts over a wait.
async fn within_another(shared: &Shared) {
    let _outer = shared.outer.lock().await;
    let before = *shared.number.lock().await;
    tokio::task::yield_now().await;
    *shared.number.lock().await = before + 1;
}

/// One section, over a wait.
async fn in_one(shared: &Shared) {
    let _outer = shared.outer.lock().await;
    let mut guard = shared.number.lock().await;
    let before = *guard;
    tokio::task::yield_now().await;
    *guard = before + 1;
}

/// A writer that becomes a reader.
async fn lowered(shared: &Shared) -> u32 {
    let mut guard = shared.pair.write().await;
    guard.0 += 1;
    let guard = RwLockWriteGuard::downgrade(guard);
    tokio::task::yield_now().await;
    guard.0
}

/// Looks again before it writes.
async fn looks_again(shared: &Shared) {
    let before = shared.pair.read().await.1;
    tokio::task::yield_now().await;
    let mut guard = Arc::clone(&shared.pair).write_owned().await;
    if guard.1 == before {
        guard.1 = before + 1;
    }
}

/// Guards of parts.
async fn part(shared: &Shared) {
    let mut guard = RwLockWriteGuard::map(shared.parts.write().await, |parts| &mut parts.1);
    tokio::task::yield_now().await;
    *guard += 1;
    drop(guard);
    if let Ok(guard) = shared.attempts.try_lock() {
        *MutexGuard::map(guard, |attempts| attempts) += 1;
    }
}

async fn act(shared: Arc<Shared>) {
    within_another(&shared).await;
    in_one(&shared).await;
    lowered(&shared).await;
    looks_again(&shared).await;
    part(&shared).await;
}

fn main() {
    let shared = Arc::new(Shared {
        outer: Mutex::new(()),
        number: Mutex::new(0),
        pair: Arc::new(RwLock::new((0, 0))),
        parts: RwLock::new((0, 0)),
        attempts: Mutex::new(0),
    });
    for mut builder in
        [tokio::runtime::Builder::new_multi_thread(), tokio::runtime::Builder::new_current_thread()]
    {
        let runtime = builder.build().unwrap();
        runtime.block_on(async {
            let tasks = [0, 1, 2].map(|_| tokio::spawn(act(Arc::clone(&shared))));
            for task in tasks {
                task.await.unwrap();
            }
        });
    }
}
