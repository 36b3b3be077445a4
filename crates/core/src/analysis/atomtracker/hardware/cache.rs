//! One cache: sets of lines, of which the least recently used makes room.

/// A cache whose lines carry something: a state, or nothing but their presence.
#[derive(Clone, Debug)]
pub(super) struct Cache<L> {
    /// Each set in the order of use, the latest first.
    sets: Vec<Vec<(u64, L)>>,
    ways: usize,
}

impl<L> Cache<L> {
    /// An empty cache.
    pub(super) fn new(sets: usize, ways: usize) -> Self {
        Self { sets: (0..sets).map(|_| Vec::new()).collect(), ways }
    }

    fn set(&mut self, line: u64) -> &mut Vec<(u64, L)> {
        let index = line % self.sets.len() as u64;
        &mut self.sets[index as usize]
    }

    /// The line, if it is there; it is the latest used then.
    pub(super) fn touch(&mut self, line: u64) -> Option<&mut L> {
        let set = self.set(line);
        let at = set.iter().position(|&(number, _)| number == line)?;
        set[..=at].rotate_right(1);
        set.first_mut().map(|(_, content)| content)
    }

    /// The line, if it is there; for others than who uses it.
    pub(super) fn look(&mut self, line: u64) -> Option<&mut L> {
        self.set(line).iter_mut().find(|(number, _)| *number == line).map(|(_, content)| content)
    }

    /// Puts in a line that is not there, as the latest used. What had to make room is given back.
    pub(super) fn insert(&mut self, line: u64, content: L) -> Option<(u64, L)> {
        let ways = self.ways;
        let set = self.set(line);
        let evicted = if set.len() >= ways { set.pop() } else { None };
        set.insert(0, (line, content));
        evicted
    }

    /// Takes a line out, if it is there.
    pub(super) fn remove(&mut self, line: u64) -> Option<L> {
        let set = self.set(line);
        let at = set.iter().position(|&(number, _)| number == line)?;
        Some(set.remove(at).1)
    }

    /// All lines, in no order.
    #[cfg(test)]
    pub(super) fn lines(&self) -> impl Iterator<Item = (u64, &L)> {
        self.sets.iter().flatten().map(|(line, content)| (*line, content))
    }
}
