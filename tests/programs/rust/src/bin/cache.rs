//! A cache that computes twice, and forgets the first result.
// expect: lock-gap (A) (B)
use std::collections::HashMap;
use std::sync::{Arc, RwLock};

#[derive(Default)]
struct Cache(RwLock<HashMap<usize, Arc<String>>>);

impl Cache {
    fn get(&self, key: usize) -> Arc<String> {
        if let Some(value) = self.0.read().unwrap().get(&key) { // (A)
            return Arc::clone(value);
        }
        let value = Arc::new(key.to_string());
        self.0.write().unwrap().insert(key, Arc::clone(&value)); // (B)
        value
    }
}

fn main() {
    let cache = Cache::default();
    programs::twice(|key| assert_eq!(*cache.get(key), key.to_string()));
}
