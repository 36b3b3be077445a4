//! Where source text comes from: the working folder, the folders of `--source-root`, and files built into keirin.
//!
//! The paths come from a trace, and a trace comes from anywhere. So only regular files below one of the folders are
//! read (a report must not quote `/etc/passwd` because a trace says so, nor hang on a pipe), only up to a size, and
//! only so many of them.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

/// Larger files are generated ones, which nobody wants to read in a report.
const LARGEST_FILE: u64 = 4 << 20;

/// How much text is kept altogether.
const LARGEST_TOTAL: u64 = 64 << 20;

/// How many different paths are looked up on the file system.
const MOST_LOOKUPS: usize = 10_000;

/// Finds and keeps source text.
#[derive(Debug)]
pub(crate) struct Sources {
    /// The folders, canonical. The first is the working folder.
    roots: Vec<PathBuf>,
    embedded: HashMap<String, Rc<str>>,
    cache: RefCell<HashMap<String, Option<Rc<str>>>>,
    used: Cell<u64>,
}

impl Sources {
    /// Looks below `current` and then below the given folders. A folder that does not exist has no files.
    pub(crate) fn new(current: &Path, source_roots: &[PathBuf]) -> Self {
        let roots = std::iter::once(current.to_path_buf())
            .chain(source_roots.iter().map(|root| current.join(root)))
            .filter_map(|root| fs::canonicalize(root).ok())
            .collect();
        Sources { roots, ..Self::none() }
    }

    /// Looks nowhere; only embedded files are found.
    pub(crate) fn none() -> Self {
        Sources { roots: Vec::new(), embedded: HashMap::new(), cache: RefCell::default(), used: Cell::new(0) }
    }

    /// Adds a file that is built in. It is found before any file of that name on the file system.
    pub(crate) fn embed(&mut self, path: &str, text: &str) {
        self.embedded.insert(path.to_owned(), text.into());
    }

    /// The path as reports show it: relative to the folder it is below, else as it is.
    pub(crate) fn relative(&self, path: &str) -> String {
        let plain = path.strip_prefix("./").unwrap_or(path);
        let below = self.roots.iter().filter_map(|root| Path::new(plain).strip_prefix(root).ok());
        below
            .min_by_key(|rest| rest.components().count())
            .and_then(Path::to_str)
            .filter(|rest| !rest.is_empty())
            .map_or_else(|| plain.to_owned(), str::to_owned)
    }

    /// The text of a file, if it can be had. `path` may be as the trace has it or as [`Self::relative`] gives it.
    pub(crate) fn text(&self, path: &str) -> Option<Rc<str>> {
        if let Some(text) = self.embedded.get(path) {
            return Some(text.clone());
        }
        if let Some(known) = self.cache.borrow().get(path) {
            return known.clone();
        }
        if self.cache.borrow().len() >= MOST_LOOKUPS {
            return None;
        }
        let text = self.load(path);
        self.cache.borrow_mut().insert(path.to_owned(), text.clone());
        text
    }

    fn load(&self, path: &str) -> Option<Rc<str>> {
        let path = Path::new(path);
        if path.as_os_str().is_empty() {
            return None;
        }
        // Joining an absolute path gives that path; `read` still wants it to be below the folder.
        let direct = self.roots.iter().map(|root| (root, root.join(path)));
        // A program built elsewhere names files by folders that are not here, so the user's folders are tried with
        // ever shorter ends of the path. Not so the working folder: nobody said that the sources are there.
        let normal: &Vec<_> =
            &path.components().filter(|part| matches!(part, Component::Normal(_))).collect();
        let shortened = self.roots.iter().skip(1).flat_map(|root| {
            (0..normal.len().min(64))
                .map(move |skip| (root, root.join(normal[skip..].iter().collect::<PathBuf>())))
        });
        direct.chain(shortened).find_map(|(root, candidate)| self.read(root, &candidate))
    }

    fn read(&self, root: &Path, candidate: &Path) -> Option<Rc<str>> {
        let real = fs::canonicalize(candidate).ok().filter(|real| real.starts_with(root))?;
        let about = fs::metadata(&real).ok()?;
        if !about.is_file() || about.len() > LARGEST_FILE || self.used.get() + about.len() > LARGEST_TOTAL {
            return None;
        }
        let bytes = fs::read(&real).ok()?;
        self.used.set(self.used.get() + bytes.len() as u64);
        Some(String::from_utf8_lossy(&bytes).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("keirin-sources-{name}-{}", std::process::id()));
        fs::create_dir_all(folder.join("project/src")).unwrap();
        fs::write(folder.join("project/src/a.c"), "int a;\n").unwrap();
        fs::write(folder.join("secret"), "secret\n").unwrap();
        folder
    }

    #[test]
    fn files_below_the_folders_are_found_and_others_are_not() {
        let folder = folder("found");
        let project = folder.join("project");
        let sources = Sources::new(&project, &[]);
        assert_eq!(sources.text("src/a.c").as_deref(), Some("int a;\n"));
        assert_eq!(sources.text("./src/a.c").as_deref(), Some("int a;\n"));
        let absolute = fs::canonicalize(project.join("src/a.c")).unwrap();
        assert_eq!(sources.text(absolute.to_str().unwrap()).as_deref(), Some("int a;\n"));
        assert_eq!(sources.relative(absolute.to_str().unwrap()), "src/a.c");
        for bad in ["../secret", "/etc/passwd", "src", "", "missing.c", "\0", "/dev/zero"] {
            assert_eq!(sources.text(bad), None, "{bad:?}");
        }
        assert_eq!(Sources::new(&folder.join("nowhere"), &[]).text("src/a.c"), None);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_source_root_finds_files_of_a_program_built_elsewhere() {
        let folder = folder("root");
        let sources = Sources::new(&folder, &[PathBuf::from("project")]);
        assert_eq!(sources.text("/build/agent/7/src/a.c").as_deref(), Some("int a;\n"));
        assert_eq!(sources.text("/build/../secret"), None);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn embedded_files_come_first() {
        let mut sources = Sources::none();
        sources.embed("demo/set.c", "embedded\n");
        assert_eq!(sources.text("demo/set.c").as_deref(), Some("embedded\n"));
        assert_eq!(sources.relative("./demo/set.c"), "demo/set.c");
    }
}
