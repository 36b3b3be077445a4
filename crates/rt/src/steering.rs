//! Steering: threads are made to wait at the places of a finding, so that the program itself shows what an analysis has found.
//!
//! **What is shown.** A data race: one thread is stopped right before its access when another is about to do the conflicting
//! one, of the same bytes. No lock can keep the two apart, since both are there; nor can anything else order them. A torn region:
//! all operations of the finding have happened in their order, the last one of them in the same region as the first.
//!
//! **Idea.** K. Sen: *Race directed random testing of concurrent programs*, PLDI 2008, where threads are paused before the accesses
//! of a suspected race; here the operations that must come before (those of a schedule that was worked out), torn regions and
//! locks as well.
//!
//! **What it cannot do.** A place is an instruction; which of its instances was meant is not known. Threads wait for a limited
//! time, and not too often: that a waiting thread holds what the other needs ends by that limit, and another try lets others wait.
//!
//! **Who may touch what.** The plan does not change. The state is behind one lock, which is held while its owner is inside of the
//! runtime, never while it waits.
//!
//! **Cost.** Each access is compared with the places of the plan; those at them take the lock.

mod plan;
mod state;

use crate::spin::Spin;
use crate::{modules, regions, telling, watch};
use keirin_core::analysis::Statistic;
use keirin_core::event::{AccessKind, RegionId};
use plan::{Kind, Plan, Whole};
use state::{Arrival, Order, State};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::time::{Duration, Instant};

/// How often a thread that waits looks whether it may go on.
const LOOK_EVERY: Duration = Duration::from_micros(100);

/// Bits of an address in a file.
const GATE_BITS: u32 = 48;

/// The analysis under whose name the figures are told.
const NAME: &str = "steering";

struct Steering {
    plan: Plan,
    /// Points to a leaked list.
    places: AtomicPtr<Vec<Place>>,
    state: Spin<State>,
    /// The block that was to be whole.
    block: RegionId,
}

/// Addresses that are a place of a point.
struct Place {
    start: usize,
    end: usize,
    kind: Kind,
    point: usize,
}

static STEERING: OnceLock<Steering> = OnceLock::new();
/// The run is steered.
static ON: AtomicBool = AtomicBool::new(false);
/// It matters what threads do beside the points.
static ATTENTIVE: AtomicBool = AtomicBool::new(false);

/// Reads a plan. False if it is none.
pub(crate) fn load(text: &str) -> bool {
    let Some(mut plan) = Plan::parse(text) else { return false };
    for point in &mut plan.points {
        // Locks are taken in modules that are there from the start, or the gate is found anew.
        let module = module_of(&point.module, &point.build_id);
        let bias = module.map(|module| module.bias);
        point.gates =
            bias.map_or(Vec::new(), |bias| point.gates.iter().map(|gate| gate.wrapping_add(bias)).collect());
    }
    let state = Spin::new(State::new(&plan));
    let block = match plan.whole {
        Whole::Block => regions::labelled(plan.block.as_bytes()),
        _ => RegionId::NONE,
    };
    let steering = Steering { plan, places: AtomicPtr::new(std::ptr::null_mut()), state, block };
    if STEERING.set(steering).is_ok() {
        modules_changed();
        ON.store(true, Ordering::Release);
    }
    true
}

/// A module by the name of its file and its build id.
fn module_of(name: &str, build_id: &[u8]) -> Option<modules::Module> {
    modules::all().into_iter().rev().find(|module| is_module(module, name, build_id))
}

fn is_module(module: &modules::Module, name: &str, build_id: &[u8]) -> bool {
    module.path.rsplit('/').next() == Some(name) && (build_id.is_empty() || *build_id == *module.build_id)
}

/// True if the run is steered.
#[inline(always)]
pub(crate) fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// The set of loaded modules may have changed: finds the places of the plan in them.
pub(crate) fn modules_changed() {
    let Some(steering) = STEERING.get() else { return };
    let mut places = Vec::new();
    for module in modules::all() {
        for (index, point) in steering.plan.points.iter().enumerate() {
            if is_module(&module, &point.module, &point.build_id) {
                places.extend(point.places.iter().map(|place| Place {
                    start: place.start.wrapping_add(module.bias),
                    end: place.end.wrapping_add(module.bias),
                    kind: point.kind,
                    point: index,
                }));
            }
        }
    }
    // The one before stays: a thread may be looking at it.
    steering.places.store(Box::into_raw(Box::new(places)), Ordering::Release);
}

impl Steering {
    /// The points that have a place: a bit each.
    fn points(&self, pc: usize, kind: Kind) -> u64 {
        let places = self.places.load(Ordering::Acquire);
        // SAFETY: it is null or points to a list that lives for ever.
        let Some(places) = (unsafe { places.as_ref() }) else { return 0 };
        let is_meant = |place: &Place| {
            place.kind == kind || place.kind == Kind::Access && matches!(kind, Kind::Read | Kind::Write)
        };
        let here = |place: &&Place| (place.start..place.end).contains(&pc) && is_meant(place);
        places.iter().filter(here).fold(0, |points, place| points | 1 << place.point)
    }
}

/// Does something to the state, as the calling thread. None if that cannot be watched now.
fn on_state<R>(act: impl FnOnce(&Plan, &mut State, u32) -> R) -> Option<R> {
    let steering = STEERING.get()?;
    let mut result = None;
    let mut news = false;
    watch::on_thread(|thread| {
        if thread.ignoring > 0 {
            return;
        }
        let mut state = steering.state.lock();
        let before = state.confirmed;
        result = Some(act(&steering.plan, &mut state, thread.id.0));
        news = state.confirmed != before;
        ATTENTIVE.store(state.is_attentive(&steering.plan), Ordering::Relaxed);
    });
    if news {
        // At once: the program may not live to its end.
        telling::figures(&figures());
    }
    result
}

