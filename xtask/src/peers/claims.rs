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

/// From a tool's output to its claim; `None` where the output is not the tool's.
pub(super) type Read = fn(&str) -> Option<Claim>;

pub(super) fn prony(text: &str) -> Option<Claim> {
    let trial = json(text)?;
    let latency = &trial["latency"];
    let response = |field: &str| latency["response"][field].as_u64();
    Some(Claim {
        requests: Some(trial["run_total"]["completed"].as_u64()?),
        p50_ns: response("p50_ns"),
        p75_ns: response("p75_ns"),
        p90_ns: response("p90_ns"),
        service_p50_ns: latency["service"]["p50_ns"].as_u64(),
        send_lag_p50_ns: latency["send_lag"]["p50_ns"].as_u64(),
        clock: latency["service"]["clock"].as_str().map(str::to_owned),
    })
}

pub(super) fn floor(text: &str) -> Option<Claim> {
    of_json(text, &["/requests"], "/pN_ns", 1.0)
}

/// wrk and wrk2, which print alike.
pub(super) fn wrk(text: &str) -> Option<Claim> {
    let requests = text.lines().find_map(|line| line.trim().split_once(" requests in "))?;
    let percentile = |wanted: f64| {
        text.lines().find_map(|line| {
            let (percent, value) = line.trim().split_once('%')?;
            (percent.parse::<f64>().ok()? == wanted).then(|| duration_ns(value.trim()))?
        })
    };
    Some(Claim { requests: requests.0.trim().parse().ok(), ..percentiles(percentile) })
}

pub(super) fn zrk(text: &str) -> Option<Claim> {
    of_json(text, &["/requests"], "/latency_us/pN", 1e3)
}

/// Its percentiles are whole milliseconds.
pub(super) fn ab(text: &str) -> Option<Claim> {
    let after = |label: &str| text.lines().find_map(|line| line.strip_prefix(label));
    let percentile = |wanted: f64| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(&format!("{wanted}%")))?;
        Some(line.trim().parse::<u64>().ok()? * 1_000_000)
    };
    let requests = after("Complete requests:")?.trim().parse().ok();
    Some(Claim { requests, ..percentiles(percentile) })
}

/// It keeps the first million results only, so its count may fall short.
pub(super) fn hey(text: &str) -> Option<Claim> {
    let responses = text.lines().filter_map(|line| {
        let line = line.trim().strip_prefix('[')?.strip_suffix(" responses")?;
        line.split_once(']')?.1.trim().parse::<u64>().ok()
    });
    let percentile = |wanted: f64| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(&format!("{wanted}%")))?;
        let seconds: f64 = line.trim().strip_prefix("in ")?.strip_suffix(" secs")?.trim().parse().ok()?;
        nanoseconds(seconds * 1e9)
    };
    text.contains("Requests/sec:").then_some(())?;
    Some(Claim { requests: Some(responses.sum()), ..percentiles(percentile) })
}

/// Its 1.x prints no percentiles.
pub(super) fn h2load(text: &str) -> Option<Claim> {
    let line = text.lines().find_map(|line| line.strip_prefix("requests: "))?;
    let done = line.split(", ").find_map(|part| part.strip_suffix(" done"))?;
    Some(Claim { requests: done.parse().ok(), ..Claim::default() })
}

pub(super) fn bombardier(text: &str) -> Option<Claim> {
    let classes = ["2xx", "1xx", "3xx", "4xx", "5xx"].map(|class| format!("/result/req{class}"));
    let mut counts: Vec<&str> = classes.iter().map(String::as_str).collect();
    counts.push("/result/others");
    of_json(text, &counts, "/result/latency/percentiles/N", 1e3)
}

pub(super) fn oha(text: &str) -> Option<Claim> {
    of_json(text, &["/statusCodeDistribution"], "/latencyPercentiles/pN", 1e9)
}

/// What it calls percentiles are means of the slowest share, so none is read.
pub(super) fn rewrk(text: &str) -> Option<Claim> {
    of_json(text, &["/requests_total"], "", 1.0)
}

pub(super) fn plow(text: &str) -> Option<Claim> {
    of_json(text, &["/Summary/Count"], "/Percentiles/PN", 1.0)
}

/// Its percentiles are whole milliseconds.
pub(super) fn autocannon(text: &str) -> Option<Claim> {
    of_json(text, &["/2xx"], "/latency/pN", 1e6)
}

/// It has no 75th percentile.
pub(super) fn vegeta(text: &str) -> Option<Claim> {
    of_json(text, &["/status_codes"], "/latencies/Nth", 1.0)
}

pub(super) fn k6(text: &str) -> Option<Claim> {
    of_json(text, &["/metrics/http_reqs/count"], "/metrics/http_req_duration/p(N)", 1e6)
}

/// Of a report whose requests are the sum at these places, the first of which it must have (0 is no answer), and whose
/// N-th percentile stands there, in units of so many nanoseconds or with its own.
fn of_json(text: &str, requests: &[&str], percentile: &str, unit_ns: f64) -> Option<Claim> {
    let report = json(text)?;
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
    Some(Claim { requests: Some(requests.iter().filter_map(count).sum()), ..percentiles(read) })
}

fn percentiles(of: impl Fn(f64) -> Option<u64>) -> Claim {
    Claim { p50_ns: of(50.0), p75_ns: of(75.0), p90_ns: of(90.0), ..Claim::default() }
}

/// The first JSON object of a text that may say other things before it.
fn json(text: &str) -> Option<Value> {
    let from = &text[text.find('{')?..];
    serde_json::Deserializer::from_str(from).into_iter().next()?.ok()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked: 0 to 2^53")]
fn nanoseconds(value: f64) -> Option<u64> {
    (0.0..9e15).contains(&value).then(|| value.round() as u64)
}

/// `1.02ms`, `850.00us`, `1.00s`, `1.05m`.
fn duration_ns(text: &str) -> Option<u64> {
    let unit = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(unit);
    let unit_ns = match unit {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" => 60e9,
        _ => return None,
    };
    nanoseconds(number.parse::<f64>().ok()? * unit_ns)
}

#[cfg(test)]
mod tests;
