//! The analyses against their definitions, and on the traces of `testdata/traces`.

mod fasttrack;
mod suite;
mod support;
mod velodrome;
