//! The known answers: what is run, what must come out, and within what on a machine that is quiet.

use std::time::Duration;

use serde_json::Value;

use super::arrivals::{Recorder, evenness_ns};
use super::judge::{Figure, Unit};
use super::model::{MultiServer, Queue};
use super::runs::Runs;
use crate::median::real;

pub(crate) struct Answer {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) why: &'static str,
    pub(crate) measure: fn(&Runs) -> Result<Vec<Figure>, String>,
}

#[rustfmt::skip]
pub(crate) const ANSWERS: [Answer; 13] = [
    Answer { name: "fixed", title: "a fixed delay of 2 ms", measure: fixed,
        why: "every service time is the target's delay" },
    Answer { name: "bimodal", title: "3 ms, and 23 ms for a tenth", measure: bimodal,
        why: "each percentile is the delay on its side of the tenth" },
    Answer { name: "exponential", title: "exponential delays with a mean of 2 ms", measure: exponential,
        why: "quantile q is −2 ms · ln(1 − q); three standard errors are let pass" },
    Answer { name: "stall", title: "200 ms of silence in each 2 s, connections to spare", measure: stall,
        why: "a tenth of the requests is due in a silence, evenly, and waits for its end" },
    Answer { name: "stall-http2", title: "the same silence over ten HTTP/2 connections of 50 streams", measure: stall_http2,
        why: "streams to spare are connections to spare" },
    Answer { name: "stall-queue", title: "the same silence over ten connections", measure: stall_queue,
        why: "a queue of ten places, computed request by request; up to 0.4 ms more for each turn-around" },
    Answer { name: "stall-closed", title: "the same silence in a closed loop of ten", measure: stall_closed,
        why: "one request a connection and silence takes 202 ms, all others 2 ms" },
    Answer { name: "even", title: "even arrivals at 1,000/s, seen by the server", measure: even,
        why: "request k is due k ms after the first" },
    Answer { name: "capacity", title: "the capacity of a target of 8,000/s", measure: capacity,
        why: "the target serves one queue at exactly that rate" },
    Answer { name: "knee", title: "the capacity of eight exponential servers", measure: knee,
        why: "their backlog grows from the rate on that they carry when none is ever idle" },
    Answer { name: "slo", title: "capacity under a threshold, against M/M/8 and M/M/4", measure: slo,
        why: "Kleinrock (1975), 3.5, with the rate that a closed load carried" },
    Answer { name: "compare", title: "10,000/s against 9,500/s by compare; 2,000/s against 1,900/s in a duet",
        measure: compare, why: "the difference is −5 %" },
    Answer { name: "a-a", title: "a target against itself", measure: a_a,
        why: "there is no difference" },
];

/// Histograms tell 0.1 % apart, and stamps are carried over to within 0.02 ms; that is what may be missing below.
const BELOW: (f64, f64) = (0.001, 20e3);
/// Timers, wake-ups and both ways through the kernel of a quiet machine: at the median, and above it.
const MEDIAN_NS: f64 = 0.15e6;
const TAIL_NS: f64 = 0.5e6;
const PER_S: u64 = 2000;
const SILENT_NS: u64 = 200_000_000;
const PERIOD_NS: u64 = 2_000_000_000;
const STALL: &str = "200ms/2s";

/// A part of a load's latency, `service p50_ns` say, that lies between the first and the last of these.
fn latency(trial: &Value, name: &str, bounds: [f64; 3]) -> Figure {
    let (part, field) = name.split_once(' ').unwrap_or_default();
    Figure::between(name, Unit::Ns, bounds, trial["latency"][part][field].as_f64())
}

/// One that the target makes: hardly less, and up to 5 % and some time more.
fn duration(trial: &Value, name: &str, expected_ns: f64, room_ns: f64) -> Figure {
    let low = expected_ns * (1.0 - BELOW.0) - BELOW.1;
    latency(trial, name, [low, expected_ns, expected_ns * 1.05 + room_ns])
}

/// What is wrong with a load before any duration: nothing may fail.
fn none_failed(trial: &Value) -> Figure {
    Figure::between("failed", Unit::Requests, [0.0; 3], trial["requests"]["failed"].as_f64())
}

/// A load at 2,000/s of a target with this delay.
fn at_rate(runs: &Runs, target: &[&str], connections: &[&str]) -> Result<Value, String> {
    let (window, rate) = (format!("{}s", runs.window_s()), PER_S.to_string());
    let load = [&["-R", &rate, "-d", &window, "--warmup", "2s", "-c"][..], connections].concat();
    runs.with_target(target, |url| runs.load(url, &load))
}

