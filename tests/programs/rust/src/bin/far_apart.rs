//! What is reported here and counted there has nothing to do with each other: no function near them holds both.
use std::hint::black_box;
use std::sync::Mutex;

#[inline(never)]
fn deeper(depth: u32, act: &dyn Fn()) {
    if depth == 0 { act() } else { deeper(depth - 1, act) }
    black_box(depth);
}

fn main() {
    let items = Mutex::new(Vec::new());
    programs::twice(|number| {
        deeper(6, &|| {
            black_box(items.lock().unwrap().len());
        });
        deeper(6, &|| items.lock().unwrap().push(number));
    });
}
