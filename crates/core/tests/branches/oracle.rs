//! All schedules of a program, by its meaning.
//!
//! **What counts.** From one observed run each task is known as far as it goes there, and at each of its branches on the other
//! side, until that ends or branches again. A finding counts if some run of the program shows it in which the tasks of its
//! accesses go the other way just for them, and all others go as observed as far as they go.

use crate::program::{Program, State, Step, Way, conflict};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

/// A place in the program: the task, and the step.
pub(crate) type Site = (usize, usize);

/// Races by their two places, the smaller one first; and torn steps: the access that comes between, the task and its step.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Truth {
    pub(crate) races: BTreeSet<(Site, Site)>,
    pub(crate) tears: BTreeSet<(Site, usize, usize)>,
    pub(crate) states: usize,
}

/// True if no task goes the other way but these.
fn only(state: &State, allowed: &[usize]) -> bool {
    state
        .tasks
        .iter()
        .enumerate()
        .all(|(task, place)| matches!(place.way, Way::Unborn | Way::Observed(_)) || allowed.contains(&task))
}

pub(crate) fn races(program: &Program, observed: &[Vec<bool>]) -> Truth {
    let mut truth = Truth::default();
    let mut seen: FxHashSet<State> = FxHashSet::default();
    let mut left = vec![program.start()];
    while let Some(state) = left.pop() {
        if !seen.insert(state.clone()) {
            continue;
        }
        let next: Vec<(usize, (usize, Step))> =
            (0..state.tasks.len()).filter_map(|task| Some((task, program.enabled(&state, task)?))).collect();
        for (number, &(task, (at, step))) in next.iter().enumerate() {
            for &(other, (other_at, other_step)) in &next[..number] {
                let turned: Vec<usize> =
                    [task, other].into_iter().filter(|task| state.tasks[*task].way == Way::Other).collect();
                if conflict(step, other_step) && only(&state, &turned) {
                    let (one, two) = ((other, other_at), (task, at));
                    truth.races.insert((one.min(two), one.max(two)));
                }
            }
            let mut after = state.clone();
            program.advance(&mut after, task, Some(observed));
            left.push(after);
        }
    }
    truth.states = seen.len();
    truth
}

/// Adds the steps that one access can tear.
pub(crate) fn tears(program: &Program, observed: &[Vec<bool>], between: Site, truth: &mut Truth) {
    let (task, at) = between;
    let access = program.tasks[task][at];
    let others = program.tasks.iter().enumerate().filter(|(other, _)| *other != task);
    let conflicts = others.map(|(_, steps)| steps.iter().filter(|step| conflict(**step, access)).count());
    if conflicts.max().unwrap_or(0) < 2 {
        return;
    }
    // A run, with what others had done before the access, once it was done, and whether its task went the other way for it.
    type Point = (State, Vec<Site>, Option<bool>);
    let mut seen: FxHashSet<Point> = FxHashSet::default();
    let mut left: Vec<Point> = vec![(program.start(), Vec::new(), None)];
    while let Some(point) = left.pop() {
        if !seen.insert(point.clone()) {
            continue;
        }
        let (state, before, done) = point;
        for acting in 0..state.tasks.len() {
            let Some((now, step)) = program.enabled(&state, acting) else { continue };
            let way = state.tasks[acting].way;
            let mut before = before.clone();
            let mut done = done;
            if let Some(turned) = done {
                let region = program.region(acting, now);
                let fits = |first: &Site| {
                    first.0 == acting
                        && program.region(acting, first.1) == region
                        && conflict(program.tasks[acting][first.1], access)
                };
                let mut allowed = Vec::new();
                allowed.extend(turned.then_some(task));
                allowed.extend((way == Way::Other).then_some(acting));
                if acting != task
                    && conflict(step, access)
                    && before.iter().any(fits)
                    && only(&state, &allowed)
                {
                    truth.tears.insert((between, acting, region));
                }
            } else if (acting, now) == between {
                done = Some(way == Way::Other);
            } else if acting != task && conflict(step, access) {
                before.push((acting, now));
                before.sort_unstable();
            }
            let mut after = state.clone();
            program.advance(&mut after, acting, Some(observed));
            left.push((after, before, done));
        }
    }
    truth.states += seen.len();
}
