//! The title and the reason of a finding: what is wrong, and why, in one sentence.

use super::model::{Block, Edge, Step, Thread, Transaction};
use super::operation::phrase;
use super::text::{cut, list, quoted};

/// Edges told one by one; a longer cycle is told by its first ones.
const MOST_EDGES: usize = 4;

/// Regions named in a title.
const MOST_REGIONS: usize = 3;

/// A thread is named several times in a sentence, so its name is cut shorter than others.
const LONGEST_THREAD: usize = 40;

/// What is known about a cycle.
pub(crate) struct CycleParts<'a> {
    pub(crate) threads: &'a [Thread],
    pub(crate) steps: &'a [Step],
    pub(crate) transactions: &'a [Transaction],
    pub(crate) edges: &'a [Edge],
    pub(crate) refuted: &'a [Block],
    pub(crate) blamed: bool,
}

impl CycleParts<'_> {
    /// What is wrong, in a few words.
    pub(crate) fn title(&self) -> String {
        let mut regions: Vec<String> = Vec::new();
        for region in self.transactions.iter().filter_map(|transaction| transaction.region.as_ref()) {
            let region = quoted(region);
            if !regions.contains(&region) {
                regions.push(region);
            }
        }
        if self.blamed {
            let blamed = self.refuted.first().map(|block| quoted(&block.region));
            let first = self.transactions.first().and_then(|transaction| transaction.region.as_deref());
            return match blamed.or_else(|| first.map(quoted)) {
                Some(region) => format!("{region} is not atomic"),
                None => "a block is not atomic".to_owned(),
            };
        }
        let more = regions.len().saturating_sub(MOST_REGIONS);
        regions.truncate(MOST_REGIONS);
        if more > 0 {
            regions.push(format!("{more} more blocks"));
        }
        match regions.len() {
            0 => "the transactions cannot be put into a serial order".to_owned(),
            1 => format!("not every run of {} can be atomic", regions[0]),
            2 => format!("{} cannot both be atomic", list(&regions)),
            _ => format!("{} cannot all be atomic", list(&regions)),
        }
    }

    /// Why that is wrong, in one sentence.
    pub(crate) fn reason(&self) -> String {
        let conclusion = "no serial order of the transactions gives this result";
        let chain = self.chain();
        if !self.blamed {
            let together = "Every block could run uninterrupted on its own, but not all of them together";
            return if chain.is_empty() { format!("{together}.") } else { format!("{together}: {chain}.") };
        }
        if let Some(between) = self.between() {
            return format!("{}, so {conclusion}.", capital(&between));
        }
        if chain.is_empty() {
            return format!("The transactions form a cycle, so {conclusion}.");
        }
        let circle = if self.transactions.len() <= 2 {
            "each must come before the other"
        } else {
            "each must come before the next, and the last before the first"
        };
        format!("{}: {circle}, so {conclusion}.", capital(&chain))
    }

    /// The simplest case: one operation came between two others on the same thing.
    fn between(&self) -> Option<String> {
        let [out, back] = self.edges else { return None };
        let first = self.step(out.from_step)?;
        let middle = self.step(out.to_step)?;
        let last = self.step(back.to_step)?;
        let target = middle.operation.target.as_ref()?;
        let same = |step: &Step| step.operation.target.as_ref() == Some(target);
        if back.from_step != out.to_step || first.number == last.number || !same(first) || !same(last) {
            return None;
        }
        let owner = self.thread(first.thread);
        let pair = if first.operation.noun == last.operation.noun {
            format!("two {}s ({}) and ({})", first.operation.noun, first.number, last.number)
        } else {
            let (one, other) = (&first.operation.noun, &last.operation.noun);
            format!("{one} ({}) and {other} ({})", first.number, last.number)
        };
        Some(format!(
            "{} {} {} ({}) between {owner}'s {pair} of it",
            self.subject(middle.thread),
            middle.operation.past,
            phrase(target),
            middle.number,
        ))
    }

    /// The edges of the cycle, told one after the other.
    fn chain(&self) -> String {
        let told = self.edges.iter().filter_map(|edge| {
            let (from, to) = (self.step(edge.from_step)?, self.step(edge.to_step)?);
            let later = match &to.operation.target {
                Some(target) if from.operation.target.as_ref() == Some(target) => {
                    format!("{} it", to.operation.past)
                }
                _ => to.operation.text.clone(),
            };
            Some((
                from.thread,
                format!(
                    "{} ({}) before {} {later} ({})",
                    from.operation.text,
                    from.number,
                    self.thread(to.thread),
                    to.number
                ),
            ))
        });
        let told: Vec<_> = told.collect();
        let more = told.len().saturating_sub(MOST_EDGES);
        let mut parts: Vec<String> = told
            .into_iter()
            .take(MOST_EDGES)
            .enumerate()
            .map(|(index, (thread, text))| {
                // Only the start of the sentence says "Thread T1"; later on the name alone is clear.
                let who = if index == 0 && self.blamed { self.subject(thread) } else { self.thread(thread) };
                format!("{who} {text}")
            })
            .collect();
        if more > 0 {
            parts.push(format!("so on over {more} more"));
        }
        match parts.as_slice() {
            [] | [_] => parts.concat(),
            [rest @ .., last] => format!("{}, and {last}", rest.join(", ")),
        }
    }

    fn step(&self, number: Option<usize>) -> Option<&Step> {
        self.steps.get(number?.checked_sub(1)?)
    }

    fn thread(&self, index: usize) -> String {
        let name = self.threads.get(index).map_or("an unknown thread", |thread| &thread.name);
        cut(name, LONGEST_THREAD).into_owned()
    }

    /// The thread as the first word of a sentence.
    fn subject(&self, index: usize) -> String {
        let name = self.thread(index);
        if name.to_lowercase().contains("thread") { name } else { format!("Thread {name}") }
    }
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}
