//! The oracle on programs whose truth is known.

use crate::support::oracle::{
    Oracle, apparent_races, group_violations, races, racy_locations, torn_locations, violations,
};
use crate::support::program::{OpId, Program, Regions};
use crate::support::shrink::shrink;
use std::collections::BTreeSet;

fn program(text: &str) -> Program {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The small programs that separate right from wrong: every step is a region.
#[test]
fn violations_of_small_programs() {
    let table = [
        ("async{Rx Rx} Wx", true),
        ("async{Wx Wx} Rx", true),
        ("async{Rx Wx Wx} Rx", true),
        ("async{Rx Wx} Rx Wx", true),
        ("async{Rx Rx} finish{async{Rx Rx}} Wx", true),
        ("async{finish{async{Wx} async{Wx}} Rx Rx} async{Wx}", true),
        ("Rx async{Wx} Rx", false),
        ("Rx async{Wx} Rx Rx", true),
        ("spawn{Wx} sync Rx Rx", false),
        ("async{+L Rx Wx -L} async{Wx}", true),
        ("async{+L Rx -L +L Wx -L} async{+L Wx -L}", true),
        ("async{+L Rx +M -L Rx -M} async{+L +M Wx -M -L}", false),
    ];
    for (text, torn) in table {
        let locations = torn_locations(&violations(&program(text), Regions::Steps));
        assert_eq!(locations, if torn { BTreeSet::from([0]) } else { BTreeSet::new() }, "{text}");
    }
    assert!(races(&program("async{+L Rx -L +L Wx -L} async{+L Wx -L}")).is_empty());
}

#[test]
fn races_of_small_programs() {
    let table = [
        ("async{Rx Wx} Rx", true, true),
        ("async{+L +M -M Wx -L} async{+M +L -L Wx -M}", false, true),
        ("async{Wx} Wx", true, true),
        ("async{Rx} Rx", false, false),
        ("async{aWx} aWx", false, false),
        ("async{aWx} Wx", true, true),
        ("async{Wx} Wy", false, false),
        ("async{+L Wx -L} +L Wx -L", false, false),
        ("async{r+L Wx r-L} r+L Wx r-L", true, true),
        ("async{r+L Wx r-L} +L Wx -L", false, false),
        // A lock taken twice is held until it is released twice.
        ("async{+L +L -L Wx -L} +L Wx -L", false, false),
        // A wait is for children only, a scope for all.
        ("async{async{Wx}} sync Wx", true, true),
        ("finish{async{async{Wx}}} Wx", false, false),
        ("async{async{Wx} sync} sync Wx", false, false),
        // An async that escapes a scope of its sibling, but not its own.
        ("async{Wx} finish{async{Wy}} Wx", true, true),
        // A scope waits for what was spawned in it, not for what was spawned before.
        ("finish{async{Wx} finish{async{Wy}} Wx}", true, true),
        ("async{Wx} async{join(1) Wx}", false, false),
        ("async{async{Wx}} join(2) Wx", false, false),
        ("async{async{Wx}} join(1) Wx", true, true),
        ("async{Wx} async{Wx} order(1,2)", false, false),
        ("async{} async{Wx} order(1,2) async{Wx} order(2,3) sync Wx", false, false),
        ("async{Wx} async{} order(1,2) async{Wx} order(2,3)", false, false),
        ("async{Wx signal(0)} await(0) Wx", false, false),
        ("async{signal(0) Wx} await(0) Wx", true, true),
        // The spawning task holds the lock while its child runs: the child cannot race with what follows the wait.
        ("+L async{Wx} sync -L async{+L Wx -L}", false, false),
        ("+L async{+L Wx -L} Wx -L", false, false),
        // It holds none that matters to the child; a lockset cannot see that the other task is kept out.
        ("async{+L Wx -L} +L async{Wx} sync -L", false, true),
    ];
    for (text, feasible, apparent) in table {
        let program = program(text);
        let expected = |racy: bool| if racy { BTreeSet::from([0]) } else { BTreeSet::new() };
        assert_eq!(racy_locations(&races(&program)), expected(feasible), "{text}");
        assert_eq!(racy_locations(&apparent_races(&program)), expected(apparent), "apparent: {text}");
    }
}

#[test]
fn findings_name_the_operations() {
    let program = program("async{Rx Wx} Rx");
    let id = OpId::new;
    assert_eq!(races(&program), BTreeSet::from([(0, id(0, 1), id(1, 1))]));
    assert_eq!(violations(&program, Regions::Steps), BTreeSet::new());
    let program = "async{Rx Wx Rx} Wx".parse().unwrap();
    assert_eq!(
        violations(&program, Regions::Steps),
        BTreeSet::from([
            (0, id(1, 0), id(0, 1), id(1, 1)),
            (0, id(1, 0), id(0, 1), id(1, 2)),
            (0, id(1, 1), id(0, 1), id(1, 2)),
        ])
    );
}

#[test]
fn blocks_are_smaller_regions() {
    let table = [
        ("async{[Rx Rx]} Wx", true),
        ("async{[Rx] [Rx]} Wx", false),
        ("async{Rx [Rx] Rx} Wx", false),
        ("async{[Rx [Rx]]} Wx", true),
        ("async{[[Rx] Rx]} Wx", true),
        ("async{Rx Rx} [Wx Wy]", false),
        // The access between may be outside of all blocks, or within one.
        ("async{[Wx Wx]} [Ry Rx]", true),
        ("async{+L [Rx Rx] -L} +L Wx -L", false),
    ];
    for (text, torn) in table {
        assert_eq!(!violations(&program(text), Regions::Blocks).is_empty(), torn, "{text}");
    }
}

#[test]
fn groups_of_locations() {
    let table = [
        ("async{Rx Ry} Wx", false),
        ("async{Wx Wy} Rx Ry", true),
        ("async{Wx Wy} Ry Rx", true),
        ("async{Rx Ry} Wx Wy", true),
        // One access between: what is torn on a location is torn in the group.
        ("async{Rx Rx} Wx", true),
        ("async{Wx} Wx", false),
        ("async{+L Wx Wy -L} +L Rx Ry -L", false),
        ("async{+L Wx -L +L Wy -L} +L Rx Ry -L", true),
        ("async{+L Wx Wy -L} +L Rx -L +L Ry -L", true),
        ("async{Wx Wy} sync Rx Ry", false),
        // Not of the group.
        ("async{Wx Wz} Rx Rz", false),
        // Two regions: each of the reads is of another step.
        ("async{Wx Wy} Rx async{} Ry", false),
    ];
    let group = BTreeSet::from([0, 1]);
    for (text, torn) in table {
        let found = group_violations(&program(text), &group, Regions::Steps);
        assert_eq!(!found.is_empty(), torn, "{text}: {found:?}");
    }
    // What a step does outside of its blocks is one region, whatever blocks lie in between.
    let table = [
        ("async{[Wx Wy]} [Rx Ry]", true),
        ("async{[Wx Wy]} Rx Ry", true),
        ("async{[Wx Wy]} Rx [Ry]", false),
        ("async{[Wx Wy]} [Rx] [Ry]", false),
        ("async{Wx [Rz] Wy} Rx [Rz] Ry", true),
        ("async{Wx Wy} Rx async{} Ry", false),
        ("async{[Wx Wx]} Rx", true),
        ("async{Wx [Wx]} Rx", false),
        ("async{Wx [Rx] Wx} Rx", true),
    ];
    for (text, torn) in table {
        let found = group_violations(&program(text), &group, Regions::Marked);
        assert_eq!(!found.is_empty(), torn, "{text}: {found:?}");
    }
}

/// A schedule counts for what it has shown, although it runs into a deadlock.
#[test]
fn prefixes_count() {
    let program = program("async{+L Wx +M -M -L} +M Wx +L -L -M");
    assert_eq!(races(&program).len(), 1);
    assert!(Oracle::new(&program).states() > 10);
}

#[test]
fn nonsense_is_no_program() {
    for text in
        ["Rq", "async{", "}", "-L", "+L", "[", "]", "join(1)", "await(0)", "+L r+L r-L -L", "order(1,2)"]
    {
        assert!(text.parse::<Program>().is_err(), "{text}");
    }
    for text in ["async{Wx} Rx order(1,1)", "async{} async{} Wx order(1,2)", "async{} order(1,1)"] {
        assert!(text.parse::<Program>().is_err(), "{text}");
    }
}

/// What is left out of a program is what does not matter to the question.
#[test]
fn shrinking_leaves_what_matters() {
    let text = "Rz async{+L Rx -L [Ry] +L Wx -L} finish{async{Wz} async{} order(2,3)} async{+L Wx -L await(0)} signal(0) sync";
    let torn =
        |program: &Program| !violations(program, Regions::Steps).is_empty() && races(program).is_empty();
    assert_eq!(shrink(&program(text), torn).to_string(), "async{+L Rx -L +L Wx -L} async{+L Wx -L}");
    let infeasible = |program: &Program| races(program) != apparent_races(program);
    let text = "Rx async{+L Ry +M -M Wx -L} async{+M [+L -L Wx] -M} async{Wz}";
    assert_eq!(shrink(&program(text), infeasible).to_string(), "async{+L +M -M Wx -L} async{+M +L -L Wx -M}");
}
