//! Satisfiability of clauses whose literals may put events in order.
//!
//! **Algorithm.** Conflict-driven clause learning (Marques-Silva and Sakallah; Moskewicz and others: watched literals, activities)
//! with one theory: the edges of all true literals have no cycle (`Order`). All constraints on orders are strict, so that "there
//! is an order" and "there is no cycle" are the same. An edge is put in as soon as its literal is true; the literals of a cycle are
//! a conflict like any other.
//!
//! **Determinism.** The same calls give the same answers, as long as no time limit strikes: the limit that counts is one of work.
//! A variable is first tried as it was preferred, which for orders is the way they were observed.
//!
//! **Clauses may be added after an answer**, and the question asked again; what was learned stays.

#[cfg(test)]
mod tests;

use super::order::Order;
use std::time::Instant;

/// A variable, or its negation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Literal(u32);

impl Literal {
    /// In place of a literal: none.
    pub(super) const NONE: Self = Self(u32::MAX);

    fn new(variable: u32, positive: bool) -> Self {
        Self(variable << 1 | u32::from(!positive))
    }

    /// The literal that holds if a variable is true.
    pub(super) fn positive(variable: u32) -> Self {
        Self::new(variable, true)
    }

    /// Which variable.
    pub fn variable(self) -> u32 {
        self.0 >> 1
    }

    /// True unless it is the negation.
    pub fn is_positive(self) -> bool {
        self.0 & 1 == 0
    }

    fn index(self) -> usize {
        self.0 as usize
    }
}

impl std::ops::Not for Literal {
    type Output = Self;

    fn not(self) -> Self {
        Self(self.0 ^ 1)
    }
}

/// One event comes before another.
pub type Edge = (u32, u32);

/// How much may be done for an answer.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Literals looked at, events and edges looked at, and the like.
    pub work: u64,
    /// No longer than until then.
    pub until: Option<Instant>,
}

/// What is known about the clauses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// All hold for the values that the solver has now.
    Satisfiable,
    /// There are no such values.
    Unsatisfiable,
    /// The limits did not suffice.
    GivenUp,
}

/// Whether a literal holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Held {
    True,
    False,
    Open,
}

#[derive(Clone, Copy, Debug)]
struct Watch {
    clause: u32,
    /// Another literal of the clause: if it holds, the clause need not be looked at.
    other: Literal,
}

#[derive(Debug)]
struct Clause {
    literals: Vec<Literal>,
    learned: bool,
    /// Of how many decisions it speaks: few are worth keeping.
    levels: u32,
}

#[derive(Debug)]
struct Variable {
    value: Option<bool>,
    preferred: bool,
    level: u32,
    /// The clause that forced it, or [`NO_CLAUSE`].
    reason: u32,
    activity: f64,
    /// Its place in the heap, or [`NO_CLAUSE`].
    place: u32,
    seen: bool,
    edges: [Option<Edge>; 2],
}

const NO_CLAUSE: u32 = u32::MAX;

/// So many conflicts until the first restart; the following ones by Luby's sequence.
const RESTART: u64 = 128;

/// The clauses and what was found out about them.
#[derive(Debug)]
pub struct Solver {
    variables: Vec<Variable>,
    clauses: Vec<Clause>,
    watches: Vec<Vec<Watch>>,
    trail: Vec<Literal>,
    /// For each decision the length of the trail, and the number of chosen edges, before it.
    decisions: Vec<(usize, usize)>,
    /// How much of the trail was looked at for clauses, and for edges.
    propagated: usize,
    ordered: usize,
    heap: Vec<u32>,
    bump: f64,
    order: Order,
    contradictory: bool,
    learned: usize,
    most_learned: usize,
    /// Literals looked at.
    work: u64,
    /// Conflicts so far, for figures.
    pub conflicts: u64,
}

impl Default for Solver {
    fn default() -> Self {
        Self {
            variables: Vec::new(),
            clauses: Vec::new(),
            watches: Vec::new(),
            trail: Vec::new(),
            decisions: Vec::new(),
            propagated: 0,
            ordered: 0,
            heap: Vec::new(),
            bump: 1.0,
            order: Order::default(),
            contradictory: false,
            learned: 0,
            most_learned: 4000,
            work: 0,
            conflicts: 0,
        }
    }
}

impl Solver {
    /// A further event; as long as nothing else is wanted it comes behind those before it.
    pub fn event(&mut self) -> u32 {
        self.order.add_event()
    }

    /// One event comes before another in any case.
    pub fn edge(&mut self, (from, to): Edge) {
        self.back_to(0);
        self.contradictory |= !self.order.always(from, to);
    }

