//! `keirin demo`: checks an embedded trace of a small program and shows the report.

use super::Exit;
use super::check::{Filters, check_one, finish};
use crate::atomic::{Blocks, Looking};
use crate::input::Input;
use crate::options::Options;
use crate::report::Watched;
use crate::sources::Sources;
use anyhow::Result;

const PROGRAM: &str = include_str!("../demo/set.cpp");
const TRACE: &str = include_str!("../demo/set.std");

/// Runs the demonstration. That it finds what it is meant to find is a success.
pub(crate) fn run(options: &Options) -> Result<Exit> {
    let mut sources = Sources::none();
    sources.embed("set.cpp", PROGRAM);
    let input = Input::embedded("the embedded trace of set.cpp", TRACE);
    let mut watched = Watched::default();
    let looking = Looking::load(options)?;
    let findings = check_one(input, options, &looking, &sources, &mut watched, &mut Blocks::default())?;
    finish(findings, watched, options, &Filters::default())?;
    Ok(Exit::Clean)
}
