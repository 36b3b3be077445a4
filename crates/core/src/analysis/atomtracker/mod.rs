//! AtomTracker: atomic regions that are learned from good runs, and their violations.
//!
//! Paper: Muzahid, Otsuki, Torrellas, "AtomTracker: A Comprehensive Approach to Atomic Region Inference and Violation
//! Detection", MICRO 2010.
//!
//! - [`hardware`]: the detector as hardware would be, in a model of a multicore.
//! - [`infer`]: AtomTracker-I.
//! - [`regions`]: what is learned, and what the sites of a run mean to it. All others build on it.

pub mod hardware;
pub mod infer;
pub mod regions;
