//! `keirin simulate`: the run of a trace on a multicore that looks for torn regions in hardware.

use super::Exit;
use super::detect::Learned;
use crate::input;
use crate::options::{Format, Options};
use crate::output::{Output, tolerate_closed};
use crate::progress::{Progress, Unit};
use crate::regions;
use crate::report::text::printable;
use anyhow::{Context, Result, anyhow, bail};
use keirin_core::analysis::atomtracker::follow::Follow;
use keirin_core::analysis::atomtracker::hardware::signature::Shape;
use keirin_core::analysis::atomtracker::hardware::simulate::{
    Origin, Simulated, Simulator, different, simulate,
};
use keirin_core::analysis::atomtracker::hardware::{Alarm, Configuration, Cost, Instance};
use keirin_core::analysis::atomtracker::regions::{Mark, Marks, Regions, site_name};
use keirin_core::trace::{Source, TraceError};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

/// So many alarms are shown; the counts are of all.
const MOST_SHOWN: usize = 20;

/// Simulates the runs of some traces.
pub(crate) fn run(names: &[PathBuf], options: &Options) -> Result<Exit> {
    input::check_names(names)?;
    if !matches!(options.format, Format::Terminal | Format::Json) {
        bail!("--format {}: a simulation is told as `terminal` or `json`", options.format.text());
    }
    let Some(path) = &options.regions else {
        bail!(
            "--regions says which regions the hardware looks at: name a file that `keirin infer` has written"
        );
    };
    let regions = regions::load(path)?;
    let configuration = configuration(options)?;
    Output::check(options.output.as_deref())?;
    let mut told = Vec::new();
    let mut exit = Exit::Clean;
    for name in names {
        match simulate_one(name, &regions, &configuration, options) {
            Ok(one) => told.push(one),
            Err(error) => {
                crate::complain(&format!("{error:#}"));
                exit = Exit::Failed;
            }
        }
    }
    if exit == Exit::Clean && told.iter().any(|one| one.alarms.signatures.all > 0) {
        exit = Exit::Findings;
    }
    let text = match options.format {
        Format::Json => serde_json::to_string_pretty(&told).context("cannot write the report")? + "\n",
        _ => told.iter().map(Told::text).collect::<Vec<_>>().join("\n"),
    };
    let mut out = Output::open(options.output.as_deref())?;
    tolerate_closed(out.write_all(text.as_bytes())).context("cannot write the report")?;
    out.finish()?;
    Ok(exit)
}

/// The machine that the options describe.
fn configuration(options: &Options) -> Result<Configuration> {
    let small = |value: u64, option: &str| {
        u32::try_from(value).map_err(|_| anyhow!("--{option} {value} is more than any machine has"))
    };
    let usual = Configuration::default();
    let configuration = Configuration {
        cores: small(options.cores, "cores")?,
        line: small(options.cache_line, "cache-line")?,
        l1: options.l1.0,
        l2: options.l2.0,
        memory: small(options.memory_cycles, "memory-cycles")?,
        bus_bytes_per_cycle: small(options.bus_bytes, "bus-bytes")?,
        signature: Shape {
            bits: small(options.signature_bits, "signature-bits")?,
            physical: small(options.signature_parts, "signature-parts")?,
            hash: options.signature_hash,
            ..usual.signature
        },
        shadows: small(options.shadows, "shadows")?,
        ..usual
    };
    configuration.check().map_err(anyhow::Error::msg)?;
    Ok(configuration)
}

fn simulate_one(
    name: &Path,
    regions: &Regions,
    configuration: &Configuration,
    options: &Options,
) -> Result<Told> {
    let mut input = input::open(name, options.lenient, false)?;
    let mut progress = Progress::new(options.progress, "simulating", input.bytes, Unit::Bytes);
    let limit = u32::try_from(options.mismatches).unwrap_or(u32::MAX);
    let learned = Learned::new(regions);
    let mut source = Follow::new(&mut *input.source, &learned.marks, limit);
    let mut simulator = Simulator::new(configuration).map_err(anyhow::Error::msg)?;
    simulate(&mut source, &mut simulator, |consumed| progress.at(consumed))
        .with_context(|| input.name.clone())?;
    let given_up = source.followed().given_up;
    drop(progress);
    let simulated = simulator.finish();
    if simulated.events == 0 {
        return Err(anyhow::Error::from(TraceError::Empty).context(input.name));
    }
    let mut notes = learned.rebuilt(input.source.tables());
    if simulated.regions == 0 {
        notes.push(
            "none of the regions was entered; is it a run of the program that they were learned from?"
                .to_owned(),
        );
    }
    notes.extend(input.source.loss().map(ToString::to_string));
    let names = Names { regions, marks: &learned.marks, source: &*input.source };
    Ok(Told { regions_given_up: given_up, notes, ..Told::new(&input.name, &simulated, &names) })
}

/// What makes names of numbers.
struct Names<'a> {
    regions: &'a Regions,
    marks: &'a Marks,
    source: &'a dyn Source,
}

impl Names<'_> {
    fn entry(&self, instance: &Instance) -> Entry {
        let name = self.marks.name(Mark(instance.region.0));
        let at = self.regions.places.get(name).map(|place| place.to_string());
        Entry { thread: self.source.tables().thread_name(instance.thread), entry: name.to_owned(), at }
    }
}

