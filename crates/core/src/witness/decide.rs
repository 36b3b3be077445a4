//! Decides the candidates of a window, and gathers the findings of the run.

use super::candidates::{self, Examine, Location, Touch, common, exclude};
use super::recording::{NONE, Place, Recording};
use super::search::Goal;
use super::window::{Diagnosis, Fate, Figures, Window};
use crate::diagnose::solver::Limits;
use crate::event::{AccessKind, Addr, GroupId, Op, RegionId, SiteId};
use crate::finding::{Evidence, FindingKey, Findings, Race, RawFinding, Rule, Torn, Whole};
use rustc_hash::FxHashMap;

/// What a location is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum LocationKey {
    /// A stretch of flagged memory.
    Memory(u32),
    /// A group that must be seen together.
    Group(GroupId),
}

/// How far a key is decided.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Sureness {
    LocksForbid,
    Unsure,
    OtherSchedule,
    Observed,
}

#[derive(Debug)]
struct Entry {
    key: FindingKey,
    sureness: Sureness,
    finding: RawFinding,
    /// How many regions were examined whose nearest accesses have this key.
    examined: u32,
}

/// The findings of the run so far, and how much may still be done.
#[derive(Debug)]
pub(super) struct Verdicts {
    entries: Vec<Entry>,
    index: FxHashMap<FindingKey, usize>,
    /// The entries of places, and what they tear, of which enough were examined.
    settled: FxHashMap<([SiteId; 3], Whole), usize>,
    /// How much work is done for one claim.
    work: u64,
    /// How much work all further searches may do.
    work_left: u64,
    pub(super) figures: Figures,
}

/// So many regions with the same nearest accesses are examined one by one; further ones are taken to be like them.
const MOST_ALIKE: u32 = 256;

/// One finding that may be told.
pub(super) struct Claim {
    pub(super) rule: Rule,
    pub(super) goal: Goal,
    /// The accesses in the order of the interleaving.
    pub(super) accesses: Vec<Place>,
    pub(super) evidence: Evidence,
    key: FindingKey,
    pub(super) observed: bool,
}

/// Candidates for a race between the same two places.
struct RacePlaces {
    key: FindingKey,
    pairs: Vec<(u32, u32)>,
    /// The access of the last pair, and how many different ones there were.
    later: u32,
    count: u64,
}

fn access_op(kind: AccessKind, bytes: (u64, u64)) -> Op {
    let size = u32::try_from(bytes.1 - bytes.0).unwrap_or(u32::MAX);
    Op::Access { kind, size, addr: Addr(bytes.0) }
}

impl Verdicts {
    pub(super) fn new(work: u64, total: u64) -> Self {
        Self {
            entries: Vec::new(),
            index: FxHashMap::default(),
            settled: FxHashMap::default(),
            work,
            work_left: total,
            figures: Figures::default(),
        }
    }

    /// Decides all that the locations of a window are candidates for.
    pub(super) fn decide(
        &mut self,
        recording: &Recording,
        diagnosis: Option<&Diagnosis>,
        locations: &FxHashMap<LocationKey, Location>,
        rules: impl Fn(LocationKey, Rule) -> bool,
        examine: &Examine,
    ) {
        let mut keys: Vec<LocationKey> = locations.keys().copied().collect();
        keys.retain(|key| locations.get(key).is_some_and(|location| !location.conflicts.is_empty()));
        if keys.is_empty() {
            return;
        }
        self.figures.windows += 1;
        keys.sort_unstable();
        let mut window = Window::new(recording, diagnosis);
        for key in &keys {
            let Some(location) = locations.get(key) else { continue };
            if examine.races && rules(*key, Rule::DataRace) {
                self.races(&mut window, location);
            }
            if (examine.steps || examine.blocks) && rules(*key, Rule::AtomicityViolation) {
                self.tears(&mut window, location, examine);
            }
            if examine.gaps && rules(*key, Rule::LockGap) {
                self.gaps(&mut window, location);
            }
            if let LocationKey::Group(group) = key {
                self.group_tears(&mut window, location, *group, examine);
            }
        }
    }

