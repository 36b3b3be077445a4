//! Places of a real program, built here.

use super::*;
use keirin_core::event::SiteId;
use keirin_core::finding::{Race, Rule, Verdict};
use keirin_core::trace::{Module, Site};
use std::process::Command;
use tempfile::TempDir;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/programs/places.c");
const BUILD_ID: [u8; 4] = [1, 2, 3, 4];
const BASE: u64 = 0x5555_0000_0000;

struct Built {
    folder: TempDir,
    path: String,
}

impl Built {
    fn new(flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("places").display().to_string();
        let mut gcc = Command::new("gcc");
        gcc.args(["-O1", "-Wl,--build-id=0x01020304", SOURCE, "-o", &path]).args(flags);
        assert!(gcc.status().unwrap().success());
        Built { folder, path }
    }

    /// The address of a symbol, as another tool tells it.
    fn address(&self, name: &str) -> u64 {
        let output = Command::new("nm").arg(&self.path).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let line = text.lines().find(|line| line.split(' ').next_back() == Some(name)).unwrap();
        u64::from_str_radix(line.split(' ').next().unwrap(), 16).unwrap()
    }

    fn tables(&self, build_id: &[u8]) -> Tables {
        let mut tables = Tables::default();
        let path = self.path.clone().into();
        tables.modules.push(Module { path, base: BASE, size: 0x10_0000, build_id: build_id.into() });
        tables
    }

    /// The functions around a label, with the ends of the places.
    fn frames(&self, symbols: &Symbols, label: &str) -> Vec<(String, String, bool)> {
        // What is stored is a return address: one behind the instruction that is meant.
        let offset = self.address(label) + 1;
        let frames = symbols.frames(&self.tables(&BUILD_ID), ModuleId(0), offset);
        let source = |frame: &CodeFrame| match &frame.source {
            Some((file, line, _)) => format!("{}:{line}", file_name(file)),
            None => "?".to_owned(),
        };
        let frame = |frame: &CodeFrame| {
            let function = frame.function.as_deref().unwrap_or("?").to_owned();
            (function, source(frame), frame.inlined)
        };
        frames.iter().map(frame).collect()
    }
}

fn frame(function: &str, source: &str, inlined: bool) -> (String, String, bool) {
    (function.to_owned(), source.to_owned(), inlined)
}

#[test]
fn places_have_lines_and_inlined_functions() {
    let built = Built::new(&["-g"]);
    let symbols = Symbols::new();
    let expected = [frame("bump", "places.c:8", true), frame("worker", "places.c:13", false)];
    assert_eq!(built.frames(&symbols, "place_in_bump"), expected);
    assert_eq!(built.frames(&symbols, "place_in_main"), [frame("main", "places.c:19", false)]);
    assert!(symbols.take_notes().is_empty());
}

#[test]
fn without_debug_information_there_are_functions_and_advice() {
    let built = Built::new(&[]);
    let symbols = Symbols::new();
    assert_eq!(built.frames(&symbols, "place_in_bump"), [frame("worker", "?", false)]);
    assert_eq!(built.frames(&symbols, "place_in_main"), [frame("main", "?", false)]);
    assert_eq!(symbols.take_notes(), ["places tells no source lines: build it with -g"]);
    assert!(symbols.take_notes().is_empty(), "told once");
    assert!(built.folder.path().exists());
}

#[test]
fn another_build_gives_no_names() {
    let built = Built::new(&["-g"]);
    let symbols = Symbols::new();
    let tables = built.tables(&[9, 9]);
    assert!(symbols.frames(&tables, ModuleId(0), built.address("worker") + 1).is_empty());
    let notes = symbols.take_notes();
    assert_eq!(notes.len(), 1);
    assert!(notes[0].contains("was built again since the run"), "{notes:?}");
}

#[test]
fn files_that_are_gone_or_no_programs_are_told() {
    let built = Built::new(&[]);
    let symbols = Symbols::new();
    for path in [SOURCE.to_owned(), format!("{}-gone", built.path), built.folder.path().display().to_string()]
    {
        let mut tables = built.tables(&[]);
        tables.modules[0].path = path.into();
        assert!(symbols.frames(&tables, ModuleId(0), 5).is_empty());
    }
    let mut virtual_module = built.tables(&[]);
    virtual_module.modules[0].path = "linux-vdso.so.1".into();
    assert!(symbols.frames(&virtual_module, ModuleId(0), 5).is_empty());
    assert!(symbols.frames(&virtual_module, ModuleId(7), 5).is_empty());
    assert_eq!(symbols.take_notes().len(), 3);
}

#[test]
fn functions_and_variables_of_findings_get_names() {
    let built = Built::new(&["-g"]);
    let mut tables = built.tables(&BUILD_ID);
    let offset = built.address("place_in_bump") + 1;
    tables
        .sites
        .push(Site { place: Place::Code { module: ModuleId(0), offset }, function: FunctionId::NONE });
    tables.functions.push(SiteId(0));
    let addr = Addr(BASE + built.address("table") + 16);
    let finding = RawFinding {
        rule: Rule::DataRace,
        verdict: Verdict::Observed,
        steps: Vec::new(),
        evidence: Evidence::Race(Race { addr, size: 4 }),
        lineage: None,
        count: 1,
    };
    let function = RegionId::of_function(FunctionId(0));
    Symbols::new().name_all(&mut tables, &[finding], &[function]);
    let (location, offset) = tables.location(addr).unwrap();
    assert_eq!((&*location.name, location.size, offset), ("table", 32, 16));
    // The function that was entered is the one around, whatever was inlined at its start.
    assert_eq!(tables.region_name(function), "worker");
}

#[test]
fn names_are_as_in_the_source() {
    assert_eq!(demangled("_ZN3Set3addEi"), "Set::add(int)");
    assert_eq!(demangled("_RNvC1a4main"), "a::main");
    assert_eq!(demangled("main"), "main");
    assert_eq!(demangled("x"), "x");
}
