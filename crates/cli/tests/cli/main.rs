//! The `keirin` program from the outside, run as its users run it.

mod analyses;
mod atomic_blocks;
mod bad_configuration;
mod bad_input;
mod building;
mod check;
mod confirm;
mod convert;
mod doctor;
mod documentation;
mod filters;
mod formats;
mod help;
mod native;
mod online;
mod openmp;
mod options;
mod output;
mod projects;
mod regions;
mod run;
mod simulate;
mod support;
mod tasks;

#[path = "../../src/report/published_schema.rs"]
mod published_schema;