    fn races(&mut self, window: &mut Window<'_>, location: &Location) {
        let touches = &location.touches;
        let mut places: Vec<RacePlaces> = Vec::new();
        let mut index: FxHashMap<(SiteId, SiteId, u64), usize> = FxHashMap::default();
        for conflict in &location.conflicts {
            let (a, b) = (&touches[conflict.earlier as usize], &touches[conflict.later as usize]);
            if conflict.ordered || (a.atomic && b.atomic) || exclude(&a.held, &b.held) {
                continue;
            }
            let Some(bytes) = common(a.bytes, b.bytes) else { continue };
            let sites = (a.site.min(b.site), a.site.max(b.site));
            let addr = if sites.0.is_some() && sites.1.is_some() { 0 } else { bytes.0 };
            let at = *index.entry((sites.0, sites.1, addr)).or_insert_with(|| {
                let op = access_op(AccessKind::Write, bytes);
                let key = FindingKey::new(Rule::DataRace, Vec::new(), vec![sites.0, sites.1], op);
                places.push(RacePlaces { key, pairs: Vec::new(), later: NONE, count: 0 });
                places.len() - 1
            });
            let places = &mut places[at];
            if places.later != conflict.later {
                (places.later, places.count) = (conflict.later, places.count + 1);
            }
            places.pairs.push((conflict.earlier, conflict.later));
        }
        for RacePlaces { key, mut pairs, count, .. } in places {
            let mut left = count;
            if self.sureness(&key) != Some(Sureness::Observed) {
                // One that was observed needs no search.
                let place = |at: u32| touches[at as usize].place;
                let observed = |pair: &(u32, u32)| window.was_race_observed(place(pair.0), place(pair.1));
                if let Some(at) = pairs.iter().position(observed) {
                    pairs = vec![pairs[at]];
                }
                for (a, b) in pairs {
                    let (a, b) = (&touches[a as usize], &touches[b as usize]);
                    let claim = race(window, a, b, &key);
                    if self.sureness(&key) >= Some(Sureness::OtherSchedule) && !claim.observed {
                        break;
                    }
                    let fate = self.fate(window, &claim, location.incomplete);
                    if self.tell(window, claim, fate, left) {
                        left = 0;
                    }
                }
            }
            self.count(&key, left);
        }
    }

    fn tears(&mut self, window: &mut Window<'_>, location: &Location, examine: &Examine) {
        let touches = &location.touches;
        let recording = window.recording;
        candidates::tears(recording, location, examine, |tear| {
            let [(first, last, _), ..] = tear.around[..] else { return };
            let places = ([first, tear.other, last].map(|at| touches[at as usize].site), tear.whole);
            if let Some(at) = self.settled.get(&places) {
                self.entries[*at].finding.count += 1;
                return;
            }
            let claims = tear.around.iter().map(|&(first, last, bytes)| {
                let three = [first, tear.other, last].map(|at| &touches[at as usize]);
                torn(recording, Rule::AtomicityViolation, tear.whole, three, bytes, None)
            });
            let settled = self.first_that_holds(window, claims.collect(), location.incomplete, true);
            if let Some(at) = settled.filter(|_| places.0.iter().all(|site| site.is_some())) {
                self.settled.insert(places, at);
            }
        });
    }

    fn gaps(&mut self, window: &mut Window<'_>, location: &Location) {
        let touches = &location.touches;
        for gap in candidates::gaps(window.recording, location) {
            let three = [gap.read, gap.other, gap.write].map(|at| &touches[at as usize]);
            let whole = Whole::Holds(window.recording.lock_id(gap.lock));
            let claim = torn(window.recording, Rule::LockGap, whole, three, gap.bytes, None);
            if self.sureness(&claim.key) == Some(Sureness::Observed) {
                self.count(&claim.key, 1);
                continue;
            }
            self.first_that_holds(window, vec![claim], location.incomplete, true);
        }
    }

