//! When things happen: a clock for each core, and a bus that does one transfer at a time.
//!
//! The trace says in which order accesses came, not when. Each core does its own accesses one after the other and waits for
//! each; who acquires what another has released, or is started or awaited, comes after that. A transfer takes the first free
//! cycles of the bus from the moment on at which it is wanted, whatever was scheduled later already: the clocks of two cores may
//! be far apart where nothing orders them.

use super::Configuration;
use super::coherence::{Served, Supplier};
use rustc_hash::FxHashMap;

/// The bus: which cycles are taken.
#[derive(Clone, Debug, Default)]
struct Bus {
    /// For a cycle that is taken, a later one before which none is free.
    taken: FxHashMap<u64, u64>,
    latest: u64,
}

impl Bus {
    /// So many taken cycles are remembered, about; what lies far behind is forgotten, so that memory stays bounded.
    const MOST: usize = 1 << 20;

    /// Takes as many cycles, from the first on that is free at a moment or later. The end of the last one.
    fn transfer(&mut self, from: u64, cycles: u64) -> u64 {
        let mut end = from;
        for _ in 0..cycles {
            let free = self.free(end);
            self.taken.insert(free, free + 1);
            end = free + 1;
        }
        self.latest = self.latest.max(end);
        if self.taken.len() > Self::MOST {
            let kept = self.latest.saturating_sub(Self::MOST as u64 / 2);
            self.taken.retain(|&cycle, _| cycle >= kept);
        }
        end
    }

    /// The first free cycle from a moment on.
    fn free(&mut self, from: u64) -> u64 {
        let mut free = from;
        while let Some(&later) = self.taken.get(&free) {
            free = later;
        }
        // Whoever comes this way next gets there in one step.
        let mut at = from;
        while let Some(later) = self.taken.get_mut(&at) {
            at = std::mem::replace(later, free);
        }
        free
    }
}

/// What a run has cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cost {
    /// Cycles until the last core was done.
    pub cycles: u64,
    /// Bytes on the bus.
    pub bytes: u64,
    /// Requests and orders on the bus.
    pub transfers: u64,
    /// Line addresses on the bus for nobody but the detector.
    pub told: u64,
}

/// The clocks of one machine.
#[derive(Clone, Debug)]
pub(super) struct Clocks {
    configuration: Configuration,
    cores: Vec<u64>,
    /// For each core when the last line address that it told is through.
    posted: Vec<u64>,
    bus: Bus,
    cost: Cost,
}

impl Clocks {
    pub(super) fn new(configuration: &Configuration) -> Self {
        let cores = vec![0; configuration.cores as usize];
        Self {
            configuration: *configuration,
            posted: cores.clone(),
            cores,
            bus: Bus::default(),
            cost: Cost::default(),
        }
    }

    fn on_bus(&mut self, from: u64, bytes: u64) -> u64 {
        self.cost.bytes += bytes;
        let cycles = bytes.div_ceil(u64::from(self.configuration.bus_bytes_per_cycle));
        self.bus.transfer(from, cycles)
    }

    /// A core waits for an access that was served.
    pub(super) fn access(&mut self, core: usize, served: &Served) {
        let configuration = self.configuration;
        let (l1, l2) = (u64::from(configuration.l1.cycles), u64::from(configuration.l2.cycles));
        let mut now = self.cores[core] + u64::from(configuration.work);
        now += match served.supplier {
            Supplier::FirstLevel => l1,
            _ => l2,
        };
        if served.bytes > 0 {
            self.cost.transfers += 1;
            now = self.on_bus(now, served.bytes);
            now += match served.supplier {
                Supplier::OtherCore => l2,
                Supplier::Memory => u64::from(configuration.memory),
                _ => 0,
            };
        }
        self.cores[core] = now;
        // Nobody waits for what is written back or told, but it takes its time on the bus.
        if served.written_back > 0 {
            self.cost.transfers += 1;
            self.on_bus(now, served.written_back);
        }
        if served.told {
            self.cost.told += 1;
            self.posted[core] = self.on_bus(now, u64::from(configuration.header)).max(self.posted[core]);
        }
    }

    /// An instruction that begins or ends a region, with its fence: all that the core has told must be through.
    pub(super) fn fence(&mut self, core: usize) {
        let now = self.cores[core] + u64::from(self.configuration.fence);
        self.cores[core] = now.max(self.posted[core]);
    }

    /// The moment of a core.
    pub(super) fn now(&self, core: usize) -> u64 {
        self.cores[core]
    }

    /// A core comes after a moment.
    pub(super) fn wait_until(&mut self, core: usize, moment: u64) {
        self.cores[core] = self.cores[core].max(moment);
    }

    /// What the run has cost so far.
    pub(super) fn cost(&self) -> Cost {
        Cost { cycles: self.cores.iter().copied().max().unwrap_or(0), ..self.cost }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_takes_the_first_free_cycles() {
        let mut bus = Bus::default();
        assert_eq!(bus.transfer(10, 1), 11);
        assert_eq!(bus.transfer(10, 2), 13);
        // The clocks of cores are apart: what comes later in the trace may be earlier in time.
        assert_eq!(bus.transfer(3, 1), 4);
        assert_eq!(bus.transfer(9, 2), 14);
        assert_eq!(bus.transfer(9, 1), 15);
        assert_eq!(bus.transfer(20, 0), 20);
    }

    #[test]
    fn a_core_waits_for_data_and_not_for_what_it_tells() {
        let mut clocks = Clocks::new(&Configuration { work: 1, fence: 4, ..Configuration::default() });
        let served = |supplier, bytes, told| Served { supplier, bytes, written_back: 0, told };
        clocks.access(0, &served(Supplier::Memory, 72, false));
        // One cycle of work, a look into both caches, one cycle on the bus, memory.
        assert_eq!(clocks.now(0), 1 + 12 + 1 + 80);
        clocks.access(0, &served(Supplier::FirstLevel, 0, true));
        assert_eq!(clocks.now(0), 94 + 1 + 2);
        clocks.fence(0);
        assert_eq!(clocks.now(0), 97 + 4);
        assert_eq!(clocks.cost(), Cost { cycles: 101, bytes: 80, transfers: 1, told: 1 });
    }
}
