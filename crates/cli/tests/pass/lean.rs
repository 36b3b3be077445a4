//! Programs that are built with `--lean` against the same programs without: what is told must come to the same.
//!
//! The programs are random: loops in loops, with accesses at all kinds of addresses, under all kinds of conditions, through pointers that
//! may be the same memory. Between two points at which something may synchronize, for each byte:
//!
//! - it is read, or written, in the one exactly if it is in the other;
//! - it is accessed more than once, or written more than once, in the one exactly if it is in the other;
//! - what is written last is not told as read last.
//!
//! If nobody minds but who looks for races: it is accessed, or written, in the one exactly if it is in the other.

use super::{built, good};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// What is done to a byte within a stretch.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Done {
    reads: bool,
    writes: u8,
    accesses: u8,
    writes_last: bool,
}

impl Done {
    fn add(&mut self, write: bool) {
        self.reads |= !write;
        self.writes = (self.writes + u8::from(write)).min(2);
        self.accesses = (self.accesses + 1).min(2);
        self.writes_last = write;
    }
}

/// A stretch, by the names of bytes.
type Stretch = BTreeMap<(String, i64), Done>;

/// All stretches of a program, each with the number of its function, from what the runtime that stands in has printed.
fn stretches(printed: &str) -> Vec<(String, Stretch)> {
    let mut all = vec![(String::new(), Stretch::new())];
    for line in printed.lines() {
        if let Some(function) = line.strip_prefix("function ") {
            all.push((function.to_owned(), Stretch::new()));
            continue;
        }
        let (function, stretch) = all.last_mut().expect("there is one from the start");
        if line == "barrier" {
            let function = function.clone();
            all.push((function, Stretch::new()));
            continue;
        }
        let Some((what, place)) = line.split_once(' ') else { continue };
        let what = what.strip_prefix("unaligned_").unwrap_or(what);
        let write = what.starts_with("write");
        if !write && !what.starts_with("read") {
            continue;
        }
        let size: i64 = what.trim_start_matches(char::is_alphabetic).parse().expect("a size");
        let (place, rest) = place.split_once(": ").unwrap_or((place, "1 by 1"));
        let (name, offset) = place.split_once('+').unwrap_or((place, "0"));
        let offset: i64 = offset.parse().expect("an offset");
        let numbers: Vec<i64> = rest.split([' ', ',']).filter_map(|word| word.parse().ok()).collect();
        let (inner, outer) = ((numbers[0], numbers[1]), (numbers.get(2), numbers.get(3)));
        let (rows, distance) = (outer.0.copied().unwrap_or(1), outer.1.copied().unwrap_or(0));
        for _ in 0..=i32::from(rest.ends_with("again")) {
            for (row, index) in (0..rows).flat_map(|row| (0..inner.0).map(move |index| (row, index))) {
                let first = offset + row * distance + index * inner.1;
                for byte in first..first + size {
                    stretch.entry((name.to_owned(), byte)).or_default().add(write);
                }
            }
        }
    }
    all
}

/// Numbers that look random, the same for the same start.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}

/// Writes a function.
struct Writer<'a> {
    random: &'a mut Random,
    text: String,
    loops: usize,
}

impl Writer<'_> {
    fn index(&mut self, open: &[usize]) -> String {
        let mut text = self.random.below(4).to_string();
        for variable in open {
            match self.random.below(8) {
                0..=2 => _ = write!(text, " + i{variable}"),
                3 => _ = write!(text, " - i{variable}"),
                4 => _ = write!(text, " + 2 * i{variable}"),
                5 => _ = write!(text, " + n * i{variable}"),
                6 => _ = write!(text, " + i{variable} * i{variable}"),
                _ => {}
            }
        }
        text
    }

    fn place(&mut self, open: &[usize]) -> String {
        let array = ["p", "q", "r", "w"][self.random.below(4) as usize];
        format!("{array}[{}]", self.index(open))
    }

    fn condition(&mut self, open: &[usize]) -> String {
        match (self.random.below(4), open.last()) {
            (0, Some(variable)) => format!("i{variable} % 2 == 0"),
            (1, _) => format!("{} > 2", self.place(open)),
            (2, _) => "n > 2".to_owned(),
            _ => "m != 0".to_owned(),
        }
    }

    fn statements(&mut self, open: &mut Vec<usize>, depth: usize) {
        for _ in 0..1 + self.random.below(3) {
            match self.random.below(16) {
                0..=4 if depth < 4 => {
                    let variable = self.loops;
                    self.loops += 1;
                    let start = self.random.below(2);
                    let end = match (self.random.below(5), open.last()) {
                        (0, Some(outer)) => format!("i{outer}"),
                        (1, _) => "m".to_owned(),
                        // Often unrolled.
                        (2, _) => self.random.below(7).to_string(),
                        _ => "n".to_owned(),
                    };
                    let step = 1 + self.random.below(2);
                    let head = if self.random.below(5) == 0 {
                        format!(
                            "for (long i{variable} = {end}; i{variable} > {start}; i{variable} -= {step}) {{"
                        )
                    } else {
                        format!(
                            "for (long i{variable} = {start}; i{variable} < {end}; i{variable} += {step}) {{"
                        )
                    };
                    let _ = writeln!(self.text, "{head}");
                    open.push(variable);
                    self.statements(open, depth + 1);
                    open.pop();
                    let _ = writeln!(self.text, "}}");
                }
                5 | 6 if depth < 5 => {
                    let condition = self.condition(open);
                    let _ = writeln!(self.text, "if ({condition}) {{");
                    self.statements(open, depth + 1);
                    let _ = writeln!(self.text, "}}");
                }
                7 if !open.is_empty() => {
                    let condition = self.condition(open);
                    let way = ["break", "continue"][self.random.below(2) as usize];
                    let _ = writeln!(self.text, "if ({condition}) {way};");
                }
                8 if self.random.below(3) == 0 => self.text.push_str("fake_barrier();\n"),
                9 | 10 => {
                    let (to, from) = (self.place(open), self.place(open));
                    let _ = writeln!(self.text, "{to} += {from};");
                }
                11 => {
                    let from = self.place(open);
                    let _ = writeln!(self.text, "sum += {from};");
                }
                12 => {
                    // In one line, side by side or with gaps, and some of it twice.
                    let from = self.place(open);
                    let parts: Vec<u64> = (0..3).map(|_| self.random.below(4)).collect();
                    let part = |part: u64| from.replace(']', &format!(" + {part}]"));
                    let _ = writeln!(
                        self.text,
                        "sum += {};",
                        parts.iter().map(|at| part(*at)).collect::<Vec<_>>().join(" + ")
                    );
                    let _ = writeln!(self.text, "{} = n, {} = m;", part(parts[0]), part(parts[1]));
                }
                _ => {
                    let (to, from) = (self.place(open), self.place(open));
                    let _ = writeln!(self.text, "{to} = {from} + 1;");
                }
            }
        }
    }
}

