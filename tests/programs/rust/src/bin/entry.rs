//! The map is asked once.
use std::collections::HashMap;
use std::sync::Mutex;

fn main() {
    let names = Mutex::new(HashMap::new());
    programs::twice(|who| {
        names.lock().unwrap().entry("name").or_insert(who);
        *names.lock().unwrap().entry("count").or_insert(0) += 1;
    });
}
