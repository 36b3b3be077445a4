//! Where what a finding speaks of comes from: who created the threads, and who allocated the memory.

use super::actors::actor_of;
use super::frames;
use super::resolve::Names;
use super::text::{counted, list};
use keirin_core::event::{Addr, Op, SiteId, StackId, ThreadId};
use keirin_core::finding::{Evidence, RawFinding};
use keirin_core::tasks::Actor;

/// Threads whose origin is told; more would push the rest off the screen.
const MOST_THREADS: usize = 4;

/// What there is to say, a sentence each.
pub(super) fn notes(raw: &RawFinding, names: Names<'_>) -> Vec<String> {
    blocks(raw, names).into_iter().chain(threads(raw, names)).collect()
}

/// The heap blocks of the finding, each once.
fn blocks(raw: &RawFinding, names: Names<'_>) -> Vec<String> {
    let about = match &raw.evidence {
        Evidence::Race(race) => Some(race.addr),
        Evidence::Locking(locking) => Some(locking.addr),
        Evidence::Torn(torn) => Some(torn.addr),
        Evidence::Cycle(_) | Evidence::Reduction(_) => None,
    };
    let touched = raw.steps.iter().filter_map(|step| match step.op {
        Op::Access { addr, .. } | Op::Atomic { addr, .. } => Some(addr),
        _ => None,
    });
    let mut told: Vec<u64> = Vec::new();
    let mut notes = Vec::new();
    for addr in about.into_iter().chain(touched) {
        let Some((block, offset)) = names.tables.block(addr) else { continue };
        let start = addr.0 - offset;
        if told.contains(&start) {
            continue;
        }
        told.push(start);
        let where_in = if offset == 0 { "the start".to_owned() } else { format!("byte {offset}") };
        let subject = match names.tables.location(Addr(addr.0)) {
            Some((location, _)) => format!("`{}`", location.name),
            None => "The memory".to_owned(),
        };
        // Which thread ran the task that allocated it is chance.
        let thread = if raw.lineage.is_some() { ThreadId::NONE } else { block.thread };
        let by = by(thread, block.site, block.stack, names);
        notes.push(format!(
            "{subject} is {where_in} of a heap block of {} that was allocated{by}.",
            counted(block.size, "byte")
        ));
    }
    notes
}

/// Who created the threads of the finding. Those that only ran its tasks are of no interest.
fn threads(raw: &RawFinding, names: Names<'_>) -> Option<String> {
    let mut threads: Vec<ThreadId> = Vec::new();
    for (index, step) in raw.steps.iter().enumerate() {
        let thread = match actor_of(raw, index) {
            Some(Actor::Task(_)) => continue,
            Some(Actor::Thread(thread)) => thread,
            None => step.moment.thread,
        };
        if !threads.contains(&thread) {
            threads.push(thread);
        }
    }
    let told: Vec<String> = threads
        .iter()
        .filter_map(|thread| {
            let origin = names.tables.threads.get(thread.index())?;
            let by = by(origin.parent, origin.site, origin.stack, names);
            // Who, without where, is seldom news.
            by.contains(" at ").then(|| format!("{} was created{by}", names.tables.thread_name(*thread)))
        })
        .take(MOST_THREADS)
        .collect();
    (!told.is_empty()).then(|| format!("{}.", super::evidence::capital(&list(&told))))
}

/// ` by main at set.cpp:12 in Set::Set`, as far as it is known.
fn by(thread: ThreadId, site: SiteId, stack: StackId, names: Names<'_>) -> String {
    let mut text = String::new();
    if thread.is_some() {
        text += &format!(" by {}", names.tables.thread_name(thread));
    }
    let frames = names.stack_of(site, stack);
    // What a library does on the way helps nobody.
    let told = frames::telling(&frames).map(|index| &frames[index]);
    if let Some(frame) = told.filter(|frame| !frames::is_system(frame)) {
        if let Some(place) = &frame.place {
            text += &format!(" at {}", place.text);
        }
        if let Some(function) = &frame.function {
            text += &format!(" in {}", frames::short(function));
        }
    }
    text
}
