//! Any choice of the analyses of threads, as one type, for many threads at once: what the runtime runs unless it has a
//! leaner way for the choice at hand.

use super::aerodrome::AeroDrome;
use super::atomizer::Atomizer;
use super::eraser::Eraser;
use super::fasttrack::FastTrack;
use super::global::Shared;
use super::maybe::Maybe;
use super::velodrome::Velodrome;
use super::velodrome::reach::Reach;

/// Each analysis, on or off. Pairs of pairs.
pub type Any = (
    Maybe<Velodrome<Reach, Shared>>,
    (Maybe<AeroDrome<Shared>>, (Maybe<FastTrack>, (Maybe<Eraser<Shared>>, Maybe<Atomizer<Shared>>))),
);

/// Which analyses are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Choice {
    /// See [`super::velodrome`].
    pub velodrome: bool,
    /// See [`super::aerodrome`].
    pub aerodrome: bool,
    /// See [`super::fasttrack`].
    pub fasttrack: bool,
    /// See [`super::eraser`].
    pub eraser: bool,
    /// See [`super::atomizer`].
    pub atomizer: bool,
}

impl Choice {
    /// The names of the analyses, in the order in which each event is told to them.
    pub const NAMES: [&'static str; 5] = ["velodrome", "aerodrome", "fasttrack", "eraser", "atomizer"];

    /// Adds an analysis by its name. False if there is none of this name.
    pub fn add(&mut self, name: &str) -> bool {
        let wanted = match name {
            "velodrome" => &mut self.velodrome,
            "aerodrome" => &mut self.aerodrome,
            "fasttrack" => &mut self.fasttrack,
            "eraser" => &mut self.eraser,
            "atomizer" => &mut self.atomizer,
            _ => return false,
        };
        *wanted = true;
        true
    }

    /// The choice of a list of names with commas between them. An error is the first name that is not known.
    pub fn from_names(names: &str) -> Result<Self, String> {
        let mut choice = Self::default();
        for name in names.split(',').filter(|name| !name.is_empty()) {
            if !choice.add(name) {
                return Err(name.to_owned());
            }
        }
        Ok(choice)
    }

    /// The analyses that were chosen.
    pub fn analysis(self) -> Any {
        (
            Maybe::new(self.velodrome, || Velodrome::shared(Reach::default())),
            (
                Maybe::new(self.aerodrome, AeroDrome::shared),
                (
                    Maybe::new(self.fasttrack, FastTrack::exact),
                    (Maybe::new(self.eraser, Eraser::shared), Maybe::new(self.atomizer, Atomizer::shared)),
                ),
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{Analysis, Online};

    #[test]
    fn a_choice_is_made_by_names() {
        let both = Choice { velodrome: true, eraser: true, ..Choice::default() };
        assert_eq!(Choice::from_names("eraser,velodrome"), Ok(both));
        assert_eq!(Choice::from_names(""), Ok(Choice::default()));
        assert_eq!(Choice::from_names("eraser,empty"), Err("empty".to_owned()));
        let all = Choice::from_names(&Choice::NAMES.join(",")).unwrap().analysis();
        let on = (
            (all.0.get().is_some(), all.1.0.get().is_some(), all.1.1.0.get().is_some()),
            (all.1.1.1.0.get().is_some(), all.1.1.1.1.get().is_some()),
        );
        assert_eq!(on, ((true, true, true), (true, true)));
    }

    #[test]
    fn what_is_off_costs_a_word_and_many_threads_may_use_it() {
        fn states<A: Online>() -> [usize; 3] {
            [size_of::<A::Thread>(), size_of::<A::Cell>(), size_of::<A::Sync>()]
        }
        assert_eq!(states::<Any>(), [5 * size_of::<usize>(); 3]);
        assert!(Any::default().is_decided() && Any::default().statistics().is_empty());
    }
}
