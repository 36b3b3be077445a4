//! The sites of one run as small numbers, one for each name.

use super::super::regions::{LearnedModule, site_module, site_name};
use crate::event::SiteId;
use crate::trace::{Place, Tables};
use rustc_hash::FxHashMap;

/// A site by its name. Two sites of a run with the same name are one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Key(pub(super) u32);

impl Key {
    /// The trace tells no place.
    pub(super) const NONE: Key = Key(u32::MAX);

    pub(super) fn is_some(self) -> bool {
        self != Self::NONE
    }

    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The keys of a run. They stay when its trace is read again.
#[derive(Clone, Debug, Default)]
pub(super) struct Keys {
    by_site: Vec<u32>,
    numbers: FxHashMap<Box<str>, Key>,
    named: Vec<Named>,
}

#[derive(Clone, Debug)]
struct Named {
    name: Box<str>,
    /// It is one instruction, not a line with perhaps many.
    exact: bool,
    module: Option<LearnedModule>,
    path: Option<Box<str>>,
}

impl Keys {
    const UNKNOWN: u32 = u32::MAX - 1;

    /// The key of a site.
    #[inline]
    pub(super) fn of_site(&mut self, tables: &Tables, site: SiteId) -> Key {
        match self.by_site.get(site.index()) {
            Some(&known) if known != Self::UNKNOWN => Key(known),
            _ => self.look_up(tables, site),
        }
    }

    #[cold]
    fn look_up(&mut self, tables: &Tables, site: SiteId) -> Key {
        if !site.is_some() || site.index() >= tables.sites.len() {
            return Key::NONE;
        }
        let key = site_name(tables, site).map_or(Key::NONE, |name| {
            let key = self.of_name(&name);
            let place = tables.site(site).map(|site| &site.place);
            if let Some(&Place::Code { module, .. }) = place {
                let named = &mut self.named[key.index()];
                named.exact = true;
                named.module = site_module(tables, site);
                named.path = tables.modules.get(module.0 as usize).map(|module| module.path.clone());
            }
            key
        });
        if self.by_site.len() <= site.index() {
            self.by_site.resize(site.index() + 1, Self::UNKNOWN);
        }
        self.by_site[site.index()] = key.0;
        key
    }

    /// The key of a name.
    pub(super) fn of_name(&mut self, name: &str) -> Key {
        if let Some(&key) = self.numbers.get(name) {
            return key;
        }
        let key = Key(self.named.len() as u32);
        self.numbers.insert(name.into(), key);
        self.named.push(Named { name: name.into(), exact: false, module: None, path: None });
        key
    }

    pub(super) fn name(&self, key: Key) -> &str {
        &self.named[key.index()].name
    }

    /// True if the key is that of one instruction.
    pub(super) fn is_exact(&self, key: Key) -> bool {
        self.named[key.index()].exact
    }

    /// The module of a key, with the path of its file.
    pub(super) fn module(&self, key: Key) -> Option<(&LearnedModule, &str)> {
        let named = &self.named[key.index()];
        Some((named.module.as_ref()?, named.path.as_deref()?))
    }

    /// How many keys there are.
    pub(super) fn len(&self) -> usize {
        self.named.len()
    }
}
