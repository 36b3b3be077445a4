//! Each method locks; who calls two of them has not.
// expect: lock-gap (A) (B)
use std::sync::Mutex;

struct Stock(Mutex<Vec<u32>>);

impl Stock {
    fn len(&self) -> usize {
        self.0.lock().unwrap().len() // (A)
    }

    fn push(&self, item: u32) {
        self.0.lock().unwrap().push(item); // (B)
    }

    fn push_if_room(&self, item: u32) {
        if self.len() < 100 {
            self.push(item);
        }
    }
}

fn main() {
    let stock = Stock(Mutex::new(Vec::new()));
    programs::twice(|number| stock.push_if_room(number as u32));
}
