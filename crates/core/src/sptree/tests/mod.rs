//! The structures against the definition and against each other.

mod definition;
mod plan;
mod shapes;

use super::label::{Chunks, Cursor};
use super::labels::Labels;
use super::ranks::Ranks;
use super::tree::Tree;
use super::verdicts::Verdicts;
use super::{Relation, Relations, StepId, Structure};
use definition::Definition;
use plan::{Choice, Plan, Run};
use proptest::prelude::*;
use proptest::test_runner::Config;

/// `KEIRIN_CASES`, which the long mode of `./test` sets, or some thousands; a share of that for slow properties.
fn config(share: u32) -> Config {
    let cases: u32 = std::env::var("KEIRIN_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(6_000);
    Config { cases: (cases / share).max(1), ..Config::default() }
}

fn choices(length: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Choice>> {
    prop::collection::vec(any::<Choice>(), length)
}

/// All pairs of watched steps stand to each other as the definition says, whatever was collapsed, except those that
/// have become one step.
fn agrees<S: Structure>(plan: &Plan, definition: &Run<Definition>, collapsing: bool) -> Run<S> {
    let run = Run::<S>::new(plan, collapsing);
    let watched = plan.watched();
    let stand_in = |step: usize| if collapsing { plan.stand_in(step) } else { step };
    for &a in &watched {
        for &b in &watched {
            if a != b && stand_in(a) == stand_in(b) {
                continue;
            }
            let expected = definition.structure.relation(definition.steps[a], definition.steps[b]);
            let found = run.structure.relation(run.steps[a], run.steps[b]);
            assert_eq!(found, expected, "{}: steps {a} and {b} of {plan:#?}", S::NAME);
            let resolved = [a, b].map(|step| run.structure.resolve(run.steps[step]));
            let found = run.structure.relation(resolved[0], resolved[1]);
            assert_eq!(found, expected, "{}: what stands for steps {a} and {b} of {plan:#?}", S::NAME);
        }
    }
    run
}

/// Collapsed steps are what stands for them, and everything else is remembered.
fn remembers<S: Structure>(plan: &Plan, mut run: Run<S>) {
    for (step, &id) in run.steps.iter().enumerate() {
        assert_eq!(run.structure.resolve(id), run.steps[plan.stand_in(step)], "{}: step {step}", S::NAME);
    }
    run.forget();
    // The steps behind open scopes were already made.
    assert_eq!(run.structure.steps(), plan.remembered() + plan.open_scopes(), "{}", S::NAME);
}

proptest! {
    #![proptest_config(config(1))]

    #[test]
    fn structures_follow_the_definition(choices in choices(1..60)) {
        let plan = Plan::new(&choices, false);
        let definition = Run::new(&plan, false);
        agrees::<Tree>(&plan, &definition, false);
        agrees::<Ranks>(&plan, &definition, false);
        agrees::<Labels>(&plan, &definition, false);
        remembers(&plan, agrees::<Ranks>(&plan, &definition, true));
        remembers(&plan, agrees::<Labels>(&plan, &definition, true));
    }
}

proptest! {
    #![proptest_config(config(12))]

    #[test]
    fn long_paths_and_large_ordinals_follow_the_definition(choices in choices(1..40)) {
        let plan = Plan::new(&choices, true);
        let definition = Run::new(&plan, false);
        agrees::<Tree>(&plan, &definition, false);
        agrees::<Ranks>(&plan, &definition, false);
        agrees::<Labels>(&plan, &definition, false);
        remembers(&plan, agrees::<Ranks>(&plan, &definition, true));
        remembers(&plan, agrees::<Labels>(&plan, &definition, true));
    }

    /// Who comes after three steps and is parallel to one that is among two parallel others is parallel to one of these.
    #[test]
    fn a_step_among_two_others_is_told_by_them(choices in choices(1..20), collapsing in any::<bool>()) {
        let plan = Plan::new(&choices, false);
        let run = Run::<Labels>::new(&plan, collapsing);
        let watched = plan.watched();
        let relation = |a, b| run.structure.relation(a, b);
        let present = || {
            watched.iter().filter(|step| !collapsing || plan.stand_in(**step) == **step).map(|step| run.steps[*step])
        };
        for (&one, &other) in watched.iter().flat_map(|a| watched.iter().map(move |b| (a, b))) {
            let [one, other] = [one, other].map(|step| run.structure.resolve(run.steps[step]));
            if !relation(one, other).is_parallel() {
                continue;
            }
            for among in present().filter(|step| run.structure.table().is_among(*step, one, other)) {
                let three = [among, one, other];
                let comes_later = |step: StepId| three.iter().all(|of| relation(step, *of) != Relation::Before);
                for later in present().filter(|step| comes_later(*step) && relation(*step, among).is_parallel()) {
                    prop_assert!(
                        relation(later, one).is_parallel() || relation(later, other).is_parallel(),
                        "{later:?} after {among:?} among {one:?} and {other:?} of {plan:#?}",
                    );
                }
            }
        }
    }

    #[test]
    fn a_cache_changes_nothing(choices in choices(1..40), again in any::<bool>()) {
        let plan = Plan::new(&choices, false);
        let run = Run::<Labels>::new(&plan, false);
        let mut verdicts = Verdicts::default();
        let watched = plan.watched();
        let mut asked = 0;
        for _ in 0..=u8::from(again) {
            for (&a, &b) in watched.iter().flat_map(|a| watched.iter().map(move |b| (a, b))) {
                let (a, b) = (run.steps[a], run.steps[b]);
                prop_assert_eq!(verdicts.relation(&run.structure, a, b), run.structure.relation(a, b));
                asked += 1;
            }
        }
        prop_assert_eq!(verdicts.questions(), asked);
    }
}

/// Tasks of a loop are among any two that stand far enough apart, and what is spawned elsewhere is not.
#[test]
fn tasks_of_a_loop_are_among_others() {
    let mut labels = Labels::default();
    let mut place = labels.root();
    let scope = labels.open(&mut place);
    let tasks: Vec<StepId> = (0..40).map(|_| Labels::step(&labels.spawn(&mut place))).collect();
    labels.close(&mut place, scope);
    let outside = Labels::step(&labels.spawn(&mut place));
    let is_among =
        |step: StepId, one: usize, other: usize| labels.table().is_among(step, tasks[one], tasks[other]);
    assert!(tasks.iter().all(|step| is_among(*step, 0, 39) && is_among(*step, 39, 0)));
    assert!(is_among(tasks[3], 1, 2), "not only what is between them");
    assert!(!is_among(outside, 0, 39));
}

#[test]
fn a_cleared_cache_knows_nothing() {
    let mut ranks = Ranks::default();
    let mut place = ranks.root();
    let first = place;
    let task = ranks.spawn(&mut place);
    let mut verdicts = Verdicts::default();
    assert_eq!(verdicts.relation(&ranks, task, place), Relation::Left);
    assert_eq!(verdicts.relation(&ranks, task, place), Relation::Left);
    assert_eq!((verdicts.questions(), verdicts.hits()), (2, 1));
    // The same ids in another run stand differently.
    let mut other = Ranks::default();
    let mut place = other.root();
    other.advance(&mut place);
    let before = place;
    other.advance(&mut place);
    assert_eq!((before, place), (task, StepId(2)));
    verdicts.clear();
    assert_eq!(verdicts.relation(&other, before, place), Relation::Before);
    assert_eq!(verdicts.relation(&other, place, first), Relation::After);
    assert_eq!((verdicts.questions(), verdicts.hits()), (4, 1));
}

/// Ids that were forgotten come back as other steps, with chunks that were forgotten too.
#[test]
fn memory_stays_flat_when_scopes_are_collapsed() {
    fn phases<S: Structure>(chunks: Option<fn(&S) -> usize>) {
        let mut structure = S::default();
        let mut place = structure.root();
        let mut outer = Vec::new();
        for _ in 0..47 {
            outer.push(structure.open(&mut place));
        }
        let mut most = 0;
        for phase in 0..1000 {
            let before = S::step(&place);
            let scope = structure.open(&mut place);
            let mut tasks = Vec::new();
            for _ in 0..20 {
                let mut task = structure.spawn(&mut place);
                // So deep that labels need chunks.
                let mut inner = Vec::new();
                for _ in 0..60 {
                    inner.push(structure.open(&mut task));
                }
                let innermost = structure.spawn(&mut task);
                tasks.push(S::step(&innermost));
                while let Some(scope) = inner.pop() {
                    structure.close(&mut task, scope);
                }
            }
            assert!(structure.relation(tasks[0], tasks[19]).is_parallel());
            structure.close(&mut place, scope);
            structure.collapse(scope);
            for &task in &tasks {
                assert_eq!(structure.relation(task, S::step(&place)), Relation::Before);
                assert_eq!(structure.resolve(task), structure.resolve(before));
            }
            most = chunks.map_or(most, |chunks| most.max(chunks(&structure)));
            structure.forget_collapsed();
            // Of the outermost node, once its ordinals are large, there is a chunk that stays.
            assert!(chunks.is_none_or(|chunks| chunks(&structure) <= 1), "{}: {phase}", S::NAME);
        }
        assert!(chunks.is_none() || most >= 20, "{}: {most}", S::NAME);
        assert_eq!(structure.collapsed(), 0);
        // One step for each phase stays: it stands for what was within.
        assert!(structure.steps() <= 47 * 2 + 1000 + 2, "{}", S::NAME);
        while let Some(scope) = outer.pop() {
            structure.close(&mut place, scope);
            structure.collapse(scope);
        }
        structure.forget_collapsed();
        assert_eq!(structure.steps(), 2, "{}", S::NAME);
    }
    phases::<Labels>(Some(|labels| labels.chunks().count()));
    phases::<Ranks>(None);
}

#[test]
fn a_label_has_32_bytes() {
    assert_eq!(size_of::<super::label::Label>(), 32);
}

/// Labels serve without a table.
#[test]
fn labels_are_compared_alone() {
    let mut chunks = Chunks::default();
    let mut main = Cursor::root();
    let first = Cursor::root_label();
    let task = main.spawn(&mut chunks);
    let rest = main.advance(&mut chunks);
    let opened = main.open(&mut chunks);
    let within = main.spawn(&mut chunks);
    assert_eq!(first.relation(&task, chunks.table()), Relation::Before);
    assert_eq!(task.relation(&rest, chunks.table()), Relation::Left);
    assert_eq!(within.relation(&task, chunks.table()), Relation::Right);
    assert_eq!(within.relation(&opened.within, chunks.table()), Relation::After);
    assert_eq!(within.relation(&opened.after, chunks.table()), Relation::Before);
    assert_eq!(opened.after.relation(&task, chunks.table()), Relation::Right);
}

#[test]
fn after_a_restart_all_that_was_comes_before() {
    fn check<S: Structure>() {
        let mut structure = S::default();
        let mut root = structure.root();
        let beside = structure.spawn(&mut root);
        let mut past = vec![S::step(&root)];
        for _ in 0..50 {
            let scope = structure.open(&mut root);
            for _ in 0..20 {
                let mut task = structure.spawn(&mut root);
                let inner = structure.open(&mut task);
                past.push(S::step(&structure.spawn(&mut task)));
                past.push(S::step(&task));
                structure.close(&mut task, inner);
                past.push(S::step(&task));
                past.push(S::step(&root));
            }
            structure.close(&mut root, scope);
            structure.restart(scope, &[S::step(&beside), S::step(&root)]);
            let task = structure.spawn(&mut root);
            for step in &past {
                for now in [S::step(&root), S::step(&task)] {
                    assert_eq!(structure.relation(*step, now), Relation::Before);
                }
            }
            assert_eq!(structure.relation(S::step(&task), S::step(&root)), Relation::Left);
            for step in [S::step(&root), S::step(&task)] {
                assert_eq!(structure.relation(S::step(&beside), step), Relation::Left);
                assert_eq!(structure.relation(step, S::step(&beside)), Relation::Right);
            }
            past.clear();
            structure.forget_collapsed();
        }
    }
    check::<super::ranks::Ranks>();
    check::<super::labels::Labels>();
    check::<super::tree::Tree>();
}
