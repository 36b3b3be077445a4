//! Initialization on first use, by the library: what the initializer did comes first.
use std::sync::{LazyLock, Mutex, Once, OnceLock};

static TABLE: LazyLock<Mutex<Vec<usize>>> = LazyLock::new(|| {
    let table = Mutex::new(Vec::new());
    if table.lock().unwrap().is_empty() {
        table.lock().unwrap().push(7);
    }
    table
});
static ONCE: Once = Once::new();
static NAMES: OnceLock<Mutex<Vec<usize>>> = OnceLock::new();

fn main() {
    programs::twice(|number| {
        ONCE.call_once(|| TABLE.lock().unwrap().push(8));
        TABLE.lock().unwrap().push(number);
        let names = NAMES.get_or_init(|| {
            let names = Mutex::new(Vec::new());
            let empty = names.lock().unwrap().is_empty();
            names.lock().unwrap().push(usize::from(empty));
            names
        });
        names.lock().unwrap().push(number);
    });
    assert_eq!((TABLE.lock().unwrap().len(), NAMES.get().unwrap().lock().unwrap().len()), (4, 3));
}
