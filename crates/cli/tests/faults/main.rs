//! Programs that do what makes watching them hard: they crash, fork, close everything, use up memory or change who they
//! are. Each must behave as without keirin, what was found until then must be reported, and keirin says what it could not
//! do.

mod ends;
mod memory;
mod numbers;
mod processes;
mod programs;
mod signals;
mod support;
mod surroundings;
mod traces;
