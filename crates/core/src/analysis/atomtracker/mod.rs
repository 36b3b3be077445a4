//! AtomTracker: atomic regions that are learned from good runs, and their violations.
//!
//! Paper: Muzahid, Otsuki, Torrellas, "AtomTracker: A Comprehensive Approach to Atomic Region Inference and Violation
//! Detection", MICRO 2010.
//!
//! - [`regions`] holds what is learned, and what the sites of a run mean to it. All others build on it.
//! - [`infer`] is AtomTracker-I.
//! - [`follow`] finds learned regions in a run, and [`detect`] is AtomTracker-D.
//! - [`hardware`] is AtomTracker-D as the paper builds it into a multicore.

pub mod detect;
pub mod follow;
pub mod hardware;
pub mod infer;
pub mod regions;

#[cfg(test)]
mod tests;
