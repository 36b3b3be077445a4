//! `Once`, `OnceLock` and `LazyLock`: all see what one has made.
use races::{Shared, in_all};
use std::collections::HashMap;
use std::sync::{LazyLock, Once, OnceLock};

static ONCE: Once = Once::new();
static TABLE: Shared<Vec<u64>> = Shared::new(Vec::new());
static NAME: OnceLock<String> = OnceLock::new();
static MAP: LazyLock<HashMap<u32, Shared<u32>>> =
    LazyLock::new(|| (0..100).map(|key| (key, Shared::new(key * key))).collect());

fn main() {
    in_all(|number| {
        ONCE.call_once(|| unsafe { (*TABLE.get()).extend(0..100) });
        let sum: u64 = unsafe { (*TABLE.get()).iter().sum() };
        assert_eq!(sum, 4950);
        assert_eq!(NAME.get_or_init(|| "name".repeat(3)).len(), 12);
        let key = number as u32;
        assert_eq!(unsafe { *MAP[&key].get() }, key * key);
    });
    println!("{}", ONCE.is_completed());
}
