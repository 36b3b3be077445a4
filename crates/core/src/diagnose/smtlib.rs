//! A question in the language of SMT solvers, and their answers.
//!
//! Orders are integers, one for each event; values are words of 64 bits. The text is plain SMT-LIB 2 without a logic, so that
//! any solver that knows both can read it. What is not known is a word of its own that may be anything, so that an answer
//! "satisfiable" is a proof only for questions without such values.

use super::problem::{Operand, Problem, Section, Value};
use super::solver::{Edge, Literal};
use std::fmt::Write;

/// What an SMT solver has said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    /// There is a schedule: these events in this order.
    Satisfiable(Vec<u32>),
    /// There is none.
    Unsatisfiable,
    /// It does not know, or what it said cannot be understood.
    Unknown,
}

fn order((from, to): Edge) -> String {
    format!("(< o{from} o{to})")
}

fn literal(literal: Literal) -> String {
    match literal.is_positive() {
        true => format!("c{}", literal.variable()),
        false => format!("(not c{})", literal.variable()),
    }
}

fn any_of(parts: &[String]) -> String {
    match parts {
        [] => "false".to_owned(),
        [only] => only.clone(),
        several => format!("(or {})", several.join(" ")),
    }
}

impl Problem {
    /// The question as a text that ends by asking for the orders of all events. `sure`: with what is asked only because more
    /// is not known.
    pub fn smtlib(&self, sure: bool) -> String {
        let mut text = String::new();
        for event in 0..self.events {
            let _ = writeln!(text, "(declare-const o{event} Int)");
        }
        for (number, choice) in self.choices.iter().enumerate() {
            let _ = writeln!(text, "(declare-const c{number} Bool)");
            let sides =
                [(choice.if_true, format!("c{number}")), (choice.if_false, format!("(not c{number})"))];
            for (edge, holds) in sides {
                if let Some(edge) = edge {
                    let _ = writeln!(text, "(assert (=> {holds} {}))", order(edge));
                }
            }
        }
        for edge in &self.edges {
            let _ = writeln!(text, "(assert {})", order(*edge));
        }
        for clause in &self.clauses {
            let literals: Vec<String> = clause.iter().map(|one| literal(*one)).collect();
            let _ = writeln!(text, "(assert {})", any_of(&literals));
        }
        for sections in &self.locks {
            for (at, one) in sections.iter().enumerate() {
                for other in &sections[..at] {
                    if one.owner != other.owner && !(one.shared && other.shared) {
                        let _ = writeln!(text, "(assert {})", excluded(one, other));
                    }
                }
            }
        }
        if let Some(literal_of_sure) = self.sure {
            let _ =
                writeln!(text, "(assert {})", literal(if sure { literal_of_sure } else { !literal_of_sure }));
        }
        self.values(&mut text);
        text.push_str("(check-sat)\n(get-value (");
        for event in 0..self.events {
            let _ = write!(text, "o{event} ");
        }
        text.push_str("))\n");
        text
    }

    fn values(&self, text: &mut String) {
        let mut unknown = 0;
        let mut declare = |text: &mut String| {
            unknown += 1;
            let _ = writeln!(text, "(declare-const u{unknown} (_ BitVec 64))");
            format!("u{unknown}")
        };
        for number in 0..self.reads.len() {
            let _ = writeln!(text, "(declare-const r{number} (_ BitVec 64))");
        }
        for (number, read) in self.reads.iter().enumerate() {
            for source in &read.sources {
                let value = match &source.value {
                    Value::Known(value) => format!("#x{value:016x}"),
                    Value::Unknown => declare(text),
                    Value::Computed(formula, operands, mask) => {
                        let read: Vec<String> =
                            operands.iter().map(|operand| word(operand, || declare(text))).collect();
                        format!("(bvand #x{mask:016x} {})", formula.smtlib(&read))
                    }
                };
                let chosen = literal(source.chosen);
                let _ = writeln!(text, "(assert (=> {chosen} (= r{number} {value})))");
                let others = |write: &&u32| Some(**write) != source.write && **write != read.event;
                for write in read.writes.iter().filter(others) {
                    let mut parts = vec![format!("(not {chosen})"), order((read.event, *write))];
                    parts.extend(source.write.map(|from| order((*write, from))));
                    let _ = writeln!(text, "(assert {})", any_of(&parts));
                }
            }
        }
        for condition in &self.conditions {
            let read: Vec<String> =
                condition.operands.iter().map(|operand| word(operand, || declare(text))).collect();
            let zero = format!("(= {} #x{:016x})", condition.formula.smtlib(&read), 0);
            let mut parts: Vec<String> = condition.if_all.iter().map(|one| literal(!*one)).collect();
            parts.push(if condition.wanted { format!("(not {zero})") } else { zero });
            let _ = writeln!(text, "(assert {})", any_of(&parts));
        }
    }

    /// What a solver's output says.
    pub fn understand(&self, output: &str) -> Reply {
        let mut lines = output.trim_start().splitn(2, '\n');
        match lines.next().map(str::trim) {
            Some("sat") => {}
            Some("unsat") => return Reply::Unsatisfiable,
            _ => return Reply::Unknown,
        }
        let mut times: Vec<(i64, u32)> = Vec::new();
        let words = lines.next().unwrap_or("").replace(['(', ')'], " ");
        let mut words = words.split_whitespace().peekable();
        while let Some(word) = words.next() {
            let Some(event) = word.strip_prefix('o').and_then(|event| event.parse().ok()) else {
                return Reply::Unknown;
            };
            let negative = words.next_if_eq(&"-").is_some();
            let Some(time) = words.next().and_then(|time| time.parse::<i64>().ok()) else {
                return Reply::Unknown;
            };
            times.push((if negative { -time } else { time }, event));
        }
        let Some(&(end, _)) = times.iter().find(|(_, event)| *event == Problem::END) else {
            return Reply::Unknown;
        };
        // What happens at the same time as the end need not happen, nor what nothing before the end needs.
        let mut before: Vec<(i64, u32)> = times.into_iter().filter(|(time, _)| *time < end).collect();
        before.sort_unstable();
        Reply::Satisfiable(before.into_iter().map(|(_, event)| event).collect())
    }
}

fn word(operand: &Operand, unknown: impl FnOnce() -> String) -> String {
    match operand {
        Operand::Read(read) => format!("r{read}"),
        Operand::Known(value) => format!("#x{value:016x}"),
        Operand::Unknown => unknown(),
    }
}

/// One section comes before the other, or one of them does not happen.
fn excluded(one: &Section, other: &Section) -> String {
    let mut parts = Vec::new();
    for (first, second) in [(one, other), (other, one)] {
        if let Some(release) = first.release {
            parts.push(order((release, second.acquire)));
        }
        parts.extend(first.happens.map(|happens| literal(!happens)));
    }
    any_of(&parts)
}
