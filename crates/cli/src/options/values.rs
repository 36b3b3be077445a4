//! The types of options: how each is read from text.

use crate::atomic::{Rule, pattern};
use keirin_core::analysis::atomtracker::hardware::CacheShape;
use keirin_core::analysis::atomtracker::hardware::signature::Hash;
use keirin_core::generate::{Discipline, Family, PlanError};
use regex::Regex;
use std::num::{IntErrorKind, ParseIntError};
use std::path::PathBuf;

/// A type of option.
pub(crate) trait Setting: Sized {
    /// The value before any default.
    fn unset() -> Self;

    /// Takes a value from text; a list takes one more.
    fn assign(&mut self, text: &str) -> Result<(), String>;
}

impl Setting for bool {
    fn unset() -> Self {
        false
    }

    fn assign(&mut self, text: &str) -> Result<(), String> {
        *self = match text {
            "true" | "yes" | "on" | "1" => true,
            "false" | "no" | "off" | "0" => false,
            other => return Err(format!("`{other}` is neither `true` nor `false`")),
        };
        Ok(())
    }
}

fn number(text: &str) -> Result<u64, String> {
    // People write 10_000_000 and mean it.
    text.replace('_', "").parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => format!("`{text}` is too large"),
        _ => format!("`{text}` is not a whole number"),
    })
}

impl Setting for u64 {
    fn unset() -> Self {
        0
    }

    fn assign(&mut self, text: &str) -> Result<(), String> {
        *self = number(text)?;
        Ok(())
    }
}

impl Setting for Option<u64> {
    fn unset() -> Self {
        None
    }

    fn assign(&mut self, text: &str) -> Result<(), String> {
        *self = Some(number(text)?);
        Ok(())
    }
}

impl Setting for f64 {
    fn unset() -> Self {
        0.0
    }

    fn assign(&mut self, text: &str) -> Result<(), String> {
        *self = text
            .parse()
            .ok()
            .filter(|share| (0.0..=1.0).contains(share))
            .ok_or_else(|| format!("`{text}` is not a number from 0 to 1"))?;
        Ok(())
    }
}

fn path(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() { Err("the name is empty".to_owned()) } else { Ok(PathBuf::from(text)) }
}

impl Setting for Option<PathBuf> {
    fn unset() -> Self {
        None
    }

    fn assign(&mut self, text: &str) -> Result<(), String> {
        *self = Some(path(text)?);
        Ok(())
    }
}

impl Setting for Vec<PathBuf> {
    fn unset() -> Self {
        Vec::new()
    }

    fn assign(&mut self, text: &str) -> Result<(), String> {
        self.push(path(text)?);
        Ok(())
    }
}

impl Setting for Vec<Rule> {
    fn unset() -> Self {
        Vec::new()
    }

    fn assign(&mut self, text: &str) -> Result<(), String> {
        self.push(Rule::parse(text.trim())?);
        Ok(())
    }
}

impl Setting for Vec<Regex> {
    fn unset() -> Self {
        Vec::new()
    }

    fn assign(&mut self, text: &str) -> Result<(), String> {
        self.push(pattern(text)?);
        Ok(())
    }
}

/// An option with a fixed set of values.
macro_rules! choice {
    ($(#[$doc:meta])* $name:ident: $first:ident = $first_text:literal $(, $variant:ident = $text:literal)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub(crate) enum $name {
            $first,
            $($variant,)*
        }

        impl $name {
            pub(crate) const NAMES: &[&str] = &[$first_text $(, $text)*];

            /// The name that users type.
            #[allow(dead_code)] // not every choice is printed
            pub(crate) fn text(self) -> &'static str {
                Self::NAMES[self as usize]
            }

            pub(crate) fn from_name(text: &str) -> Result<Self, String> {
                match text {
                    $first_text => Ok(Self::$first),
                    $($text => Ok(Self::$variant),)*
                    other => Err(format!("`{other}` is none of {}", Self::NAMES.join(", "))),
                }
            }
        }

        impl Setting for $name {
            fn unset() -> Self {
                Self::$first
            }

            fn assign(&mut self, text: &str) -> Result<(), String> {
                *self = Self::from_name(text)?;
                Ok(())
            }
        }

        impl Setting for Option<$name> {
            fn unset() -> Self {
                None
            }

            fn assign(&mut self, text: &str) -> Result<(), String> {
                *self = Some($name::from_name(text)?);
                Ok(())
            }
        }
    };
}

choice!(
    /// An analysis by name.
    AnalysisName: Velodrome = "velodrome", Aerodrome = "aerodrome", FastTrack = "fasttrack", Eraser = "eraser",
        Atomizer = "atomizer", Empty = "empty", Spd3 = "spd3", PtRacer = "ptracer", AllSets = "all-sets",
        TaskAtomicity = "task-atomicity"
);

impl AnalysisName {
    /// True for those that look at tasks, and so at other schedules.
    pub(crate) fn is_of_tasks(self) -> bool {
        use AnalysisName::{AllSets, PtRacer, Spd3, TaskAtomicity};
        matches!(self, Spd3 | PtRacer | AllSets | TaskAtomicity)
    }

