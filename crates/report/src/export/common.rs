//! What several of the formats have in common.

use std::borrow::Cow;
use std::io;
use std::time::{Duration, SystemTime};

use prony_model::Trial;

/// The wall clock at an instant of the window, to the millisecond in which trials state their start.
pub(crate) fn wall_clock(trial: &Trial, at_ns: u64) -> io::Result<SystemTime> {
    let started: jiff::Timestamp = trial.started_at.parse().map_err(|_| {
        io::Error::other(format!(
            "{:?} is not a time as RFC 3339 has it, and the trial is said to have started then",
            trial.started_at
        ))
    })?;
    Ok(SystemTime::from(started) + Duration::from_nanos(trial.window.warmup_ns) + Duration::from_nanos(at_ns))
}

/// Nanoseconds as seconds: exact below 100 days, where an f64 still holds each.
pub(crate) fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// A field of a comma-separated line: quoted where RFC 4180 asks for it.
pub(crate) fn field(text: &str) -> Cow<'_, str> {
    if text.contains(['"', ',', '\r', '\n']) {
        Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_model::testing;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        assert_eq!(field("GET /"), "GET /");
        assert_eq!(field("GET /?a=1,2"), "\"GET /?a=1,2\"");
        assert_eq!(field("say \"hi\"\n"), "\"say \"\"hi\"\"\n\"");
    }

    #[test]
    fn a_start_that_is_no_time_is_an_error() {
        let mut trial = testing::trial(&[]);
        assert_eq!(
            prony_model::rfc3339(wall_clock(&trial, 250_000_000).unwrap()),
            "2026-11-21T12:00:01.750Z"
        );
        trial.started_at = "yesterday".to_owned();
        let error = wall_clock(&trial, 0).unwrap_err();
        assert!(error.to_string().contains("yesterday"), "{error}");
    }
}
