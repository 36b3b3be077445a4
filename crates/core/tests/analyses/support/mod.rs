//! What the tests of several analyses share: random well-formed runs, and oracles that follow the definitions.

pub(crate) mod locking;
pub(crate) mod oracle;
pub(crate) mod races;
pub(crate) mod random;
pub(crate) mod schedules;
