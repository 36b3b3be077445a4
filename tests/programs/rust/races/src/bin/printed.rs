//! What all programs do in Rust's library at the same time: print, format, panic, read the environment, ask for the time.
use races::in_all;
use std::io::Write;

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    in_all(|number| {
        for step in 0..20 {
            let caught = std::panic::catch_unwind(|| {
                if step % 5 == 4 {
                    panic!("step {step} of {number}");
                }
            });
            assert_eq!(caught.is_err(), step % 5 == 4);
            let mut text = Vec::new();
            write!(text, "{:>8.3} {:?}", step as f64 / 3.0, std::env::var("HOME").ok()).unwrap();
            assert!(std::time::Instant::now().elapsed().as_secs() < 60 && std::env::args().count() > 0);
        }
        println!("done");
        eprintln!("done");
    });
    let _ = std::panic::take_hook();
    println!("{}", std::thread::available_parallelism().is_ok());
}
