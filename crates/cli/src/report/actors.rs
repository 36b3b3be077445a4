//! Who takes part in a finding: threads, and tasks, which are named by where they were spawned.

use super::frames;
use super::model::{Ancestor, Frame, Lineage, Place, Side, Thread};
use super::resolve::Names;
use super::text::is_dangerous;
use crate::sources::Sources;
use keirin_core::event::TaskId;
use keirin_core::finding::{self, Moment, RawFinding, RawTask};
use keirin_core::tasks::Actor;
use keirin_core::trace::NameKind;

/// A line of the source that is longer was not written for people.
const LONGEST_LINE: usize = 300;

/// The threads and tasks of a finding, numbered in the order of their appearance.
pub(super) struct Threads<'a> {
    names: Names<'a>,
    ids: Vec<Actor>,
    /// Where those tasks were spawned of which the finding says so.
    spawned: Vec<(Actor, Moment)>,
}

impl<'a> Threads<'a> {
    /// Nobody has appeared yet, but the finding may already say where tasks were spawned.
    pub(super) fn new(names: Names<'a>, lineage: Option<&finding::Lineage>) -> Self {
        let tasks = lineage
            .into_iter()
            .flat_map(|lineage| std::iter::once(&lineage.common).chain(lineage.paths.iter().flatten()));
        let told = tasks.filter(|task| task.spawned.site.is_some());
        let spawned = told.map(|task| (task.actor, task.spawned)).collect();
        Threads { names, ids: Vec::new(), spawned }
    }

    pub(super) fn index(&mut self, actor: Actor) -> usize {
        self.ids.iter().position(|&known| known == actor).unwrap_or_else(|| {
            self.ids.push(actor);
            self.ids.len() - 1
        })
    }

    /// The name of who has an index; that of a task says where it was spawned, in short.
    pub(super) fn name(&self, index: usize) -> String {
        match self.ids.get(index) {
            Some(&actor) => self.name_of(actor),
            None => "an unknown thread".to_owned(),
        }
    }

    pub(super) fn is_task(&self, index: usize) -> bool {
        matches!(self.ids.get(index), Some(Actor::Task(_)))
    }

    fn name_of(&self, actor: Actor) -> String {
        self.full(actor, self.spawned(actor).as_ref())
    }

    /// The name of somebody who was spawned at a place.
    fn full(&self, actor: Actor, spawned: Option<&Frame>) -> String {
        let short = self.short(actor);
        let place = match actor {
            Actor::Task(_) => spawned.and_then(|frame| frame.place.as_ref()),
            Actor::Thread(_) => None,
        };
        match place {
            Some(place) => format!("{short} ({})", nickname(place)),
            None => short,
        }
    }

    fn short(&self, actor: Actor) -> String {
        match actor {
            Actor::Thread(id) if id.is_some() => self.names.tables.thread_name(id),
            Actor::Thread(_) => "an unknown thread".to_owned(),
            Actor::Task(TaskId(id)) => match self.names.tables.name(NameKind::Task, id) {
                Some(name) => format!("task {name}"),
                None if !self.names.numbers_are_chance() => format!("task {id}"),
                None => {
                    self.number(actor).map_or_else(|| "a task".to_owned(), |number| format!("task {number}"))
                }
            },
        }
    }

    /// The number, from 1, of a task that does something in the finding, where others are known by their places only.
    fn number(&self, actor: Actor) -> Option<usize> {
        let mut tasks = self.ids.iter().filter(|known| matches!(known, Actor::Task(_)));
        tasks.position(|known| *known == actor).map(|index| index + 1)
    }

    fn spawned(&self, actor: Actor) -> Option<Frame> {
        let &(_, moment) = self.spawned.iter().find(|(known, _)| *known == actor)?;
        self.frame(moment)
    }

    /// Where a task was spawned: what a library does for that helps nobody, so it is the user's own line, if there is one.
    fn frame(&self, Moment { site, stack, .. }: Moment) -> Option<Frame> {
        let mut frames = self.names.stack_of(site, stack);
        let told = frames::telling(&frames).unwrap_or(0);
        Some(frames.swap_remove(told)).filter(|frame| *frame != Frame::default())
    }

    /// All that have appeared.
    pub(super) fn list(&self) -> Vec<Thread> {
        let thread = |&actor: &Actor| Thread {
            name: self.name_of(actor),
            task: matches!(actor, Actor::Task(_)),
            spawned: self.spawned(actor),
        };
        self.ids.iter().map(thread).collect()
    }

    /// How they descend from each other. Steps of the same task have one side.
    pub(super) fn lineage(&self, raw: &finding::Lineage) -> Lineage {
        let mut sides: Vec<(&[RawTask], Side)> = Vec::new();
        for (step, path) in raw.paths.iter().enumerate() {
            match sides.iter_mut().find(|(known, _)| *known == path.as_slice()) {
                Some((_, side)) => side.steps.push(step + 1),
                None => {
                    let path_names = path.iter().map(|task| self.ancestor(task)).collect();
                    sides.push((path, Side { steps: vec![step + 1], path: path_names }));
                }
            }
        }
        Lineage {
            common: self.ancestor(&raw.common),
            sides: sides.into_iter().map(|(_, side)| side).collect(),
        }
    }

    fn ancestor(&self, task: &RawTask) -> Ancestor {
        // Not by its number: those who only stand above others may have none.
        let spawned = self.frame(task.spawned);
        let place = spawned.as_ref().and_then(|frame| frame.place.as_ref());
        Ancestor {
            name: self.full(task.actor, spawned.as_ref()),
            short: self.short(task.actor),
            actor: task.actor,
            anonymous: matches!(task.actor, Actor::Task(_))
                && self.names.numbers_are_chance()
                && self.number(task.actor).is_none(),
            line: place.and_then(|place| source_line(place, self.names.sources)),
            spawned,
        }
    }
}

/// Who did a step of a finding: as its lineage says, else the thread.
pub(super) fn actor_of(raw: &RawFinding, step: usize) -> Option<Actor> {
    let lineage = raw.lineage.as_ref()?;
    let path = lineage.paths.get(step)?;
    Some(path.last().unwrap_or(&lineage.common).actor)
}

/// A place in so few letters that it can stand behind a name: `sort.cpp:41`.
fn nickname(place: &Place) -> String {
    match (&place.file, place.line) {
        (Some(file), line) => {
            let name = file.rsplit('/').next().unwrap_or(file);
            line.map_or_else(|| name.to_owned(), |line| format!("{name}:{line}"))
        }
        (None, _) => place.text.clone(),
    }
}

/// The line of the source at a place, without its indentation.
pub(crate) fn source_line(place: &Place, sources: &Sources) -> Option<String> {
    let text = sources.text(place.file.as_deref()?)?;
    let line = text.lines().nth((place.line? as usize).checked_sub(1)?)?.trim();
    let clean = |character| if is_dangerous(character) { '\u{fffd}' } else { character };
    (!line.is_empty() && line.len() <= LONGEST_LINE).then(|| line.chars().map(clean).collect())
}
