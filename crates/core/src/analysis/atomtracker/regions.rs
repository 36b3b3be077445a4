//! What AtomTracker learns: regions of the program's code, each with the place where it is entered and those where it is
//! left.
//!
//! A region is entered by an access at its entry, if the thread is in none, and left after an access at one of its exits.
//! An exit belongs to its entry: a thread that came in elsewhere passes it (section 3.2.5 of the paper). Places have names
//! that mean the same in every run of the same program ([`site_name`]); within one run they are small numbers ([`Marks`]).
//!
//! Beyond the paper: a region may be an *outer* one, in which others lie. Their accesses are theirs alone ([`Inside`]). And a
//! region may end with its thread instead of at a place: that is kept, as it says that there was such a region, but it
//! never ends one.

use crate::event::SiteId;
use crate::trace::{Place, Tables};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// A run that was learned from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    /// How the user named its trace.
    pub name: Box<str>,
}

/// A module that places are in.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LearnedModule {
    /// The name of its file, without folders.
    pub name: Box<str>,
    /// The linker's build id, in hexadecimal digits; empty if there is none.
    pub build_id: Box<str>,
}

/// The runs that showed something: indices into [`Regions::runs`].
pub type Support = BTreeSet<u32>;

/// The region that is entered at one place.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Region {
    /// Other regions may be entered inside of it.
    pub outer: bool,
    /// Where it is left, and which runs left it there.
    pub exits: BTreeMap<Box<str>, Support>,
    /// Runs in which it lasted until the end of the thread.
    pub thread_end: Support,
}

impl Region {
    /// The runs in which it was seen.
    pub fn support(&self) -> Support {
        self.exits.values().chain([&self.thread_end]).flatten().copied().collect()
    }
}

/// All that was learned.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Regions {
    /// The runs that it was learned from, in their order.
    pub runs: Vec<Run>,
    /// The modules that the names of places speak of.
    pub modules: BTreeSet<LearnedModule>,
    /// The regions by the name of their entry.
    pub by_entry: BTreeMap<Box<str>, Region>,
    /// What a person would call a place, by its name. Nothing depends on it.
    pub places: BTreeMap<Box<str>, Box<str>>,
}

impl Regions {
    /// How many regions there are: pairs of an entry and an exit, as the paper counts them. One that only ever lasted until
    /// the end of its thread counts as one.
    pub fn pairs(&self) -> usize {
        self.by_entry.values().map(|region| region.exits.len().max(1)).sum()
    }
}

/// The name of a place that means the same in every run of the same program: the file of the module and the offset, or
/// the place in the source, or the text that the trace gives. None if the trace tells no place.
pub fn site_name(tables: &Tables, site: SiteId) -> Option<String> {
    use crate::trace::NameKind;
    let site = tables.site(site)?;
    match &site.place {
        Place::Unknown => None,
        Place::Label(text) => Some(text.to_string()),
        Place::Source { file, line, column } => {
            let path = tables.name(NameKind::File, file.0).unwrap_or("?");
            let column = if *column == 0 { String::new() } else { format!(":{column}") };
            let function =
                tables.function_name(site.function).map_or(String::new(), |name| format!("{name}@"));
            Some(format!("{function}{path}:{line}{column}"))
        }
        Place::Code { module, offset } => {
            let module = tables.modules.get(module.0 as usize)?;
            Some(code_name(&module.path, *offset))
        }
    }
}

/// The same of an instruction, by the path of its module.
pub fn code_name(path: &str, offset: u64) -> String {
    format!("{}+{offset:#x}", file_name(path))
}

/// The module of a place, if it is in one.
pub fn site_module(tables: &Tables, site: SiteId) -> Option<LearnedModule> {
    let Place::Code { module, .. } = tables.site(site)?.place else { return None };
    let module = tables.modules.get(module.0 as usize)?;
    let build_id: String = module.build_id.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(LearnedModule { name: file_name(&module.path).into(), build_id: build_id.into() })
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A place that regions know, as a small number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Mark(pub u32);

/// What regions say of places, by number: for all that follow a run.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    names: Vec<Box<str>>,
    numbers: FxHashMap<Box<str>, Mark>,
    by_mark: Vec<Marked>,
}