    fn group_tears(
        &mut self,
        window: &mut Window<'_>,
        location: &Location,
        group: GroupId,
        examine: &Examine,
    ) {
        let touches = &location.touches;
        for tear in candidates::group_tears(window.recording, location, examine) {
            let claims = tear.around.iter().map(|around| {
                let four = around.map(|at| &touches[at as usize]);
                torn_group(window.recording, tear.whole, four, group)
            });
            let claims: Vec<Claim> = claims.collect();
            self.first_that_holds(window, claims, location.incomplete, false);
        }
    }

    /// Of claims about the same defect tells the first that some schedule shows. If there is none, the first is suspected
    /// if `suspect` says so. Gives the entry of the first claim if further ones like it need not be examined.
    fn first_that_holds(
        &mut self,
        window: &mut Window<'_>,
        claims: Vec<Claim>,
        incomplete: bool,
        suspect: bool,
    ) -> Option<usize> {
        let first = claims.first()?;
        if let Some(at) = self.index.get(&first.key) {
            let entry = &mut self.entries[*at];
            entry.examined += 1;
            if entry.examined > MOST_ALIKE && entry.sureness >= Sureness::OtherSchedule {
                entry.finding.count += 1;
                return Some(*at);
            }
        }
        let mut unsure: Option<(Claim, Fate)> = None;
        for claim in claims {
            match self.fate(window, &claim, incomplete) {
                Fate::Void => {}
                Fate::LocksForbid if unsure.is_none() => unsure = Some((claim, Fate::LocksForbid)),
                Fate::LocksForbid => {}
                Fate::Unsure(doubt) if !matches!(unsure, Some((_, Fate::Unsure(_)))) => {
                    unsure = Some((claim, Fate::Unsure(doubt)));
                }
                Fate::Unsure(_) => {}
                fate @ (Fate::Observed | Fate::Shown(..)) => {
                    self.tell(window, claim, fate, 1);
                    return None;
                }
            }
        }
        match unsure {
            Some((_, Fate::LocksForbid)) if !suspect => {}
            Some((claim, fate)) => {
                self.tell(window, claim, fate, 1);
            }
            None => {}
        }
        None
    }

    fn fate(&mut self, window: &mut Window<'_>, claim: &Claim, incomplete: bool) -> Fate {
        let limits = Limits { work: self.work.min(self.work_left), until: None };
        let fate = window.fate(claim, incomplete, limits, &mut self.figures);
        self.work_left = self.work_left.saturating_sub(window.take_work());
        fate
    }

    fn sureness(&self, key: &FindingKey) -> Option<Sureness> {
        self.index.get(key).map(|at| self.entries[*at].sureness)
    }

    fn count(&mut self, key: &FindingKey, count: u64) {
        if let Some(at) = self.index.get(key) {
            self.entries[*at].finding.count += count;
        }
    }

    /// Adds a finding, or makes a known one surer. False if there is nothing to tell.
    fn tell(&mut self, window: &Window<'_>, claim: Claim, fate: Fate, count: u64) -> bool {
        let sureness = match &fate {
            Fate::Void => return false,
            Fate::Observed => Sureness::Observed,
            Fate::Shown(..) => Sureness::OtherSchedule,
            Fate::Unsure(_) => Sureness::Unsure,
            Fate::LocksForbid => Sureness::LocksForbid,
        };
        if let Some(at) = self.index.get(&claim.key) {
            let entry = &mut self.entries[*at];
            entry.finding.count += count;
            if entry.sureness < sureness {
                let count = entry.finding.count;
                entry.sureness = sureness;
                entry.finding = window.finding(&claim, fate, count);
            }
        } else if self.entries.len() < Findings::MOST {
            let finding = window.finding(&claim, fate, count);
            self.index.insert(claim.key.clone(), self.entries.len());
            self.entries.push(Entry { key: claim.key, sureness, finding, examined: 1 });
        }
        true
    }

