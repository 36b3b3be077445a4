//! The Atomicity Violation Detection Module: what it knows of each processor, and how it uses it.
//!
//! For each processor that is in a region it keeps the addresses read and written in it, and an Order flag for each other
//! processor. An access that conflicts with what another region has touched puts that region before the own one:
//!
//! | access | of an address that the other region has | own flag | the other's flag |
//! |---|---|---|---|
//! | write | read or written | AND After | AND Before |
//! | read | written | AND After | AND Before |
//! | any | else | AND Unordered | AND Unordered |
//!
//! Before AND After is a violation. A region that ends while it comes After one that still runs stays in a shadow signature
//! until that one ends: it may yet have to come before it.
//!
//! The sets of addresses are exact ([`Exact`]) or signatures, and hold words with the bytes in them or whole lines; all else is
//! the same. So false alarms can be told by their source.

use super::signature::{Shape, Signature};
use crate::event::{AccessKind, RegionId, SiteId, ThreadId};
use rustc_hash::FxHashMap;

/// Shadows of a thread whose sets are exact. With more, as while one region stays open throughout a long run, the last is shared.
const MOST_SHADOWS: usize = 256;
/// So many of the regions that share a shadow are named, the latest.
const MOST_NAMED: usize = 256;

/// A place in memory that an access touches: an aligned piece, and which parts of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Piece {
    /// Its number: a word of eight bytes, or a line.
    pub(super) number: u64,
    /// The bytes of the word; all bits for a line.
    pub(super) parts: u8,
}

/// A set of pieces.
pub(super) trait Addresses {
    fn insert(&mut self, piece: Piece);
    fn contains(&self, piece: Piece) -> bool;
    fn add_all(&mut self, other: &Self);
}

/// A set that is what it looks like, however large.
#[derive(Clone, Debug, Default)]
pub(super) struct Exact(FxHashMap<u64, u8>);

impl Addresses for Exact {
    fn insert(&mut self, piece: Piece) {
        *self.0.entry(piece.number).or_default() |= piece.parts;
    }

    fn contains(&self, piece: Piece) -> bool {
        self.0.get(&piece.number).is_some_and(|parts| parts & piece.parts != 0)
    }

    fn add_all(&mut self, other: &Self) {
        for (&number, &parts) in &other.0 {
            self.insert(Piece { number, parts });
        }
    }
}

impl Addresses for Signature {
    fn insert(&mut self, piece: Piece) {
        Signature::insert(self, piece.number);
    }

    fn contains(&self, piece: Piece) -> bool {
        self.may_contain(piece.number)
    }

    fn add_all(&mut self, other: &Self) {
        Signature::add_all(self, other);
    }
}

/// How a region stands to another one, as far as is known: a set of answers, of which at most one can be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Order(u8);

impl Order {
    const BEFORE: Self = Self(1);
    const AFTER: Self = Self(2);

    /// The logical AND of the paper: Unordered leaves the other value, Before and After exclude each other. True if they do
    /// from now on.
    fn and(&mut self, other: Self) -> bool {
        let was = self.0;
        self.0 |= other.0;
        self.0 == 3 && was != 3
    }

    /// Only After: what it comes after may still do something that must come after it.
    fn is_after(self) -> bool {
        self == Self::AFTER
    }
}

/// One execution of a region.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Instance {
    /// Which one: they are counted over the whole run, from 0.
    pub number: u64,
    /// Whose.
    pub thread: ThreadId,
    /// In how many other regions of the thread it lies, which go on after it.
    pub depth: u32,
    /// Which region it is.
    pub region: RegionId,
}

/// A thread can be in several regions, one inside of the other; to the module they are like regions of as many processors,
/// except that they do not conflict with each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Place {
    pub(super) thread: ThreadId,
    pub(super) depth: u32,
}

impl Instance {
    fn place(&self) -> Place {
        Place { thread: self.thread, depth: self.depth }
    }
}

/// A violation that the module has recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Alarm {
    /// The region whose access was the last straw.
    pub acting: Instance,
    /// The region with which it has no order. If it is in a shadow that several regions share, any of them may be meant.
    pub others: Vec<Instance>,
    /// The position of the access in the trace.
    pub position: u64,
    /// The site of the access.
    pub site: SiteId,
    /// The first byte of the word or line of the access.
    pub address: u64,
}

#[derive(Clone, Debug)]
struct Region<S> {
    instance: Instance,
    reads: S,
    writes: S,
    /// How it stands to the regions that other threads are in.
    orders: FxHashMap<Place, Order>,
}

impl<S: Addresses> Region<S> {
    fn conflicts(&self, piece: Piece, kind: AccessKind) -> bool {
        self.writes.contains(piece) || kind == AccessKind::Write && self.reads.contains(piece)
    }
}

/// Regions that have ended, but come after regions that still run.
#[derive(Clone, Debug)]
struct Shadow<S> {
    instances: Vec<Instance>,
    reads: S,
    writes: S,
    /// Whose regions it comes after, and whether that is violated.
    partners: FxHashMap<Place, bool>,
}

