//! Task-parallel programs: the oracle that decides by trying every schedule, and what is compared with it.

mod apparent;
mod feasible;
mod gaps;
mod laws;
mod memory;
mod naive;
mod observed;
mod oracle;
mod robust;
mod support;