/// What is told of one trace.
#[derive(Serialize)]
struct Told {
    trace: String,
    events: u64,
    accesses: u64,
    regions_entered: u64,
    regions_given_up: u64,
    alarms: ByDetector,
    /// How many alarms of the signatures there are of each origin.
    origins: BTreeMap<&'static str, u64>,
    shared_shadows: u64,
    cycles: Compared,
    bytes: Compared,
    addresses_told: u64,
    /// What the unit of positions is.
    unit: &'static str,
    list: Vec<ToldAlarm>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct ByDetector {
    software: Counted,
    unbounded: Counted,
    signatures: Counted,
}

/// Alarms, each pair of executions once; and pairs of regions of the program.
#[derive(Serialize)]
struct Counted {
    all: u64,
    different: u64,
}

#[derive(Serialize)]
struct Compared {
    without: u64,
    with: u64,
}

#[derive(Serialize)]
struct ToldAlarm {
    detector: &'static str,
    position: u64,
    site: Option<String>,
    address: u64,
    acting: Entry,
    others: Vec<Entry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<&'static str>,
}

#[derive(Serialize)]
struct Entry {
    thread: String,
    entry: String,
    at: Option<String>,
}

impl Entry {
    fn text(&self) -> String {
        format!("{} in the region of {}", self.thread, self.at.as_deref().unwrap_or(&self.entry))
    }
}

fn counted(alarms: &[Alarm]) -> Counted {
    Counted { all: alarms.len() as u64, different: different(alarms) as u64 }
}

impl Told {
    fn new(trace: &str, simulated: &Simulated, names: &Names<'_>) -> Self {
        let tell = |alarm: &Alarm, detector, origin: Option<Origin>| ToldAlarm {
            detector,
            position: alarm.position,
            site: site_name(names.source.tables(), alarm.site),
            address: alarm.address,
            acting: names.entry(&alarm.acting),
            others: alarm.others.iter().map(|other| names.entry(other)).collect(),
            origin: origin.map(Origin::name),
        };
        let found = simulated.origins();
        let mut origins: BTreeMap<&str, u64> = Origin::ALL.map(|origin| (origin.name(), 0)).into();
        for origin in &found {
            *origins.entry(origin.name()).or_default() += 1;
        }
        let of_signatures = simulated.signatures.iter().zip(found);
        let list = (simulated.software.iter().map(|alarm| tell(alarm, "software", None)))
            .chain(simulated.unbounded.iter().map(|alarm| tell(alarm, "unbounded", None)))
            .chain(of_signatures.map(|(alarm, origin)| tell(alarm, "signatures", Some(origin))));
        let compared =
            |of: fn(&Cost) -> u64| Compared { without: of(&simulated.plain), with: of(&simulated.watched) };
        Self {
            trace: trace.to_owned(),
            events: simulated.events,
            accesses: simulated.accesses,
            regions_entered: simulated.regions,
            regions_given_up: 0,
            alarms: ByDetector {
                software: counted(&simulated.software),
                unbounded: counted(&simulated.unbounded),
                signatures: counted(&simulated.signatures),
            },
            origins,
            shared_shadows: simulated.shared_shadows,
            cycles: compared(|cost| cost.cycles),
            bytes: compared(|cost| cost.bytes),
            addresses_told: simulated.watched.told,
            unit: names.source.unit().noun(),
            list: list.collect(),
            notes: Vec::new(),
        }
    }

    fn text(&self) -> String {
        let mut text = format!("{}\n", printable(&self.trace));
        // Writing to a string cannot fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        let mut row = |what: &str, number: u64| writeln!(text, "  {what:<34}{number:>14}");
        row("events", self.events)?;
        row("accesses", self.accesses)?;
        row("regions entered", self.regions_entered)?;
        if self.regions_given_up > 0 {
            row("regions given up", self.regions_given_up)?;
        }
        writeln!(text, "  {:<34}{:>14}{:>14}", "torn regions", "all", "different")?;
        let detectors = [
            ("exact software", &self.alarms.software),
            ("hardware, unbounded buffer", &self.alarms.unbounded),
            ("hardware, signatures", &self.alarms.signatures),
        ];
        for (name, counted) in detectors {
            writeln!(text, "    {name:<32}{:>14}{:>14}", counted.all, counted.different)?;
        }
        writeln!(text, "  alarms of the signatures by source")?;
        for origin in Origin::ALL {
            let count = self.origins.get(origin.name()).copied().unwrap_or(0);
            writeln!(text, "    {:<32}{count:>14}", origin.name())?;
        }
        writeln!(text, "  {:<34}{:>14}{:>14}", "cost", "without", "with")?;
        for (name, compared) in [("cycles", &self.cycles), ("bytes on the bus", &self.bytes)] {
            let more = compared.with.saturating_sub(compared.without);
            let share = 100.0 * more as f64 / compared.without.max(1) as f64;
            writeln!(
                text,
                "    {name:<32}{:>14}{:>14}  +{more} ({share:.1} %)",
                compared.without, compared.with
            )?;
        }
        writeln!(text, "    {:<32}{:>28}", "first accesses told", self.addresses_told)?;
        let shown: Vec<&ToldAlarm> = self.list.iter().filter(|alarm| alarm.origin.is_some()).collect();
        for alarm in shown.iter().take(MOST_SHOWN) {
            let others: Vec<String> = alarm.others.iter().map(Entry::text).collect();
            let line = format!(
                "{} {}: {} and {} have no order, at {:#x} ({})",
                self.unit,
                alarm.position,
                alarm.acting.text(),
                others.join(" or "),
                alarm.address,
                alarm.origin.unwrap_or_default()
            );
            writeln!(text, "  {}", printable(&line))?;
        }
        if shown.len() > MOST_SHOWN {
            writeln!(text, "  and {} more", shown.len() - MOST_SHOWN)?;
        }
        for note in &self.notes {
            writeln!(text, "  note: {}", printable(note))?;
        }
        Ok(())
    }
}
