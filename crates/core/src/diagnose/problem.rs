//! A question about schedules: events, what must come before what, what excludes each other, what is read, and which conditions
//! must hold.
//!
//! **Values.** A read gets its value from the write that is chosen for it. A write's value is known, computed from what its
//! task has read, or not known. As long as the values that a read can get are few, they are made into variables, one for each,
//! and conditions into clauses ([`Problem::decide`]); otherwise an SMT solver must be asked ([`Problem::smtlib`]).
//!
//! **What is not known.** A condition on a value that is not known is taken not to hold for a schedule to be shown, and to hold
//! for there to be none. So both answers are proofs, and the third one is [`Decision::Unknown`].
//!
//! **Lazily.** Only pairs of sections of a lock that an answer puts into each other become clauses, and only writes that an answer
//! puts between a read and what it is to read.

use super::formula::Formula;
use super::solver::{Answer, Edge, Limits, Literal, Solver};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
use std::time::Instant;

/// What a formula speaks of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand {
    /// What a [read](Problem::read) gets.
    Read(u32),
    /// A number.
    Known(u64),
    /// Nobody knows.
    Unknown,
}

/// What is written.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// This.
    Known(u64),
    /// What a formula gives, cut to some bits.
    Computed(Rc<Formula>, Vec<Operand>, u64),
    /// Nobody knows.
    Unknown,
}

/// Where a read may get its value from.
#[derive(Clone, Debug)]
pub struct Source {
    /// Holds if it does.
    pub chosen: Literal,
    /// The write; none if it is what memory had at first.
    pub write: Option<u32>,
    /// The next write of the same task, before which it must be read.
    pub until: Option<u32>,
    /// The value.
    pub value: Value,
}

/// A read.
#[derive(Clone, Debug)]
pub struct Read {
    /// What reads.
    pub event: u32,
    /// One of them is chosen if the read happens.
    pub sources: Vec<Source>,
    /// All writes that change what is read.
    pub writes: Vec<u32>,
}

/// A condition.
#[derive(Clone, Debug)]
pub struct Condition {
    /// It must hold only if all these do.
    pub if_all: Vec<Literal>,
    /// What it says.
    pub formula: Rc<Formula>,
    /// About what.
    pub operands: Vec<Operand>,
    /// Whether its value must be other than zero, or zero.
    pub wanted: bool,
}

/// A part of a task in which it holds a lock.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// Takes the lock.
    pub acquire: u32,
    /// Gives it back, unless it never does.
    pub release: Option<u32>,
    /// Together with others.
    pub shared: bool,
    /// Whose it is: nobody excludes itself.
    pub owner: u32,
    /// Unless it surely happens, the literal that says so.
    pub happens: Option<Literal>,
    /// Something is read in it that matters, so that its place among the others does.
    pub reads: bool,
}

/// What a variable stands for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    preferred: bool,
    pub(super) if_true: Option<Edge>,
    pub(super) if_false: Option<Edge>,
}

/// The answer to a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decision {
    /// These events, in this order.
    Feasible(Vec<u32>),
    /// There is no such schedule.
    Infeasible,
    /// It depends on values that are not known.
    Unknown,
    /// It depends on more values than can be gone through.
    TooManyValues,
    /// The limits did not suffice.
    GivenUp,
}

/// Figures about a question.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Size {
    /// Events.
    pub events: usize,
    /// Variables of the solver, for orders and values.
    pub variables: usize,
    /// Conflicts on the way to the answer.
    pub conflicts: u64,
    /// How much was done.
    pub work: u64,
}

/// So many values a read may have.
const MOST_VALUES: usize = 64;

/// So many combinations of values a formula may have.
const MOST_COMBINATIONS: usize = 4096;

/// So many pairs of sections of a lock are excluded from each other before anybody asks.
const MOST_AT_ONCE: usize = 1 << 18;

/// In place of a value: nobody knows it.
type Known = Option<u64>;

/// A question.
#[derive(Clone, Debug, Default)]
pub struct Problem {
    pub(super) events: u32,
    pub(super) edges: Vec<Edge>,
    pub(super) choices: Vec<Choice>,
    pub(super) clauses: Vec<Vec<Literal>>,
    /// For each lock its sections.
    pub(super) locks: Vec<Vec<Section>>,
    pub(super) reads: Vec<Read>,
    pub(super) conditions: Vec<Condition>,
    orders: FxHashMap<Edge, Literal>,
    pub(super) sure: Option<Literal>,
}

