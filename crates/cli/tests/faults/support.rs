//! Builds the programs of `tests/programs/faults`, runs keirin with a limit of time, and looks at what it said.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The program under test.
pub(crate) const KEIRIN: &str = env!("CARGO_BIN_EXE_keirin");
const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs");
/// Runs take a second or two; a loaded machine may take its time.
const LIMIT: Duration = Duration::from_secs(60);

/// How keirin ends if it found something.
pub(crate) const FINDINGS: i32 = 66;
/// What every finding of these programs begins with.
pub(crate) const RACE: &str = "data race on `shared`";

/// Root is not refused what others are.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// What a command stands behind that may change its root and mount file systems of its own: a namespace of mounts, and for
/// who is not root one of users as well, in which they are root.
pub(crate) fn privileged() -> &'static [&'static str] {
    static PRIVILEGED: LazyLock<&[&str]> = LazyLock::new(|| {
        let ways: [&[&str]; 2] = [&["unshare", "--mount"], &["unshare", "--map-root-user", "--mount"]];
        let works = |way: &&[&str]| {
            let probe = "mount -t tmpfs none /mnt && exec chroot / true";
            let run = Command::new(way[0]).args(&way[1..]).args(["sh", "-c", probe]).output();
            run.is_ok_and(|output| output.status.success())
        };
        let way = ways.into_iter().find(works);
        way.expect("this test mounts a file system or changes its root: that needs root or namespaces of users (unshare -r -m)")
    });
    *PRIVILEGED
}

/// A folder of the test's own.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("fault-").tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// A program of the folder, built once by `keirin cc` or `keirin c++` with gcc.
pub(crate) fn program(source: &str) -> PathBuf {
    built(source, "gcc", &[])
}

/// The same with a compiler and arguments.
#[track_caller]
pub(crate) fn built(source: &str, compiler: &str, arguments: &[&str]) -> PathBuf {
    static BUILT: LazyLock<Mutex<HashMap<String, PathBuf>>> = LazyLock::new(Mutex::default);
    static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
        // A place that all users can reach, for the tests that change the user.
        tempfile::Builder::new().prefix("keirin-faults-").tempdir().unwrap()
    });
    let mut known = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    let key = format!("{source} {compiler} {arguments:?}");
    if let Some(path) = known.get(&key) {
        return path.clone();
    }
    let path = FOLDER.path().join(format!("{}-{}", source.split('.').next().unwrap(), known.len()));
    let mut command = Command::new(KEIRIN);
    let cpp = source.ends_with(".cpp");
    command
        .env_remove("KEIRIN_OPTIONS")
        .env("KEIRIN_CACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"))
        .env("KEIRIN_CC", compiler)
        .env("KEIRIN_CXX", compiler.replace("gcc", "g++").replace("clang", "clang++"))
        .args([if cpp { "c++" } else { "cc" }, "-g", "-O1", "-pthread", "-I"])
        .arg(Path::new(PROGRAMS).join("support"))
        .args(arguments)
        .arg(Path::new(PROGRAMS).join("faults").join(source))
        .arg("-o")
        .arg(&path);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{source}: {}", String::from_utf8_lossy(&output.stderr));
    known.insert(key, path.clone());
    path
}

/// A source file, for compilers that are called without keirin.
pub(crate) fn source(name: &str) -> PathBuf {
    Path::new(PROGRAMS).join("faults").join(name)
}

/// The folder of headers that the programs need.
pub(crate) fn headers() -> PathBuf {
    Path::new(PROGRAMS).join("support")
}

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Run {
    /// The exit status; 128 and the number for a signal.
    pub(crate) code: i32,
    pub(crate) out: String,
    /// All that it said, in one line: texts are wrapped.
    pub(crate) said: String,
}

impl Run {
    /// What keirin must have said, wherever.
    #[track_caller]
    pub(crate) fn says(&self, text: &str) -> &Self {
        assert!(self.said.contains(text), "no {text:?} in {self:#?}");
        self
    }

    /// What it must not contain.
    #[track_caller]
    pub(crate) fn never_says(&self, text: &str) -> &Self {
        assert!(!self.said.contains(text), "{text:?} in {self:#?}");
        self
    }

