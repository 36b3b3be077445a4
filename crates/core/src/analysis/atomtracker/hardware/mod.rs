//! AtomTracker-D in hardware: a model of the multicore with its Atomicity Violation Detection Module (AVM).
//!
//! Paper: Muzahid, Otsuki, Torrellas, *AtomTracker: A Comprehensive Approach to Atomic Region Inference and Violation
//! Detection*, MICRO 2010, section 5; the defaults are its Table 3.
//!
//! The trace drives a machine with private caches ([`coherence`], MESI on a bus). The module on the bus sees what causes a
//! transfer, and, while a core is in a region, the first read and the first write of each line that the caches would have
//! hidden (FirstAccess bits). From that it keeps signatures and Order flags (`detector`). Three modules watch the same
//! run, so that every alarm can be told by its source:
//!
//! | module | sees | remembers | its further alarms are due to |
//! |---|---|---|---|
//! | software | every access | bytes, exactly | |
//! | unbounded buffer | what is on the bus | lines, exactly | false sharing |
//! | signatures | what is on the bus | lines, in signatures ([`signature`]) | aliases; shadows that regions share |
//!
//! Where the paper says nothing, or the trace does not:
//!
//! - A core does one access at a time and waits for it, with a fixed time of other work before it: the trace does not know
//!   the instructions in between. So the time of the run itself is longer than on an out-of-order core.
//! - A line that another core hands over takes the time of its L2 and of the bus, not that of memory.
//! - What a core tells the module, and what it writes back, takes time on the bus, but the core does not wait for it, except
//!   at the fence of the instructions that begin and end a region.
//! - Acquires and releases are writes of a line of the lock, and the module disregards them. Atomic operations are accesses.
//! - Threads beyond the number of cores share them. When a core goes on with another thread, its FirstAccess bits are cleared,
//!   and the module goes on with what it knows of that thread.
//! - A region that ends is put into a shadow of its thread. If all are in use, the last one is shared; the paper has one.
//!
//! Misses: cycles of more than two regions, and conflicts with accesses outside of any region. Hardware misses nothing that the
//! exact software of this module finds (a property test holds that), but where regions share a shadow one alarm stands for all of them.
//! Costs: some hash lookups for each access, open region and shadow; memory for the caches, and for what open regions and shadows
//! hold. At most 256 exact shadows are kept for a thread; after that they are shared as well.
//! State: all of it belongs to [`simulate::Simulator`], which one caller feeds in the order of the trace.

mod cache;
mod clock;
pub mod coherence;
mod detector;
pub mod signature;
pub mod simulate;

pub use clock::Cost;
pub use detector::{Alarm, Instance};

/// One level of a private cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CacheShape {
    /// Its size.
    pub bytes: u64,
    /// Lines of each set.
    pub ways: u32,
    /// How long it takes to get something from it, or to see that it is not there.
    pub cycles: u32,
}

impl CacheShape {
    /// How many sets it has.
    fn sets(&self, line: u32) -> usize {
        (self.bytes / u64::from(line) / u64::from(self.ways)) as usize
    }

    fn check(&self, name: &str, line: u32) -> Result<(), String> {
        let set = u64::from(line) * u64::from(self.ways);
        if set == 0 || self.bytes == 0 || !self.bytes.is_multiple_of(set) || self.bytes > 1 << 30 {
            return Err(format!(
                "the {name} cannot have {} bytes: it must be a multiple of {} ways of {line} bytes, at most 1 GiB",
                self.bytes, self.ways
            ));
        }
        Ok(())
    }
}

/// The machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Configuration {
    /// Number of cores.
    pub cores: u32,
    /// Bytes of a cache line.
    pub line: u32,
    /// The first level of each core.
    pub l1: CacheShape,
    /// The second level of each core.
    pub l2: CacheShape,
    /// Cycles until memory has answered.
    pub memory: u32,
    /// What the bus transfers in one cycle.
    pub bus_bytes_per_cycle: u32,
    /// Bytes of an address with its command on the bus.
    pub header: u32,
    /// Cycles of other work before each access.
    pub work: u32,
    /// Cycles of an instruction that begins or ends a region.
    pub fence: u32,
    /// The signatures of the module.
    pub signature: signature::Shape,
    /// Shadows of each thread.
    pub shadows: u32,
}

impl Default for Configuration {
    /// Table 3 of the paper. The header, the work between accesses and the fence are ours.
    fn default() -> Self {
        Self {
            cores: 4,
            line: 64,
            l1: CacheShape { bytes: 32 << 10, ways: 4, cycles: 2 },
            l2: CacheShape { bytes: 512 << 10, ways: 8, cycles: 12 },
            memory: 80,
            bus_bytes_per_cycle: 128,
            header: 8,
            work: 1,
            fence: 1,
            signature: signature::Shape::default(),
            shadows: 1,
        }
    }
}

impl Configuration {
    /// Refuses what cannot be built, with the reason.
    pub fn check(&self) -> Result<(), String> {
        if !(1..=1024).contains(&self.cores) {
            return Err(format!("a machine cannot have {} cores: 1 to 1024", self.cores));
        }
        if !self.line.is_power_of_two() || !(8..=4096).contains(&self.line) {
            return Err(format!("a line cannot have {} bytes: a power of two from 8 to 4096", self.line));
        }
        self.l1.check("L1", self.line)?;
        self.l2.check("L2", self.line)?;
        if self.l2.bytes < self.l1.bytes {
            return Err(format!(
                "the L2 holds all that the L1 holds, so its {} bytes must not be fewer than {}",
                self.l2.bytes, self.l1.bytes
            ));
        }
        let positive = [
            (self.bus_bytes_per_cycle, "the bus must transfer at least one byte in a cycle"),
            (self.header, "an address on the bus has at least one byte"),
            (self.shadows, "a thread must have at least one shadow"),
        ];
        if let Some((_, problem)) = positive.iter().find(|(number, _)| *number == 0) {
            return Err((*problem).to_owned());
        }
        self.signature.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_built_is_refused() {
        let usual = Configuration::default();
        assert_eq!(usual.check(), Ok(()));
        let wrong = |configuration: Configuration| configuration.check().unwrap_err();
        assert!(wrong(Configuration { cores: 0, ..usual }).contains("0 cores"));
        assert!(wrong(Configuration { line: 48, ..usual }).contains("48 bytes"));
        let l1 = CacheShape { bytes: 1000, ..usual.l1 };
        assert!(wrong(Configuration { l1, ..usual }).contains("L1"));
        let l1 = CacheShape { ways: 0, ..usual.l1 };
        assert!(wrong(Configuration { l1, ..usual }).contains("L1"));
        let l1 = CacheShape { bytes: 1 << 20, ..usual.l1 };
        assert!(wrong(Configuration { l1, ..usual }).contains("fewer"));
        assert!(wrong(Configuration { bus_bytes_per_cycle: 0, ..usual }).contains("bus"));
        let signature = signature::Shape { bits: 3, ..usual.signature };
        assert!(wrong(Configuration { signature, ..usual }).contains("power of two"));
    }
}
