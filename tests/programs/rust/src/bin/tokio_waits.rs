//! Tasks of each kind that are waited for before the next one begins: nothing comes between.
use std::sync::{Arc, Mutex};
use tokio::task::{JoinSet, LocalSet};

fn add(number: &Mutex<u32>) {
    let before = *number.lock().unwrap();
    *number.lock().unwrap() = before + 1;
}

async fn add_later(number: Arc<Mutex<u32>>) {
    let before = *number.lock().unwrap();
    tokio::task::yield_now().await;
    *number.lock().unwrap() = before + 1;
}

async fn all(number: Arc<Mutex<u32>>) {
    for _ in 0..3 {
        tokio::spawn(add_later(Arc::clone(&number))).await.unwrap();
        add(&number);
        let own = Arc::clone(&number);
        tokio::task::spawn_blocking(move || add(&own)).await.unwrap();
        let mut set = JoinSet::new();
        set.spawn(add_later(Arc::clone(&number)));
        while let Some(result) = set.join_next().await {
            result.unwrap();
        }
        add_later(Arc::clone(&number)).await;
        let local = LocalSet::new();
        let own = Arc::clone(&number);
        local
            .run_until(async move {
                tokio::task::spawn_local(add_later(Arc::clone(&own))).await.unwrap();
                add(&own);
            })
            .await;
        // One that ends before it has done anything, and one that panics.
        let aborted = tokio::spawn(std::future::pending::<()>());
        aborted.abort();
        assert!(aborted.await.unwrap_err().is_cancelled());
        let own = Arc::clone(&number);
        let failed = tokio::spawn(async move {
            add_later(own).await;
            std::panic::resume_unwind(Box::new("as it should"));
        });
        assert!(failed.await.unwrap_err().is_panic());
        add(&number);
    }
}

fn main() {
    let number = Arc::new(Mutex::new(0));
    let several = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    several.block_on(all(Arc::clone(&number)));
    add(&number);
    drop(several);
    let one = tokio::runtime::Builder::new_current_thread().build().unwrap();
    one.block_on(all(Arc::clone(&number)));
    add(&number);
    assert_eq!(*number.lock().unwrap(), 2 * (3 * 9 + 1));
}
