//! How fast text traces are read, in nanoseconds for each line, against readers that do not understand what they read.
//!
//! `cargo bench -p keirin-core --bench text`
#![allow(clippy::print_stdout, missing_docs)]

use keirin_core::trace::{Batch, Source, std_format};
use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::time::Instant;

const LINES: u64 = 2_000_000;
const ROUNDS: usize = 7;

/// What the names of a trace look like.
#[derive(Clone, Copy)]
enum Names {
    Numbered,
    Long,
    Recorded,
}

/// A trace of 16 threads that lock, read and write in regions, in random order.
fn trace(names: Names) -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = |bound: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % bound
    };
    let mut text = Vec::new();
    for _ in 0..LINES {
        let (thread, variable, lock, line) = (next(16), next(10_000), next(100), next(500));
        let (site, size, name) = match names {
            Names::Numbered => (format!("{line}"), "", format!("V{variable}")),
            Names::Long => {
                (format!("src/server/session.c:{line}"), "", format!("session.table[{variable}].count"))
            }
            Names::Recorded => {
                (format!("src/server/session.c:{line}"), "4", format!("0x7ffe{:x}", variable * 4))
            }
        };
        let written = match next(16) {
            0 => writeln!(text, "T{thread}|begin(region{})|{site}", line % 20),
            1 => writeln!(text, "T{thread}|end(region{})|{site}", line % 20),
            2 | 3 => writeln!(text, "T{thread}|acq(L{lock})|{site}"),
            4 | 5 => writeln!(text, "T{thread}|rel(L{lock})|{site}"),
            6..=11 => writeln!(text, "T{thread}|r{size}({name})|{site}"),
            _ => writeln!(text, "T{thread}|w{size}({name})|{site}"),
        };
        written.expect("writing into memory");
    }
    text
}

fn measure(name: &str, text: &[u8], mut read: impl FnMut(&[u8]) -> u64) {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        assert_eq!(black_box(read(black_box(text))), LINES, "{name}");
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!("  {name:<28} {:6.1} ns/line", best * 1e9 / LINES as f64);
}

fn main() {
    let traces = [
        ("numbered names (T1|w(V12)|34)", Names::Numbered),
        ("long names and file:line", Names::Long),
        ("sizes and addresses (T1|w4(0x7ffe10)|a.c:34)", Names::Recorded),
    ];
    for (title, names) in traces {
        let text = trace(names);
        println!("{title}: {LINES} lines, {} bytes", text.len());
        measure("split into fields", &text, |text| {
            let mut reader = BufReader::with_capacity(256 * 1024, text);
            let mut line = Vec::new();
            let mut count = 0;
            while reader.read_until(b'\n', &mut line).expect("reading from memory") > 0 {
                let mut fields = line.split(|byte| *byte == b'|');
                black_box((fields.next(), fields.next(), fields.next()));
                line.clear();
                count += 1;
            }
            count
        });
        measure("find the ends of lines", &text, |text| memchr::memchr_iter(b'\n', text).count() as u64);
        measure("std_format::Reader", &text, |text| {
            let mut reader = std_format::Reader::new(text);
            let mut batch = Batch::new();
            let mut count = 0;
            loop {
                let more = reader.fill(&mut batch).expect("a sound trace");
                count += black_box(batch.events()).len() as u64;
                if !more {
                    return count;
                }
            }
        });
    }
}
