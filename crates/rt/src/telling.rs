//! Tells the command line what was found, through a file to which each finding is appended at once: whatever ends the
//! program, what was found until then is there.
//!
//! Here the numbers of the runtime (places, actors) become those of the tables of names. One lock guards it all; it is
//! taken while other locks of the runtime are held, never the other way round.

use crate::arena;
use crate::blocks;
use crate::driver::REFUSED;
use crate::files::KeptFile;
use crate::modules;
use crate::objects;
use crate::openmp;
use crate::places::{self, PlaceNumber, StackNumber};
use crate::record::Recorder;
use crate::regions;
use crate::rust;
use crate::shadow;
use crate::spin::Spin;
use crate::tasks::POSSIBLE;
use crate::thread::{MISSED, Registry, Thread};
use crate::watcher::Watcher;
use keirin_core::analysis::Statistic;
use keirin_core::event::{FunctionId, LockId, Op, SiteId, StackId, ThreadId};
use keirin_core::finding::{Evidence, Findings, Lineage, Moment, Race, RawFinding, Whole};
use keirin_core::handover::{End, Writer};
use keirin_core::replay::Counts;
use keirin_core::stack::{Frame, Stacks};
use keirin_core::tasks::Actor;
use keirin_core::trace::{self, MemoryBlock, ModuleId, NameKind, Site, Tables, ThreadOrigin};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ffi::CString;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// Accesses of threads that have ended.
static ENDED_ACCESSES: AtomicU64 = AtomicU64::new(0);
/// Locks beyond this number have no name in reports.
const NAMED_LOCKS: usize = 1 << 20;

struct Telling {
    writer: Writer,
    file: KeptFile,
    names: Names,
    /// What was told so far, with the places resolved.
    findings: Vec<RawFinding>,
    dropped: u64,
    notes: FxHashSet<String>,
    failed: bool,
}

/// The tables of names, and what is in them already.
#[derive(Default)]
pub(crate) struct Names {
    pub(crate) tables: Tables,
    stacks: Stacks,
    sites: FxHashMap<usize, SiteId>,
    modules: FxHashMap<usize, ModuleId>,
}

static TELLING: Spin<Option<Telling>> = Spin::new(None);
/// The addresses of locks, by number.
static LOCKS: Spin<Vec<usize>> = Spin::new(Vec::new());

