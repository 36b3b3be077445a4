//! A name is looked for in one critical section and entered in the next one.
// expect: lock-gap (A) (B)
use std::collections::HashMap;
use std::sync::Mutex;

fn main() {
    let names = Mutex::new(HashMap::new());
    programs::twice(|who| {
        let name = format!("name {who}");
        if !names.lock().unwrap().contains_key(&name) { // (A)
            names.lock().unwrap().insert(name, who); // (B)
        }
    });
}
