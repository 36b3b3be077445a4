//! Marked blocks that are atomic: one lock holds all of it. A block that is left early ends.
use std::sync::Mutex;

fn take(items: &Mutex<Vec<usize>>) -> Option<usize> {
    let _region = keirin::region("take");
    let mut items = items.lock().unwrap();
    let first = *items.first()?;
    items.remove(0);
    Some(first)
}

fn main() {
    let items = Mutex::new(vec![1, 2, 3]);
    keirin::name!(&*items.lock().unwrap(), "the items");
    programs::twice(|_| while take(&items).is_some() {});
}
