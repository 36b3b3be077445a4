//! The same in one step.
use dashmap::DashMap;

fn main() {
    let owners: DashMap<&str, usize> = DashMap::new();
    programs::twice(|number| {
        owners.entry("table").or_insert(number);
        *owners.entry("uses").or_insert(0) += 1;
    });
    assert_eq!(owners.get("uses").map(|uses| *uses), Some(2));
}
