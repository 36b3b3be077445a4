//! The analyses against their definitions, and on the traces of `testdata/traces` and `testdata/task_traces`.

mod aerodrome;
mod any;
mod atomizer;
mod eraser;
mod fasttrack;
mod lenient;
mod online;
mod suite;
mod support;
mod task_faults;
mod task_suite;
mod velodrome;
