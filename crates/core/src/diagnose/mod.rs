//! Deciding what schedules there are: questions, a solver, and the language of others.
//!
//! A [`Problem`] says which events may happen, what must come before what, which sections of locks exclude each other, what
//! is read from where, and which conditions must hold. [`Problem::decide`] finds a schedule or proves that there is none.
//! [`crate::witness`] makes such questions from recorded runs and checks the schedules that it gets.
//!
//! The formula is that of PTRacer (Yoga, Nagarakatte and Gupta: *Parallel Data Race Detection for Task Parallel Programs with Locks*,
//! FSE 2016, section 3.3): program order, spawns and waits, locks, reads and writes, conditions. It is solved without an SMT
//! solver: all its orders are strict, so that they can be satisfied if and only if they have no cycle; and values are few
//! enough, mostly, to be gone through.

pub mod formula;
mod order;
pub mod problem;
pub mod smtlib;
pub mod solver;

pub use formula::Formula;
pub use problem::{Decision, Problem};