impl Problem {
    /// A question in which nothing happens but the end of the schedule, which is the first event. All that comes before it is
    /// what the schedule has.
    pub fn new() -> Self {
        Self { events: 1, ..Self::default() }
    }

    /// The end of the schedule.
    pub const END: u32 = 0;

    /// A further event. They are to be added in the order in which they were observed.
    pub fn event(&mut self) -> u32 {
        self.events += 1;
        self.events - 1
    }

    /// How many events there are.
    pub fn events(&self) -> usize {
        self.events as usize
    }

    /// One event comes before another.
    pub fn edge(&mut self, from: u32, to: u32) {
        self.edges.push((from, to));
    }

    /// A choice; if it is made, or not made, events come in order.
    pub fn choice(&mut self, preferred: bool, if_true: Option<Edge>, if_false: Option<Edge>) -> Literal {
        self.choices.push(Choice { preferred, if_true, if_false });
        Literal::positive(self.choices.len() as u32 - 1)
    }

    /// Holds if one event comes before another; otherwise it comes after it.
    pub fn before(&mut self, from: u32, to: u32) -> Literal {
        let (low, high) = (from.min(to), from.max(to));
        let known = self.orders.get(&(low, high)).copied();
        let literal = known.unwrap_or_else(|| {
            // The end is the first event by number only.
            let preferred = low != Self::END;
            let literal = self.choice(preferred, Some((low, high)), Some((high, low)));
            self.orders.insert((low, high), literal);
            literal
        });
        if from == low { literal } else { !literal }
    }

    /// One of these must hold.
    pub fn clause(&mut self, literals: Vec<Literal>) {
        self.clauses.push(literals);
    }

    /// The sections of a lock.
    pub fn lock(&mut self, sections: Vec<Section>) {
        self.locks.push(sections);
    }

    /// Something is read, from one of the sources if it happens: unless `happens` is given, it does.
    pub fn read(&mut self, read: Read, happens: Option<Literal>) -> u32 {
        let mut one_of: Vec<Literal> = read.sources.iter().map(|source| source.chosen).collect();
        one_of.extend(happens.map(|happens| !happens));
        self.clause(one_of);
        for source in &read.sources {
            if let Some(write) = source.write {
                let before = self.before(write, read.event);
                self.clause(vec![!source.chosen, before]);
            }
            if let Some(until) = source.until {
                let before = self.before(read.event, until);
                self.clause(vec![!source.chosen, before]);
            }
        }
        self.reads.push(read);
        self.reads.len() as u32 - 1
    }

    /// Holds where a schedule must be shown for sure. What is asked of schedules only because more is not known is asked if
    /// this holds.
    pub fn sure(&mut self) -> Literal {
        if let Some(sure) = self.sure {
            return sure;
        }
        let sure = self.choice(true, None, None);
        self.sure = Some(sure);
        sure
    }

    /// A condition must hold.
    pub fn condition(&mut self, condition: Condition) {
        self.conditions.push(condition);
    }

    /// Looks for a schedule.
    pub fn decide(&self, limits: Limits) -> (Decision, Size) {
        let mut size = Size { events: self.events(), ..Size::default() };
        if limits.work < self.events() as u64 {
            return (Decision::GivenUp, size);
        }
        let Some(domains) = self.domains() else { return (Decision::TooManyValues, size) };
        let mut decision = Decision::Infeasible;
        let mut left = limits.work;
        let unknown = self.sure.is_some()
            || domains.iter().any(|domain| domain.contains(&None))
            || self.conditions.iter().any(|condition| condition.operands.contains(&Operand::Unknown));
        for hopeful in [false, true] {
            let Some(mut solver) = self.solver(&domains, hopeful) else {
                return (Decision::TooManyValues, size);
            };
            let answer = self.solve(&mut solver, Limits { work: left, ..limits });
            left = left.saturating_sub(solver.work());
            size.variables = size.variables.max(solver.variables());
            size.conflicts += solver.conflicts;
            size.work += solver.work();
            decision = match answer {
                Answer::Satisfiable if hopeful => Decision::Unknown,
                Answer::Satisfiable => Decision::Feasible(schedule(&solver)),
                Answer::Unsatisfiable => Decision::Infeasible,
                Answer::GivenUp => Decision::GivenUp,
            };
            if decision != Decision::Infeasible || !unknown {
                break;
            }
        }
        (decision, size)
    }

