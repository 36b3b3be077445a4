//! The table `structure`: what the structures of runs with tasks cost to build and to ask.
//!
//! A child builds one structure and asks it in batches; it takes the time of each batch itself and tells the median,
//! because the kernel's figures for a whole child cannot be divided between building and asking.

use crate::child::run_to_end;
use crate::programs::Programs;
use crate::shapes::{Built, Shape};
use crate::table::{Table, count, goal, nothing};
use anyhow::{Context, Result, ensure};
use keirin_core::sptree::labels::Labels;
use keirin_core::sptree::ranks::Ranks;
use keirin_core::sptree::tree::Tree;
use keirin_core::sptree::verdicts::Verdicts;
use keirin_core::sptree::{Relation, StepId, Structure};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// How many steps ago an analysis has mostly seen what it meets again.
const RECENT: usize = 64;
/// How many questions are asked while a step is the present one.
const STAY: usize = 1000;
/// So many questions are timed together, unless they take long.
const BATCH: usize = 8000;
/// A batch should not take longer.
const LONG_BATCH: Duration = Duration::from_millis(20);
/// Each kind of question is asked for so long, on runs of full size.
const ASKING: Duration = Duration::from_millis(250);

/// What to measure.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How often everything is run.
    pub rounds: u32,
    /// How many times smaller than full the runs are.
    pub shrink: u32,
}

/// A structure, with a cache or without.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contestant {
    /// The tree in an array.
    Tree,
    /// The same with a cache.
    TreeWithCache,
    /// Labels.
    Labels,
    /// The same with a cache.
    LabelsWithCache,
    /// English and Hebrew ranks.
    Ranks,
}

impl Contestant {
    /// All contestants.
    pub const ALL: [Self; 5] =
        [Self::Tree, Self::TreeWithCache, Self::Labels, Self::LabelsWithCache, Self::Ranks];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::TreeWithCache => "tree+cache",
            Self::Labels => "labels",
            Self::LabelsWithCache => "labels+cache",
            Self::Ranks => "ranks",
        }
    }

    /// The contestant with a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|contestant| contestant.name() == name)
    }

    fn description(self) -> &'static str {
        match self {
            Self::Tree => "tree, walk to the common ancestor",
            Self::TreeWithCache => "the same with a cache of verdicts",
            Self::Labels => "labels",
            Self::LabelsWithCache => "the same with a cache of verdicts",
            Self::Ranks => "English and Hebrew ranks",
        }
    }

    /// Builds and asks. To be called in a child.
    pub fn measure(self, shape: Shape, shrink: u32) -> Figures {
        match self {
            Self::Tree => measure::<Tree>(shape, shrink, false),
            Self::TreeWithCache => measure::<Tree>(shape, shrink, true),
            Self::Labels => measure::<Labels>(shape, shrink, false),
            Self::LabelsWithCache => measure::<Labels>(shape, shrink, true),
            Self::Ranks => measure::<Ranks>(shape, shrink, false),
        }
    }
}

/// What a child found out.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Figures {
    /// Number of steps.
    pub steps: f64,
    /// Nanoseconds to build, for each step.
    pub build: f64,
    /// Bytes for each step.
    pub bytes: f64,
    /// Nanoseconds for a question about the present step and one of the last few.
    pub recent: f64,
    /// Nanoseconds for a question about the present step and any earlier one.
    pub earlier: f64,
    /// Nanoseconds for a question about any two steps.
    pub any: f64,
}

impl Figures {
    fn fields(&self) -> [f64; 6] {
        [self.steps, self.build, self.bytes, self.recent, self.earlier, self.any]
    }

    /// As a line for whoever started the child.
    pub fn line(&self) -> String {
        self.fields().map(|field| field.to_string()).join(" ") + "\n"
    }

    fn from_line(line: &str) -> Result<Self> {
        let fields: Vec<f64> = line
            .split_whitespace()
            .map(str::parse)
            .collect::<Result<_, _>>()
            .with_context(|| format!("a child printed `{}`", line.trim()))?;
        ensure!(fields.len() == 6, "a child printed `{}`", line.trim());
        let [steps, build, bytes, recent, earlier, any] = std::array::from_fn(|field| fields[field]);
        Ok(Self { steps, build, bytes, recent, earlier, any })
    }

    fn best(self, other: Self) -> Self {
        let (one, other) = (self.fields(), other.fields());
        let [steps, build, bytes, recent, earlier, any] =
            std::array::from_fn(|field| one[field].min(other[field]));
        Self { steps, build, bytes, recent, earlier, any }
    }
}