/// What regions say of one place.
#[derive(Clone, Debug, Default)]
pub struct Marked {
    /// A region is entered here.
    pub is_entry: bool,
    /// It is an outer one.
    pub is_outer: bool,
    /// The entries of the regions that are left here, in order.
    pub exit_of: Vec<Mark>,
}

impl Marks {
    /// The places of some regions.
    pub fn new(regions: &Regions) -> Self {
        let mut marks = Self::default();
        for (entry, region) in &regions.by_entry {
            let entry = marks.mark(entry);
            let marked = &mut marks.by_mark[entry.0 as usize];
            (marked.is_entry, marked.is_outer) = (true, region.outer);
            for exit in region.exits.keys() {
                let exit = marks.mark(exit);
                marks.by_mark[exit.0 as usize].exit_of.push(entry);
            }
        }
        for marked in &mut marks.by_mark {
            marked.exit_of.sort_unstable();
        }
        marks
    }

    fn mark(&mut self, name: &str) -> Mark {
        if let Some(&mark) = self.numbers.get(name) {
            return mark;
        }
        let mark = Mark(self.names.len() as u32);
        self.names.push(name.into());
        self.numbers.insert(name.into(), mark);
        self.by_mark.push(Marked::default());
        mark
    }

    /// The number of a named place, if any region knows it.
    pub fn find(&self, name: &str) -> Option<Mark> {
        self.numbers.get(name).copied()
    }

    /// How many places there are; their numbers are below that.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The name of a place.
    pub fn name(&self, mark: Mark) -> &str {
        &self.names[mark.0 as usize]
    }

    /// What is said of a place.
    #[inline]
    pub fn at(&self, mark: Mark) -> &Marked {
        &self.by_mark[mark.0 as usize]
    }
}

/// The marks of the sites of one run. A site's name is looked up once.
#[derive(Clone, Debug, Default)]
pub struct MarkedSites {
    by_site: Vec<u32>,
}

impl MarkedSites {
    /// The site was not looked up yet.
    const UNKNOWN: u32 = u32::MAX;
    /// No region knows the site.
    const PLAIN: u32 = u32::MAX - 1;

    /// The mark of a site, if any region knows it.
    #[inline]
    pub fn mark(&mut self, marks: &Marks, tables: &Tables, site: SiteId) -> Option<Mark> {
        match self.by_site.get(site.index()) {
            Some(&Self::PLAIN) => None,
            Some(&known) if known != Self::UNKNOWN => Some(Mark(known)),
            _ => self.look_up(marks, tables, site),
        }
    }

    #[cold]
    fn look_up(&mut self, marks: &Marks, tables: &Tables, site: SiteId) -> Option<Mark> {
        if !site.is_some() {
            return None;
        }
        let found = site_name(tables, site).and_then(|name| marks.find(&name));
        if self.by_site.len() <= site.index() {
            self.by_site.resize(site.index() + 1, Self::UNKNOWN);
        }
        self.by_site[site.index()] = found.map_or(Self::PLAIN, |mark| mark.0);
        found
    }
}

/// Where a thread is, as its marks tell: in no region, in one, or in one inside of an outer one.
///
/// Both ends of a region lie on accesses: [`Inside::before`] is asked before each, [`Inside::after`] after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Inside {
    outer: Option<Open>,
    inner: Option<Open>,
}

/// A region that a thread is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Open {
    /// Its entry.
    pub entry: Mark,
    /// How many exits of other regions were passed since it was entered.
    pub mismatches: u32,
}

/// What an access does to where its thread is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Crossing {
    /// Nothing.
    None,
    /// A region is entered; true if the thread was in an outer one, and still is.
    Entered {
        /// Inside of an outer region.
        within: bool,
    },
    /// The innermost region is left.
    Left,
    /// Too many exits of other regions were passed: the innermost region is given up.
    GivenUp,
}

impl Inside {
    /// The region that the next access belongs to.
    #[inline]
    pub fn innermost(&self) -> Option<Open> {
        self.inner.or(self.outer)
    }