    /// A variable; if it is true, or false, it puts events in order.
    pub fn variable(&mut self, preferred: bool, if_true: Option<Edge>, if_false: Option<Edge>) -> Literal {
        let number = self.variables.len() as u32;
        self.variables.push(Variable {
            value: None,
            preferred,
            level: 0,
            reason: NO_CLAUSE,
            activity: 0.0,
            place: NO_CLAUSE,
            seen: false,
            edges: [if_true, if_false],
        });
        self.watches.push(Vec::new());
        self.watches.push(Vec::new());
        self.put_into_heap(number);
        Literal::positive(number)
    }

    /// How many variables there are.
    pub fn variables(&self) -> usize {
        self.variables.len()
    }

    /// How many events there are.
    pub fn events(&self) -> usize {
        self.order.events()
    }

    /// One of these literals must hold.
    pub fn clause(&mut self, mut literals: Vec<Literal>) {
        self.back_to(0);
        literals.sort_unstable();
        literals.dedup();
        let trivial = literals.windows(2).any(|pair| pair[0] == !pair[1]);
        if trivial || literals.iter().any(|literal| self.held(*literal) == Held::True) {
            return;
        }
        literals.retain(|literal| self.held(*literal) == Held::Open);
        match literals[..] {
            [] => self.contradictory = true,
            [only] => self.assign(only, NO_CLAUSE),
            _ => {
                self.attach(literals, false, 0);
            }
        }
    }

    /// How much was done so far.
    pub fn work(&self) -> u64 {
        self.work + self.order.work
    }

    /// Whether a literal holds, after [`Answer::Satisfiable`].
    pub fn holds(&self, literal: Literal) -> bool {
        self.held(literal) == Held::True
    }

    /// All events in an order that has all edges, after [`Answer::Satisfiable`].
    pub fn sorted(&self) -> Vec<u32> {
        self.order.sorted()
    }

    /// For each event whether it is this one or must come before it, after [`Answer::Satisfiable`].
    pub fn that_come_before(&self, event: u32) -> Vec<bool> {
        self.order.that_come_before(event)
    }

    /// What must come right before an event, after [`Answer::Satisfiable`].
    pub fn before(&self, event: u32) -> &[u32] {
        self.order.before(event)
    }

