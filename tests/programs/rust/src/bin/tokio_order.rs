//! What `tokio::sync` orders: one task adds and tells it, the other one waits and adds.
use std::sync::{Arc, Mutex};
use tokio::sync::{Barrier, Notify, OnceCell, Semaphore, broadcast, mpsc, oneshot, watch};

type Number = Arc<Mutex<u32>>;

fn add(number: &Mutex<u32>) {
    let before = *number.lock().unwrap();
    *number.lock().unwrap() = before + 1;
}

/// A task that adds and then does something else.
fn adds(number: &Number, then: impl Future<Output = ()> + Send + 'static) {
    let number = Arc::clone(number);
    tokio::spawn(async move {
        add(&number);
        then.await;
    });
}

async fn by_messages(number: &Number) {
    let (sender, receiver) = oneshot::channel();
    adds(number, async move { sender.send(()).unwrap() });
    receiver.await.unwrap();
    add(number);

    let (sender, receiver) = oneshot::channel::<()>();
    adds(number, async move { drop(sender) });
    receiver.await.unwrap_err();
    add(number);

    let (sender, mut receiver) = mpsc::channel(1);
    adds(number, async move { sender.send(()).await.unwrap() });
    receiver.recv().await.unwrap();
    add(number);

    let (sender, mut receiver) = mpsc::unbounded_channel::<u32>();
    adds(number, async move { drop(sender) });
    assert!(receiver.recv().await.is_none());
    add(number);

    let (sender, mut receiver) = watch::channel(0);
    adds(number, async move { sender.send(1).unwrap() });
    receiver.wait_for(|value| *value == 1).await.unwrap();
    add(number);

    let (sender, mut receiver) = broadcast::channel(1);
    adds(number, async move { drop(sender.send(1)) });
    receiver.recv().await.unwrap();
    add(number);
}

async fn by_others(number: &Number) {
    for all in [true, false] {
        let notify = Arc::new(Notify::new());
        let other = Arc::clone(&notify);
        let notified = notify.notified();
        adds(number, async move { if all { other.notify_waiters() } else { other.notify_one() } });
        notified.await;
        add(number);
    }

    let semaphore = Arc::new(Semaphore::new(0));
    let other = Arc::clone(&semaphore);
    adds(number, async move { other.add_permits(1) });
    semaphore.acquire().await.unwrap().forget();
    add(number);

    let barrier = Arc::new(Barrier::new(2));
    let other = Arc::clone(&barrier);
    adds(number, async move { drop(other.wait().await) });
    barrier.wait().await;
    add(number);

    let cell = Arc::new(OnceCell::new());
    let other = Arc::clone(&cell);
    adds(number, async move { other.set(1).unwrap() });
    while cell.get().is_none() {
        tokio::task::yield_now().await;
    }
    add(number);
}

async fn all(number: Number) {
    by_messages(&number).await;
    by_others(&number).await;
}

fn main() {
    let number = Arc::new(Mutex::new(0));
    let several = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    several.block_on(all(Arc::clone(&number)));
    let one = tokio::runtime::Builder::new_current_thread().build().unwrap();
    one.block_on(all(Arc::clone(&number)));
    assert_eq!(*number.lock().unwrap(), 2 * 2 * 11);
}