    /// The status and the output of the program.
    #[track_caller]
    pub(crate) fn ended(&self, code: i32, out: &str) -> &Self {
        assert_eq!((self.code, &*self.out), (code, out), "{self:#?}");
        self.never_says("internal error").never_says("Please report this")
    }

    /// The one race of the programs was found, and nothing else.
    #[track_caller]
    pub(crate) fn raced(&self, out: &str) -> &Self {
        self.ended(FINDINGS, out).says(RACE);
        assert_eq!(self.said.matches("error[").count(), 1, "{self:#?}");
        self
    }

    /// What the program's own status was, if it was not zero.
    #[track_caller]
    pub(crate) fn own_status(&self, code: i32) -> &Self {
        self.says(&format!("the program exited with status {code}"))
    }
}

/// A command that runs, in a process group of its own.
pub(crate) struct Running {
    child: Child,
    folder: tempfile::TempDir,
}

/// Starts a command; its output goes to files, so that nobody has to read it.
#[track_caller]
pub(crate) fn start(mut command: Command) -> Running {
    let folder = folder();
    let create = |name: &str| File::create(folder.path().join(name)).unwrap();
    command
        .env_remove("KEIRIN_OPTIONS")
        .env_remove("KEIRIN_RUNTIME")
        .env("NO_COLOR", "1")
        .env("COLUMNS", "100")
        .stdin(Stdio::null())
        .stdout(create("out"))
        .stderr(create("said"))
        .process_group(0);
    let child = command.spawn().unwrap();
    Running { child, folder }
}

impl Running {
    /// The number of keirin's process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What the program has printed so far.
    pub(crate) fn out(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("out")).unwrap()
    }

    /// Waits until the program has printed something.
    #[track_caller]
    pub(crate) fn await_output(&self, text: &str) {
        let started = Instant::now();
        while !self.out().contains(text) {
            assert!(started.elapsed() < LIMIT, "no {text:?} in {:?}", self.out());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Sends a signal to keirin.
    pub(crate) fn signal(&self, name: &str) {
        assert!(Command::new("kill").args([name, &self.pid().to_string()]).status().unwrap().success());
    }

    /// Waits for the end.
    #[track_caller]
    pub(crate) fn finish(mut self) -> Run {
        let status = self.wait();
        let said = std::fs::read(self.folder.path().join("said")).unwrap();
        let said = format!("{} {}", String::from_utf8_lossy(&said), self.out());
        let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap());
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        Run { code, out: self.out(), said }
    }

    #[track_caller]
    fn wait(&mut self) -> ExitStatus {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            if started.elapsed() > LIMIT {
                // The program as well, which is in the same group.
                let group = format!("-{}", self.pid());
                Command::new("kill").args(["-KILL", "--", &group]).status().unwrap();
                self.child.wait().unwrap();
                let said = std::fs::read_to_string(self.folder.path().join("said"));
                panic!("hangs; printed {:?}, said {said:?}", self.out());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// `keirin run` with options, on a program with arguments.
pub(crate) fn watching(options: &[&str], program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(KEIRIN);
    command.arg("run").args(options).arg("--").arg(program).args(arguments);
    command
}

/// Runs a program under `keirin run`.
#[track_caller]
pub(crate) fn watch(program: &Path, arguments: &[&str]) -> Run {
    start(watching(&[], program, arguments)).finish()
}

/// Runs a line of the shell, in which `$KEIRIN` and `$PROGRAM` stand for what they say.
#[track_caller]
pub(crate) fn shell(program: &Path, line: &str) -> Run {
    let mut command = Command::new("bash");
    command.args(["-c", line]).env("KEIRIN", KEIRIN).env("PROGRAM", program);
    start(command).finish()
}

/// Runs keirin in a folder.
#[track_caller]
pub(crate) fn keirin_in(folder: &Path, arguments: &[&str]) -> Run {
    let mut command = Command::new(KEIRIN);
    command.args(arguments).current_dir(folder);
    start(command).finish()
}
