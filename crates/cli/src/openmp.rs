//! LLVM's OpenMP runtime, libomp, in the place of gcc's.
//!
//! gcc's own, libgomp, tells nobody what tasks do. libomp does, and has gcc's entry points as well: a program that gcc has
//! compiled runs on it unchanged. So when keirin links, `-lgomp` finds libomp, and a program that was linked against
//! libgomp already finds libomp under that name when it runs.

use crate::runtime_files::RuntimeFiles;
use anyhow::{Context, Result};
use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// The name under which the dynamic linker knows gcc's runtime.
pub(crate) const GCC_RUNTIME: &str = "libgomp.so.1";

/// What to install when there is none.
pub(crate) const PACKAGE: &str = "Debian: apt install libomp-dev";

/// Where the dynamic linker looks by itself.
const SEARCHED: [&str; 5] =
    ["/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/lib64"];

/// Names of the library: Debian's, and that of others.
const NAMES: [&str; 2] = ["libomp.so.5", "libomp.so"];

/// The library.
#[derive(Clone, Debug)]
pub(crate) struct OpenMp {
    library: PathBuf,
}

/// Finds the newest one that is installed.
pub(crate) fn find() -> Option<OpenMp> {
    find_below(Path::new("/"))
}

fn find_below(root: &Path) -> Option<OpenMp> {
    let versions = fs::read_dir(root.join("usr/lib")).ok().into_iter().flatten().flatten();
    let mut versions: Vec<(u32, PathBuf)> = versions
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.strip_prefix("llvm-")?.parse().ok()?;
            Some((version, entry.path().join("lib")))
        })
        .collect();
    versions.sort_unstable_by(|a, b| b.cmp(a));
    let others = SEARCHED.iter().chain(&["/usr/local/lib"]).map(|folder| root.join(&folder[1..]));
    versions
        .into_iter()
        .map(|(_, folder)| folder)
        .chain(others)
        .flat_map(|folder| NAMES.map(|name| folder.join(name)))
        .find(|library| library.is_file())
        .map(|library| OpenMp { library })
}

impl OpenMp {
    /// A folder in which gcc's linker and the dynamic linker find it under the names of libgomp.
    pub(crate) fn as_gcc_runtime(&self, files: &RuntimeFiles) -> Result<PathBuf> {
        let mut hasher = DefaultHasher::new();
        self.library.hash(&mut hasher);
        let folder = files.folder().join(format!("openmp-{:016x}", hasher.finish()));
        self.link_into(&folder).with_context(|| format!("cannot write {}", folder.display()))?;
        Ok(folder)
    }

    fn link_into(&self, folder: &Path) -> std::io::Result<()> {
        fs::create_dir_all(folder)?;
        for name in ["libgomp.so", GCC_RUNTIME] {
            match symlink(&self.library, folder.join(name)) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// The folder that a program must be told of, if the dynamic linker does not look there anyway.
    pub(crate) fn run_path(&self) -> Option<&Path> {
        let name = self.library.file_name().unwrap_or(OsStr::new(NAMES[0]));
        let found = SEARCHED.iter().any(|folder| Path::new(folder).join(name).exists());
        if found { None } else { self.library.parent() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_one_is_taken() {
        let root = tempfile::tempdir().unwrap();
        assert!(find_below(root.path()).is_none());
        for folder in ["usr/lib64", "usr/lib/llvm-9/lib", "usr/lib/llvm-19/lib", "usr/lib/llvm-21/lib"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        fs::write(root.path().join("usr/lib64/libomp.so"), "").unwrap();
        assert_eq!(find_below(root.path()).unwrap().library, root.path().join("usr/lib64/libomp.so"));
        for version in [9, 19] {
            fs::write(root.path().join(format!("usr/lib/llvm-{version}/lib/libomp.so.5")), "").unwrap();
        }
        let expected = root.path().join("usr/lib/llvm-19/lib/libomp.so.5");
        assert_eq!(find_below(root.path()).unwrap().library, expected);
    }

    #[test]
    fn links_are_made_once() {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("libomp.so.5");
        fs::write(&library, "").unwrap();
        let found = OpenMp { library };
        let links = folder.path().join("links");
        found.link_into(&links).unwrap();
        found.link_into(&links).unwrap();
        assert!(links.join("libgomp.so").exists() && links.join(GCC_RUNTIME).exists());
    }
}