#[derive(Clone, Debug)]
struct Context<S> {
    place: Place,
    region: Option<Region<S>>,
    shadows: Vec<Shadow<S>>,
}

/// The module.
#[derive(Clone, Debug)]
pub(super) struct Detector<S> {
    /// An empty set.
    empty: S,
    /// How many shadows a thread has; when there are no more, the last one is shared.
    most_shadows: usize,
    contexts: Vec<Context<S>>,
    alarms: Vec<Alarm>,
    shared_shadows: u64,
}

impl Detector<Exact> {
    /// A module with buffers that never end, so that regions need not share shadows.
    pub(super) fn unbounded() -> Self {
        Self::new(Exact::default(), MOST_SHADOWS)
    }
}

impl Detector<Signature> {
    /// A module with signatures of a shape.
    pub(super) fn with_signatures(shape: Shape, most_shadows: u32) -> Self {
        Self::new(Signature::new(shape), most_shadows as usize)
    }
}

impl<S: Addresses + Clone> Detector<S> {
    fn new(empty: S, most_shadows: usize) -> Self {
        Self { empty, most_shadows, contexts: Vec::new(), alarms: Vec::new(), shared_shadows: 0 }
    }

    fn context(&mut self, place: Place) -> usize {
        // There are few threads; those that have never been in a region have no place here.
        self.contexts.iter().position(|context| context.place == place).unwrap_or_else(|| {
            self.contexts.push(Context { place, region: None, shadows: Vec::new() });
            self.contexts.len() - 1
        })
    }

    /// A thread that is in no region enters one.
    pub(super) fn enter(&mut self, instance: Instance) {
        let at = self.context(instance.place());
        self.contexts[at].region = Some(Region {
            instance,
            reads: self.empty.clone(),
            writes: self.empty.clone(),
            orders: FxHashMap::default(),
        });
    }

    /// A thread leaves the region that it is in.
    pub(super) fn exit(&mut self, place: Place) {
        let at = self.context(place);
        let Some(region) = self.contexts[at].region.take() else { return };
        for other in &mut self.contexts {
            // The flags about this region are about the next one from now on; its shadows wait for one less.
            if let Some(region) = &mut other.region {
                region.orders.remove(&place);
            }
            for shadow in &mut other.shadows {
                shadow.partners.remove(&place);
            }
            other.shadows.retain(|shadow| !shadow.partners.is_empty());
        }
        let partners: FxHashMap<Place, bool> = region
            .orders
            .iter()
            .filter(|(_, order)| order.is_after())
            .map(|(&partner, _)| (partner, false))
            .collect();
        if partners.is_empty() {
            // Threads that are over must not be looked at for ever.
            self.contexts.retain(|context| context.region.is_some() || !context.shadows.is_empty());
            return;
        }
        let full = self.contexts[at].shadows.len() >= self.most_shadows;
        match self.contexts[at].shadows.last_mut() {
            Some(shadow) if full => {
                if shadow.instances.len() >= MOST_NAMED {
                    shadow.instances.remove(0);
                }
                shadow.instances.push(region.instance);
                shadow.reads.add_all(&region.reads);
                shadow.writes.add_all(&region.writes);
                shadow.partners.extend(partners);
                self.shared_shadows += 1;
            }
            _ => self.contexts[at].shadows.push(Shadow {
                instances: vec![region.instance],
                reads: region.reads,
                writes: region.writes,
                partners,
            }),
        }
    }

    /// An access, in a region, that the module sees. `address` is the first byte of the piece.
    pub(super) fn access(
        &mut self,
        place: Place,
        (position, site): (u64, SiteId),
        kind: AccessKind,
        piece: Piece,
        address: u64,
    ) {
        let at = self.context(place);
        let Some(mut own) = self.contexts[at].region.take() else { return };
        for other in self.contexts.iter_mut().filter(|other| other.place.thread != place.thread) {
            let mut alarm = |others: &[Instance]| {
                let (acting, others) = (own.instance, others.to_vec());
                self.alarms.push(Alarm { acting, others, position, site, address });
            };
            if let Some(region) = &mut other.region
                && region.conflicts(piece, kind)
            {
                let violated = own.orders.entry(other.place).or_default().and(Order::AFTER);
                region.orders.entry(place).or_default().and(Order::BEFORE);
                if violated {
                    alarm(&[region.instance]);
                }
            }
            for shadow in &mut other.shadows {
                let conflicts = shadow.writes.contains(piece)
                    || kind == AccessKind::Write && shadow.reads.contains(piece);
                if let Some(violated) = shadow.partners.get_mut(&place)
                    && conflicts
                    && !*violated
                {
                    *violated = true;
                    alarm(&shadow.instances);
                }
            }
        }
        match kind {
            AccessKind::Read => own.reads.insert(piece),
            AccessKind::Write => own.writes.insert(piece),
        }
        self.contexts[at].region = Some(own);
    }

    /// What was recorded, and how often a shadow had to be shared.
    pub(super) fn finish(self) -> (Vec<Alarm>, u64) {
        (self.alarms, self.shared_shadows)
    }
}
