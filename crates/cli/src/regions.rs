//! The file of learned regions (`keirin infer` writes it, `detect`, `simulate` and `run` read it).
//!
//! ```toml
//! version = 1
//!
//! [[run]]
//! name = "good1.ktrace"
//!
//! [[module]]
//! name = "server"
//! build-id = "5f0c…"
//!
//! [[region]]
//! entry = "server+0x1f40"
//! at = "append log.c:21:5"            # for the reader; nothing depends on it
//! exits = [
//!   { site = "server+0x1f62", at = "append log.c:24:5", runs = "1-3, 5" },
//!   { thread-end = true, runs = "4" },
//! ]
//! ```
//!
//! Equal regions give equal bytes, and one more exit is one more line, so that the file can live in version control. `outer =
//! true` marks a region in which others lie. The numbers of runs count from 1, in the order of the file.

use crate::input::{self, line_of};
use anyhow::Result;
use keirin_core::analysis::atomtracker::regions::{LearnedModule, Region, Regions, Run, Support};
use serde::Deserialize;
use std::fmt::{self, Write};
use std::path::Path;
use toml::Spanned;

const VERSION: i64 = 1;
/// Far more than any program has; whatever is larger is something else.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// What is wrong with a file of regions, where, and what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RegionsError {
    file: String,
    line: usize,
    problem: String,
}

impl fmt::Display for RegionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.problem)
    }
}

impl std::error::Error for RegionsError {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    #[serde(rename = "version")]
    _version: i64,
    #[serde(default)]
    run: Vec<RawRun>,
    #[serde(default)]
    module: Vec<RawModule>,
    #[serde(default)]
    region: Vec<Spanned<RawRegion>>,
}

