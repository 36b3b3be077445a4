//! The runtime and its header: carried inside of keirin, unpacked where compilers and programs can find them.
//!
//! They go to a cache folder whose name is a digest of their content, so that versions live side by side and a program
//! that was linked against one is not changed by another. The folder appears at once, by a rename: many compilers may
//! start at the same time. What is there is checked by its size only, at each use; what is broken is written again.

use anyhow::{Context, Result, bail};
use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};

include!(concat!(env!("OUT_DIR"), "/runtime_table.rs"));

/// Names under which the shared object is found by programs that were linked against a sanitizer's own.
const ALIASES: [&str; 3] = ["libtsan.so.2", "libclang_rt.tsan-x86_64.so", "libclang_rt.tsan.so"];

/// True if this keirin has a runtime for the machine it was built for.
pub(crate) const fn can_watch() -> bool {
    !FILES.is_empty()
}

/// Where the files are, after [`unpack`].
#[derive(Clone, Debug)]
pub(crate) struct RuntimeFiles {
    folder: PathBuf,
}

impl RuntimeFiles {
    /// The object that is linked into executables.
    pub(crate) fn object(&self) -> PathBuf {
        self.folder.join("lib/keirin_rt.o")
    }

    /// The symbols that libraries loaded later look for.
    pub(crate) fn hooks(&self) -> PathBuf {
        self.folder.join("lib/hooks.list")
    }

    /// For `LD_LIBRARY_PATH`: the runtime as a shared object, under the names of the sanitizers' own.
    pub(crate) fn aliases(&self) -> PathBuf {
        self.folder.join("alias")
    }

    /// Where gcc finds nothing instead of its own runtime.
    pub(crate) fn for_gcc(&self) -> PathBuf {
        self.folder.join("gcc")
    }

    /// The folder of `keirin.h`.
    pub(crate) fn include(&self) -> PathBuf {
        self.folder.join("include")
    }

    /// What comes before every C++ source, for programs that use oneTBB.
    pub(crate) fn tbb_prelude(&self) -> PathBuf {
        self.folder.join("prelude/tbb.h")
    }

    /// The folder with the sources of what takes the place of `std` and of other crates in Rust programs.
    pub(crate) fn facades(&self) -> PathBuf {
        self.folder.join("facade")
    }

    /// The source of the program that puts the sanitizer's calls into Rust's own library.
    pub(crate) fn instrumenter(&self) -> PathBuf {
        self.folder.join("facade/instrument/main.rs")
    }

    /// The source of the compiler pass.
    pub(crate) fn pass(&self) -> PathBuf {
        self.folder.join("pass/plugin.cpp")
    }

    /// Another one for each content of the files.
    pub(crate) const fn digest(&self) -> &'static str {
        DIGEST
    }

    /// The folder of everything.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

/// Unpacks the files, unless they are there already.
pub(crate) fn unpack() -> Result<RuntimeFiles> {
    if !can_watch() {
        bail!(
            "programs cannot be watched on this kind of machine: keirin has a runtime for Linux on x86-64 only"
        );
    }
    let mut problems = Vec::new();
    for base in candidates() {
        match unpack_below(&base) {
            Ok(folder) => return Ok(RuntimeFiles { folder }),
            Err(error) => problems.push(format!("{}: {error}", base.display())),
        }
    }
    match unpack_below_temporary() {
        Ok(folder) => Ok(RuntimeFiles { folder }),
        Err(error) => {
            problems.push(format!("{}: {error}", std::env::temp_dir().display()));
            Err(io::Error::other(problems.join("; ")))
                .context("there is no folder that the runtime can be unpacked to (set KEIRIN_CACHE)")
        }
    }
}

/// The folders to try, the preferred one first.
fn candidates() -> Vec<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    // A compiler may be started anywhere: a relative path would give a folder in each place.
    let absolute = |path: PathBuf| path.is_absolute().then_some(path);
    let own = variable("KEIRIN_CACHE").map(|path| std::path::absolute(&path).unwrap_or(path));
    let shared = variable("XDG_CACHE_HOME").and_then(absolute).map(|path| path.join("keirin"));
    let home = variable("HOME").and_then(absolute).map(|path| path.join(".cache/keirin"));
    [own, shared, home].into_iter().flatten().collect()
}

