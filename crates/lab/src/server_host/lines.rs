//! Lines of JSON over a pipe.

use std::io::{self, BufRead, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reads the next message of at most so many bytes; `None` at the end.
pub(super) fn next<T: DeserializeOwned>(from: &mut impl BufRead, most: u64) -> Result<Option<T>, String> {
    let mut line = Vec::new();
    let read = from.by_ref().take(most).read_until(b'\n', &mut line).map_err(|e| e.to_string())?;
    if read == 0 {
        return Ok(None);
    }
    if line.last() != Some(&b'\n') {
        return Err("a message was cut off or too long".to_owned());
    }
    serde_json::from_slice(&line).map(Some).map_err(|e| format!("a message could not be understood: {e}"))
}

pub(super) fn say(to: &mut dyn Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}