/// The first look at a file: a later version may have changed everything but this.
#[derive(Deserialize)]
struct RawHeader {
    version: Option<Spanned<i64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRun {
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawModule {
    name: String,
    #[serde(default)]
    build_id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRegion {
    entry: Spanned<String>,
    at: Option<String>,
    #[serde(default)]
    outer: bool,
    exits: Vec<Spanned<RawExit>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawExit {
    site: Option<String>,
    at: Option<String>,
    #[serde(default)]
    thread_end: bool,
    runs: Spanned<String>,
}

/// Reads the file with a name.
pub(crate) fn load(path: &Path) -> Result<Regions> {
    let text = input::read_small(path, "the regions", MAX_FILE_BYTES)?;
    Ok(parse(&path.display().to_string(), &text)?)
}

/// Reads regions; `file` is the name for messages.
pub(crate) fn parse(file: &str, text: &str) -> Result<Regions, RegionsError> {
    let error =
        |at: usize, problem: String| RegionsError { file: file.to_owned(), line: line_of(text, at), problem };
    let not_toml =
        |cause: toml::de::Error| error(cause.span().map_or(0, |span| span.start), cause.message().to_owned());
    let header: RawHeader = toml::from_str(text).map_err(not_toml)?;
    let Some(version) = header.version else {
        let problem = "this is not a file of regions: it has no `version`; write one with `keirin infer`";
        return Err(error(0, problem.to_owned()));
    };
    if *version.get_ref() != VERSION {
        let problem = format!(
            "version {} of the format is not the one that this keirin knows ({VERSION}); infer the regions again",
            version.get_ref()
        );
        return Err(error(version.span().start, problem));
    }
    let raw: RawFile = toml::from_str(text).map_err(not_toml)?;
    let mut regions = Regions {
        runs: raw.run.into_iter().map(|run| Run { name: run.name.into() }).collect(),
        modules: raw
            .module
            .into_iter()
            .map(|module| LearnedModule { name: module.name.into(), build_id: module.build_id.into() })
            .collect(),
        ..Regions::default()
    };
    for spanned in raw.region {
        let at = spanned.span().start;
        add_region(&mut regions, at, spanned.into_inner()).map_err(|(at, problem)| error(at, problem))?;
    }
    Ok(regions)
}

fn add_region(regions: &mut Regions, start: usize, raw: RawRegion) -> Result<(), (usize, String)> {
    let RawRegion { entry, at, outer, exits } = raw;
    let position = entry.span().start;
    let entry: Box<str> = name_of(position, entry.into_inner())?;
    if regions.by_entry.contains_key(&entry) {
        let problem = format!("there is another region that is entered at {entry}; put its exits into one");
        return Err((position, problem));
    }
    if let Some(place) = at {
        regions.places.insert(entry.clone(), place.into());
    }
    if exits.is_empty() {
        return Err((start, format!("the region that is entered at {entry} has no exits; remove it")));
    }
    let mut region = Region { outer, ..Region::default() };
    for exit in exits {
        let start = exit.span().start;
        let RawExit { site, at, thread_end, runs } = exit.into_inner();
        let support =
            runs_of(runs.get_ref(), regions.runs.len()).map_err(|problem| (runs.span().start, problem))?;
        match (site, thread_end) {
            (Some(site), false) => {
                let site = name_of(start, site)?;
                if let Some(place) = at {
                    regions.places.insert(site.clone(), place.into());
                }
                if region.exits.insert(site.clone(), support).is_some() {
                    return Err((start, format!("the exit {site} is there twice; keep one of them")));
                }
            }
            (None, true) => region.thread_end.extend(support),
            _ => {
                let problem = "an exit has either a `site` or `thread-end = true`";
                return Err((start, problem.to_owned()));
            }
        }
    }
    regions.by_entry.insert(entry, region);
    Ok(())
}

fn name_of(at: usize, name: String) -> Result<Box<str>, (usize, String)> {
    if name.is_empty() {
        return Err((at, "the name of a site is empty".to_owned()));
    }
    Ok(name.into())
}

/// The runs of a list like `1-3, 5`, of which there are `known`.
fn runs_of(text: &str, known: usize) -> Result<Support, String> {
    let mut support = Support::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse::<usize>().ok().filter(|&number| number > 0);
        let (Some(first), Some(last)) = (number(first), number(last)) else {
            return Err(format!("`{part}` is not a run; write numbers from 1, as in \"1-3, 5\""));
        };
        if first > last || last > known {
            return Err(format!(
                "`{part}`: there are only the runs 1 to {known}; add a [[run]] for each other"
            ));
        }
        support.extend((first - 1..last).map(|run| run as u32));
    }
    Ok(support)
}

/// Runs as a list like `1-3, 5`.
pub(crate) fn list_runs(support: &Support) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for &run in support {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == run => *last = run,
            _ => parts.push((run, run)),
        }
    }
    let part = |&(first, last): &(u32, u32)| match last - first {
        0 => format!("{}", first + 1),
        _ => format!("{}-{}", first + 1, last + 1),
    };
    parts.iter().map(part).collect::<Vec<_>>().join(", ")
}

/// The text of regions: equal regions give equal bytes.
pub(crate) fn text(regions: &Regions) -> String {
    let mut out = String::from(
        "# Atomic regions that `keirin infer` learned. An exit belongs to its entry; `runs` are those that left there.\n",
    );
    // Writing to a string cannot fail.
    let _ = write_all(regions, &mut out);
    out
}

fn write_all(regions: &Regions, out: &mut String) -> fmt::Result {
    let at = |site: &str| match regions.places.get(site) {
        Some(place) => format!("at = {}", quoted(place)),
        None => String::new(),
    };
    writeln!(out, "version = {VERSION}")?;
    for run in &regions.runs {
        write!(out, "\n[[run]]\nname = {}\n", quoted(&run.name))?;
    }
    for module in &regions.modules {
        write!(out, "\n[[module]]\nname = {}\n", quoted(&module.name))?;
        if !module.build_id.is_empty() {
            writeln!(out, "build-id = {}", quoted(&module.build_id))?;
        }
    }
    for (entry, region) in &regions.by_entry {
        write!(out, "\n[[region]]\nentry = {}\n", quoted(entry))?;
        if regions.places.contains_key(entry) {
            writeln!(out, "{}", at(entry))?;
        }
        if region.outer {
            writeln!(out, "outer = true")?;
        }
        writeln!(out, "exits = [")?;
        for (site, support) in &region.exits {
            let place =
                if regions.places.contains_key(site) { format!("{}, ", at(site)) } else { String::new() };
            let runs = list_runs(support);
            writeln!(out, "  {{ site = {}, {place}runs = \"{runs}\" }},", quoted(site))?;
        }
        if !region.thread_end.is_empty() || region.exits.is_empty() {
            let runs = list_runs(&region.thread_end);
            writeln!(out, "  {{ thread-end = true, runs = \"{runs}\" }},")?;
        }
        writeln!(out, "]")?;
    }
    Ok(())
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Regions {
        let names: [Box<str>; 3] =
            ["server+0x10".into(), "a \"b\"\n'c'\u{7}\\".into(), "main@a.c:3:4".into()];
        let [one, two, three] = names;
        let mut regions = Regions {
            runs: ["good 1.ktrace", "good2.ktrace", "x", "y"].map(|name| Run { name: name.into() }).into(),
            ..Regions::default()
        };
        regions.modules.insert(LearnedModule { name: "server".into(), build_id: "00ff".into() });
        regions.modules.insert(LearnedModule { name: "libc.so.6".into(), build_id: "".into() });
        let region = Region {
            outer: true,
            exits: [(two.clone(), Support::from([0, 1, 3])), (three.clone(), Support::from([2]))].into(),
            thread_end: Support::from([3]),
        };
        regions.by_entry.insert(one.clone(), region);
        let region = Region { exits: [(two.clone(), Support::new())].into(), ..Region::default() };
        regions.by_entry.insert(two, region);
        let region = Region { thread_end: Support::from([0, 1, 2, 3]), ..Region::default() };
        regions.by_entry.insert(three.clone(), region);
        regions.places.insert(one, "append log.c:21".into());
        regions.places.insert(three, "main".into());
        regions
    }

    #[test]
    fn what_is_written_is_read_again() {
        let regions = sample();
        let text = text(&regions);
        assert_eq!(parse("r.toml", &text), Ok(regions), "{text}");
        assert!(text.contains("runs = \"1-2, 4\" },\n"), "{text}");
        assert!(text.contains("  { thread-end = true, runs = \"1-4\" },\n"), "{text}");
    }

    #[test]
    fn faults_are_told_with_their_line() {
        let fault = |text: &str| parse("r.toml", text).map(|_| ()).unwrap_err().to_string();
        assert_eq!(
            fault(""),
            "r.toml:1: this is not a file of regions: it has no `version`; write one with `keirin infer`"
        );
        assert!(
            fault("\nversion = 7\nnew = 1").starts_with("r.toml:2: version 7 of the format is not the one")
        );
        assert!(
            fault("version = 1\n\nregion = 3").starts_with("r.toml:3: "),
            "{}",
            fault("version = 1\n\nregion = 3")
        );
        let with = |region: &str| fault(&format!("version = 1\n[[run]]\nname = \"x\"\n[[region]]\n{region}"));
        assert_eq!(
            with("entry = \"a\"\nexits = []"),
            "r.toml:4: the region that is entered at a has no exits; remove it"
        );
        assert_eq!(
            with("entry = \"a\"\nexits = [\n{ runs = \"1\" }]"),
            "r.toml:7: an exit has either a `site` or `thread-end = true`"
        );
        assert_eq!(
            with("entry = \"a\"\nexits = [\n{ site = \"b\",\n runs = \"1-2\" }]"),
            "r.toml:8: `1-2`: there are only the runs 1 to 1; add a [[run]] for each other"
        );
        assert_eq!(
            with("entry = \"a\"\nexits = [{ site = \"b\", runs = \"one\" }]"),
            "r.toml:6: `one` is not a run; write numbers from 1, as in \"1-3, 5\""
        );
        assert_eq!(
            with("entry = \"a\"\nexits = [{ site = \"b\", runs = \"\" }, { site = \"b\", runs = \"\" }]"),
            "r.toml:6: the exit b is there twice; keep one of them"
        );
        let twice = "entry = \"a\"\nexits = [{ thread-end = true, runs = \"1\" }]\n";
        assert_eq!(
            with(&format!("{twice}[[region]]\n{twice}")),
            "r.toml:8: there is another region that is entered at a; put its exits into one"
        );
        assert!(with("entrance = \"a\"\nexits = []").contains("unknown field `entrance`"));
    }
}
