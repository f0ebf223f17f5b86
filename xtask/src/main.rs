//! Tasks of the repository, in the language of the repository.
//!
//! `cargo xtask tidy` holds the tree to its own rules; `cargo xtask docs`
//! writes the generated pages; `cargo xtask e2e` drives the release binary
//! against real servers; `cargo xtask fuzz` runs the fuzz targets; `cargo xtask
//! soak` watches the memory of a long load.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a task talks to its developer")]

mod docs;
mod e2e;
mod fuzz;
mod soak;
mod tidy;

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let task = std::env::args().nth(1);
    let arguments: Vec<String> = std::env::args().skip(2).collect();
    let result = match task.as_deref() {
        Some("tidy") => tidy::run(&root()),
        Some("docs") => docs::write(&root()),
        Some("e2e") => e2e::run(&root()),
        Some("fuzz") => fuzz::run(&root(), &arguments),
        Some("soak") => soak::run(&root(), &arguments),
        _ => Err("usage: cargo xtask tidy|docs|e2e|fuzz|soak".to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("xtask: {sentence}");
            ExitCode::FAILURE
        }
    }
}

/// The repository's folder.
fn root() -> PathBuf {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    own.parent().map(PathBuf::from).unwrap_or(own)
}
