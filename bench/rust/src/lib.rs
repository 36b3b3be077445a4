//! What the kernels share. None of them has a race.

use std::fmt::Display;

/// The clock of the processor time of a process, on Linux.
const PROCESS: i32 = 2;

unsafe extern "C" {
    fn clock_gettime(clock: i32, time: *mut [i64; 2]) -> i32;
}

/// The processor time of this process, in nanoseconds.
fn processor() -> i64 {
    let mut time = [0; 2];
    // SAFETY: seconds and nanoseconds, as two numbers of 64 bits.
    unsafe { clock_gettime(PROCESS, &mut time) };
    time[0] * 1_000_000_000 + time[1]
}

/// How many threads there are.
pub fn threads() -> usize {
    std::env::var("THREADS").ok().and_then(|number| number.parse().ok()).unwrap_or(2)
}

/// Does the work, of a size that the first argument scales in per cent, and prints what it comes to and what it cost.
pub fn kernel<R: Display>(size: usize, work: impl FnOnce(usize) -> R) {
    let share: usize = std::env::args().nth(1).and_then(|share| share.parse().ok()).unwrap_or(100);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads()).build_global();
    pool.expect("there is no other pool yet");
    let begin = processor();
    let result = work((size * share / 100).max(1));
    println!("result {result}\nnanoseconds {}", processor() - begin);
}

/// Runs something in all threads at once, with their numbers.
pub fn in_all(act: impl Fn(usize) + Sync) {
    std::thread::scope(|scope| {
        for number in 0..threads() {
            let act = &act;
            scope.spawn(move || act(number));
        }
    });
}

/// Numbers that look random and are always the same.
pub fn numbers(count: usize) -> Vec<u64> {
    let mut state = 88172645463325252u64;
    let next = move |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..count).map(next).collect()
}