    /// What must come right after an event, after [`Answer::Satisfiable`].
    pub fn after(&self, event: u32) -> impl Iterator<Item = u32> + '_ {
        self.order.after(event)
    }

    fn held(&self, literal: Literal) -> Held {
        match self.variables[literal.variable() as usize].value {
            None => Held::Open,
            Some(value) if value == literal.is_positive() => Held::True,
            Some(_) => Held::False,
        }
    }

    fn attach(&mut self, literals: Vec<Literal>, learned: bool, levels: u32) -> u32 {
        let clause = self.clauses.len() as u32;
        self.watches[(!literals[0]).index()].push(Watch { clause, other: literals[1] });
        self.watches[(!literals[1]).index()].push(Watch { clause, other: literals[0] });
        self.learned += usize::from(learned);
        self.clauses.push(Clause { literals, learned, levels });
        clause
    }

    fn assign(&mut self, literal: Literal, reason: u32) {
        let level = self.decisions.len() as u32;
        let variable = &mut self.variables[literal.variable() as usize];
        variable.value = Some(literal.is_positive());
        variable.level = level;
        variable.reason = reason;
        self.trail.push(literal);
    }

    /// Takes back all decisions from a level on.
    fn back_to(&mut self, level: usize) {
        let Some(&(trail, edges)) = self.decisions.get(level) else { return };
        self.decisions.truncate(level);
        while self.trail.len() > trail {
            if let Some(literal) = self.trail.pop() {
                let variable = &mut self.variables[literal.variable() as usize];
                variable.value = None;
                variable.preferred = literal.is_positive();
                self.put_into_heap(literal.variable());
            }
        }
        self.order.take_back(edges);
        self.propagated = self.propagated.min(trail);
        self.ordered = self.ordered.min(trail);
    }

    /// Does all that follows. The error is a clause of which no literal holds.
    fn propagate(&mut self) -> Result<(), Vec<Literal>> {
        loop {
            while let Some(&literal) = self.trail.get(self.propagated) {
                self.propagated += 1;
                self.visit_watches(literal)?;
            }
            let Some(&literal) = self.trail.get(self.ordered) else { return Ok(()) };
            self.ordered += 1;
            let side = usize::from(!literal.is_positive());
            if let Some((from, to)) = self.variables[literal.variable() as usize].edges[side] {
                self.order
                    .choose(from, to, literal)
                    .map_err(|cycle| cycle.into_iter().map(|literal| !literal).collect::<Vec<_>>())?;
            }
        }
    }

    fn visit_watches(&mut self, literal: Literal) -> Result<(), Vec<Literal>> {
        let mut watches = std::mem::take(&mut self.watches[literal.index()]);
        let mut kept = 0;
        let mut conflict = None;
        let mut at = 0;
        while let Some(&watch) = watches.get(at) {
            at += 1;
            self.work += 1;
            if self.held(watch.other) == Held::True {
                watches[kept] = watch;
                kept += 1;
                continue;
            }
            let literals = &mut self.clauses[watch.clause as usize].literals;
            if literals[0] == !literal {
                literals.swap(0, 1);
            }
            let first = literals[0];
            let watch = Watch { clause: watch.clause, other: first };
            let value = |literal: Literal| {
                let value = self.variables[literal.variable() as usize].value;
                value.map(|value| value == literal.is_positive())
            };
            if value(first) == Some(true) {
                watches[kept] = watch;
                kept += 1;
                continue;
            }
            let free = (2..literals.len()).find(|at| value(literals[*at]) != Some(false));
            if let Some(free) = free {
                literals.swap(1, free);
                self.watches[(!literals[1]).index()].push(watch);
                continue;
            }
            watches[kept] = watch;
            kept += 1;
            if value(first) == Some(false) {
                conflict = Some(literals.clone());
                break;
            }
            self.assign(first, watch.clause);
        }
        // What was not looked at stays.
        watches.copy_within(at.., kept);
        watches.truncate(kept + watches.len() - at);
        self.watches[literal.index()] = watches;
        conflict.map_or(Ok(()), Err)
    }

    /// What a conflict teaches: a clause that has one literal of the current level, which comes first, and the level to go
    /// back to.
    fn analyze(&mut self, conflict: &[Literal]) -> (Vec<Literal>, usize) {
        let current = self.decisions.len() as u32;
        let mut learned = vec![Literal::NONE];
        let mut open = 0u32;
        let mut at = self.trail.len();
        let mut pending: Vec<Literal> = conflict.to_vec();
        let mut touched: Vec<u32> = Vec::new();
        loop {
            for &literal in &pending {
                let number = literal.variable();
                let (seen, level) = {
                    let variable = &self.variables[number as usize];
                    (variable.seen, variable.level)
                };
                if seen || level == 0 {
                    continue;
                }
                self.variables[number as usize].seen = true;
                touched.push(number);
                self.raise(number);
                if level == current {
                    open += 1;
                } else {
                    learned.push(literal);
                }
            }
            let literal = loop {
                at -= 1;
                let literal = self.trail[at];
                if self.variables[literal.variable() as usize].seen {
                    break literal;
                }
            };
            open -= 1;
            if open == 0 {
                learned[0] = !literal;
                break;
            }
            let reason = self.variables[literal.variable() as usize].reason;
            self.work += 1;
            pending.clear();
            pending.extend(
                self.clauses[reason as usize].literals.iter().copied().filter(|other| *other != literal),
            );
        }
        // A literal that follows from the others says nothing.
        let needless = |literal: &Literal| {
            let reason = self.variables[literal.variable() as usize].reason;
            reason != NO_CLAUSE
                && self.clauses[reason as usize].literals.iter().all(|other| {
                    let variable = &self.variables[other.variable() as usize];
                    variable.seen || variable.level == 0
                })
        };
        let mut kept: Vec<Literal> =
            learned[1..].iter().copied().filter(|literal| !needless(literal)).collect();
        kept.insert(0, learned[0]);
        for number in touched {
            self.variables[number as usize].seen = false;
        }
        let level = |literal: &Literal| self.variables[literal.variable() as usize].level;
        // The literal that is looked at beside the first is one of the level to go back to.
        let highest = (1..kept.len()).max_by_key(|at| level(&kept[*at]));
        let back = highest.map_or(0, |at| {
            kept.swap(1, at);
            level(&kept[1])
        });
        (kept, back as usize)
    }

    fn learn(&mut self, literals: Vec<Literal>, level: usize) {
        let mut levels: Vec<u32> =
            literals.iter().map(|literal| self.variables[literal.variable() as usize].level).collect();
        levels.sort_unstable();
        levels.dedup();
        self.back_to(level);
        let first = literals[0];
        let reason = match literals.len() {
            1 => NO_CLAUSE,
            _ => self.attach(literals, true, levels.len() as u32),
        };
        self.assign(first, reason);
    }

    /// Looks for values for which all clauses hold.
    pub fn solve(&mut self, limits: Limits) -> Answer {
        self.back_to(0);
        let end = self.work().saturating_add(limits.work);
        let (mut restarts, mut left) = (1, RESTART);
        let mut rounds = 0u32;
        if self.contradictory {
            return Answer::Unsatisfiable;
        }
        loop {
            rounds = rounds.wrapping_add(1);
            let late = rounds.is_multiple_of(64) && limits.until.is_some_and(|until| Instant::now() >= until);
            if late || self.work() > end {
                self.back_to(0);
                return Answer::GivenUp;
            }
            if let Err(conflict) = self.propagate() {
                self.conflicts += 1;
                if self.decisions.is_empty() {
                    self.contradictory = true;
                    return Answer::Unsatisfiable;
                }
                let (literals, level) = self.analyze(&conflict);
                self.learn(literals, level);
                self.bump *= 1.0 / 0.95;
                left = left.saturating_sub(1);
                continue;
            }
            if left == 0 {
                restarts += 1;
                left = RESTART * luby(restarts);
                self.back_to(0);
                if self.learned > self.most_learned {
                    self.forget();
                }
                continue;
            }
            let Some(next) = self.next_open() else { return Answer::Satisfiable };
            self.decisions.push((self.trail.len(), self.order.chosen()));
            let preferred = self.variables[next as usize].preferred;
            self.assign(Literal::new(next, preferred), NO_CLAUSE);
        }
    }

    /// Forgets half of the learned clauses, those that speak of most decisions. Called when nothing is decided.
    fn forget(&mut self) {
        let mut levels: Vec<u32> =
            self.clauses.iter().filter(|clause| clause.learned).map(|clause| clause.levels).collect();
        levels.sort_unstable();
        let bound = levels[levels.len() / 2].max(2);
        let mut moved = vec![NO_CLAUSE; self.clauses.len()];
        let clauses = std::mem::take(&mut self.clauses);
        let reasons: rustc_hash::FxHashSet<u32> =
            self.trail.iter().map(|literal| self.variables[literal.variable() as usize].reason).collect();
        for watches in &mut self.watches {
            watches.clear();
        }
        self.learned = 0;
        for (number, clause) in (0u32..).zip(clauses) {
            if !clause.learned || clause.levels <= bound || reasons.contains(&number) {
                moved[number as usize] = self.attach(clause.literals, clause.learned, clause.levels);
            }
        }
        for at in 0..self.trail.len() {
            let variable = &mut self.variables[self.trail[at].variable() as usize];
            if variable.reason != NO_CLAUSE {
                variable.reason = moved[variable.reason as usize];
            }
        }
        self.most_learned += self.most_learned / 10;
    }

    /// The open variable that took part in most conflicts of late.
    fn next_open(&mut self) -> Option<u32> {
        while let Some(&first) = self.heap.first() {
            let last = self.heap.pop().unwrap_or(first);
            self.variables[first as usize].place = NO_CLAUSE;
            if last != first {
                self.heap[0] = last;
                self.variables[last as usize].place = 0;
                self.sink(0);
            }
            if self.variables[first as usize].value.is_none() {
                return Some(first);
            }
        }
        None
    }

    fn raise(&mut self, number: u32) {
        let variable = &mut self.variables[number as usize];
        variable.activity += self.bump;
        let (place, activity) = (variable.place, variable.activity);
        if place != NO_CLAUSE {
            self.rise(place as usize);
        }
        if activity > 1e100 {
            for variable in &mut self.variables {
                variable.activity *= 1e-100;
            }
            self.bump *= 1e-100;
        }
    }

    fn put_into_heap(&mut self, number: u32) {
        if self.variables[number as usize].place == NO_CLAUSE {
            self.variables[number as usize].place = self.heap.len() as u32;
            self.heap.push(number);
            self.rise(self.heap.len() - 1);
        }
    }

    /// True if the variable at one place of the heap is to be decided before that at another.
    fn is_before(&self, one: usize, other: usize) -> bool {
        let key = |at: usize| (self.variables[self.heap[at] as usize].activity, self.heap[at]);
        let ((one, number), (other, other_number)) = (key(one), key(other));
        one > other || (one == other && number < other_number)
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.heap.swap(one, other);
        for at in [one, other] {
            self.variables[self.heap[at] as usize].place = at as u32;
        }
    }

    fn rise(&mut self, mut at: usize) {
        while at > 0 && self.is_before(at, (at - 1) / 2) {
            self.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    fn sink(&mut self, mut at: usize) {
        loop {
            let mut first = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.heap.len() && self.is_before(child, first) {
                    first = child;
                }
            }
            if first == at {
                return;
            }
            self.swap(at, first);
            at = first;
        }
    }
}

/// Luby's sequence, from 1 on: 1, 1, 2, 1, 1, 2, 4, …
fn luby(mut number: u64) -> u64 {
    loop {
        let size = u64::BITS - number.leading_zeros();
        if number == (1 << size) - 1 {
            return 1 << (size - 1);
        }
        number -= (1 << (size - 1)) - 1;
    }
}
