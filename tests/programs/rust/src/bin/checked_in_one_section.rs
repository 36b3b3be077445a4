//! A name is looked for and entered in one critical section.
use std::collections::HashMap;
use std::sync::Mutex;

fn main() {
    let names = Mutex::new(HashMap::new());
    programs::twice(|who| {
        let name = format!("name {who}");
        let mut names = names.lock().unwrap();
        if !names.contains_key(&name) {
            names.insert(name, who);
        }
    });
}
