//! What each tool says of its own run. Requests are counted by the server, the truth for all; percentiles are a tool's.

use serde::Serialize;
use serde_json::Value;

/// A tool's own account; `None` where it says nothing of the kind.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct Claim {
    pub(super) requests: Option<u64>,
    /// Median latency, whatever the tool means by latency.
    pub(super) p50_ns: Option<u64>,
    pub(super) p75_ns: Option<u64>,
    pub(super) p90_ns: Option<u64>,
    /// Prony's only: median service time, where `p50_ns` is the response's.
    pub(super) service_p50_ns: Option<u64>,
    pub(super) send_lag_p50_ns: Option<u64>,
    /// Prony's only: the clock of service times.
    pub(super) clock: Option<String>,
}

/// How a tool's output is read.
#[derive(Debug, Clone, Copy)]
pub(super) enum Read {
    /// JSON whose requests are the sum at these places, the first of which it must have (0 is no answer), and whose N-th
    /// percentile stands there, in units of so many nanoseconds or with its own.
    Json(&'static [&'static str], &'static str, f64),
    /// Lines, each of which may have a number of requests, or a percentile: `50%  601.00us`.
    Text(fn(&str) -> Option<&str>),
}

impl Read {
    /// From a tool's output to its claim; `None` where the output is not the tool's.
    pub(super) fn claim(self, text: &str) -> Option<Claim> {
        match self {
            Read::Json(requests, percentile, unit_ns) => of_json(text, requests, percentile, unit_ns),
            Read::Text(requests) => {
                let counts: Vec<u64> =
                    text.lines().filter_map(|line| requests(line.trim())?.trim().parse().ok()).collect();
                let percentile = |wanted: f64| {
                    text.lines().find_map(|line| {
                        let (percent, value) = line.trim().split_once('%')?;
                        (percent.parse() == Ok(wanted)).then(|| duration_ns(value.trim()))?
                    })
                };
                let requests = (!counts.is_empty()).then(|| counts.iter().sum())?;
                Some(Claim { requests: Some(requests), ..percentiles(percentile) })
            }
        }
    }
}

fn of_json(text: &str, requests: &[&str], percentile: &str, unit_ns: f64) -> Option<Claim> {
    let from = &text[text.find('{')?..];
    // Other things may be said before it and after.
    let report: Value = serde_json::Deserializer::from_str(from).into_iter().next()?.ok()?;
    let count = |at: &&str| match report.pointer(at)? {
        Value::Object(of) => {
            Some(of.iter().filter(|(status, _)| *status != "0").filter_map(|(_, n)| n.as_u64()).sum())
        }
        count => count.as_u64(),
    };
    count(requests.first()?)?;
    let read = |wanted: f64| match report.pointer(&percentile.replace('N', &wanted.to_string()))? {
        Value::String(duration) => duration_ns(duration),
        value => nanoseconds(value.as_f64()? * unit_ns),
    };
    let latency = &report["latency"];
    Some(Claim {
        requests: Some(requests.iter().filter_map(count).sum()),
        service_p50_ns: latency["service"]["p50_ns"].as_u64(),
        send_lag_p50_ns: latency["send_lag"]["p50_ns"].as_u64(),
        clock: latency["service"]["clock"].as_str().map(str::to_owned),
        ..percentiles(read)
    })
}

fn percentiles(of: impl Fn(f64) -> Option<u64>) -> Claim {
    Claim { p50_ns: of(50.0), p75_ns: of(75.0), p90_ns: of(90.0), ..Claim::default() }
}

fn nanoseconds(value: f64) -> Option<u64> {
    (0.0..9e15).contains(&value).then(|| value.round() as u64)
}

/// `1.02ms`, `850.00us`, `1.05m`, hey's `in 0.0030 secs`, and ab's milliseconds, which have no unit.
fn duration_ns(text: &str) -> Option<u64> {
    let text = text.trim_start_matches("in ");
    let (number, unit) =
        text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len()));
    let unit_ns = match unit.trim() {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" | "" => 1e6,
        "s" | "secs" => 1e9,
        "m" => 60e9,
        _ => return None,
    };
    nanoseconds(number.parse::<f64>().ok()? * unit_ns)
}

#[cfg(test)]
mod tests;
