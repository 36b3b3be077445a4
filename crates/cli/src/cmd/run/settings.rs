//! What the runtime in the program is told: one environment variable.

use crate::options::Options;
use anyhow::{Context, Result};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// The value of `KEIRIN_RUNTIME`, as far as it is made: `key=value` with `;` in between.
#[derive(Debug)]
pub(crate) struct Settings(Vec<u8>);

impl Settings {
    /// The settings that every run has.
    pub(crate) fn new(folder: &Path, analyses: &[&str], options: &Options) -> Result<Self> {
        let mut settings = Settings(Vec::new());
        let folder = std::path::absolute(folder).context("the folder for findings has no name")?;
        settings.set("findings", folder.join(super::handovers::PREFIX));
        settings.set("analysis", analyses.join(","));
        if options.exact_order {
            settings.set("exact-order", "1");
        }
        if let Some(cap) = options.memory_cap {
            settings.set("memory-cap", cap.0.to_string());
        }
        if options.library_locks {
            settings.set("library-locks", "1");
        }
        if let Some(policy) = options.adversarial {
            settings.set("adversarial", policy.text());
        }
        if let Some(pause) = options.adversarial_pause {
            settings.set("adversarial-pause", pause.to_string());
        }
        Ok(settings)
    }

    /// Records a trace. What stands under the name is gone, so that an old trace is not taken for the new one.
    pub(crate) fn record(&mut self, path: &Path) -> Result<()> {
        crate::output::Output::check(Some(path))?;
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot replace {}", path.display()));
            }
            _ => {}
        }
        let path = std::path::absolute(path).with_context(|| format!("cannot write {}", path.display()))?;
        self.set("record", path);
        Ok(())
    }

    /// Adds a setting.
    pub(crate) fn set(&mut self, key: &str, value: impl AsRef<OsStr>) {
        if !self.0.is_empty() {
            self.0.push(b';');
        }
        self.0.extend_from_slice(key.as_bytes());
        self.0.push(b'=');
        for &byte in value.as_ref().as_bytes() {
            match byte {
                b';' | b'%' | b'=' => self.0.extend_from_slice(format!("%{byte:02X}").as_bytes()),
                _ => self.0.push(byte),
            }
        }
    }

    pub(crate) fn into_text(self) -> OsString {
        OsString::from_vec(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_cannot_be_taken_for_settings() {
        let mut settings =
            Settings::new(Path::new("/a;b"), &["fasttrack", "eraser"], &Options::default()).unwrap();
        settings.set("record", "/50%=x");
        assert_eq!(
            settings.into_text(),
            "findings=/a%3Bb/findings;analysis=fasttrack,eraser;record=/50%25%3Dx"
        );
    }
}
