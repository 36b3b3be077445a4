//! Who drops the last `Arc` drops what all have written.
use races::{Shared, in_all, threads};
use std::sync::Arc;

struct Table {
    rows: Vec<Shared<Vec<usize>>>,
}

impl Drop for Table {
    fn drop(&mut self) {
        let sum: usize = self.rows.iter().map(|row| unsafe { (*row.get()).len() }).sum();
        println!("{sum}");
    }
}

fn main() {
    for _ in 0..20 {
        let rows = (0..threads()).map(|_| Shared::new(Vec::new())).collect();
        let table = Arc::new(Table { rows });
        let parts: Vec<_> = (0..threads()).map(|_| Shared::new(Some(table.clone()))).collect();
        drop(table);
        in_all(|number| {
            let table = unsafe { (*parts[number].get()).take() }.unwrap();
            unsafe { (*table.rows[number].get()).push(number) };
        });
    }
}
