//! Strings: words are counted in maps of each thread, which are put together behind a lock.
use std::collections::BTreeMap;
use std::sync::Mutex;

fn main() {
    kernels::kernel(300_000, |words| {
        let text: String = kernels::numbers(words).iter().map(|x| format!("w{} ", x % 5000)).collect();
        let all: Mutex<BTreeMap<String, usize>> = Mutex::default();
        kernels::in_all(|number| {
            let mut own: BTreeMap<&str, usize> = BTreeMap::new();
            for word in text.split(' ').skip(number) {
                *own.entry(word).or_default() += 1;
            }
            let mut all = all.lock().unwrap();
            for (word, count) in own {
                *all.entry(word.to_owned()).or_default() += count;
            }
        });
        all.into_inner().unwrap().values().max().copied().unwrap_or(0)
    });
}
