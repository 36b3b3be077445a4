//! `keirin gen`: makes random traces.

use super::Exit;
use super::convert::copy;
use crate::options::{Options, When};
use crate::progress::{Progress, Unit};
use anyhow::{Result, bail};
use keirin_core::generate::{Family, Generator, Plan};

/// Makes a trace as the options say.
pub(crate) fn run(options: &Options) -> Result<Exit> {
    let mut plan = Plan::new(options.family);
    plan.events = options.events;
    plan.violations = options.violations;
    plan.seed = options.seed;
    let numbers = [
        ("threads", options.threads, &mut plan.threads),
        ("locks", options.locks, &mut plan.locks),
        ("variables", options.variables, &mut plan.variables),
        ("region-length", options.region_length, &mut plan.region_length),
    ];
    for (name, number, field) in numbers {
        if let Some(number) = number {
            *field = small(name, number)?;
        }
    }
    // Whether the family has a use for these is the plan's to say.
    if let Some(tasks) = options.tasks {
        plan.tasks = Some(small("tasks", tasks)?);
    }
    if let Some(depth) = options.depth {
        plan.depth = Some(small("depth", depth)?);
    }
    plan.discipline = options.discipline.or(plan.discipline);
    let when = if options.output.is_none() { When::Never } else { options.progress };
    let progress = Progress::new(when, "generating", Some(plan.events), Unit::Events);
    copy(&mut Generator::new(plan)?, options, progress)?;
    Ok(Exit::Clean)
}

/// A number that a plan can hold.
fn small(name: &str, number: u64) -> Result<u32> {
    let Ok(number) = u32::try_from(number) else { bail!("--{name}: {number} is too large") };
    Ok(number)
}

/// The families, for the help.
pub(crate) fn families_help() -> String {
    let mut text = String::from("Families:\n");
    for family in Family::ALL {
        text += &format!("  {:<18}{}\n", family.name(), family.about());
    }
    text
}
