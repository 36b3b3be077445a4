//! What a program says about itself in comments: how to build and run it, and what must be found.

use super::report::{Finding, Place};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

/// The names of rules that have more than one form of expectation.
const TORN: &str = "atomicity-violation";
const LOCK_GAP: &str = "lock-gap";

/// The comments of a program that mean something to the tests.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Directives {
    /// `// expect: …`: what must be found, and nothing else.
    pub(super) expected: Vec<Expected>,
    /// `// examined: …`: what must be found as well if all pairs of places are looked at, with `--examine`; else it may be.
    pub(super) examined: Vec<Expected>,
    /// `// run: …`: options of `keirin run`.
    pub(super) options: Vec<String>,
    /// `// cc: …`: options of the compiler.
    pub(super) flags: Vec<String>,
    /// `// needs: openmp` or `tbb`: a language extension or a library that the compiler must be told of.
    pub(super) needs: Option<Need>,
    /// `// diagnose: ANALYSES`: built and run with `--diagnose`, with either side of its branch executed.
    pub(super) diagnose: Option<String>,
    /// `// compilers: gcc clang`: those that can build it; none named means all.
    pub(super) compilers: Vec<String>,
    /// `// env: NAME=VALUE`: what its environment must have.
    pub(super) environment: Vec<(String, String)>,
    /// `// library: FILE`: a library to build from this file; the program gets its path as an argument.
    pub(super) libraries: Vec<PathBuf>,
    /// `// prints: …`: lines of its output.
    pub(super) output: String,
    /// `// exit: N`: how it ends by itself.
    pub(super) status: i32,
}

/// What a program is written with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Need {
    OpenMp,
    OneTbb,
}

impl Need {
    fn of(name: &str) -> Result<Self, String> {
        match name {
            "openmp" => Ok(Need::OpenMp),
            "tbb" => Ok(Need::OneTbb),
            _ => Err(format!("cannot understand `needs: {name}`")),
        }
    }

    /// The option of the compiler; libraries come after the source.
    pub(super) fn flag(self) -> &'static str {
        match self {
            Need::OpenMp => "-fopenmp",
            Need::OneTbb => "-ltbb",
        }
    }
}

/// An expected finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Expected {
    /// `data-race (A) (B)`, or `data-race (A) (B) of NAME`: the lines that carry these marks, in any order.
    Race { places: [Place; 2], name: Option<String> },
    /// `atomicity-violation LABEL`: this block, and only this, is refuted.
    Torn { label: String },
    /// `atomicity-violation (A) (B) …` of a step, or `lock-gap (A) (B) …`: its accesses are in these lines, each of which
    /// has at least one of them.
    Among { rule: &'static str, places: BTreeSet<Place> },
}

impl Expected {
    /// Whether a finding is the expected one.
    pub(super) fn describes(&self, finding: &Finding) -> bool {
        if !finding.is_sure() {
            return false;
        }
        match self {
            Expected::Race { places, name } => {
                let [first, second] = finding.places.as_slice() else { return false };
                let same = |a: &Place, b: &Place| a == first && b == second;
                finding.rule == "data-race"
                    && (same(&places[0], &places[1]) || same(&places[1], &places[0]))
                    && name.as_ref().is_none_or(|name| finding.location.as_ref() == Some(name))
            }
            Expected::Torn { label } => {
                let [refuted] = finding.refuted.as_slice() else { return false };
                // A function has its parameters behind its name.
                let rest = refuted.strip_prefix(label.as_str());
                finding.rule == TORN && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('('))
            }
            Expected::Among { rule, places } => {
                let whole = if *rule == LOCK_GAP { "gap" } else { "step" };
                finding.rule == *rule
                    && finding.whole.as_deref() == Some(whole)
                    && finding.places.iter().cloned().collect::<BTreeSet<_>>() == *places
            }
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expected::Race { places: [first, second], name } => {
                write!(f, "data-race between {first} and {second}")?;
                name.iter().try_for_each(|name| write!(f, " of `{name}`"))
            }
            Expected::Torn { label } => write!(f, "atomicity-violation of `{label}`"),
            Expected::Among { rule, places } => {
                write!(f, "{rule} among")?;
                places.iter().try_for_each(|place| write!(f, " {place}"))
            }
        }
    }
}

