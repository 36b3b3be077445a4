//! A task looks at something for one purpose and writes it for another one, in calls that have nothing to do with each other, and it waits
//! in each of them.
use std::hint::black_box;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

type Called<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

fn deeper<'a>(depth: u32, act: &'a (dyn Fn() + Sync)) -> Called<'a> {
    Box::pin(async move {
        tokio::task::yield_now().await;
        if depth == 0 {
            act()
        } else {
            deeper(depth - 1, act).await
        }
        black_box(depth);
    })
}

async fn act(number: Arc<Mutex<u32>>) {
    deeper(6, &|| {
        black_box(*number.lock().unwrap());
    })
    .await;
    deeper(6, &|| *number.lock().unwrap() = 1).await;
}

fn main() {
    programs::with_tokio(async {
        let number = Arc::new(Mutex::new(0));
        let tasks = [0, 1].map(|_| tokio::spawn(act(Arc::clone(&number))));
        for task in tasks {
            task.await.unwrap();
        }
    });
}