    /// True for those of which there is a published algorithm beside ours.
    pub(crate) fn has_published(self) -> bool {
        matches!(self, AnalysisName::Velodrome | AnalysisName::PtRacer | AnalysisName::TaskAtomicity)
    }
}

choice!(
    /// Where threads are made to wait.
    Adversary: All = "all", Writes = "writes", SpareOne = "spare-one"
);

/// A number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Size(pub(crate) u64);

impl Size {
    fn parse(text: &str) -> Result<Self, String> {
        let (digits, unit) = match text.char_indices().last() {
            Some((at, letter)) if letter.is_ascii_alphabetic() => (&text[..at], letter.to_ascii_uppercase()),
            _ => (text, 'B'),
        };
        let shift = match unit {
            'B' => 0,
            'K' => 10,
            'M' => 20,
            'G' => 30,
            'T' => 40,
            _ => return Err(format!("`{text}` is no size: write 500M or 4G")),
        };
        let bytes = number(digits).map_err(|_| format!("`{text}` is no size: write 500M or 4G"))?;
        let bytes = bytes.checked_mul(1 << shift).filter(|bytes| *bytes > 0);
        Ok(Self(bytes.ok_or_else(|| format!("`{text}` is too large, or nothing"))?))
    }
}

impl Setting for Option<Size> {
    fn unset() -> Self {
        None
    }

    fn assign(&mut self, text: &str) -> Result<(), String> {
        *self = Some(Size::parse(text)?);
        Ok(())
    }
}

/// A cache of the modelled machine, written as `32K:4:2`: its size, its ways, and the cycles that it takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cache(pub(crate) CacheShape);

impl Setting for Cache {
    fn unset() -> Self {
        Self(CacheShape { bytes: 0, ways: 0, cycles: 0 })
    }

    fn assign(&mut self, text: &str) -> Result<(), String> {
        let parts: Vec<&str> = text.split(':').collect();
        let [size, ways, cycles] = parts[..] else {
            return Err(format!("`{text}` is no cache: write its size, ways and cycles, as in 32K:4:2"));
        };
        let small = |text: &str| {
            u32::try_from(number(text)?).map_err(|_| format!("`{text}` is more than any cache has"))
        };
        self.0 = CacheShape { bytes: Size::parse(size)?.0, ways: small(ways)?, cycles: small(cycles)? };
        Ok(())
    }
}

impl Setting for Hash {
    fn unset() -> Self {
        Self::default()
    }

    fn assign(&mut self, text: &str) -> Result<(), String> {
        *self = text.parse()?;
        Ok(())
    }
}

choice!(
    /// What must be whole.
    Check: Annotated = "annotated", Functions = "functions", Steps = "steps", Gaps = "gaps"
);
choice!(
    /// Which structure tells what may run in parallel.
    StructureName: Ranks = "ranks", Labels = "labels", Tree = "tree"
);
choice!(
    /// Something that has a default of its own, or is on or off.
    Switch: On = "on", Off = "off"
);
choice!(
    /// Whose algorithms.
    Algorithm: Keirin = "keirin", Published = "published"
);
choice!(
    /// How a report looks.
    Format: Terminal = "terminal", Json = "json", Sarif = "sarif", Dot = "dot"
);
choice!(
    /// When a report has colours.
    ColorChoice: Auto = "auto", Always = "always", Never = "never"
);
choice!(
    /// When something is shown.
    When: Auto = "auto", Always = "always", Never = "never"
);
choice!(
    /// A format of traces.
    TraceFormat: Std = "std", Ktrace = "ktrace"
);

/// The names of a list, each once, in the order given.
fn names<T: PartialEq>(text: &str, from_name: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
    let mut names = Vec::new();
    for name in text.split(',') {
        let name = from_name(name.trim())?;
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Ok(names)
}

/// The analyses of a run, in the order given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Analyses(pub(crate) Vec<AnalysisName>);

impl Setting for Analyses {
    fn unset() -> Self {
        Self(Vec::new())
    }

    fn assign(&mut self, text: &str) -> Result<(), String> {
        self.0 = names(text, AnalysisName::from_name)?;
        Ok(())
    }
}

/// All that must be whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Checks(pub(crate) Vec<Check>);

impl Setting for Checks {
    fn unset() -> Self {
        Self(Vec::new())
    }

    fn assign(&mut self, text: &str) -> Result<(), String> {
        self.0 = names(text, Check::from_name)?;
        Ok(())
    }
}

impl Setting for Family {
    fn unset() -> Self {
        Family::FewThreads
    }

    fn assign(&mut self, text: &str) -> Result<(), String> {
        *self = text.parse().map_err(|error: PlanError| error.to_string())?;
        Ok(())
    }
}

impl Setting for Option<Discipline> {
    fn unset() -> Self {
        None
    }

    fn assign(&mut self, text: &str) -> Result<(), String> {
        *self = Some(text.parse().map_err(|error: PlanError| error.to_string())?);
        Ok(())
    }
}
