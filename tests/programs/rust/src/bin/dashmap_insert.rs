//! A look into a concurrent map, and then a write: the map keeps each of them whole, and not both.
// expect: lock-gap (A) (B)
use dashmap::DashMap;

fn main() {
    let owners: DashMap<&str, usize> = DashMap::new();
    programs::twice(|number| {
        if !owners.contains_key("table") { // (A)
            owners.insert("table", number); // (B)
        } else {
            owners.insert("table", 9); // (B)
        }
    });
}