/// Lets the calling thread wait as long as it is told to, and its patience lasts.
fn obey(between: bool, mut ask: impl FnMut(&Plan, &mut State, u32, bool) -> Order) {
    if on_state(|plan, state, me| ask(plan, state, me, false)) != Some(Order::Wait) {
        return;
    }
    let begin = Instant::now();
    loop {
        sleep();
        let order = on_state(|plan, state, me| {
            let order = ask(plan, state, me, true);
            if order == Order::Wait && begin.elapsed() >= plan.patience {
                state.give_up(plan, me, between);
                return Order::Go;
            }
            order
        });
        if order != Some(Order::Wait) {
            return;
        }
    }
}

/// Sleeps for a moment, without what the C library does beside it: the program may not expect to be cancelled here, or that an
/// error number changes.
fn sleep() {
    let time = libc::timespec { tv_sec: 0, tv_nsec: LOOK_EVERY.subsec_nanos().into() };
    let none = std::ptr::null_mut::<libc::timespec>();
    // SAFETY: the time lives during the call; the error number is the calling thread's.
    unsafe {
        let error = *libc::__errno_location();
        libc::syscall(libc::SYS_nanosleep, &raw const time, none);
        *libc::__errno_location() = error;
    }
}

/// The calling thread is about to access memory.
#[inline(never)]
pub(crate) fn access(kind: AccessKind, atomic: bool, addr: usize, size: usize, pc: usize) {
    let Some(steering) = STEERING.get() else { return };
    let points = steering.points(pc, if kind == AccessKind::Write { Kind::Write } else { Kind::Read });
    if points == 0 {
        return passed();
    }
    let writes = kind == AccessKind::Write;
    let arrival = Arrival { points, bytes: addr..addr.saturating_add(size.max(1)), writes, atomic };
    obey(false, |plan, state, me, again| state.arrive(plan, me, &arrival, again));
}

/// The calling thread does something beside the points.
#[inline]
pub(crate) fn passed() {
    if ATTENTIVE.load(Ordering::Relaxed) {
        obey(true, |plan, state, me, again| state.between(plan, me, false, again));
    }
}

fn lock_arrival(steering: &Steering, lock: usize, kind: Kind, pc: usize) -> Arrival {
    let points = steering.points(pc, kind);
    Arrival { points, bytes: lock..lock.saturating_add(1), writes: true, atomic: false }
}

/// The calling thread is about to wait for a lock.
pub(crate) fn lock_awaited(lock: usize, pc: usize) {
    let Some(steering) = STEERING.get() else { return };
    let arrival = lock_arrival(steering, lock, Kind::Acquire, pc);
    obey(true, |plan, state, me, again| state.at_gate(plan, me, (lock, pc), again));
    if arrival.points != 0 {
        obey(false, |plan, state, me, again| state.arrive(plan, me, &arrival, again));
    } else if ATTENTIVE.load(Ordering::Relaxed) {
        obey(true, |plan, state, me, again| state.between(plan, me, true, again));
    }
}

/// The calling thread has a lock.
pub(crate) fn lock_acquired(lock: usize, pc: usize) {
    let Some(steering) = STEERING.get() else { return };
    let arrival = lock_arrival(steering, lock, Kind::Acquire, pc);
    on_state(|plan, state, me| state.acquired(plan, me, &arrival, pc));
}

/// The calling thread is about to release a lock.
pub(crate) fn lock_released(lock: usize, pc: usize) {
    let Some(steering) = STEERING.get() else { return };
    let arrival = lock_arrival(steering, lock, Kind::Release, pc);
    on_state(|plan, state, me| state.releases(plan, me, lock));
    if arrival.points != 0 {
        obey(false, |plan, state, me, again| state.arrive(plan, me, &arrival, again));
    }
}

/// The calling thread begins an atomic block.
pub(crate) fn block_begins(region: RegionId) {
    let meant = STEERING.get().is_some_and(|steering| steering.block == region);
    on_state(|_, state, me| state.block_begins(me, meant));
}

/// The calling thread ends its innermost atomic block.
pub(crate) fn block_ends() {
    on_state(|plan, state, me| state.block_ends(plan, me));
}

/// The task that the calling thread runs ends its step.
pub(crate) fn step_ends() {
    on_state(|plan, state, me| state.left(plan, me, Whole::Step));
}

/// What has come of it: whether the goal was reached, at which point a thread waited then (from 1), how often each point
/// was come to, and the gates: the point above [`GATE_BITS`], below the address in the file.
pub(crate) fn figures() -> Vec<Statistic> {
    let Some(steering) = STEERING.get() else { return Vec::new() };
    let state = steering.state.lock();
    let figure = |name, value| Statistic { analysis: NAME, name, value };
    let confirmed = state.confirmed.map_or(0, |point| point as u64 + 1);
    let arrivals = state.arrivals.iter().map(|count| figure("arrivals at a point", *count));
    let gates = state.gates.iter().enumerate().flat_map(|(index, gates)| {
        let point = &steering.plan.points[index];
        let module = module_of(&point.module, &point.build_id);
        gates.iter().filter_map(move |gate| {
            let module = module.as_ref().filter(|module| (module.start..module.end).contains(gate))?;
            Some(figure("gate of a point", (index as u64) << GATE_BITS | (gate - module.bias) as u64))
        })
    });
    std::iter::once(figure("confirmed at a point", confirmed)).chain(arrivals).chain(gates).collect()
}
