//! Empty: sees all events and does nothing. The floor for every comparison of speed.

use super::{Analysis, Part};
use crate::event::{LockMode, RegionId};
use crate::finding::{Findings, RawStep};

/// The analysis that does nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Empty;

impl Analysis for Empty {
    const WATCHES_MEMORY: bool = false;
    const COUNTS_ACCESSES: bool = false;

    type Thread = ();
    type Cell = ();
    type Sync = ();

    fn access(&self, _: &RawStep, (): &mut (), (): &mut (), _: Part, _: &mut Findings) {}
    fn acquire(&self, _: &RawStep, (): &mut (), (): &mut (), _: LockMode, _: &mut Findings) {}
    fn release(&self, _: &RawStep, (): &mut (), (): &mut (), _: LockMode, _: &mut Findings) {}
    fn signal(&self, _: &RawStep, (): &mut (), (): &mut (), _: &mut Findings) {}
    fn receive(&self, _: &RawStep, (): &mut (), (): &mut (), _: &mut Findings) {}
    fn fork(&self, _: &RawStep, (): &mut (), (): &mut (), _: &mut Findings) {}
    fn join(&self, _: &RawStep, (): &mut (), (): &mut (), _: &mut Findings) {}
    fn begin(&self, _: &RawStep, (): &mut (), _: RegionId, _: &mut Findings) {}
    fn end(&self, _: &RawStep, (): &mut (), _: &mut Findings) {}
}
