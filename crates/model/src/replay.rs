//! The requests of a log at their own instants: a schedule that is a table, beside the list whose lines they are.

mod instant;
mod line;
mod read;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{PlanError, wrong};
use crate::limits::{LINES_MAX, few, numbers};
use crate::printable::{count, show_duration};
use crate::rate::Rate;

pub use read::{Asked, read};

/// How much faster than its log a replay may be.
pub const SPEEDS: RangeInclusive<f64> = 0.001..=1000.0;

/// The most methods that may be asked for.
pub(crate) const METHODS_MAX: usize = 16;

/// The longest log.
const LENGTH_MAX: Duration = Duration::from_secs(90 * 24 * 3600);

/// From one round's begin to the next one's, of a log that has one instant only.
const ROUND_NS: u64 = 1_000_000_000;

/// When the requests of a log are due.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Replay {
    /// After the first one, at the replay's speed, ascending; 8 bytes each.
    #[serde(with = "gaps")]
    due_ns: Arc<[u64]>,
    /// From a round's first request to the next round's, where the log begins again.
    round_ns: Option<u64>,
    pub log: RecordedReplay,
}

/// What is replayed of a log, and what is not.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RecordedReplay {
    /// Of the log's bytes, in hexadecimal: FNV-1a (64 bits) folded to 32, as a log may hold secrets.
    pub fingerprint: String,
    /// Requests that are replayed, in each round.
    pub entries: u64,
    /// From the first one to the last one, as they were logged.
    pub length_ns: u64,
    /// How much faster they are replayed.
    pub speed: f64,
    /// Whether the log begins again where it ends.
    pub looped: bool,
    /// The methods that are replayed.
    pub methods: Vec<String>,
    /// Requests whose logged time was taken off their instant, which is then when they began.
    pub request_times: u64,
    /// Requests whose instant was logged in whole seconds: they are spread within theirs, by seed and line.
    pub spread: u64,
    /// The seed of that; blocks and repetitions have others for the rest, and replay the same instants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread_seed: Option<u64>,
    /// Lines that are not replayed, by method; `no_request` where they have none that can be sent.
    pub left_out: BTreeMap<String, u64>,
}

impl Replay {
    /// Of these instants, which ascend from 0. A round lasts a mean gap longer than they do.
    pub fn new(due_ns: Vec<u64>, looped: bool, log: RecordedReplay) -> Replay {
        let last = due_ns.last().copied().unwrap_or(0);
        let gap = match last {
            0 => ROUND_NS,
            last => (last / (due_ns.len() as u64 - 1).max(1)).max(1),
        };
        let round_ns = looped.then(|| last.saturating_add(gap));
        Replay { due_ns: due_ns.into(), round_ns, log }
    }

    /// How long after the first request of a round its last one is due.
    pub fn length(&self) -> Duration {
        Duration::from_nanos(self.due_ns.last().copied().unwrap_or(0))
    }

    /// How many requests a round has.
    pub fn entries(&self) -> u64 {
        self.due_ns.len() as u64
    }

    pub fn is_looped(&self) -> bool {
        self.round_ns.is_some()
    }

    /// The instant of the k-th request (from 0), in nanoseconds after the schedule's start; `None`: the log ends before.
    pub fn due_ns(&self, k: u64) -> Option<u64> {
        let entries = self.entries().max(1);
        let start = match (k / entries, self.round_ns) {
            (0, _) => 0,
            (round, length) => round.checked_mul(length?)?,
        };
        start.checked_add(*self.due_ns.get((k % entries) as usize)?)
    }

    /// How many requests are due strictly before `at_ns`: the inverse of [`Replay::due_ns`].
    pub fn due_before(&self, at_ns: u64) -> u64 {
        let (rounds, within) = self.round_ns.map_or((0, at_ns), |length| (at_ns / length, at_ns % length));
        let of_round = self.due_ns.partition_point(|due| *due < within) as u64;
        rounds.saturating_mul(self.entries()).saturating_add(of_round)
    }

    /// The most requests that are due within a second.
    pub fn peak_per_s(&self) -> u64 {
        let from =
            |(k, due): (u64, &u64)| self.due_before(due.saturating_add(1_000_000_000)).saturating_sub(k);
        (0..).zip(self.due_ns.iter()).map(from).max().unwrap_or(0)
    }

