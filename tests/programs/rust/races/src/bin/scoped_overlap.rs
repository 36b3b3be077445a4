//! Parts of an array that overlap by one element.
// expect: data-race (A) (A)
use std::thread;

struct Part(*mut u64, usize);

// SAFETY: that is the mistake.
unsafe impl Send for Part {}

impl Part {
    #[inline(never)]
    fn fill(self) {
        for at in 0..self.1 {
            unsafe { self.0.add(at).write_volatile(at as u64) }; // (A)
        }
    }
}

fn main() {
    let mut values = [0u64; 16];
    let begin = values.as_mut_ptr();
    let parts = [Part(begin, 9), Part(unsafe { begin.add(8) }, 8)];
    thread::scope(|scope| {
        let threads = parts.map(|part| scope.spawn(|| part.fill()));
        for thread in threads {
            thread.join().unwrap();
        }
    });
    println!("{}", values[7]);
}