    /// The outer region, if the thread is in one and in another inside of it.
    pub fn around(&self) -> Option<Open> {
        self.inner.and(self.outer)
    }

    /// An access comes.
    #[inline]
    pub fn before(&mut self, marks: &Marks, mark: Option<Mark>) -> Crossing {
        let Some(mark) = mark else { return Crossing::None };
        let marked = marks.at(mark);
        if !marked.is_entry || self.inner.is_some() {
            return Crossing::None;
        }
        let open = Some(Open { entry: mark, mismatches: 0 });
        match self.outer {
            None if marked.is_outer => self.outer = open,
            None => self.inner = open,
            // Its own entry, again: a loop inside of it.
            Some(outer) if outer.entry == mark || marked.is_outer => return Crossing::None,
            Some(_) => self.inner = open,
        }
        Crossing::Entered { within: self.around().is_some() }
    }

    /// The access is done. A region is given up after `limit` exits of other ones.
    #[inline]
    pub fn after(&mut self, marks: &Marks, mark: Option<Mark>, limit: u32) -> Crossing {
        let Some(mark) = mark else { return Crossing::None };
        let exit_of = &marks.at(mark).exit_of;
        let slot = if self.inner.is_some() { &mut self.inner } else { &mut self.outer };
        let Some(open) = slot else { return Crossing::None };
        if exit_of.is_empty() {
            return Crossing::None;
        }
        if exit_of.binary_search(&open.entry).is_ok() {
            *slot = None;
            return Crossing::Left;
        }
        open.mismatches += 1;
        if open.mismatches >= limit {
            *slot = None;
            return Crossing::GivenUp;
        }
        Crossing::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn regions(of: &[(&str, bool, &[&str])]) -> Regions {
        let mut regions = Regions::default();
        for &(entry, outer, exits) in of {
            let exits = exits.iter().map(|&exit| (exit.into(), Support::from([0]))).collect();
            regions.by_entry.insert(entry.into(), Region { outer, exits, thread_end: Support::new() });
        }
        regions
    }

    /// Where a thread is at each access of a path, as the entries of the regions around it.
    fn walk(regions: &Regions, limit: u32, path: &str) -> String {
        let marks = Marks::new(regions);
        let mut inside = Inside::default();
        let mut told = String::new();
        for name in path.split(' ') {
            let mark = marks.find(name);
            inside.before(&marks, mark);
            let open = [inside.around(), inside.innermost()].into_iter().flatten();
            let around: Vec<&str> = open.map(|open| marks.name(open.entry)).collect();
            told += &format!("{name}({}) ", around.join(","));
            inside.after(&marks, mark, limit);
        }
        told.trim_end().to_owned()
    }

    #[test]
    fn an_exit_belongs_to_its_entry() {
        let regions = regions(&[("a", false, &["c", "e"]), ("b", false, &["d"])]);
        assert_eq!(walk(&regions, 9, "a b c b c d"), "a(a) b(a) c(a) b(b) c(b) d(b)");
        assert_eq!(walk(&regions, 9, "x a d e e"), "x() a(a) d(a) e(a) e()");
    }

    #[test]
    fn a_region_of_one_access_is_entered_and_left_by_it() {
        let regions = regions(&[("a", false, &["a"])]);
        assert_eq!(walk(&regions, 9, "a x a"), "a(a) x() a(a)");
    }

    #[test]
    fn after_too_many_exits_of_others_a_region_is_given_up() {
        let regions = regions(&[("a", false, &["e"]), ("b", false, &["d"])]);
        assert_eq!(walk(&regions, 2, "a d d x"), "a(a) d(a) d(a) x()");
        assert_eq!(walk(&regions, 3, "a d d x"), "a(a) d(a) d(a) x(a)");
    }

    #[test]
    fn regions_inside_of_an_outer_one_have_their_accesses_for_themselves() {
        let regions = regions(&[("o", true, &["p"]), ("i", false, &["j"])]);
        assert_eq!(walk(&regions, 9, "o x i p j o p x"), "o(o) x(o) i(o,i) p(o,i) j(o,i) o(o) p(o) x()");
    }
}
