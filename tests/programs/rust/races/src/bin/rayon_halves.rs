//! Both halves of a join write to one place, and so do a task and who goes on after having spawned it.
// expect: data-race (A) (B)
// expect: data-race (C) (D)
use races::Shared;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

static FIRST: Shared<u64> = Shared::new(0);
static SECOND: Shared<u64> = Shared::new(0);

/// Orders nothing: it makes two tasks meet, so that two threads run them.
struct Meeting(AtomicU32);

impl Meeting {
    const fn new() -> Self {
        Meeting(AtomicU32::new(0))
    }

    fn wait(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        while self.0.load(Ordering::Relaxed) < 2 {
            thread::yield_now();
        }
    }
}

fn main() {
    static MEETINGS: [Meeting; 4] = [const { Meeting::new() }; 4];
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.install(|| {
        rayon::join(
            || {
                MEETINGS[0].wait();
                unsafe { *FIRST.get() += 1 }; // (A)
                MEETINGS[1].wait();
            },
            || {
                MEETINGS[0].wait();
                unsafe { *FIRST.get() += 2 }; // (B)
                MEETINGS[1].wait();
            },
        );
        // What comes after both is ordered, and so is what comes before the task.
        unsafe { *FIRST.get() += 4 };
        rayon::scope(|scope| {
            unsafe { *SECOND.get() += 1 };
            scope.spawn(|_| {
                MEETINGS[2].wait();
                unsafe { *SECOND.get() += 2 }; // (C)
                MEETINGS[3].wait();
            });
            MEETINGS[2].wait();
            unsafe { *SECOND.get() += 4 }; // (D)
            MEETINGS[3].wait();
        });
        unsafe { *SECOND.get() += 8 };
    });
    println!("{} {}", unsafe { *FIRST.get() }, unsafe { *SECOND.get() });
}
