//! The binary as a user meets it: lines in, sentences, figures and exit codes out.

mod bad_input;
mod bench;
mod ledger;
mod signals;
mod world;
