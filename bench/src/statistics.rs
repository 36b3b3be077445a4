//! The figures that `keirin check --stats` and `keirin run --stats` print.

/// Standard error of `keirin` with `--stats`.
pub(crate) struct Statistics(pub(crate) String);

impl Statistics {
    /// The figure of an analysis with a name.
    pub(crate) fn get(&self, name: &str) -> Option<u64> {
        let figure = |line: &str| {
            let (before, value) = line.rsplit_once(": ")?;
            let (_, found) = before.rsplit_once(": ")?;
            if found == name { value.trim().parse().ok() } else { None }
        };
        self.0.lines().find_map(figure)
    }

    /// A figure of the line about the whole run, by the word after it: `accesses`, `locks`.
    pub(crate) fn of_run(&self, name: &str) -> Option<u64> {
        let line = self.0.lines().find(|line| line.contains(" accesses, "))?;
        let (_, figures) = line.rsplit_once(": ")?;
        figures.split(", ").find_map(|part| part.strip_suffix(name)?.strip_suffix(' ')?.parse().ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_from_messages() {
        let text = "keirin: a: b.ktrace: 1000056 events, 579333 accesses, 4 threads\n\
                    keirin: a: b.ktrace: ptracer: locations: 4092\n\
                    keirin: a: b.ktrace: ptracer: bytes about locations: 289168\n";
        let statistics = Statistics(text.to_owned());
        assert_eq!(statistics.of_run("events"), Some(1_000_056));
        assert_eq!(statistics.of_run("accesses"), Some(579_333));
        assert_eq!(statistics.of_run("locks"), None);
        assert_eq!(statistics.get("locations"), Some(4092));
        assert_eq!(statistics.get("bytes about locations"), Some(289_168));
        assert_eq!(statistics.get("questions"), None);
    }
}
