//! What the tests of task analyses share: small programs, random ones, observed runs of them, and the oracle.
//!
//! No file here but this one knows a test framework, and the files refer to each other as siblings only: another crate
//! can take them in with `#[path]`, all into one module.

pub(crate) mod calls;
pub(crate) mod execute;
pub(crate) mod explore;
pub(crate) mod generate;
pub(crate) mod notation;
pub(crate) mod observe;
pub(crate) mod oracle;
pub(crate) mod program;
pub(crate) mod random;
pub(crate) mod shrink;

/// How many programs of each discipline: `KEIRIN_CASES`, which the long mode of `./test` sets, or some thousands.
pub(crate) fn cases() -> u64 {
    std::env::var("KEIRIN_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(3_000)
}

/// The seed of a case. `KEIRIN_SEED` moves on to other programs.
pub(crate) fn seed(case: u64) -> u64 {
    let base: u64 = std::env::var("KEIRIN_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    (base << 32) + case + 1
}

/// Makes a test of each discipline: calls a function with it.
macro_rules! for_all_disciplines {
    ($check:ident) => {
        for_all_disciplines! { $check,
            no_locks: NoLocks,
            nested_and_ordered_locks: NestedOrdered,
            hand_over_hand: HandOverHand,
            locks_in_any_order: AnyOrder,
            locks_across_spawns: AcrossSpawns,
            readers_and_writers: ReaderWriter,
            recursive_locks: Recursive,
            order_beside_the_tree: Edges,
            escaping_tasks: Escaping,
            groups_of_locations: Groups,
        }
    };
    ($check:ident, $($name:ident: $discipline:ident,)*) => { $(
        #[test]
        fn $name() {
            $check(Discipline::$discipline);
        }
    )* };
}

#[allow(unused_imports, reason = "taken in by a crate without such tests")]
pub(crate) use for_all_disciplines;