/// A program with so many functions, each of which is called with several arguments.
fn program(functions: usize, random: &mut Random) -> String {
    let mut text = String::from(
        "#include \"common.h\"\n\
         extern \"C\" { extern const int prints_accesses = 1; void fake_barrier(void); }\n\
         long a[2048], b[2048]; int c[2048], sum;\n\
         const name names[] = {NAME(a), NAME(b), NAME(c), NAME(sum), {}};\n",
    );
    let mut calls = String::new();
    for number in 0..functions {
        let mut writer = Writer { random, text: String::new(), loops: 0 };
        writer.statements(&mut Vec::new(), 0);
        let body = writer.text;
        let _ = writeln!(
            text,
            "UNDER_TEST void f{number}(long *p, long *q, int *r, int *w, long n, long m) {{\n{body}}}"
        );
        for (p, q) in [("a", "b"), ("a", "a"), ("a", "a + 1")] {
            for (n, m) in [(3, 2), (1, 0), (0, 1)] {
                let _ = writeln!(
                    calls,
                    "puts(\"function {number} {p} {q} {n} {m}\"); \
                     shown([] {{ f{number}({p} + 1024, {q} + 1024, c + 1024, c + 1026, {n}, {m}); }});"
                );
            }
        }
    }
    format!("{text}int main() {{\n{calls}}}\n")
}

#[test]
fn what_is_told_comes_to_the_same() {
    let programs = std::env::var("KEIRIN_CASES")
        .map_or(2, |cases| cases.parse::<u64>().expect("KEIRIN_CASES is a number").div_ceil(10_000).max(2));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (mut fewer, mut fewer_for_races) = (0, 0);
    for seed in 1..=programs {
        let source = folder.path().join("random.cpp");
        let text = program(40, &mut Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        std::fs::write(&source, &text).expect("the source is written");
        let level = ["-O2", "-O1"][(seed % 2) as usize];
        let printed = |modes: &[&str], only_races: bool| {
            // At the same place in the pipeline: optimizations in between would drop accesses.
            let flags = [level, "-w", "-mllvm", "-sanitizer-early-opt-ep=1"];
            let executable = built("19", &source, modes, &flags, &[], folder.path());
            let mut command = Command::new(&executable);
            if only_races {
                command.env("FAKE_RACES", "1");
            }
            String::from_utf8_lossy(&good(&mut command).stdout).into_owned()
        };
        let (all, lean, races) =
            (printed(&[], false), printed(&["--lean"], false), printed(&["--lean"], true));
        fewer += all.lines().count().saturating_sub(lean.lines().count());
        fewer_for_races += lean.lines().count().saturating_sub(races.lines().count());
        let (all, lean, races) = (stretches(&all), stretches(&lean), stretches(&races));
        if let Some(difference) =
            difference(&all, &lean, is_same).or_else(|| difference(&all, &races, is_same_for_races))
        {
            let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lean.cpp");
            let _ = std::fs::write(&kept, &text);
            panic!("{level} {}: {difference}", kept.display());
        }
    }
    assert!(fewer > 500, "hardly anything was left out: {fewer}");
    assert!(fewer_for_races > 20, "hardly anything more was left out for races: {fewer_for_races}");
}

fn is_same(all: Done, lean: Done) -> bool {
    Done { writes_last: lean.writes_last, ..all } == lean && (lean.writes_last || !all.writes_last)
}

fn is_same_for_races(all: Done, lean: Done) -> bool {
    (all.accesses > 0, all.writes > 0) == (lean.accesses > 0, lean.writes > 0)
}

/// What is not the same.
fn difference(
    all: &[(String, Stretch)],
    lean: &[(String, Stretch)],
    is_same: impl Fn(Done, Done) -> bool,
) -> Option<String> {
    if all.len() != lean.len() {
        return Some(format!("{} stretches, and {} with --lean", all.len(), lean.len()));
    }
    for ((function, all), (_, lean)) in all.iter().zip(lean) {
        let bytes = all.keys().chain(lean.keys());
        for byte in bytes {
            let (one, other) = (all.get(byte).copied(), lean.get(byte).copied());
            let (one, other) = (one.unwrap_or_default(), other.unwrap_or_default());
            if !is_same(one, other) {
                return Some(format!("function {function}: {byte:?} has {one:?}, and {other:?} with --lean"));
            }
        }
    }
    None
}
