//! Makes every table with tiny traces. Times are never looked at: only that there are figures where figures belong.

use keirin_bench::programs::Programs;
use keirin_bench::runtime::Compiler;
use keirin_bench::runtime::online::{self, Library, Mode};
use keirin_bench::shapes::Shape;
use keirin_bench::{analyses, atomtracker, many_tasks, oracle, structure, tasks, traces, transactions};
use keirin_core::generate::Family;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Long enough for any machine.
const LIMIT: Duration = Duration::from_secs(600);

fn programs() -> Programs {
    Programs::beside(Path::new(env!("CARGO_BIN_EXE_keirin-bench"))).expect("keirin can be built")
}

/// The fields of the rows of a table, without its head.
fn rows(table: &str) -> Vec<Vec<&str>> {
    let lines = table.lines().skip_while(|line| !line.starts_with("|---"));
    let rows = lines.skip(1).take_while(|line| line.starts_with('|'));
    rows.map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

fn is_figure(field: &str) -> bool {
    field.replace(',', "").parse::<f64>().is_ok_and(|figure| figure >= 0.0)
}

#[test]
fn traces_of_all_families_are_measured() {
    let families = Family::THREADS.to_vec();
    let settings = traces::Settings { events: 3000, rounds: 1, limit: LIMIT, families };
    let mut tables = Vec::new();
    traces::tables(&programs(), &settings, |table| tables.push(table.to_owned())).expect("all runs work");
    assert_eq!(tables.len(), Family::THREADS.len());
    for (table, family) in tables.iter().zip(Family::THREADS) {
        assert!(table.starts_with(&format!("### `{family}`")), "{table}");
        assert!(table.contains("bytes an event as text"), "{table}");
        let rows = rows(table);
        assert_eq!(rows.len(), 5, "{table}");
        for row in &rows {
            assert_eq!(row.len(), 7, "{table}");
            assert!([1, 4, 5].iter().all(|&column| is_figure(row[column])), "{table}");
        }
        assert!(rows[1][6].contains("× bare: "), "{table}");
        assert!(rows[2][6].contains("million/s: "), "{table}");
        assert!(rows[3][6].contains("million/s: "), "{table}");
    }
}

#[test]
fn transactions_are_counted_alike_each_time() {
    let settings = transactions::Settings { events: 3000, limit: LIMIT, families: Family::THREADS.to_vec() };
    let programs = programs();
    let table = transactions::table(&programs, &settings).expect("all runs work");
    let rows = rows(&table);
    assert_eq!(rows.len(), Family::THREADS.len());
    for row in &rows {
        assert_eq!(row.len(), 8, "{table}");
        assert!(row[1..].iter().all(|field| is_figure(field)), "{table}");
    }
    assert_eq!(table, transactions::table(&programs, &settings).expect("all runs work"));
}

#[test]
fn analyses_are_measured_and_judged() {
    let families = analyses::DEFAULT_FAMILIES.to_vec();
    let settings = analyses::Settings { events: 3000, rounds: 1, limit: LIMIT, families };
    let mut parts = Vec::new();
    analyses::tables(&programs(), &settings, |part| parts.push(part.to_owned())).expect("all runs work");
    let [title, speeds @ .., one_pass, comparison, warnings] = parts.as_slice() else {
        panic!("too few tables: {parts:?}");
    };
    assert_eq!(title, "## Speed\n\n");
    assert_eq!(speeds.len(), analyses::DEFAULT_FAMILIES.len());
    for (table, family) in speeds.iter().zip(analyses::DEFAULT_FAMILIES) {
        assert!(table.starts_with(&format!("### `{family}`")), "{table}");
        let rows = rows(table);
        assert_eq!(rows.len(), 6, "{table}");
        for row in &rows {
            assert_eq!(row.len(), 7, "{table}");
            assert!([1, 4, 5].iter().all(|&column| is_figure(row[column])), "{table}");
        }
        assert!(rows[3][6].contains("million/s: "), "{table}");
        // The traces are serializable.
        assert_eq!((rows[3][5], rows[4][5]), ("0", "0"), "{table}");
    }
    assert!(one_pass.starts_with("## One pass"), "{one_pass}");
    assert_eq!(rows(one_pass).len(), analyses::DEFAULT_FAMILIES.len() + 1, "{one_pass}");
    assert!(comparison.starts_with("## The paper's comparison"), "{comparison}");
    for row in rows(comparison) {
        assert_eq!(row.len(), 13, "{comparison}");
        assert!(row[8..].iter().all(|field| is_figure(field)), "{comparison}");
    }
    assert!(warnings.starts_with("## Warnings"), "{warnings}");
    let rows = rows(warnings);
    assert_eq!(rows.len(), 18, "{warnings}");
    for row in rows {
        assert!([2, 4, 5, 6, 7, 8].iter().all(|&column| is_figure(row[column])), "{warnings}");
        assert!(row[3] != "Velodrome" || row[7] == "0", "Velodrome has no false alarms: {warnings}");
    }
}

#[test]
fn structures_are_measured_on_all_shapes() {
    let settings = structure::Settings { rounds: 1, shrink: 1000 };
    let mut tables = Vec::new();
    structure::tables(&programs(), &settings, |table| tables.push(table.to_owned())).expect("all runs work");
    assert_eq!(tables.len(), Shape::ALL.len());
    for (table, shape) in tables.iter().zip(Shape::ALL) {
        assert!(table.starts_with(&format!("### `{}`", shape.name())), "{table}");
        let rows = rows(table);
        assert_eq!(rows.len(), structure::Contestant::ALL.len(), "{table}");
        for row in &rows {
            assert_eq!(row.len(), 7, "{table}");
            assert!(row[1..6].iter().all(|field| is_figure(field)), "{table}");
        }
    }
}

#[test]
fn the_tables_of_the_atomtracker_paper_are_made() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = atomtracker::Settings {
        runs: 8,
        stop_after: 3,
        further: 1,
        rounds: 1,
        work: 40,
        events: 20_000,
        compiler: Compiler::Gcc,
        plots: Some(folder.path().to_owned()),
    };
    let mut tables = Vec::new();
    atomtracker::tables(&programs(), &settings, |table| tables.push(table.to_owned()))
        .expect("all runs work");
    let [regions, bugs, alarms, costs, speed] = tables.as_slice() else { panic!("five tables: {tables:?}") };
    for row in &rows(regions)[..3] {
        assert_eq!(row.len(), 10, "{regions}");
        assert!(row[2..].iter().all(|field| field.ends_with('%')), "{regions}");
    }
    for row in rows(bugs) {
        assert_eq!(row.len(), 8, "{bugs}");
        assert!(
            row[4] == "yes" && row[6] == row[7],
            "every bug is found, by pairs those of the paper: {bugs}"
        );
    }
    assert_eq!((rows(bugs).len(), rows(alarms).len(), rows(costs).len()), (8, 11, 11));
    for row in rows(alarms) {
        assert!([1, 3, 5, 7, 8, 9].iter().all(|&column| is_figure(row[column])), "{alarms}");
        let figure = |column: usize| row[column].parse::<f64>().expect("a figure");
        assert!(figure(1) <= figure(3) && figure(3) <= figure(5), "hardware misses nothing: {alarms}");
    }
    for row in &rows(costs)[..8] {
        let figure = row[6].strip_suffix(" ×").expect("a ratio");
        assert!(is_figure(figure), "{costs}");
    }
    assert_eq!(rows(speed).len(), 6, "{speed}");
    assert!(rows(speed).iter().all(|row| row[1..].iter().all(|field| is_figure(field))), "{speed}");
    let plots = std::fs::read_dir(folder.path()).expect("the folder is there").count();
    assert_eq!(plots, 4);
}