    /// Tells all findings, in the order of the positions of their first operations.
    pub(super) fn tell_all(&mut self, findings: &mut Findings) {
        let mut entries = std::mem::take(&mut self.entries);
        self.index.clear();
        self.settled.clear();
        entries.sort_by_key(|entry| entry.finding.steps.iter().map(|step| step.moment.position).max());
        for entry in entries {
            let moment = entry.finding.steps.last().map(|step| step.moment).unwrap_or_default();
            findings.add(entry.key, moment, || entry.finding);
        }
    }
}

fn labels(whole: Whole) -> Vec<RegionId> {
    match whole {
        Whole::Block(region) => vec![region],
        Whole::Step | Whole::Holds(_) => Vec::new(),
    }
}

fn race(window: &Window<'_>, a: &Touch, b: &Touch, key: &FindingKey) -> Claim {
    let bytes = common(a.bytes, b.bytes).unwrap_or(a.bytes);
    let size = u32::try_from(bytes.1 - bytes.0).unwrap_or(u32::MAX);
    Claim {
        rule: Rule::DataRace,
        goal: Goal::Both(a.place, b.place),
        accesses: vec![a.place, b.place],
        evidence: Evidence::Race(Race { addr: Addr(bytes.0), size }),
        observed: window.was_race_observed(a.place, b.place),
        key: key.clone(),
    }
}

fn torn(
    recording: &Recording,
    rule: Rule,
    whole: Whole,
    [first, other, last]: [&Touch; 3],
    bytes: (u64, u64),
    group: Option<GroupId>,
) -> Claim {
    let accesses = vec![first.place, other.place, last.place];
    let position = |place: Place| recording.operation(place).step.moment.position;
    let sites: Vec<SiteId> = vec![first.site, other.site, last.site];
    Claim {
        rule,
        goal: Goal::Sequence(vec![(first.place, other.place), (other.place, last.place)]),
        evidence: Evidence::Torn(Torn {
            addr: Addr(bytes.0),
            size: u32::try_from(bytes.1 - bytes.0).unwrap_or(u32::MAX),
            whole,
            group,
            inside: vec![0, 2],
        }),
        key: FindingKey::new(rule, labels(whole), sites, access_op(last.kind, bytes)),
        observed: !accesses.iter().any(|place| recording.is_possible(*place))
            && accesses.is_sorted_by_key(|place| position(*place)),
        accesses,
    }
}

fn torn_group(
    recording: &Recording,
    whole: Whole,
    [first, first_other, last_other, last]: [&Touch; 4],
    group: GroupId,
) -> Claim {
    let position = |touch: &Touch| recording.operation(touch.place).step.moment.position;
    if first_other.place == last_other.place {
        let bytes = common(first.bytes, first_other.bytes).unwrap_or(first.bytes);
        return torn(
            recording,
            Rule::AtomicityViolation,
            whole,
            [first, first_other, last],
            bytes,
            Some(group),
        );
    }
    let mut between = [first_other, last_other];
    between.sort_by_key(|touch| recording.along(touch.place));
    let four = [first, between[0], between[1], last];
    let sites = [first, first_other, last_other, last].map(|touch| touch.site).to_vec();
    let bytes = common(first.bytes, first_other.bytes).unwrap_or(first.bytes);
    Claim {
        rule: Rule::AtomicityViolation,
        goal: Goal::Sequence(vec![(first.place, first_other.place), (last_other.place, last.place)]),
        accesses: four.map(|touch| touch.place).to_vec(),
        evidence: Evidence::Torn(Torn {
            addr: Addr(bytes.0),
            size: u32::try_from(bytes.1 - bytes.0).unwrap_or(u32::MAX),
            whole,
            group: Some(group),
            inside: vec![0, 3],
        }),
        key: FindingKey::new(Rule::AtomicityViolation, labels(whole), sites, access_op(last.kind, bytes)),
        observed: !four.iter().any(|touch| recording.is_possible(touch.place))
            && position(first) < position(first_other)
            && position(last_other) < position(last),
    }
}
