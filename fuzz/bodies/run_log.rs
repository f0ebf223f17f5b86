//! Any bytes as a run log: what was whole is read and judged, or a sentence says which line is not.

use std::path::Path;

use prony_analysis::run_log;

/// Reads the bytes, and what a crash would have left of them.
pub fn check(input: &[u8]) {
    let path = Path::new("run.jsonl");
    let read = |bytes: &[u8]| run_log::read_from(bytes, path);
    let log = match read(input) {
        Ok(log) => log,
        Err(e) => {
            let said = e.to_string();
            assert!(said.contains("run.jsonl") && !said.contains('\n'), "{said:?} is no sentence");
            return;
        }
    };
    // A crash may cut the last line anywhere: all before it is still read.
    let lines = input.strip_suffix(b"\n").unwrap_or(input);
    let Some(last) = lines.iter().rposition(|byte| *byte == b'\n') else { return };
    let before = read(&input[..=last]).expect("the lines before the last are a log");
    let cut = read(&input[..last + 1 + (input.len() - last) / 2]).expect("a cut last line is dropped");
    assert!(before.results.len() <= cut.results.len() && cut.results.len() <= log.results.len());
}