    /// Solves, and adds what the answer does not respect, until it does.
    fn solve(&self, solver: &mut Solver, limits: Limits) -> Answer {
        let mut excluded: FxHashSet<(u32, u32)> = FxHashSet::default();
        let mut orders = self.orders.clone();
        self.exclude_readers(solver, &mut excluded);
        let end = solver.work().saturating_add(limits.work);
        loop {
            if limits.until.is_some_and(|until| Instant::now() >= until) {
                return Answer::GivenUp;
            }
            let left = end.saturating_sub(solver.work());
            let answer = solver.solve(Limits { work: left, ..limits });
            if answer != Answer::Satisfiable {
                return answer;
            }
            let mut time = vec![u32::MAX; self.events()];
            for (at, event) in (0..).zip(schedule(solver)) {
                time[event as usize] = at;
            }
            let violated = self.violated(&time, &mut excluded);
            let between = self.between(solver, &time);
            if violated.is_empty() && between.is_empty() {
                return answer;
            }
            for (one, other) in violated {
                exclude(solver, &one, &other);
            }
            for (read, source, write) in between {
                let Read { event, ref sources, .. } = self.reads[read];
                let mut clause = vec![!sources[source].chosen, before(solver, &mut orders, (event, write))];
                if let Some(from) = sources[source].write {
                    clause.push(before(solver, &mut orders, (write, from)));
                }
                solver.clause(clause);
            }
        }
    }

    /// Reads that do not get what was chosen for them, since writes come in between: the read, the source, and each such write. All
    /// of them at once: otherwise there would be a round for each.
    fn between(&self, solver: &Solver, time: &[u32]) -> Vec<(usize, usize, u32)> {
        let mut between = Vec::new();
        for (number, read) in self.reads.iter().enumerate() {
            let now = time[read.event as usize];
            let chosen = read.sources.iter().position(|source| solver.holds(source.chosen));
            let (Some(source), true) = (chosen, now != u32::MAX) else { continue };
            let from = read.sources[source].write;
            // If it does not come first, the write that is read from is put there by another clause.
            let first = from.map(|from| time[from as usize]).filter(|first| *first < now);
            let wrong = |write: &&u32| {
                let time = time[**write as usize];
                **write != read.event
                    && Some(**write) != from
                    && time < now
                    && first.is_none_or(|first| time > first)
            };
            between.extend(read.writes.iter().filter(wrong).map(|write| (number, source, *write)));
        }
        between
    }

    /// Excludes sections in which something is read from all others, as long as that is not too much: in the end it will be
    /// asked for most of them.
    fn exclude_readers(&self, solver: &mut Solver, excluded: &mut FxHashSet<(u32, u32)>) {
        for sections in &self.locks {
            let readers: Vec<&Section> = sections.iter().filter(|section| section.reads).collect();
            if readers.len() * sections.len() > MOST_AT_ONCE {
                continue;
            }
            for one in readers {
                for other in sections.iter().filter(|other| excludes(one, other)) {
                    let (first, second) =
                        if one.acquire < other.acquire { (one, other) } else { (other, one) };
                    if excluded.insert((first.acquire, second.acquire)) {
                        exclude(solver, first, second);
                    }
                }
            }
        }
    }

    /// Sections of one lock that are held at the same time in the solver's schedule. The one that ends first comes first: what is in
    /// them is in that order, rather than what begins them.
    fn violated(&self, time: &[u32], excluded: &mut FxHashSet<(u32, u32)>) -> Vec<(Section, Section)> {
        let mut violated = Vec::new();
        for sections in &self.locks {
            let mut taken: Vec<&Section> =
                sections.iter().filter(|section| time[section.acquire as usize] != u32::MAX).collect();
            taken.sort_unstable_by_key(|section| time[section.acquire as usize]);
            let mut held: Vec<&Section> = Vec::new();
            for section in taken {
                let now = time[section.acquire as usize];
                let end =
                    |section: &Section| section.release.map_or(u32::MAX, |release| time[release as usize]);
                held.retain(|other| end(other) > now);
                for other in held.iter().filter(|other| excludes(other, section)) {
                    let pair = (other.acquire.min(section.acquire), other.acquire.max(section.acquire));
                    if excluded.insert(pair) {
                        let in_order = end(other) <= end(section);
                        violated.push(if in_order { (**other, *section) } else { (*section, **other) });
                    }
                }
                held.push(section);
            }
        }
        violated
    }