fn fixed(runs: &Runs) -> Result<Vec<Figure>, String> {
    let trial = at_rate(runs, &["-t", "1", "--delay", "2ms"], &["100"])?;
    Ok(vec![
        duration(&trial, "service p50_ns", 2e6, MEDIAN_NS),
        duration(&trial, "service p99_ns", 2e6, TAIL_NS),
        duration(&trial, "response p50_ns", 2e6, MEDIAN_NS),
        none_failed(&trial),
    ])
}

fn bimodal(runs: &Runs) -> Result<Vec<Figure>, String> {
    let trial = at_rate(runs, &["-t", "1", "--delay", "bimodal:3ms,23ms,0.1"], &["200"])?;
    Ok(vec![
        duration(&trial, "service p50_ns", 3e6, MEDIAN_NS),
        duration(&trial, "service p75_ns", 3e6, TAIL_NS),
        duration(&trial, "service p95_ns", 23e6, TAIL_NS),
        duration(&trial, "service p99_ns", 23e6, TAIL_NS),
        none_failed(&trial),
    ])
}

fn exponential(runs: &Runs) -> Result<Vec<Figure>, String> {
    let trial = at_rate(runs, &["-t", "1", "--delay", "exp:2ms"], &["200"])?;
    let drawn = real(PER_S * runs.window_s());
    let of = |name: &str, q: f64, room: f64| {
        let expected = (1.0 - q).ln() * -2e6;
        // Of a quantile of so many draws: √(q(1 − q)/n) over the density there, which is (1 − q)/2 ms.
        let error = 3.0 * 2e6 * (q / (1.0 - q) / drawn).sqrt();
        latency(&trial, name, [expected - error - BELOW.1, expected, expected * 1.05 + error + room])
    };
    Ok(vec![
        of("service p50_ns", 0.50, MEDIAN_NS),
        of("service p90_ns", 0.90, TAIL_NS),
        of("service p99_ns", 0.99, TAIL_NS),
        none_failed(&trial),
    ])
}

/// With two threads the answers that a stall held back, 400 of them, go out in a millisecond.
fn stalled(runs: &Runs, connections: &[&str]) -> Result<Value, String> {
    at_rate(runs, &["-t", "2", "--delay", "2ms", "--stall", STALL], connections)
}

fn queue(connections: usize, turn_around_ns: u64) -> Queue {
    Queue {
        per_s: PER_S,
        connections,
        silent_ns: SILENT_NS,
        period_ns: PERIOD_NS,
        service_ns: 2_000_000 + turn_around_ns,
    }
}

fn stall(runs: &Runs) -> Result<Vec<Figure>, String> {
    stall_to_spare(runs, &["500"])
}

fn stall_http2(runs: &Runs) -> Result<Vec<Figure>, String> {
    stall_to_spare(runs, &["10", "--http2", "-p", "50"])
}

/// As many places as are ever in use: no request waits for one.
fn stall_to_spare(runs: &Runs, connections: &[&str]) -> Result<Vec<Figure>, String> {
    let trial = stalled(runs, connections)?;
    let of = |name: &str, q: f64, share: f64, room: f64| {
        let expected = real(queue(500, 0).response_ns(3, q));
        latency(&trial, name, [expected * (1.0 - share) - BELOW.1, expected, expected * (1.0 + share) + room])
    };
    Ok(vec![
        of("response p50_ns", 0.50, 0.001, MEDIAN_NS * 2.0),
        of("response p95_ns", 0.95, 0.02, TAIL_NS),
        of("response p99_ns", 0.99, 0.02, TAIL_NS),
        none_failed(&trial),
    ])
}

fn stall_queue(runs: &Runs) -> Result<Vec<Figure>, String> {
    let trial = stalled(runs, &["10"])?;
    let of = |(at, q): (u32, f64)| {
        let [expected, slowest] = [0, 400_000].map(|more| real(queue(10, more).response_ns(3, q)));
        latency(&trial, &format!("response p{at}_ns"), [expected * 0.95, expected, slowest * 1.05])
    };
    let mut figures = [(50, 0.5), (75, 0.75), (90, 0.9), (95, 0.95), (99, 0.99)].map(of).to_vec();
    figures.push(duration(&trial, "service p50_ns", 2e6, 2.0 * MEDIAN_NS));
    figures.push(none_failed(&trial));
    Ok(figures)
}

