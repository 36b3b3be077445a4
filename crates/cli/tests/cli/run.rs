//! `keirin run` and `keirin record`, with programs that hand over what a test has prepared.

use crate::support::{KEIRIN, Sandbox};
use keirin_core::event::{AccessKind, Addr, FunctionId, Op, SiteId, StackId, ThreadId};
use keirin_core::finding::{Evidence, Moment, Race, RawFinding, RawStep, Rule, Verdict};
use keirin_core::handover::{End, Writer};
use keirin_core::replay::Counts;
use keirin_core::stack::{Frame, Stacks};
use keirin_core::trace::{MemoryBlock, Module, ModuleId, Place, Site, Tables, ThreadOrigin};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

const BASE: u64 = 0x5555_0000_0000;
const HEAP: u64 = 0x7777_0000_0000;

/// What a run did, with any status.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) trait Runs {
    fn run(&self, arguments: &[&str]) -> Ran;
    fn script(&self, name: &str, text: &str);
    fn handing_over(&self, name: &str, bytes: &[u8], then: &str);
}

impl Runs for Sandbox {
    #[track_caller]
    fn run(&self, arguments: &[&str]) -> Ran {
        let output = self.command(KEIRIN).args(arguments).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let ran =
            Ran { code: output.status.code().unwrap(), out: text(&output.stdout), err: text(&output.stderr) };
        assert!(!ran.err.contains("internal error"), "{}", ran.err);
        ran
    }