/// Measures all structures on all shapes.
pub fn tables(programs: &Programs, settings: &Settings, mut print: impl FnMut(&str)) -> Result<()> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    for shape in Shape::ALL {
        let mut best: [Option<Figures>; Contestant::ALL.len()] = Default::default();
        for _ in 0..settings.rounds {
            for (contestant, best) in Contestant::ALL.into_iter().zip(&mut best) {
                let mut command = programs.structure(shape.name(), contestant.name(), settings.shrink);
                let cost = run_to_end(&mut command, folder.path())?;
                let figures = Figures::from_line(&cost.output)?;
                *best = Some(best.map_or(figures, |best| best.best(figures)));
            }
        }
        print(&table(shape, &best.map(Option::unwrap_or_default)));
    }
    Ok(())
}

fn table(shape: Shape, best: &[Figures]) -> String {
    let mut table = Table::new(&[
        "structure",
        "build, ns/step",
        "bytes/step",
        "present and recent, ns",
        "present and earlier, ns",
        "any two, ns",
        "goal",
    ]);
    let most = if shape == Shape::Nested { 60.0 } else { 10.0 };
    for (contestant, figures) in Contestant::ALL.into_iter().zip(best) {
        let judged = matches!(contestant, Contestant::Labels | Contestant::Ranks);
        let judgement = goal(&format!("recent ≤ {most} ns"), figures.recent <= most);
        table.row(vec![
            contestant.description().to_owned(),
            nanoseconds(figures.build),
            format!("{:.1}", figures.bytes),
            nanoseconds(figures.recent),
            nanoseconds(figures.earlier),
            nanoseconds(figures.any),
            if judged { judgement } else { nothing() },
        ]);
    }
    let steps = count(best.iter().map(|figures| figures.steps as u64).max().unwrap_or(0));
    format!("### `{}`: {}\n\n{steps} steps.\n\n{table}\n", shape.name(), shape.description())
}

fn nanoseconds(value: f64) -> String {
    if value < 100.0 { format!("{value:.1}") } else { count(value as u64) }
}

fn measure<S: Structure>(shape: Shape, shrink: u32, cached: bool) -> Figures {
    let started = Instant::now();
    let built = shape.build::<S>(shrink);
    let build = started.elapsed().as_nanos() as f64;
    let steps = built.structure.steps() as f64;
    let bytes = built.structure.bytes() as f64 / steps;
    let mut random = Random(1);
    let asking = ASKING / shrink;
    let [recent, earlier, any] = [Kind::Recent, Kind::Earlier, Kind::Any].map(|kind| {
        let mut verdicts = Verdicts::default();
        if cached {
            ask(&built, kind, asking, &mut random, |past, present| {
                verdicts.relation(&built.structure, past, present)
            })
        } else {
            ask(&built, kind, asking, &mut random, |past, present| built.structure.relation(past, present))
        }
    });
    Figures { steps, build: build / steps, bytes, recent, earlier, any }
}

#[derive(Clone, Copy)]
enum Kind {
    Recent,
    Earlier,
    Any,
}

/// Asks in batches and gives the median time of a question, in nanoseconds.
fn ask<S: Structure>(
    built: &Built<S>,
    kind: Kind,
    long: Duration,
    random: &mut Random,
    mut relation: impl FnMut(StepId, StepId) -> Relation,
) -> f64 {
    let started = Instant::now();
    let mut size = 8;
    let mut times = Vec::new();
    let mut present = 0;
    while times.len() < 3 || started.elapsed() < long {
        let pairs: Vec<(StepId, StepId)> = (0..size)
            .map(|index| {
                if index % STAY == 0 || matches!(kind, Kind::Any) {
                    present = 1 + random.below(built.steps.len() - 1);
                }
                let past = match kind {
                    Kind::Recent => present - 1 - random.below(RECENT.min(present)),
                    Kind::Earlier => random.below(present),
                    Kind::Any => random.below(built.steps.len()),
                };
                (built.steps[past], built.steps[present])
            })
            .collect();
        let asking = Instant::now();
        let mut parallel = 0u64;
        for &(past, present) in &pairs {
            parallel += u64::from(relation(past, present).is_parallel());
        }
        black_box(parallel);
        let time = asking.elapsed();
        if size < BATCH && time < LONG_BATCH / 4 {
            // Not worth a batch yet.
            size = (size * 4).min(BATCH);
        } else {
            times.push(time.as_nanos() as f64 / size as f64);
        }
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// SplitMix64: the same questions each time.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ mixed >> 31) % bound as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_come_back_from_a_child() {
        let figures = Figures { steps: 9.0, build: 1.5, bytes: 32.0, recent: 3.25, earlier: 4.0, any: 5.0 };
        assert_eq!(Figures::from_line(&figures.line()).expect("a line of figures"), figures);
        assert!(Figures::from_line("1 2 3").is_err());
    }
}
