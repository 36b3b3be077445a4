//! Measures keirin on generated traces and prints tables in Markdown.
//!
//! Everything that is measured runs in a child process, so that its processor time and its peak memory are its own.
//! Times are compared as the user and system time of the fastest of several rounds, and the rounds of all contestants
//! are interleaved: on a shared machine a slow moment then hits all of them alike.

pub mod analyses;
pub mod atomtracker;
pub mod child;
pub mod diagnose;
pub mod many_tasks;
pub mod oracle;
pub mod programs;
pub mod readers;
pub mod runtime;
pub mod shapes;
mod statistics;
pub mod structure;
pub mod table;
pub mod tasks;
pub mod traces;
pub mod transactions;
pub mod warnings;
mod workload;