    /// The values that each read can get. None if there are too many.
    fn domains(&self) -> Option<Vec<Vec<Known>>> {
        let mut domains: Vec<Vec<Known>> = vec![Vec::new(); self.reads.len()];
        // A value goes through each write once at most, so that after as many rounds there is nothing new that can be had.
        let mut computing: Vec<Option<u32>> = Vec::new();
        for source in self.reads.iter().flat_map(|read| &read.sources) {
            if matches!(source.value, Value::Computed(..)) {
                computing.push(source.write);
            }
        }
        computing.sort_unstable();
        computing.dedup();
        for _ in 0..=computing.len() {
            let before = domains.clone();
            for (domain, read) in domains.iter_mut().zip(&self.reads) {
                for source in &read.sources {
                    let mut add = |value: Known| {
                        if !domain.contains(&value) {
                            domain.push(value);
                        }
                    };
                    match &source.value {
                        Value::Known(value) => add(Some(*value)),
                        Value::Unknown => add(None),
                        Value::Computed(formula, operands, mask) => {
                            combinations(operands, &before, |known| {
                                add(all_known(known).map(|known| formula.value(&known) & mask));
                            })?;
                        }
                    }
                }
                if domain.len() > MOST_VALUES {
                    return None;
                }
            }
            if domains == before {
                break;
            }
        }
        Some(domains)
    }

    /// The question as clauses. `hopeful`: what is not known is as wanted.
    fn solver(&self, domains: &[Vec<Known>], hopeful: bool) -> Option<Solver> {
        let mut solver = self.orders();
        if let Some(sure) = self.sure {
            solver.clause(vec![if hopeful { !sure } else { sure }]);
        }
        // For each read and each of its values whether it is that.
        let is: Vec<Vec<Literal>> = domains
            .iter()
            .map(|domain| domain.iter().map(|_| solver.variable(false, None, None)).collect())
            .collect();
        for literals in &is {
            for (at, one) in literals.iter().enumerate() {
                for other in &literals[..at] {
                    solver.clause(vec![!*one, !*other]);
                }
            }
        }
        let literal = |read: usize, value: Known| {
            domains[read].iter().position(|known| *known == value).map(|at| is[read][at])
        };
        let given = |operands: &[Operand], known: &[Known]| -> Vec<Literal> {
            operands
                .iter()
                .zip(known)
                .filter_map(|(operand, value)| match operand {
                    Operand::Read(read) => literal(*read as usize, *value).map(|literal| !literal),
                    Operand::Known(_) | Operand::Unknown => None,
                })
                .collect()
        };
        for (number, read) in self.reads.iter().enumerate() {
            for Source { chosen, value, .. } in &read.sources {
                match value {
                    Value::Known(value) => solver.clause(vec![!*chosen, literal(number, Some(*value))?]),
                    Value::Unknown => solver.clause(vec![!*chosen, literal(number, None)?]),
                    Value::Computed(formula, operands, mask) => {
                        let mut clauses = Vec::new();
                        combinations(operands, domains, |known| {
                            let value = all_known(known).map(|known| formula.value(&known) & mask);
                            let mut clause = given(operands, known);
                            clause.push(!*chosen);
                            // A value that cannot be had is none.
                            clause.extend(literal(number, value));
                            clauses.push(clause);
                        })?;
                        clauses.into_iter().for_each(|clause| solver.clause(clause));
                    }
                }
            }
        }
        for condition in &self.conditions {
            let mut clauses = Vec::new();
            combinations(&condition.operands, domains, |known| {
                let holds = all_known(known)
                    .map_or(hopeful, |known| (condition.formula.value(&known) != 0) == condition.wanted);
                if !holds {
                    let mut clause = given(&condition.operands, known);
                    clause.extend(condition.if_all.iter().map(|literal| !*literal));
                    clauses.push(clause);
                }
            })?;
            clauses.into_iter().for_each(|clause| solver.clause(clause));
        }
        Some(solver)
    }

