//! A task looks for a name under a lock, waits for something else, and enters the name: another task may have done so meanwhile.
// expect: lock-gap (A) (B)
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::Mutex;

async fn enter(names: Arc<Mutex<HashMap<String, usize>>>, who: usize) {
    // Each has a name of its own, so that both enter one whichever comes first.
    let name = format!("name {who}");
    let known = names.lock().await.contains_key(&name); // (A)
    if !known {
        tokio::task::yield_now().await;
        names.lock().await.insert(name, who); // (B)
    }
}

fn main() {
    programs::with_tokio(async {
        let names = Arc::new(Mutex::new(HashMap::new()));
        let tasks = [0, 1].map(|who| tokio::spawn(enter(Arc::clone(&names), who)));
        for task in tasks {
            task.await.unwrap();
        }
    });
}
