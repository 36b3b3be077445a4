//! Names that are given once. `Registry` looks and then acts, in two critical sections: two threads can both be told that they
//! have got the same name. `Checked` does it in one.

use std::collections::HashMap;
use std::sync::Mutex;

/// Who has which name.
#[derive(Default)]
pub struct Registry {
    names: Mutex<HashMap<String, u32>>,
}

impl Registry {
    /// True if somebody has the name.
    pub fn contains(&self, name: &str) -> bool {
        self.names.lock().unwrap().contains_key(name)
    }

    /// Gives a name to somebody. False: it is taken.
    pub fn register(&self, name: &str, who: u32) -> bool {
        if self.contains(name) {
            return false;
        }
        self.names.lock().unwrap().insert(name.to_owned(), who);
        true
    }
}

/// The same, as it should be.
#[derive(Default)]
pub struct Checked {
    names: Mutex<HashMap<String, u32>>,
}

impl Checked {
    /// Gives a name to somebody. False: it is taken.
    pub fn register(&self, name: &str, who: u32) -> bool {
        let mut names = self.names.lock().unwrap();
        if names.contains_key(name) {
            return false;
        }
        names.insert(name.to_owned(), who);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn everybody_gets_a_name() {
        let registry = Registry::default();
        thread::scope(|scope| {
            for who in 0..4 {
                let registry = &registry;
                scope.spawn(move || assert!(registry.register(&format!("name {who}"), who)));
            }
        });
    }

    #[test]
    fn everybody_gets_a_name_at_once() {
        let registry = Checked::default();
        thread::scope(|scope| {
            for who in 0..4 {
                let registry = &registry;
                scope.spawn(move || assert!(registry.register(&format!("name {who}"), who)));
            }
        });
    }
}
