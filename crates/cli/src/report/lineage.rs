//! The part of the model that says how the tasks of a finding descend from each other.

use super::model::Frame;
use super::text::quoted;
use keirin_core::tasks::Actor;
use serde::Serialize;

/// How the tasks of a finding descend from each other.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Lineage {
    /// The nearest task from which all others descend.
    pub(crate) common: Ancestor,
    /// The ways down from it, one for each task that did something.
    pub(crate) sides: Vec<Side>,
}

/// The way down to one task of a finding.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Side {
    /// Numbers of the steps that the last task of the path did.
    pub(crate) steps: Vec<usize>,
    /// The tasks from below the common one; empty if the common one did the steps itself.
    pub(crate) path: Vec<Ancestor>,
}

/// A task on the way to an operation.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Ancestor {
    /// Its name, as in the list of threads.
    pub(crate) name: String,
    /// Where it was spawned, if that is known.
    pub(crate) spawned: Option<Frame>,
    /// Its name without the place where it was spawned.
    #[serde(skip)]
    pub(crate) short: String,
    /// Who it is.
    #[serde(skip)]
    pub(crate) actor: Actor,
    /// Whether nothing but the place where it was spawned tells who it is.
    #[serde(skip)]
    pub(crate) anonymous: bool,
    /// The line of the source that spawned it.
    #[serde(skip)]
    pub(crate) line: Option<String>,
}

impl Ancestor {
    /// The task and where it was spawned, for a sentence.
    pub(crate) fn told(&self) -> String {
        let Some(Frame { function, place, .. }) = &self.spawned else { return self.short.clone() };
        let at = place.as_ref().map_or_else(String::new, |place| format!(" at {}", place.text));
        let within =
            function.as_ref().map_or_else(String::new, |function| format!(" in {}", quoted(function)));
        if self.anonymous {
            return format!("the task spawned{at}{within}");
        }
        format!("{}, spawned{at}{within}", self.short)
    }

    /// The function that spawned a task of which nothing else is known.
    fn anonymous_in(&self) -> Option<&str> {
        self.spawned.as_ref().filter(|_| self.anonymous)?.function.as_deref()
    }
}

/// A part of the way down to a task.
#[derive(Debug)]
pub(crate) enum Descent<'a> {
    /// One task.
    One(&'a Ancestor),
    /// Tasks that a function spawned one below the other: a recursion, of which the depth is all there is to tell.
    Many(&'a [Ancestor]),
}

impl Side {
    /// The way down, with recursion folded. The last task, which did the steps, always stands for itself.
    pub(crate) fn folded(&self) -> Vec<Descent<'_>> {
        let Some((last, above)) = self.path.split_last() else { return Vec::new() };
        let groups = above
            .chunk_by(|one, next| one.anonymous_in().is_some() && one.anonymous_in() == next.anonymous_in());
        let mut parts: Vec<Descent<'_>> = groups
            .map(|group| match group {
                [one] => Descent::One(one),
                many => Descent::Many(many),
            })
            .collect();
        parts.push(Descent::One(last));
        parts
    }
}

/// Where the tasks of a recursion were spawned, and in which function.
pub(crate) fn spawned_recursively(tasks: &[Ancestor]) -> (Vec<String>, Option<&str>) {
    let mut places: Vec<String> = Vec::new();
    for place in tasks.iter().filter_map(|task| task.spawned.as_ref()?.place.as_ref()) {
        if !places.contains(&place.text) {
            places.push(place.text.clone());
        }
    }
    // Which came first differs from task to task.
    places.sort_unstable();
    (places, tasks.first().and_then(Ancestor::anonymous_in))
}
