//! A length is read under a lock for readers, and used under one for writers.
// expect: lock-gap (A) (B) of the list
use std::sync::Arc;
use tokio::sync::RwLock;

async fn append(list: &RwLock<Vec<usize>>) {
    let length = list.read().await.len(); // (A)
    tokio::task::yield_now().await;
    list.write().await.push(length); // (B)
}

fn main() {
    programs::with_tokio(async {
        let list = Arc::new(RwLock::new(Vec::new()));
        keirin::name!(&*list.read().await, "the list");
        let mut set = tokio::task::JoinSet::new();
        for _ in 0..2 {
            let list = Arc::clone(&list);
            set.spawn(async move { append(&list).await });
        }
        while let Some(result) = set.join_next().await {
            result.unwrap();
        }
    });
}
