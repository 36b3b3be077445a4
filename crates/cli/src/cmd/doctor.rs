//! `keirin doctor`: what is missing on this machine, or in a program, to watch it; and how to get it.

mod machine;
mod program;

use super::Exit;
use crate::output::print;
use crate::report::text::printable;
use anyhow::Result;
use std::path::Path;

/// How good something is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Good,
    /// Worth knowing; keirin works.
    Note,
    /// Keirin cannot do its work.
    Problem,
}

/// What was looked at, with what came out, in order.
#[derive(Default, Debug)]
struct Findings(Vec<(Verdict, String)>);

impl Findings {
    fn good(&mut self, text: impl Into<String>) {
        self.0.push((Verdict::Good, text.into()));
    }

    fn note(&mut self, text: impl Into<String>) {
        self.0.push((Verdict::Note, text.into()));
    }

    fn problem(&mut self, text: impl Into<String>) {
        self.0.push((Verdict::Problem, text.into()));
    }

    fn problems(&self) -> usize {
        self.0.iter().filter(|(verdict, _)| *verdict == Verdict::Problem).count()
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (verdict, line) in &self.0 {
            let mark = match verdict {
                Verdict::Good => "ok      ",
                Verdict::Note => "note    ",
                Verdict::Problem => "problem ",
            };
            text += &format!("{mark} {}\n", printable(line));
        }
        text
    }
}

/// Looks at the machine, or at programs. Everything is well, or the exit code says that something is not.
pub(crate) fn run(programs: &[std::path::PathBuf], install_pass: bool) -> Result<Exit> {
    let mut findings = Findings::default();
    if programs.is_empty() {
        machine::examine(install_pass, &mut findings);
    }
    for path in programs {
        program::examine(path, &mut findings)?;
    }
    let mut text = findings.text();
    let problems = findings.problems();
    text += &match (problems, programs) {
        (0, []) => {
            "keirin: programs can be built and watched on this machine; next: keirin demo\n".to_owned()
        }
        (0, [program]) if !is_library(program) => {
            format!("keirin: ready; next: keirin run -- {}\n", shown(program))
        }
        (0, _) => "keirin: no problems\n".to_owned(),
        (1, _) => "keirin: 1 problem\n".to_owned(),
        (count, _) => format!("keirin: {count} problems\n"),
    };
    print(text.as_bytes())?;
    Ok(if problems == 0 { Exit::Clean } else { Exit::Failed })
}

fn is_library(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains(".so"))
}

/// A path as one would type it to start it.
fn shown(path: &Path) -> String {
    let text = printable(&path.display().to_string()).into_owned();
    if path.components().count() == 1 && !path.is_absolute() { format!("./{text}") } else { text }
}