/// Begins to tell, to a file whose name begins with `prefix`. False if it cannot be made.
pub(crate) fn start(prefix: &CString) -> bool {
    let pid = std::process::id();
    for number in 0..1000 {
        let mut name = prefix.as_bytes().to_vec();
        name.extend(format!(".{pid}.{number}").bytes());
        let Ok(name) = CString::new(name) else { return false };
        match KeptFile::create(name, false) {
            Ok(file) => {
                let program =
                    modules::all().first().map_or_else(String::new, |module| module.path.to_string());
                let writer = Writer::new(pid, &program);
                let mut telling = Telling {
                    writer,
                    file,
                    names: Names::default(),
                    findings: Vec::new(),
                    dropped: 0,
                    notes: FxHashSet::default(),
                    failed: false,
                };
                telling.write();
                *TELLING.lock() = Some(telling);
                return true;
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(_) => return false,
        }
    }
    false
}

/// Says something about the run to the user, once.
pub(crate) fn note(text: &str) {
    let mut telling = TELLING.lock();
    if let Some(telling) = telling.as_mut()
        && telling.notes.insert(text.to_owned())
    {
        telling.writer.note(text);
        telling.write();
    }
}

/// Tells figures before the end of the run; those of the end count instead.
pub(crate) fn figures(statistics: &[Statistic]) {
    if let Some(telling) = TELLING.lock().as_mut() {
        telling.writer.statistics(statistics);
        telling.write();
    }
}

/// A lock was used for the first time.
pub(crate) fn new_lock(id: LockId, addr: usize) {
    let mut locks = LOCKS.lock();
    if id.index() < NAMED_LOCKS {
        if locks.len() <= id.index() {
            locks.resize(id.index() + 1, 0);
        }
        locks[id.index()] = addr;
    }
}

impl Names {
    /// The site of a return address.
    pub(crate) fn site(&mut self, pc: usize) -> SiteId {
        if pc == 0 {
            return SiteId::NONE;
        }
        if let Some(site) = self.sites.get(&pc) {
            return *site;
        }
        let module = modules::find(pc).or_else(|| {
            modules::update();
            modules::find(pc)
        });
        let place = match module {
            Some(module) => {
                let tables = &mut self.tables;
                let id = *self.modules.entry(module.start).or_insert_with(|| {
                    tables.modules.push(trace::Module {
                        path: module.path.clone(),
                        base: module.bias as u64,
                        size: (module.end - module.bias) as u64,
                        build_id: module.build_id.clone(),
                    });
                    ModuleId(tables.modules.len() as u32 - 1)
                });
                trace::Place::Code { module: id, offset: (pc - module.bias) as u64 }
            }
            None => trace::Place::Label(format!("{pc:#x}").into()),
        };
        self.tables.sites.push(Site { place, function: FunctionId::NONE });
        let site = SiteId(self.tables.sites.len() as u32 - 1);
        self.sites.insert(pc, site);
        site
    }

    fn stack(&mut self, stack: StackNumber) -> StackId {
        let mut result = StackId::NONE;
        for call in places::calls(stack) {
            let call_site = self.site(call);
            result = self.stacks.push(result, Frame { function: FunctionId::NONE, call_site });
        }
        result
    }

    fn place(&mut self, number: PlaceNumber) -> (SiteId, StackId) {
        match places::place(number) {
            Some(place) => (self.site(place.pc), self.stack(place.stack)),
            None => (SiteId::NONE, StackId::NONE),
        }
    }

    fn moment(&mut self, moment: &mut Moment, watcher: &dyn Watcher) {
        moment.thread = watcher.thread_of(moment.thread, moment.position);
        if moment.site.is_some() {
            (moment.site, moment.stack) = self.place(moment.site.0);
        }
        self.thread(moment.thread);
    }

    /// Tells who a thread is, and who created it.
    fn thread(&mut self, id: ThreadId) {
        let mut next = id;
        while next.is_some() {
            let known = self.tables.threads.len();
            if next.index() < known && self.tables.threads[next.index()].parent.is_some() {
                return;
            }
            let entry = Registry::with(|registry| {
                registry.entry(next).map(|entry| (entry.parent, entry.name.clone()))
            });
            let Some((parent, name)) = entry else { return };
            if let Some(name) = name {
                self.tables.set_name(NameKind::Thread, next.0, &String::from_utf8_lossy(&name));
            } else if next.0 == 0 {
                self.tables.set_name(NameKind::Thread, 0, "main");
            }
            if known <= next.index() {
                self.tables.threads.resize(next.index() + 1, ThreadOrigin::default());
            }
            let Some((parent, place)) = parent else { return };
            let (site, stack) = self.place(place);
            self.tables.threads[next.index()] = ThreadOrigin { parent, site, stack };
            next = parent;
        }
    }

    fn memory(&mut self, addr: usize) {
        if let Some(block) = blocks::find(addr) {
            let (site, stack) = self.place(block.place);
            self.thread(block.thread);
            let known = MemoryBlock { size: block.size as u64, thread: block.thread, site, stack };
            self.tables.blocks.insert(block.addr as u64, known);
        }
    }

    fn lock(&mut self, lock: LockId) {
        let addr = LOCKS.lock().get(lock.index()).copied().unwrap_or(0);
        if addr != 0 && self.tables.name(NameKind::Lock, lock.0).is_none() {
            // The command line finds the name of the variable, or tells which heap block it lies in.
            self.memory(addr);
            self.tables.set_name(NameKind::Lock, lock.0, &format!("{addr:#x}"));
        }
    }

    /// Names all locks of the run.
    pub(crate) fn all_locks(&mut self) {
        let count = LOCKS.lock().len() as u32;
        (0..count).for_each(|lock| self.lock(LockId(lock)));
    }

    pub(crate) fn new_regions(&mut self) {
        let known = self.tables.names(NameKind::Region).len();
        for name in regions::names_from(known) {
            self.tables.add_name(NameKind::Region, &name);
        }
    }

    /// Puts the numbers of the tables in the place of those of the runtime.
    fn translate(&mut self, finding: &mut RawFinding, watcher: &dyn Watcher) {
        for step in &mut finding.steps {
            let size = places::place(step.moment.site.0).map_or(0, |place| place.size);
            // The place knows how much it accesses, and the compiler aligns it.
            match (&mut step.op, size & !POSSIBLE) {
                (Op::Access { size: size @ 0, addr, .. }, known) if known != 0 => {
                    *size = known;
                    addr.0 &= !(u64::from(known.next_power_of_two()) - 1);
                }
                (Op::Atomic { size: size @ 0, addr, .. }, known @ 1..=16) => {
                    *size = known as u8;
                    addr.0 &= !(u64::from(known) - 1);
                }
                _ => {}
            }
            if let Op::Access { kind, size: bytes, addr } = step.op
                && size & POSSIBLE != 0
            {
                step.op = Op::OtherPath { kind, size: bytes, addr };
            }
            match step.op {
                Op::Access { addr, .. } | Op::OtherPath { addr, .. } | Op::Atomic { addr, .. } => {
                    self.memory(addr.0 as usize)
                }
                Op::Acquire { lock, .. } | Op::Release { lock, .. } => self.lock(lock),
                _ => {}
            }
            self.moment(&mut step.moment, watcher);
        }
        match &mut finding.evidence {
            Evidence::Race(race) => {
                if let [earlier, later] = &mut finding.steps[..] {
                    *race = Race::between(earlier.op, later.op);
                    if let Op::Access { size, addr, .. } | Op::OtherPath { size, addr, .. } = &mut earlier.op
                        && *size == 0
                    {
                        (*size, *addr) = (race.size, race.addr);
                    }
                }
            }
            Evidence::Cycle(cycle) => {
                for transaction in &mut cycle.transactions {
                    self.thread(transaction.thread);
                }
                cycle.refuted.iter_mut().for_each(|block| self.moment(&mut block.begin, watcher));
            }
            Evidence::Reduction(reduction) => {
                reduction.blocks.iter_mut().for_each(|block| self.moment(&mut block.begin, watcher));
            }
            Evidence::Locking(locking) => {
                locking.held.iter().flatten().for_each(|(lock, _)| self.lock(*lock));
            }
            Evidence::Torn(torn) => {
                self.memory(torn.addr.0 as usize);
                if let Whole::Holds(lock) = torn.whole {
                    self.lock(lock);
                }
            }
        }
        if let Some(lineage) = &mut finding.lineage {
            self.lineage(lineage);
        }
        self.new_regions();
    }

    /// Memory that a lock of Rust guards is called by the type of what is there, if nobody has given it a name.
    fn type_of_memory(&mut self, finding: &RawFinding) {
        let Evidence::Torn(torn) = &finding.evidence else { return };
        for step in &finding.steps {
            let Op::Access { addr, .. } = step.op else { continue };
            let place = places::place(step.moment.site.0);
            if let Some(name) = place.and_then(|place| rust::type_used_at(place.pc)) {
                let location = trace::Location { size: torn.size, name: name.into_boxed_str() };
                self.tables.locations.entry(addr.0).or_insert(location);
            }
        }
    }

    /// The tasks of a finding are told by where they were spawned, whichever thread happened to do it.
    fn lineage(&mut self, lineage: &mut Lineage) {
        for task in std::iter::once(&mut lineage.common).chain(lineage.paths.iter_mut().flatten()) {
            let Moment { site, stack, thread, .. } = &mut task.spawned;
            (*site, *stack) = if site.is_some() { self.place(site.0) } else { (SiteId::NONE, StackId::NONE) };
            *thread = ThreadId::NONE;
            if let Actor::Thread(thread) = task.actor {
                self.thread(thread);
            }
        }
    }
}

impl Telling {
    /// Appends what the writer holds. After a failure nothing more is tried: what follows could not be read.
    fn write(&mut self) {
        if !self.failed && self.file.write_all(self.writer.bytes()).is_err() {
            self.failed = true;
        }
        self.writer.clear();
    }

    fn tell(&mut self, number: u32) {
        let finding = &self.findings[number as usize];
        let told = self
            .writer
            .update(&self.names.tables, &self.names.stacks)
            .and_then(|()| self.writer.finding(number, finding));
        if told.is_ok() {
            self.write();
        } else {
            self.writer.clear();
        }
    }
}

/// Tells the findings of a thread that were not told yet.
#[cold]
pub(crate) fn new_findings(watcher: &dyn Watcher, thread: &mut Thread) {
    let mut telling = TELLING.lock();
    let first = thread.told.len();
    for finding in &thread.findings.list()[first..] {
        let Some(telling) = telling.as_mut() else {
            thread.told.push(u32::MAX);
            continue;
        };
        if telling.findings.len() >= Findings::MOST {
            telling.dropped += 1;
            thread.told.push(u32::MAX);
            continue;
        }
        let mut finding = finding.clone();
        telling.names.type_of_memory(&finding);
        telling.names.translate(&mut finding, watcher);
        let number = telling.findings.len() as u32;
        thread.told.push(number);
        telling.findings.push(finding);
        telling.tell(number);
    }
}

/// Tells how often the findings of a thread were seen, when it ends.
pub(crate) fn final_counts(thread: &Thread) {
    ENDED_ACCESSES.fetch_add(thread.accesses, Ordering::Relaxed);
    told_counts(thread);
}

fn told_counts(thread: &Thread) {
    let mut telling = TELLING.lock();
    let Some(telling) = telling.as_mut() else { return };
    for (finding, number) in thread.findings.list().iter().zip(&thread.told) {
        let Some(told) = telling.findings.get_mut(*number as usize) else { continue };
        if told.count != finding.count {
            told.count = finding.count;
            telling.tell(*number);
        }
    }
    telling.dropped += thread.findings.dropped();
}

/// Memory gets a name.
pub(crate) fn name_memory(addr: usize, size: usize, name: &[u8]) {
    if let Some(telling) = TELLING.lock().as_mut() {
        let size = u32::try_from(size).unwrap_or(u32::MAX);
        let name = String::from_utf8_lossy(name).into_owned().into_boxed_str();
        telling.names.tables.locations.insert(addr as u64, trace::Location { size, name });
    }
}

/// The run is over, and the calling thread may hold any lock: only what can be told without waiting is told.
pub(crate) fn finish_at_once(end: End) {
    for tries in 0..1000 {
        if let Some(mut telling) = TELLING.try_lock() {
            if let Some(telling) = telling.as_mut() {
                telling.writer.end(end);
                telling.write();
            }
            return;
        }
        crate::spin::pause(tries);
    }
}

/// Nothing more is told, though the program goes on.
pub(crate) fn stop() {
    if let Some(mut telling) = TELLING.lock().take() {
        telling.writer.end(End::Stopped);
        telling.write();
    }
}

/// The run is over.
pub(crate) fn finish(watcher: &dyn Watcher, end: End) {
    summarize(watcher, end);
    *TELLING.lock() = None;
}

/// Tells how much was watched. A later summary counts instead.
pub(crate) fn summarize(watcher: &dyn Watcher, end: End) {
    let mut accesses = ENDED_ACCESSES.load(Ordering::Relaxed);
    for entry in crate::driver::live_threads() {
        if !entry.thread.is_null() {
            // SAFETY: a thread that has not ended is not given back. It may still run: of its findings those are told that
            // can be seen here, and a count may be too small.
            let thread = unsafe { &*entry.thread };
            accesses += thread.accesses;
            told_counts(thread);
        }
    }
    let said = [
        (
            REFUSED.load(Ordering::Relaxed),
            "accesses were not looked at: the memory for them (--memory-cap) is used up",
        ),
        (
            MISSED.load(Ordering::Relaxed),
            "operations in signal handlers were not looked at, because they came while keirin was at work",
        ),
        (
            crate::learned::given_up(),
            "learned regions were given up after too many exits of others; --mismatches changes that",
        ),
        (
            watcher.confused_threads(),
            "threads cannot be told from others that had ended, because there were too many; races between them may be missed",
        ),
        (
            crate::watch::UNWATCHED.load(Ordering::Relaxed),
            "threads were not watched, because there were too many at the same time",
        ),
        (
            u64::from(places::is_full()),
            "table of places is full: some findings lack the place of the earlier access",
        ),
    ];
    for (count, what) in said {
        if count > 0 {
            note(&format!("{count} {what}"));
        }
    }
    crate::passes::tell();
    let mut telling = TELLING.lock();
    let Some(telling) = telling.as_mut() else { return };
    if telling.dropped > 0 {
        telling.writer.note(&format!("{} sightings of further findings were not kept", telling.dropped));
    }
    telling.writer.counts(&Counts {
        events: watcher.recorder().map_or(0, Recorder::events),
        accesses,
        threads: Registry::with(|registry| registry.entries().len() as u64),
        locks: u64::from(objects::locks()),
        tasks: watcher.tasks() + rust::joins::untold_tasks(),
        ..Counts::default()
    });
    let statistic = |name, value| Statistic { analysis: "runtime", name, value };
    let mut statistics = vec![
        statistic("bytes of shadow memory in use at the end", shadow::pages::used() as u64),
        statistic("bytes of other memory of keirin's", arena::taken() as u64),
    ];
    statistics.extend(watcher.statistics());
    statistics.extend(crate::passes::statistics());
    statistics.extend(crate::steering::figures());
    statistics.extend(openmp::counts().map(|(name, count)| statistic(name, count)));
    telling.writer.statistics(&statistics);
    telling.writer.end(end);
    telling.write();
}

/// In a child process: forgets the parent's file, which is not ours. False if a thread that is gone was just telling.
pub(crate) fn abandon() -> bool {
    TELLING.try_lock().map(|mut telling| std::mem::forget(telling.take())).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use keirin_core::event::TaskId;
    use keirin_core::finding::RawTask;

    #[test]
    fn tasks_of_a_finding_are_told_by_the_sites_of_their_places() {
        let spawns = [start as *const () as usize, note as *const () as usize];
        let caller = places::stack(places::Call { caller: 0, pc: spawns[1] });
        let numbers = spawns.map(|pc| places::number(places::Place { pc, stack: caller, size: 0 }));
        let task = |actor, site| {
            let spawned = Moment { position: 7, thread: ThreadId(3), site, stack: StackId(9) };
            RawTask { actor, spawned }
        };
        let spawned = |number| task(Actor::Task(TaskId(number)), SiteId(number));
        let mut lineage = Lineage {
            common: task(Actor::Thread(ThreadId(90_000)), SiteId::NONE),
            paths: vec![vec![spawned(numbers[0]), spawned(numbers[1])], vec![spawned(numbers[0])]],
        };
        let mut names = Names::default();
        names.lineage(&mut lineage);
        assert_eq!(
            lineage.common.spawned,
            Moment { position: 7, thread: ThreadId::NONE, site: SiteId::NONE, stack: StackId::NONE }
        );
        let sites =
            lineage.paths.iter().map(|path| path.iter().map(|task| task.spawned.site).collect::<Vec<_>>());
        let sites: Vec<Vec<SiteId>> = sites.collect();
        assert_eq!(sites[0].len(), 2);
        assert_eq!(sites[0][0], sites[1][0], "one place is one site");
        for (site, pc) in sites[0].iter().zip(spawns) {
            let module = modules::find(pc).expect("this test is in a module");
            let trace::Place::Code { offset, .. } = names.tables.sites[site.index()].place else {
                panic!("{:?}", names.tables.sites)
            };
            assert_eq!(offset, (pc - module.bias) as u64);
        }
        let stack = lineage.paths[0][0].spawned.stack;
        let calls: Vec<SiteId> = names.stacks.frames(stack).map(|frame| frame.call_site).collect();
        assert_eq!(calls, [sites[0][1]], "the call is at the place of the other spawn");
    }
}