/// The last resort. Others can write to the temporary directory as well: the folder must be ours, and ours alone.
fn unpack_below_temporary() -> io::Result<PathBuf> {
    let own = fs::metadata("/proc/self")?.uid();
    let base = std::env::temp_dir().join(format!("keirin-{own}"));
    match DirBuilder::new().mode(0o700).create(&base) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let metadata = fs::symlink_metadata(&base)?;
    if !metadata.is_dir() || metadata.uid() != own || metadata.mode() & 0o077 != 0 {
        return Err(io::Error::new(ErrorKind::PermissionDenied, "it belongs to somebody else"));
    }
    unpack_below(&base)
}

fn unpack_below(base: &Path) -> io::Result<PathBuf> {
    let folder = base.join(DIGEST);
    if is_whole(&folder) {
        return Ok(folder);
    }
    fs::create_dir_all(base)?;
    let partial = tempfile::Builder::new().prefix(".unpacking-").tempdir_in(base)?;
    // Not only its owner may build with a shared cache.
    fs::set_permissions(partial.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    write_all(partial.path())?;
    if fs::rename(partial.path(), &folder).is_err() && !is_whole(&folder) {
        // There is a folder already, and it is broken: each of its files is replaced.
        fs::create_dir_all(&folder)?;
        write_all(&folder)?;
    }
    if !is_whole(&folder) {
        return Err(io::Error::other("what was unpacked is not there"));
    }
    Ok(folder)
}

fn is_whole(folder: &Path) -> bool {
    let file = |(name, bytes): &(&str, &[u8])| {
        fs::metadata(folder.join(name))
            .is_ok_and(|found| found.is_file() && found.len() == bytes.len() as u64)
    };
    let alias = |name: &&str| folder.join("alias").join(name).exists();
    FILES.iter().all(file) && ALIASES.iter().all(alias)
}

fn write_all(folder: &Path) -> io::Result<()> {
    for (name, bytes) in FILES {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent)?;
        let mut file = tempfile::Builder::new()
            .prefix(".unpacking-")
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
            .tempfile_in(parent)?;
        file.write_all(bytes)?;
        file.persist(&path).map_err(|error| error.error)?;
    }
    let aliases = folder.join("alias");
    fs::create_dir_all(&aliases)?;
    for alias in ALIASES.map(|name| aliases.join(name)) {
        if alias.exists() {
            continue;
        }
        match fs::remove_file(&alias) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        match symlink("../lib/libkeirin.so", &alias) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_unpacked_once_and_repaired() {
        let base = tempfile::tempdir().unwrap();
        let folder = unpack_below(base.path()).unwrap();
        assert!(is_whole(&folder));
        let object = folder.join("lib/keirin_rt.o");
        let before = fs::metadata(&object).unwrap().ino();
        assert_eq!(unpack_below(base.path()).unwrap(), folder);
        assert_eq!(fs::metadata(&object).unwrap().ino(), before, "nothing was written again");

        fs::write(&object, "broken").unwrap();
        fs::remove_file(folder.join("include/keirin.h")).unwrap();
        fs::remove_file(folder.join("alias/libtsan.so.2")).unwrap();
        assert!(!is_whole(&folder));
        unpack_below(base.path()).unwrap();
        assert!(is_whole(&folder));
        let names: Vec<_> =
            fs::read_dir(base.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, [DIGEST], "nothing half-done is left");
    }

    #[test]
    fn many_unpack_at_the_same_time() {
        let base = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| assert!(is_whole(&unpack_below(base.path()).unwrap())));
            }
        });
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_place_that_cannot_be_written_is_an_error() {
        let base = tempfile::tempdir().unwrap();
        fs::write(base.path().join("file"), "").unwrap();
        assert!(unpack_below(&base.path().join("file/below")).is_err());
    }
}