fn stall_closed(runs: &Runs) -> Result<Vec<Figure>, String> {
    let window = format!("{}s", runs.window_s());
    let flags = ["-t", "2", "--delay", "2ms", "--stall", STALL];
    let trial =
        runs.with_target(&flags, |url| runs.load(url, &["-c", "10", "-d", &window, "--warmup", "2s"]))?;
    let silences = real(runs.window_s()) / 2.0;
    // 1.8 s of answers on each of ten connections, each taking 2 ms and up to 0.4 ms of turn-around.
    let answers = |each_ms: f64| silences * 10.0 * 1800.0 / each_ms;
    let completed = [answers(2.4), answers(2.0), answers(2.0) + 20.0];
    Ok(vec![
        duration(&trial, "service p99_ns", 2e6, TAIL_NS),
        latency(&trial, "service max_ns", [198e6, real(SILENT_NS) + 2e6, 212e6]),
        Figure::between("completed", Unit::Requests, completed, trial["requests"]["completed"].as_f64()),
        none_failed(&trial),
    ])
}

fn even(runs: &Runs) -> Result<Vec<Figure>, String> {
    const GAP: Duration = Duration::from_millis(1);
    let server = Recorder::start()?;
    let url = format!("http://{}/", server.address);
    let count = 1000 * runs.window_s();
    let trial = runs.load(&url, &["-R", "1000", "-c", "20", "-n", &count.to_string(), "--spin"])?;
    let arrivals = server.arrivals_ns();
    let gap_ns = u64::try_from(GAP.as_nanos()).unwrap_or(u64::MAX);
    let (gap, late) = evenness_ns(&arrivals, gap_ns).unzip();
    Ok(vec![
        Figure::between("arrived", Unit::Requests, [real(count); 3], Some(real(arrivals.len() as u64))),
        Figure::about("median gap", Unit::Ns, real(gap_ns), 0.02, gap.map(real)),
        Figure::between("late at the 99th percentile", Unit::Ns, [0.0, 0.0, TAIL_NS], late.map(real)),
        none_failed(&trial),
    ])
}

fn found_capacity(record: &Value) -> Option<f64> {
    record["capacity_per_s"]["point"].as_f64()
}

fn capacity(runs: &Runs) -> Result<Vec<Figure>, String> {
    let record = runs.with_target(&["--capacity", "8000/s"], |url| runs.capacity(url, &[]))?;
    let share = if runs.quick { 0.05 } else { 0.02 };
    Ok(vec![Figure::about("sustained", Unit::PerS, 8000.0, share, found_capacity(&record))])
}

/// The rate that as many connections carry when each always has a request on it.
fn carried(runs: &Runs, url: &str, connections: &str) -> Result<f64, String> {
    let window = format!("{}s", runs.window_s());
    let trial = runs.load(url, &["-c", connections, "-d", &window])?;
    let rate = trial["throughput"]["requests_per_s"]["point"].as_f64();
    rate.ok_or_else(|| "a closed load has no throughput".to_owned())
}

fn knee(runs: &Runs) -> Result<Vec<Figure>, String> {
    let (carried, record) = runs.with_target(&["-t", "1", "--delay", "exp:2ms"], |url| {
        Ok((carried(runs, url, "8")?, runs.capacity(url, &["-c", "8"])?))
    })?;
    let share = if runs.quick { 0.10 } else { 0.03 };
    // 8 / 2 ms, but for the turn-around of each of them.
    let bounds = [8.0 / 0.0023, 4000.0, 4000.0 * 1.02];
    Ok(vec![
        Figure::between("carried by a closed load", Unit::PerS, bounds, Some(carried)),
        Figure::about("sustained", Unit::PerS, carried, share, found_capacity(&record)),
    ])
}

fn slo(runs: &Runs) -> Result<Vec<Figure>, String> {
    let share = if runs.quick { 0.10 } else { 0.03 };
    let mut figures = Vec::new();
    for (servers, delay, threshold, quantile) in
        [(8, "exp:2ms", "p99<20ms", 0.99), (4, "exp:5ms", "p90<20ms", 0.90)]
    {
        let connections = servers.to_string();
        let flags = ["-c", &connections, "--arrivals", "poisson", "--slo", threshold];
        let (carried, record) = runs.with_target(&["-t", "1", "--delay", delay], |url| {
            Ok((carried(runs, url, &connections)?, runs.capacity(url, &flags)?))
        })?;
        let expected = MultiServer { servers, served_per_s: carried }.rate_with(quantile, 0.020);
        let name = format!("M/M/{servers} with {threshold}");
        figures.push(Figure::about(&name, Unit::PerS, expected, share, found_capacity(&record)));
    }
    Ok(figures)
}