    /// Whether it can be played, in so many requests at most.
    pub(crate) fn check(&self, requests: Option<u64>) -> Result<(), PlanError> {
        let (entries, last) = (self.entries(), self.due_ns.last().copied().unwrap_or(0));
        if entries == 0 || entries > LINES_MAX as u64 || self.due_ns.first() != Some(&0) {
            return wrong("The replay has no instants, or too many.");
        }
        if self.length() > LENGTH_MAX.mul_f64(1.0 / SPEEDS.start()) {
            return wrong("The replay's last instant is later than any log's at the lowest speed.");
        }
        self.log.check().map_err(|why| PlanError(format!("The replay cannot be played: {why}.")))?;
        let Some(round_ns) = self.round_ns else {
            return match requests {
                Some(asked) if asked <= entries => Ok(()),
                Some(_) | None => wrong(format!(
                    "The log has {}: give a lower -n, or --loop, by which it begins again.",
                    count(entries, "request to replay", "requests to replay")
                )),
            };
        };
        let per_s = entries as f64 * 1e9 / round_ns.max(1) as f64;
        if round_ns <= last || per_s > Rate::MAX_PER_S {
            return wrong(format!(
                "The log has {per_s:.0} requests per second at this speed, and a client follows {} at most: give a lower \
                 --speed, or leave --loop out.",
                Rate::MAX_PER_S
            ));
        }
        Ok(())
    }
}

impl RecordedReplay {
    /// Why it is the record of no replay, as the end of a sentence.
    pub(crate) fn check(&self) -> Result<(), String> {
        few("methods", self.methods.len(), METHODS_MAX)?;
        few("reasons", self.left_out.len(), METHODS_MAX)?;
        let counts = [self.entries, self.length_ns, self.request_times, self.spread];
        numbers(counts.into_iter().chain(self.left_out.values().copied()))?;
        if SPEEDS.contains(&self.speed) { Ok(()) } else { Err("it has no speed".to_owned()) }
    }

    /// `replay of 10m at 2x, again and again, 15 lines left out`.
    pub(crate) fn words(&self) -> String {
        let speed = if self.speed == 1.0 { String::new() } else { format!(" at {}x", self.speed) };
        let looped = if self.looped { ", again and again" } else { "" };
        let left_out = match self.left_out.values().sum::<u64>() {
            0 => String::new(),
            lines => format!(", {} left out", count(lines, "line", "lines")),
        };
        let length = Duration::from_millis(self.length_ns / 1_000_000);
        format!("replay of {}{speed}{looped}{left_out}", show_duration(length))
    }

    /// What a replay is not of what its log was, in sentences.
    pub fn losses(&self) -> String {
        let of = |(reason, lines): (&String, &u64)| format!("{lines} {}", reason.replace('_', " "));
        let left_out: Vec<String> = self.left_out.iter().map(of).collect();
        let mut said = "The log has no headers and no bodies: only those of -H are sent.".to_owned();
        if !left_out.is_empty() {
            said += &format!(" Lines left out: {} (see --methods).", left_out.join(", "));
        }
        if self.request_times < self.entries {
            let (as_logged, all) = (self.entries - self.request_times, self.entries);
            said += &format!(
                " {as_logged} of {all} instants are as logged: of Apache's the beginning of a request, of nginx's the end \
                 of its response, as it has no $request_time."
            );
        }
        if self.spread > 0 {
            said += &format!(" {} instants in whole seconds are spread within them.", self.spread);
        }
        said
    }
}

/// The reason of lines that have no request which can be sent.
const NO_REQUEST: &str = "no_request";

/// Instants as the gaps between them: shorter, and never descending.
mod gaps {
    use super::Arc;
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(due_ns: &Arc<[u64]>, to: S) -> Result<S::Ok, S::Error> {
        let before = std::iter::once(&0).chain(due_ns.iter());
        to.collect_seq(due_ns.iter().zip(before).map(|(due, before)| due - before))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<[u64]>, D::Error> {
        let mut at = 0u64;
        let add = |gap: u64| {
            at = at.checked_add(gap)?;
            Some(at)
        };
        let due: Option<Vec<u64>> = Vec::<u64>::deserialize(from)?.into_iter().map(add).collect();
        due.map(Into::into).ok_or_else(|| D::Error::custom("its instants are beyond 584 years"))
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod read_tests;