    fn script(&self, name: &str, text: &str) {
        self.write(name, format!("#!/bin/sh\n{text}\n"));
        std::fs::set_permissions(self.path(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// A program that hands something over and does something else then.
    fn handing_over(&self, name: &str, bytes: &[u8], then: &str) {
        self.write(&format!("{name}.handover"), bytes);
        let prefix = r#"prefix=$(printf %s "$KEIRIN_RUNTIME" | tr ';' '\n' | sed -n 's/^findings=//p')"#;
        let copy = format!("cp '{}' \"$prefix.$$.0\"", self.path(&format!("{name}.handover")).display());
        self.script(name, &format!("{prefix}\n{copy}\n{then}"));
    }
}

/// A process that found nothing.
fn clean() -> Vec<u8> {
    let mut writer = Writer::new(7, "clean");
    writer.counts(&Counts { events: 10, accesses: 5, threads: 2, locks: 1, ..Counts::default() });
    writer.end(End::Exit(0));
    writer.take_bytes()
}

/// Builds the program whose places have names.
fn places(sandbox: &Sandbox) -> impl Fn(&str) -> u64 {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/programs/places.c");
    std::fs::copy(source, sandbox.path("places.c")).unwrap();
    let mut gcc = sandbox.command("gcc");
    gcc.args(["-g", "-O1", "-Wl,--build-id=0x01020304", "places.c", "-o", "places"]);
    assert!(gcc.status().unwrap().success());
    let symbols = sandbox.command("nm").arg("places").output().unwrap();
    let symbols = String::from_utf8(symbols.stdout).unwrap();
    move |name| {
        let line = symbols.lines().find(|line| line.split(' ').next_back() == Some(name)).unwrap();
        u64::from_str_radix(line.split(' ').next().unwrap(), 16).unwrap()
    }
}

/// Two races in that program, as its runtime would tell them.
fn races(sandbox: &Sandbox) -> Vec<u8> {
    let address = places(sandbox);
    let mut tables = Tables::default();
    let path = sandbox.path("places").display().to_string().into();
    let build_id = vec![1, 2, 3, 4].into();
    tables.modules.push(Module { path, base: BASE, size: 0x10_0000, build_id });
    for label in ["place_in_bump", "place_in_worker", "place_in_main"] {
        let place = Place::Code { module: ModuleId(0), offset: address(label) + 1 };
        tables.sites.push(Site { place, function: FunctionId::NONE });
    }
    let [bump, worker, main] = [0, 1, 2].map(SiteId);
    tables.threads =
        vec![ThreadOrigin::default(), ThreadOrigin { parent: ThreadId(0), site: main, stack: StackId::NONE }];
    let block = MemoryBlock { size: 40, thread: ThreadId(0), site: main, stack: StackId::NONE };
    tables.blocks.insert(HEAP, block);
    let mut stacks = Stacks::new();
    let called = stacks.push(StackId::NONE, Frame { function: FunctionId::NONE, call_site: main });
    let race = |addr: u64, first: SiteId, second: SiteId| {
        let step = |kind, thread, site, stack| RawStep {
            moment: Moment { position: 3, thread: ThreadId(thread), site, stack },
            op: Op::Access { kind, size: 4, addr: Addr(addr) },
        };
        RawFinding {
            rule: Rule::DataRace,
            verdict: Verdict::Observed,
            steps: vec![
                step(AccessKind::Write, 0, first, called),
                step(AccessKind::Read, 1, second, StackId::NONE),
            ],
            evidence: Evidence::Race(Race { addr: Addr(addr), size: 4 }),
            lineage: None,
            count: 1,
        }
    };
    let mut writer = Writer::new(7, "places");
    writer.update(&tables, &stacks).unwrap();
    writer.finding(0, &race(BASE + address("table") + 16, bump, worker)).unwrap();
    writer.finding(1, &race(HEAP + 8, worker, bump)).unwrap();
    writer.counts(&Counts { events: 100, accesses: 50, threads: 2, locks: 1, ..Counts::default() });
    writer.note("a note from the runtime");
    writer.end(End::Exit(0));
    writer.take_bytes()
}

#[test]
fn findings_of_a_program_have_lines_names_and_origins() {
    let sandbox = Sandbox::new();
    sandbox.handing_over("program", &races(&sandbox), "echo the program speaks");
    let ran = sandbox.run(&["run", "--", "./program"]);
    assert_eq!((ran.code, &*ran.out), (66, "the program speaks\n"));
    insta::assert_snapshot!(sandbox.stable(&ran.err));
}

#[test]
fn machines_read_the_same_from_a_file() {
    let sandbox = Sandbox::new();
    sandbox.handing_over("program", &races(&sandbox), "echo the program speaks");
    let ran = sandbox.run(&["run", "--format", "json", "-o", "report.json", "--", "./program"]);
    assert_eq!((ran.code, &*ran.out), (66, "the program speaks\n"));
    let report: serde_json::Value = serde_json::from_str(&sandbox.text("report.json")).unwrap();
    let schema = serde_json::from_str(include_str!("../../../../docs/report.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    assert_eq!(validator.iter_errors(&report).map(|error| error.to_string()).collect::<Vec<_>>(), [""; 0]);
    let step = &report["findings"][0]["steps"][0];
    assert_eq!(step["stack"][0]["function"], "bump");
    assert_eq!(step["stack"][0]["inlined"], true);
    assert_eq!(step["stack"][1]["function"], "worker");
    assert_eq!(step["stack"][2]["function"], "main");
    assert_eq!(step["position"], serde_json::Value::Null);
    assert!(
        ran.err.contains("2 findings in a run of 2 threads with 1 lock (50 accesses checked in full)"),
        "{}",
        ran.err
    );
}

#[test]
fn a_baseline_and_suppressions_work_as_for_traces() {
    let sandbox = Sandbox::new();
    sandbox.handing_over("program", &races(&sandbox), "exit 4");
    assert_eq!(sandbox.run(&["run", "--write-baseline", "base.json", "--", "./program"]).code, 66);
    let ran = sandbox.run(&["run", "--baseline", "base.json", "--", "./program"]);
    assert_eq!(ran.code, 4, "{}", ran.err);
    assert!(ran.err.contains("no findings (2 in the baseline)"), "{}", ran.err);
    assert!(ran.err.contains("the program exited with status 4"), "{}", ran.err);
}

#[test]
fn the_programs_end_is_keirins_end() {
    let sandbox = Sandbox::new();
    for (then, code) in [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143), ("kill -SEGV $$", 139)] {
        sandbox.handing_over("program", &clean(), then);
        let ran = sandbox.run(&["run", "--", "./program"]);
        assert_eq!(ran.code, code, "{then}: {}", ran.err);
        assert!(
            ran.err.contains(
                "no findings in a run of 2 threads with 1 lock (5 accesses checked in full) by fasttrack"
            ),
            "{}",
            ran.err
        );
        if code > 128 {
            assert!(ran.err.contains(&format!("ended by signal {}", code - 128)), "{}", ran.err);
        }
    }
}

#[test]
fn what_was_found_before_a_crash_is_told() {
    let sandbox = Sandbox::new();
    let mut bytes = races(&sandbox);
    bytes.truncate(bytes.len() - 20);
    sandbox.handing_over("program", &bytes, "kill -KILL $$");
    let ran = sandbox.run(&["run", "--", "./program"]);
    assert_eq!(ran.code, 66);
    assert!(ran.err.contains("SIGKILL"), "{}", ran.err);
    assert!(ran.err.contains("cut off or damaged"), "{}", ran.err);
    assert!(ran.err.contains("2 findings"), "{}", ran.err);
}

#[test]
fn several_processes_are_one_report() {
    let sandbox = Sandbox::new();
    sandbox.handing_over("child", &races(&sandbox), "exit 0");
    sandbox.handing_over("program", &races(&sandbox), "./child; ./child; exit 0");
    let ran = sandbox.run(&["run", "--", "./program"]);
    assert_eq!(ran.code, 66);
    assert!(
        ran.err.contains(
            "2 findings in a run of 6 threads with 3 locks in 3 processes (150 accesses checked in full)"
        ),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("3 times"), "{}", ran.err);
    assert_eq!(ran.err.matches("a note from the runtime").count(), 1);
}

#[test]
fn programs_that_cannot_be_watched_are_told_with_a_remedy() {
    let sandbox = Sandbox::new();
    sandbox.write("text", "not a program");
    sandbox.folder("folder");
    sandbox.script("script", "exit 0");
    sandbox.script("failing", "exit 9");
    assert!(places(&sandbox)("worker") > 0);
    let mut told = String::new();
    for program in
        ["./missing", "missing-program", "places", "./text", "./folder", "./script", "./failing", "./places"]
    {
        let ran = sandbox.run(&["run", "--", program]);
        assert_eq!(ran.out, "");
        told += &format!("{program}: {}\n{}", ran.code, sandbox.stable(&ran.err));
    }
    insta::assert_snapshot!(told);
}

#[test]
fn a_program_with_the_compilers_own_runtime_must_be_linked_again() {
    let sandbox = Sandbox::new();
    sandbox.write("own.c", "void __tsan_init(void) {}\nint main(void) { return 0; }\n");
    assert!(sandbox.command("gcc").args(["own.c", "-o", "own"]).status().unwrap().success());
    let ran = sandbox.run(&["run", "--", "./own"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("link it again with `keirin cc`"), "{}", ran.err);
}

#[test]
fn a_program_that_is_linked_against_libtsan_is_watched() {
    let sandbox = Sandbox::new();
    let text = "#include <thread>\nint counter;\nint main() {\n  std::thread other([] { counter++; });\n  counter++;\n  \
                other.join();\n}\n";
    sandbox.write("counter.cpp", text);
    let mut compiler = sandbox.command("g++");
    compiler.args(["-fsanitize=thread", "-g", "-O1", "counter.cpp", "-o", "counter"]);
    assert!(compiler.status().unwrap().success());
    let ran = sandbox.run(&["run", "--format", "json", "--", "./counter"]);
    assert_eq!(ran.code, 66, "{}", ran.err);
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let findings = report["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1, "the reads and writes of one statement are one race: {}", ran.out);
    assert_eq!(findings[0]["location"]["name"], "counter");
    let mut lines: Vec<_> = findings[0]["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["stack"][0]["place"]["line"].as_u64().unwrap())
        .collect();
    lines.sort_unstable();
    assert_eq!(lines, [4, 5]);
}

#[test]
fn marked_blocks_that_a_rule_excludes_are_left_out_and_that_is_told() {
    let sandbox = Sandbox::new();
    std::fs::copy(
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/atomicity/lost_update.c"),
        sandbox.path("lost.c"),
    )
    .unwrap();
    let support = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/support");
    let built = sandbox.run(&["cc", "-g", "-O1", "-pthread", "-I", support, "lost.c", "-o", "lost"]);
    assert_eq!(built.code, 0, "{}", built.err);
    let watch =
        |rule: &str| sandbox.run(&["run", "--analysis", "velodrome", "--atomic", rule, "--", "./lost"]);
    let ran = watch("-nothing");
    assert_eq!(ran.code, 66, "{}", ran.err);
    let ran = watch("-.*");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.err.contains("left out, in which marked blocks take part that --atomic excludes"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("no findings"), "{}", ran.err);
}

#[test]
fn options_reach_the_runtime() {
    let sandbox = Sandbox::new();
    sandbox.handing_over("program", &clean(), "printf %s \"$KEIRIN_RUNTIME\"");
    let arguments = "run --analysis velodrome,eraser --atomic critical-sections --adversarial=writes \
                     --adversarial-pause 20 --memory-cap 4G --library-locks --record t.ktrace --exact-order -- ./program";
    let ran = sandbox.run(&arguments.split_whitespace().collect::<Vec<_>>());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let mut settings: Vec<&str> = ran.out.split(';').collect();
    settings.retain(|setting| !setting.starts_with("findings=/"));
    let record = format!("record={}", sandbox.path("t.ktrace").display());
    let expected = [
        "analysis=velodrome,eraser",
        "exact-order=1",
        "memory-cap=4294967296",
        "library-locks=1",
        "adversarial=writes",
        "adversarial-pause=20",
        &record,
        "critical-sections=1",
    ];
    assert_eq!(settings, expected);
    assert!(ran.err.contains("there is no trace in t.ktrace"), "{}", ran.err);
    let plain = sandbox.run(&["run", "--adversarial", "--", "./program"]);
    assert!(plain.out.contains("adversarial=all"), "{}", plain.out);
}

#[test]
fn a_script_has_no_functions_and_nothing_is_left_behind() {
    let sandbox = Sandbox::new();
    sandbox.handing_over("program", &clean(), "exit 0");
    sandbox.folder("temporary");
    let mut command = sandbox.command(KEIRIN);
    command.args(["run", "--analysis", "velodrome", "--atomic", "+^work", "--", "./program"]);
    let output = command.env("TMPDIR", sandbox.path("temporary")).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(told.contains("no function of the program matches"), "{told}");
    assert_eq!(std::fs::read_dir(sandbox.path("temporary")).unwrap().count(), 0);
}

#[test]
fn options_that_do_not_fit_are_refused_before_the_program_runs() {
    let sandbox = Sandbox::new();
    sandbox.script("program", "touch started");
    let mut told = String::new();
    for arguments in [
        "run",
        "run ./program",
        "run --no-witness -- ./program",
        "run --adversarial-pause 5 -- ./program",
        "run --adversarial=perhaps -- ./program",
        "run --memory-cap much -- ./program",
        "run --memory-cap 99999999999T -- ./program",
        "run --exact-order -- ./program",
        "run --analysis ptracer --exact-order -- ./program",
        "run --examine -- ./program",
        "run --analysis ptracer --no-witness -- ./program",
        "run --algorithm published -- ./program",
        "run --analysis spd3,all-sets --algorithm published -- ./program",
        "run --analysis task-atomicity --algorithm published --check gaps -- ./program",
        "run --atomic functions -- ./program",
        "run -o no/such/folder/x -- ./program",
        "record -- ./program",
        "record -o - -- ./program",
        "record -o no/such/folder/x -- ./program",
    ] {
        let ran = sandbox.run(&arguments.split(' ').collect::<Vec<_>>());
        assert_eq!(ran.out, "");
        told += &format!("{arguments}: {}\n{}", ran.code, sandbox.stable(&ran.err));
    }
    assert!(!sandbox.path("started").exists());
    insta::assert_snapshot!(told);
}

#[test]
fn a_folder_for_findings_that_cannot_be_made_is_told() {
    let sandbox = Sandbox::new();
    sandbox.script("program", "touch started");
    let mut command = sandbox.command(KEIRIN);
    let output = command.args(["run", "--", "./program"]).env("TMPDIR", "/no/such/folder").output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("set TMPDIR"));
    assert!(!sandbox.path("started").exists());
}

#[test]
fn recording_tells_what_was_recorded() {
    let sandbox = Sandbox::new();
    sandbox.handing_over("program", &clean(), "printf trace > run.ktrace; exit 5");
    sandbox.write("run.ktrace", "an old trace that is longer");
    let ran = sandbox.run(&["record", "-o", "run.ktrace", "--", "./program"]);
    assert_eq!(ran.code, 5);
    let expected =
        "keirin: 10 events of 2 threads; recorded 5 bytes to run.ktrace; next: keirin check run.ktrace";
    assert_eq!(ran.err.lines().last(), Some(expected));
    sandbox.handing_over("program", &clean(), "exit 0");
    let ran = sandbox.run(&["record", "-o", "run.ktrace", "--", "./program"]);
    assert_eq!(ran.code, 3, "without a trace nothing was recorded");
    assert!(ran.err.contains("there is no trace in run.ktrace"), "{}", ran.err);
}

#[test]
fn standard_input_and_arguments_belong_to_the_program() {
    let sandbox = Sandbox::new();
    sandbox.handing_over("program", &clean(), "cat; echo \"$0: $*\"");
    let mut command = sandbox.command(KEIRIN);
    command.args(["run", "--", "./program", "--format", "a b", "--"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"typed\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "typed\n./program: --format a b --\n");
}

#[test]
fn signals_that_are_sent_to_keirin_reach_the_program() {
    let sandbox = Sandbox::new();
    for (signal, code) in [("TERM", 31), ("INT", 32), ("HUP", 33), ("USR1", 34)] {
        let then = format!("trap 'exit {code}' {signal}; touch ready; while :; do sleep 0.05; done");
        sandbox.handing_over("program", &clean(), &then);
        let _ = std::fs::remove_file(sandbox.path("ready"));
        let mut command = sandbox.command(KEIRIN);
        command.args(["run", "--", "./program"]).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        while !sandbox.path("ready").exists() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let kill = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().unwrap();
        assert!(kill.success());
        assert_eq!(child.wait().unwrap().code(), Some(code), "{signal}");
    }
}