/// Reads the comments of a program and the marks in it and in its libraries.
pub(super) fn read(source: &Path) -> Result<Directives, String> {
    let text = file(source)?;
    let mut directives = Directives::default();
    let (mut expectations, mut examined) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let Some((name, value)) = line.strip_prefix("// ").and_then(|line| line.split_once(": ")) else {
            continue;
        };
        let words = || value.split_whitespace().map(str::to_owned);
        match name {
            "expect" => expectations.push(value),
            "examined" => examined.push(value),
            "run" => directives.options.extend(words()),
            "cc" => directives.flags.extend(words()),
            "needs" => directives.needs = Some(Need::of(value)?),
            "diagnose" => directives.diagnose = Some(value.to_owned()),
            "compilers" => directives.compilers.extend(words()),
            "env" => {
                let (name, value) = value.split_once('=').ok_or_else(|| format!("no variable: {value}"))?;
                directives.environment.push((name.to_owned(), value.to_owned()));
            }
            "library" => directives.libraries.push(source.with_file_name(value)),
            "prints" => directives.output += &format!("{value}\n"),
            "exit" => directives.status = value.parse().map_err(|_| format!("no status: {value}"))?,
            _ => {}
        }
    }
    let mut marks = BTreeMap::new();
    find_marks(source, &text, &mut marks);
    for library in &directives.libraries {
        find_marks(library, &file(library)?, &mut marks);
    }
    let understood = |texts: Vec<&str>| {
        texts.into_iter().map(|text| expected(text, &marks)).collect::<Result<Vec<_>, _>>()
    };
    directives.expected = understood(expectations)?;
    directives.examined = understood(examined)?;
    if directives.needs.is_none() && !directives.examined.is_empty() {
        return Err("only programs with tasks are examined".to_owned());
    }
    Ok(directives)
}

fn file(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Lines end in `// (A)`.
fn find_marks(source: &Path, text: &str, marks: &mut BTreeMap<String, Place>) {
    let file = source.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for (line, number) in text.lines().zip(1..) {
        if let Some((_, mark)) = line.rsplit_once("// (")
            && let Some(mark) = mark.strip_suffix(')')
        {
            marks.insert(mark.to_owned(), Place { file: file.clone(), line: number });
        }
    }
}

fn expected(text: &str, marks: &BTreeMap<String, Place>) -> Result<Expected, String> {
    let unknown = || format!("cannot understand the expected `{text}`");
    let (rule, rest) = text.split_once(' ').ok_or_else(unknown)?;
    let place = |mark: &str| {
        let mark = mark.trim_start_matches('(').trim_end_matches(')');
        marks.get(mark).cloned().ok_or_else(|| format!("no line has the mark ({mark})"))
    };
    let among = |rule| {
        let places = rest.split_whitespace().map(place).collect::<Result<_, _>>()?;
        Ok(Expected::Among { rule, places })
    };
    match rule {
        LOCK_GAP => among(LOCK_GAP),
        TORN if rest.starts_with('(') => among(TORN),
        TORN => Ok(Expected::Torn { label: rest.to_owned() }),
        "data-race" => {
            let (lines, name) = match rest.split_once(" of ") {
                Some((lines, name)) => (lines, Some(name.to_owned())),
                None => (rest, None),
            };
            let (first, second) = lines.split_once(' ').ok_or_else(unknown)?;
            Ok(Expected::Race { places: [place(first)?, place(second)?], name })
        }
        _ => Err(unknown()),
    }
}

#[test]
fn directives_are_understood() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = folder.path().join("sample.c");
    let text = "// Prose: not a directive.\n// run: --analysis velodrome\n// expect: data-race (A) (B) of the name\n\
                // expect: atomicity-violation Set::add\n// prints: a b\nx = 1; // (A)\ny = x; // (B)\n";
    std::fs::write(&source, text).expect("can write");
    let directives = read(&source).expect("good directives");
    assert_eq!(directives.options, ["--analysis", "velodrome"]);
    assert_eq!(directives.output, "a b\n");
    let place = |line| Place { file: "sample.c".to_owned(), line };
    let race = Expected::Race { places: [place(6), place(7)], name: Some("the name".to_owned()) };
    assert_eq!(directives.expected, [race, Expected::Torn { label: "Set::add".to_owned() }]);
    let text = "// needs: openmp\n// diagnose: ptracer\n// compilers: clang\n// env: A=b=c\n// expect: lock-gap (A) (B) (A)\n\
                // expect: atomicity-violation (B)\n// examined: data-race (A) (B)\nx = 1; // (A)\n\
                y = x; // (B)\n";
    std::fs::write(&source, text).expect("can write");
    let directives = read(&source).expect("good directives");
    assert_eq!(directives.needs, Some(Need::OpenMp));
    assert_eq!(directives.diagnose.as_deref(), Some("ptracer"));
    assert_eq!(directives.compilers, ["clang"]);
    assert_eq!(directives.environment, [("A".to_owned(), "b=c".to_owned())]);
    let gap = Expected::Among { rule: LOCK_GAP, places: [place(8), place(9)].into() };
    assert_eq!(directives.expected, [gap, Expected::Among { rule: TORN, places: [place(9)].into() }]);
    assert_eq!(directives.examined, [Expected::Race { places: [place(8), place(9)], name: None }]);
    std::fs::write(&source, "// examined: data-race (A) (A)\nx = 1; // (A)\n").expect("can write");
    assert!(read(&source).is_err(), "it has no tasks");
    std::fs::write(&source, "// needs: luck\n").expect("can write");
    assert!(read(&source).is_err());
    std::fs::write(&source, "// expect: data-race (A) (C)\nx = 1; // (A)\n").expect("can write");
    assert!(read(&source).is_err());
}