    /// A solver that knows the events, the orders and the clauses, but neither locks nor values.
    fn orders(&self) -> Solver {
        let mut solver = Solver::default();
        for _ in 0..self.events {
            solver.event();
        }
        for choice in &self.choices {
            solver.variable(choice.preferred, choice.if_true, choice.if_false);
        }
        for edge in &self.edges {
            solver.edge(*edge);
        }
        for clause in &self.clauses {
            solver.clause(clause.clone());
        }
        solver
    }
}

fn all_known(known: &[Known]) -> Option<Vec<u64>> {
    known.iter().copied().collect()
}

/// Shows all combinations of values of some operands. None if there are too many.
fn combinations(operands: &[Operand], domains: &[Vec<Known>], mut visit: impl FnMut(&[Known])) -> Option<()> {
    // An operand may stand there twice; it has one value.
    let mut reads: Vec<u32> = operands
        .iter()
        .filter_map(|operand| match operand {
            Operand::Read(read) => Some(*read),
            Operand::Known(_) | Operand::Unknown => None,
        })
        .collect();
    reads.sort_unstable();
    reads.dedup();
    let sizes: Vec<usize> = reads.iter().map(|read| domains[*read as usize].len()).collect();
    let count = sizes.iter().try_fold(1usize, |product, size| product.checked_mul(*size))?;
    if count > MOST_COMBINATIONS {
        return None;
    }
    let mut known: Vec<Known> = vec![None; operands.len()];
    for number in 0..count {
        for (at, operand) in operands.iter().enumerate() {
            known[at] = match operand {
                Operand::Known(value) => Some(*value),
                Operand::Unknown => None,
                Operand::Read(read) => {
                    let mut rest = number;
                    let mut value = None;
                    for (other, size) in reads.iter().zip(&sizes) {
                        if other == read {
                            value = domains[*read as usize][rest % size];
                        }
                        rest /= size;
                    }
                    value
                }
            };
        }
        visit(&known);
    }
    Some(())
}

/// Holds if one event comes before another.
fn before(solver: &mut Solver, orders: &mut FxHashMap<Edge, Literal>, (from, to): Edge) -> Literal {
    let (low, high) = (from.min(to), from.max(to));
    let literal = *orders
        .entry((low, high))
        .or_insert_with(|| solver.variable(true, Some((low, high)), Some((high, low))));
    if from == low { literal } else { !literal }
}

/// True if two sections of a lock cannot be held at the same time.
fn excludes(one: &Section, other: &Section) -> bool {
    one.owner != other.owner && !(one.shared && other.shared)
}

/// Two sections of a lock: one comes before the other, if both happen.
fn exclude(solver: &mut Solver, one: &Section, other: &Section) {
    let after = |first: &Section, second: &Section| first.release.map(|release| (release, second.acquire));
    let (observed, turned) = (after(one, other), after(other, one));
    let mut clause: Vec<Literal> =
        [one, other].iter().filter_map(|section| section.happens).map(|happens| !happens).collect();
    match (observed, turned) {
        // One variable for a pair: it is in one order or in the other.
        (Some(_), Some(_)) if clause.is_empty() => {
            solver.variable(true, observed, turned);
        }
        _ => {
            // Both cannot be: that the first one is tried alone saves a conflict for each pair.
            for (preferred, edge) in [(true, observed), (observed.is_none(), turned)] {
                clause.extend(edge.map(|edge| solver.variable(preferred, Some(edge), None)));
            }
            solver.clause(clause);
        }
    }
}

/// What comes before the end, in an order that stays close to that of the events' numbers.
fn schedule(solver: &Solver) -> Vec<u32> {
    use std::cmp::Reverse;
    let needed = solver.that_come_before(Problem::END);
    let mut waits: Vec<u32> =
        (0..needed.len() as u32).map(|event| solver.before(event).len() as u32).collect();
    let mut ready: std::collections::BinaryHeap<Reverse<u32>> = (0..needed.len() as u32)
        .filter(|event| needed[*event as usize] && waits[*event as usize] == 0)
        .map(Reverse)
        .collect();
    let mut events = Vec::new();
    while let Some(Reverse(event)) = ready.pop() {
        if event == Problem::END {
            break;
        }
        events.push(event);
        for later in solver.after(event) {
            let waits = &mut waits[later as usize];
            *waits -= 1;
            if *waits == 0 && needed[later as usize] {
                ready.push(Reverse(later));
            }
        }
    }
    events
}