/// Throughput of a comparison: its change, half of that's interval, and what was found.
fn throughput(comparison: &Value) -> (Option<f64>, Option<f64>, Option<String>) {
    let figures = comparison["plans"][0]["figures"].as_array();
    let Some(figure) = figures.and_then(|all| all.iter().find(|one| one["figure"] == "throughput")) else {
        return (None, None, None);
    };
    let of = |end: &str| figure["ratio"][end].as_f64();
    let half = of("ci_high").zip(of("ci_low")).map(|(high, low)| (high - low) / 2.0);
    (of("point").map(|ratio| ratio - 1.0), half, figure["finding"].as_str().map(str::to_owned))
}

fn compare(runs: &Runs) -> Result<Vec<Figure>, String> {
    let (blocks, window) = if runs.quick { ("4", "1s") } else { ("6", "2s") };
    let length = ["-d", window, "--blocks", blocks];
    let in_turn = runs.compared(
        [("base", "--capacity 10000/s"), ("head", "--capacity 9500/s")],
        &[&["-c", "50"], &length[..]].concat(),
    )?;
    let duet = runs.compared(
        [("base", "--capacity 2000/s"), ("head", "--capacity 1900/s")],
        &[&["-c", "20", "-R", "2500", "--duet"], &length[..]].concat(),
    )?;
    let mut figures = Vec::new();
    for (name, comparison) in [("compare", in_turn), ("duet", duet)] {
        let (change, _, finding) = throughput(&comparison);
        let bounds = [-0.055, -0.05, -0.045];
        figures.push(Figure::between(&format!("{name}: throughput"), Unit::Share, bounds, change));
        figures.push(Figure::yes(&format!("{name}: slower"), finding.map(|word| word == "slower")));
    }
    Ok(figures)
}

fn a_a(runs: &Runs) -> Result<Vec<Figure>, String> {
    let (blocks, window) = if runs.quick { ("4", "1s") } else { ("8", "3s") };
    let flags = ["-c", "50", "-d", window, "--blocks", blocks];
    let comparison = runs.compared([("a", "-t 1"), ("b", "-t 1")], &flags)?;
    let (change, half, finding) = throughput(&comparison);
    let neither = finding.map(|word| word != "slower" && word != "faster");
    // How far a change of nothing may be off is what the comparison itself says of its change.
    let half = half.ok_or("the comparison has no interval of throughput")?;
    Ok(vec![
        Figure::between("throughput", Unit::Share, [-half, 0.0, half], change),
        Figure::yes("neither is faster", neither),
    ])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::truth::judge::Verdict;

    #[test]
    fn each_answer_has_a_name_of_its_own() {
        let names: BTreeSet<&str> = ANSWERS.iter().map(|answer| answer.name).collect();
        assert_eq!(names.len(), ANSWERS.len());
    }

    #[test]
    fn a_delay_is_never_shorter_than_the_target_made_it() {
        let said = |found: f64| {
            let trial = serde_json::json!({"latency": {"service": {"p50_ns": found}}});
            duration(&trial, "service p50_ns", 2e6, MEDIAN_NS).verdict(true)
        };
        for within in [1.99e6, 2e6, 2.2e6] {
            assert_eq!(said(within), Verdict::Within, "{within}");
        }
        for off in [1.97e6, 2.3e6] {
            assert_eq!(said(off), Verdict::Off, "{off}");
        }
    }

    #[test]
    fn a_comparison_s_throughput_is_read() {
        let comparison = serde_json::json!({"plans": [{"figures": [
            {"figure": "p50_ns", "ratio": {"point": 2.0}, "finding": "slower"},
            {"figure": "throughput", "ratio": {"point": 0.95, "ci_low": 0.94, "ci_high": 0.97}, "finding": "slower"},
        ]}]});
        let (change, half, finding) = throughput(&comparison);
        assert!((half.unwrap() - 0.015).abs() < 1e-12);
        assert!((change.unwrap() + 0.05).abs() < 1e-12);
        assert_eq!(finding.as_deref(), Some("slower"));
        assert_eq!(throughput(&Value::Null), (None, None, None));
    }
}
