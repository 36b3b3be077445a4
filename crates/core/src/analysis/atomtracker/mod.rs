//! AtomTracker: atomic regions that are learned from good runs, and their violations.
//!
//! Paper: Muzahid, Otsuki, Torrellas, "AtomTracker: A Comprehensive Approach to Atomic Region Inference and Violation
//! Detection", MICRO 2010.
//!
//! - [`infer`] is AtomTracker-I.
//! - [`follow`]: learned regions in a run. [`detect`]: AtomTracker-D. [`hardware`]: the same as hardware would be, in a model of
//!   a multicore.
//! - [`regions`]: what is learned, and what the sites of a run mean to it. All others build on it.

pub mod detect;
pub mod follow;
pub mod hardware;
pub mod infer;
pub mod regions;

#[cfg(test)]
mod tests;
