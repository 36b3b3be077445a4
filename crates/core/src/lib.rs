//! The core of keirin: events, traces, analyses and raw findings.
//!
//! Data flows one way: a source ([`trace`]) gives [`event::Event`]s, [`replay`] feeds them to an
//! [`analysis::Analysis`], and that tells [`finding::RawFinding`]s. Nothing here knows how a finding is named, filtered
//! or printed.
#![forbid(unsafe_code)]

pub mod analysis;
pub mod clock;
pub mod diagnose;
pub mod event;
pub mod family;
pub mod finding;
pub mod generate;
pub mod handover;
pub mod lockset;
mod numbers;
pub mod replay;
mod segments;
pub mod select;
pub mod shadow;
pub mod sptree;
pub mod stack;
pub mod tasks;
pub mod trace;
pub mod witness;
