//! Memory goes from thread to thread through the allocator alone: boxes, vectors that grow, strings, maps.
use races::in_all;
use std::collections::{BTreeMap, HashMap};

fn main() {
    for _ in 0..10 {
        in_all(|number| {
            let mut boxes: Vec<Box<[usize; 8]>> = Vec::new();
            let (mut map, mut tree) = (HashMap::new(), BTreeMap::new());
            for step in 0..100 {
                boxes.push(Box::new([number; 8]));
                map.insert(step, format!("{number}-{step}"));
                tree.insert(step, vec![number; step % 16]);
                if step % 3 == 0 {
                    boxes.swap_remove(step % boxes.len());
                    map.remove(&(step / 2));
                    tree.pop_first();
                }
            }
            assert!(boxes.iter().all(|values| values[7] == number));
        });
    }
    println!("done");
}