#[test]
fn the_program_prints_a_table() {
    let output = Command::new(env!("CARGO_BIN_EXE_keirin-bench"))
        .args(["traces", "--events", "1_000", "--rounds", "1", "few-threads"])
        .output()
        .expect("keirin-bench runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(rows(&text).len(), 5, "{text}");
}

#[test]
fn task_analyses_are_judged_by_all_schedules() {
    let settings = oracle::Settings { programs: 40, disciplines: Vec::new() };
    let tables = oracle::tables(&settings).expect("what is meant to be exact is exact");
    let disciplines = oracle::names().count();
    for part in ["## Races", "## Atomicity of steps", "## Atomicity of annotated blocks"] {
        let (_, table) = tables.split_once(part).expect("there is such a part");
        let rows = rows(table);
        assert_eq!(rows.len(), disciplines + 1, "{table}");
        for row in &rows {
            assert!(row[1..4].iter().all(|field| is_figure(field)), "{table}");
        }
    }
    // The same programs each time, whichever thread takes them.
    assert_eq!(tables, oracle::tables(&settings).expect("what is meant to be exact is exact"));
    let one = oracle::Settings { programs: 10, disciplines: vec!["edges".to_owned()] };
    assert_eq!(rows(&oracle::tables(&one).expect("what is meant to be exact is exact")).len(), 2);
}

#[test]
fn task_analyses_are_measured_on_all_families() {
    let settings =
        tasks::Settings { events: 3000, rounds: 1, limit: LIMIT, families: Family::TASKS.to_vec() };
    let mut tables = Vec::new();
    tasks::tables(&programs(), &settings, |table| tables.push(table.to_owned())).expect("all runs work");
    assert_eq!(tables.len(), 2 * Family::TASKS.len());
    for (pair, family) in tables.chunks(2).zip(Family::TASKS) {
        let [table, lock_free] = pair else { panic!("there are two parts for each family") };
        assert!(table.starts_with(&format!("### `{family}`")), "{table}");
        let (speed, structures) = table.split_once("PTRacer with other").expect("there are two tables");
        let speed = rows(speed);
        assert_eq!(speed.len(), 8, "{table}");
        let lock_free = rows(lock_free);
        assert_eq!(lock_free.len(), 4, "{lock_free:?}");
        for row in speed[2..].iter().chain(&lock_free[2..]) {
            assert_eq!(row.len(), 9, "{row:?}");
            assert!([1, 5, 6, 7].iter().all(|&column| is_figure(row[column])), "{row:?}");
        }
        assert!(speed[3][8].contains("million/s: ") && speed[5][8].contains("× PTRacer: "), "{table}");
        assert!(lock_free[2][8].contains("million/s: "), "{lock_free:?}");
        for row in rows(structures) {
            assert_eq!(row.len(), 11, "{table}");
            assert!([1, 4, 5, 6, 7].iter().all(|&column| is_figure(row[column])), "{table}");
            assert!(row[8].ends_with('%') && row[9].ends_with('%') && row[10].ends_with('%'), "{table}");
        }
    }
}

#[test]
fn memory_of_many_tasks_is_measured() {
    let settings = many_tasks::Settings { tasks: 5_000 };
    let mut tables = Vec::new();
    many_tasks::tables(&programs(), &settings, |table| tables.push(table.to_owned())).expect("all runs work");
    assert_eq!(tables.len(), 2);
    for table in &tables {
        let rows = rows(table);
        assert_eq!(rows.len(), 3 * many_tasks::Shape::ALL.len(), "{table}");
        for row in &rows {
            assert_eq!(row.len(), 9, "{table}");
            assert!([1, 2, 3, 5, 6, 7].iter().all(|&column| is_figure(row[column])), "{table}");
        }
        assert!(rows[2][8].starts_with("flat memory: "), "{table}");
    }
}

#[test]
fn watched_applications_are_measured_and_plotted() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = online::Settings {
        rounds: 1,
        share: 1,
        threads: vec![2],
        applications: vec!["alignment".to_owned(), "nqueens".to_owned()],
        compilers: vec![Compiler::Gcc],
        libraries: vec![Library::Tbb],
        // The other modes look at much more than times; any will do here.
        modes: vec![Mode::parse("fasttrack").expect("a mode")],
        lean: false,
        plots: Some(folder.path().to_owned()),
    };
    let mut tables = Vec::new();
    online::tables(&programs(), &settings, |table| tables.push(table.to_owned())).expect("all runs work");
    let [tables] = tables.as_slice() else { panic!("one part for one library and compiler: {tables:?}") };
    let parts: Vec<&str> = tables.split("### ").skip(1).collect();
    assert_eq!(parts.len(), 3, "{tables}");
    for ratios in &parts[..2] {
        let rows = rows(ratios);
        assert_eq!(rows.len(), 3, "{ratios}");
        assert!(is_figure(rows[0][1]) && rows.iter().all(|row| row[2].ends_with('×')), "{ratios}");
    }
    let counted = rows(parts[2]);
    assert_eq!(counted.len(), 2, "{tables}");
    assert!(counted.iter().all(|row| is_figure(row[4]) && is_figure(row[6])), "{tables}");
    for name in ["slowdown-tbb-gcc-2.svg", "memory-tbb-gcc-2.svg"] {
        let svg = std::fs::read_to_string(folder.path().join(name)).expect("a plot");
        assert!(svg.contains("nqueens") && svg.contains("geometric mean"), "{svg}");
    }
}
