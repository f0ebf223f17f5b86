//! Whatever can be read as a run log can be shown, in every format. Most inputs are no bytes of a log but choices of
//! what to change in an honest one, so that they get past the parser: which value, and to what.

use std::path::Path;

use prony_analysis::comparison::{Options, choose_in, compare_candidates};
use prony_analysis::slo::Slo;
use prony_analysis::slo_run::hold_run;
use prony_analysis::{analyse, history, run_log};
use prony_model::histogram::SparseHistogram;
use prony_model::run_log::RunLog;
use prony_model::{Measurement, Trial};
use prony_report::export::{LOAD_FORMATS, csv, hgrm, hlog, openmetrics, trackers};
use prony_report::page::{self, HistoryFrom, live};
use prony_report::terminal::{self, TerminalOptions};
use prony_report::{github, json, junit, markdown, site};
use serde_json::Value;

/// A bench of one trial, and single loads: closed, with a server, at a rate, failing.
const BENCH: &str = include_str!("../seeds/run_log/whole.jsonl");
const LOADS: &str = include_str!("../../crates/analysis/tests/pinned/loads.jsonl");
/// What files are called in messages.
const FILE: &str = "run.jsonl";
/// Changes of an input at most.
const CHANGES_MAX: usize = 64;
/// Entries that an array may grow to.
const ENTRIES_MAX: usize = 2_000;

const NUMBERS: [u64; 14] = [
    0,
    1,
    2,
    1_000,
    1_000_000_000,
    1_000_000_001,
    4_294_967_295,
    1 << 44,
    (1 << 44) + 1,
    1 << 53,
    (1 << 53) + 1,
    (1 << 63) - 1,
    1 << 63,
    u64::MAX,
];
const FLOATS: [f64; 9] = [0.0, -0.0, 1.0, -1.0, 1e-300, 1e8, 1e18, 1e300, f64::MAX];
const TEXTS: [&str; 18] = [
    "",
    " ",
    "a",
    "b",
    "c50",
    "closed",
    "constant",
    "poisson",
    "stages",
    "=1+1",
    "\u{1b}[2J\u{202e}\r\n",
    "</script><b>|`",
    "unix:/x y",
    "https://h/?a=b",
    "p99<1ms",
    "9999-12-30T22:00:00Z",
    "-009999-01-02T01:59:59Z",
    "precision_reached",
];

/// Shows the bytes as a log, and the log that they choose.
pub fn check(input: &[u8]) {
    shown(input);
    shown(changed(input).as_bytes());
}

/// The lines of an honest log: one of a bench, of single loads, or of an experiment with all that a log may have.
pub fn honest(which: usize) -> Vec<Value> {
    let lines = |text: &str| -> Vec<Value> {
        text.lines().map(|line| serde_json::from_str(line).expect("an honest line")).collect()
    };
    match which {
        0 => lines(BENCH),
        1 => lines(LOADS),
        _ => experiment(&lines(BENCH)[0], &lines(LOADS)),
    }
}

/// Two candidates in three blocks beside a source, and a search for the capacity of the first.
fn experiment(bench: &Value, loads: &[Value]) -> Vec<Value> {
    let mut header = bench.clone();
    let candidate = bench["candidates"][0].clone();
    header["candidates"] = Value::Array(vec![candidate.clone(), with(candidate, &[("label", "b".into())])]);
    let plan = loads[0]["plans"][0].clone();
    let knee = with(plan.clone(), &[("name", "knee".into()), ("capacity", "p99<50ms".into())]);
    header["plans"] = Value::Array(vec![plan, knee]);
    header["blocks"] = 3.into();
    header["published"] = parsed(
        r#"{"source":"A source, 2020","method":"once","rows":[{"name":"A","candidate":"a","connections":50,"rate_per_s":null,
        "figures":{"requests_per_s":1000.0,"p99_ms":2.5}},{"name":"B","candidate":"b","connections":50,"rate_per_s":null,
        "figures":{"requests_per_s":900.0,"p99_ms":3.5},"doubt":"one run"}],"conclusions":[{"text":"A is faster",
        "claim":"throughput(a) > 1.2 * throughput(b)"}],"facts":{"php":"8"}}"#,
    );
    let planned = (0..3).flat_map(|block| ["a", "b"].map(|candidate| (block, candidate, "c50")));
    let planned: Vec<(u32, &str, &str)> = planned.chain([(2, "a", "knee")]).collect();
    let mut order = Vec::new();
    let mut results = Vec::new();
    for (index, (block, candidate, plan)) in planned.into_iter().enumerate() {
        let place: [(&str, Value); 4] = [
            ("index", index.into()),
            ("block", block.into()),
            ("candidate", candidate.into()),
            ("plan", plan.into()),
        ];
        order.push(with(parsed("{}"), &place));
        results.push(with(loads[1 + index % 4].clone(), &place));
    }
    if let Some(search) = results.last_mut() {
        search["capacity"] = parsed(
            r#"{"slo":"p99<50ms","capacity_per_s":{"point":900.0,"ci_low":900.0,"ci_high":950.0,"n":7},"bound":"exact",
            "confirmed":true,"recovers":true,"probes":[{"rate_per_s":800.0,"completed_per_s":800.0,"sustained":true,
            "why":"kept","phase":"doubling","duration_ns":1000000000,"p50_ns":1000000,"p99_ns":9000000,"failed_share":0.0},
            {"rate_per_s":900.0,"completed_per_s":899.0,"sustained":true,"why":"kept","phase":"confirmation",
            "duration_ns":3000000000,"p50_ns":1100000,"p99_ns":20000000,"failed_share":0.0},{"rate_per_s":1000.0,
            "completed_per_s":950.0,"sustained":false,"why":"p99","phase":"bisection","duration_ns":1000000000,
            "p50_ns":9000000,"p99_ns":80000000,"failed_share":0.1}]}"#,
        );
    }
    // What several machines, another protocol and a server that is taken although it errs leave in a log.
    let agent = parsed(
        r#"{"name":"load1","threads":1,"run_sent":500,"completed":400,"failed":3,"cpu_ns":7000000,"process_cpu_ns":9000000,
        "busiest_worker_ppm":950000,"send_lag_p99_ns":90000,"lateness_p50_ns":3000000,"lateness_p99_ns":40000000,
        "throttled_ns":5000000,"clock_offset_ns":-70000,"clock_bound_ns":30000,"clock_moved_ns":900}"#,
    );
    let agents = [agent.clone(), with(agent, &[("name", "load2".into()), ("throttled_ns", Value::Null)])];
    let lost = parsed(r#"{"agent":"load2","why":"it said nothing for 5 s","planned_ns":2000000000}"#);
    results[0]["observed"]["measurement"]["fleet"] =
        with(parsed("{}"), &[("agents", agents.to_vec().into()), ("lost", lost)]);
    results[1]["observed"]["measurement"]["http2"] = parsed(
        r#"{"streams":4,"moved":3,"no_stream":{"count":20,"total_ns":90000000},"no_connection":{"count":2,
        "total_ns":4000000},"held_ns":800000000,"own":{"window_bytes":65535,"header_table_bytes":4096,
        "header_list_bytes":262144,"frame_bytes":16384}}"#,
    );
    let seen = r#"{"from_ms":-1000,"at_ms":[0,1000],"cpus":[{"cpu":0,"user":[7,8],"idle":[93,92]},{"cpu":1,"steal":[100,100]}],
        "memory_used_bytes":[1,2],"memory_buffers_bytes":[1,2],"memory_cached_bytes":[1,2],"memory_free_bytes":[1,2],
        "received_bytes":[5,6],"sent_bytes":[7,8],"loopback_bytes":[0,0]}"#;
    results[2]["observed"]["monitor"] = parsed(seen);
    results[2]["observed"]["measurement"]["tolerated"] = parsed(r#"{"folded":2,"repeated_length":1}"#);
    header["order"] = Value::Array(order);
    let event =
        r#"{"type":"event","at":"2026-01-01T00:00:00.000Z","what":"finished","detail":"all","found":null}"#;
    [header].into_iter().chain(results).chain([parsed(event)]).collect()
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("a value")
}

fn with(mut object: Value, fields: &[(&str, Value)]) -> Value {
    for (name, value) in fields {
        object[*name] = value.clone();
    }
    object
}

/// What the input chooses, byte by byte; after its end everything is 0.
struct Choices<'a>(std::slice::Iter<'a, u8>);

impl Choices<'_> {
    fn byte(&mut self) -> u8 {
        self.0.next().copied().unwrap_or(0)
    }

    fn below(&mut self, n: usize) -> usize {
        usize::from(u16::from_le_bytes([self.byte(), self.byte()])) % n.max(1)
    }

    fn number(&mut self) -> u64 {
        let shift = self.below(64);
        u64::from_le_bytes(std::array::from_fn(|_| self.byte())) >> shift
    }
}

/// An honest log with the changes that the input chooses.
fn changed(input: &[u8]) -> String {
    let mut choices = Choices(input.iter());
    let mut lines = honest(choices.below(3));
    for _ in 0..CHANGES_MAX {
        if choices.0.as_slice().is_empty() {
            break;
        }
        let (line, again) = (choices.below(lines.len()), choices.below(8) == 7);
        if again {
            lines.push(lines[line].clone());
        } else {
            change(&mut lines[line], &mut choices);
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Changes the value, or one within it.
fn change(value: &mut Value, choices: &mut Choices<'_>) {
    let within = match value {
        Value::Array(all) => {
            let chosen = choices.below(all.len() + 1);
            all.get_mut(chosen)
        }
        Value::Object(fields) => {
            let chosen = choices.below(fields.len() + 1);
            fields.values_mut().nth(chosen)
        }
        _ => None,
    };
    match within {
        Some(within) => change(within, choices),
        None => *value = other(value, choices),
    }
}

/// Another value of its kind, as a rule.
fn other(value: &Value, choices: &mut Choices<'_>) -> Value {
    match value {
        Value::Null => match choices.below(3) {
            0 => NUMBERS[choices.below(NUMBERS.len())].into(),
            1 => TEXTS[choices.below(TEXTS.len())].into(),
            _ => parsed("{}"),
        },
        Value::Bool(is) => (!is).into(),
        Value::Number(number) if number.is_f64() => FLOATS[choices.below(FLOATS.len())].into(),
        Value::Number(number) if number.is_i64() && choices.below(4) == 0 => {
            number.as_i64().unwrap_or(0).wrapping_neg().into()
        }
        Value::Number(_) => match choices.below(2) {
            0 => NUMBERS[choices.below(NUMBERS.len())].into(),
            _ => choices.number().into(),
        },
        Value::String(_) => match choices.below(3) {
            0 => TEXTS[choices.below(TEXTS.len())].into(),
            1 => "x".repeat(choices.below(1 << 16)).into(),
            _ => histogram(choices),
        },
        Value::Array(all) => {
            let mut all = all.clone();
            match choices.below(4) {
                0 => all.clear(),
                1 => all.truncate(all.len() / 2),
                2 => all.reverse(),
                _ => {
                    while !all.is_empty() && all.len() < choices.below(ENTRIES_MAX) {
                        all.extend_from_within(..);
                    }
                }
            }
            Value::Array(all)
        }
        Value::Object(fields) => {
            let mut fields = fields.clone();
            let name = fields.keys().nth(choices.below(fields.len())).cloned();
            if let Some(name) = name {
                fields.remove(&name);
            }
            Value::Object(fields)
        }
    }
}

/// A histogram as a log has it: empty, full, of few buckets, of more requests than any load has.
fn histogram(choices: &mut Choices<'_>) -> Value {
    let buckets: Vec<(u64, u64)> = match choices.below(4) {
        0 => Vec::new(),
        1 => (0..33_421).map(|bucket| (bucket, 1)).collect(),
        2 => vec![(0, 1 << 43), (33_420, 1 << 43)],
        _ => vec![(choices.below(33_421) as u64, choices.number().max(1))],
    };
    serde_json::to_value(SparseHistogram::from_buckets(buckets.into_iter())).expect("a text")
}

fn shown(bytes: &[u8]) {
    match run_log::read_from(bytes, Path::new(FILE)) {
        Ok(log) => show(&log),
        Err(why) => {
            let said = why.to_string();
            assert!(said.contains(FILE) && !said.contains('\n'), "{said:?} is no sentence");
        }
    }
}

fn show(log: &RunLog) {
    let options = TerminalOptions { plot: true, ..TerminalOptions::default() };
    let analysis = analyse(log);
    printable(&terminal::experiment(&analysis, &options));
    let _ = (markdown::experiment(&analysis), github::experiment(&analysis), csv::experiment(&analysis));
    let _ = (json::pretty(&analysis), json::results(log), junit::run(log), openmetrics::run(log));
    let _ = (trackers::bmf(log), trackers::gab(log, false), trackers::gab(log, true));
    trials(log, &options);
    let slos = ["p99<50ms", "mean<1s", "max<1s", "errors<1%", "throughput>1k"];
    let slos: Vec<Slo> = slos.iter().map(|text| Slo::parse(text).expect("a threshold")).collect();
    let _ = hold_run(&slos, log);
    if let Ok((a, b)) = choose_in(log, FILE, &[])
        && let Ok(comparison) = compare_candidates(a, b, &Options::default())
    {
        printable(&terminal::comparison(&comparison, true, &options));
    }
    // Without the front end there are no pages.
    let _ = page::report(log, Some("../"));
    let (_, plots) = markdown::with_plots(log, "run");
    assert!(
        plots.iter().all(|(_, svg)| !svg.contains("NaN") && !svg.contains("inf ")),
        "a plot has no place"
    );
    let _ = site::publish_log(log, "run", Path::new(FILE));
    let _ = live::runs(&[&live::entry(log, FILE)], None);
    histories(log, &options);
}

fn trials(log: &RunLog, options: &TerminalOptions) {
    let named = log.results.iter().filter_map(|r| Some((r.planned.candidate.clone(), r.trial.clone()?)));
    let named: Vec<(String, Trial)> = named.collect();
    let _ = (csv::trials(&named), github::trials(&named));
    for (_, trial) in &named {
        printable(&terminal::trial(trial, options));
        let mut out = Vec::new();
        let _ = markdown::trial(trial);
        openmetrics::write(trial, &mut out).expect("a Vec takes all");
        // A start that is no time is an error.
        for format in &LOAD_FORMATS {
            let _ = (format.write)(trial, &Measurement::default(), &mut out);
        }
    }
    for result in &log.results {
        if let (Some(found), Some(trial)) = (&result.capacity, &result.trial) {
            printable(&terminal::capacity(found, &trial.plan, &trial.target.address, false, options));
        }
    }
    let all: Vec<&Trial> = named.iter().map(|(_, trial)| trial).collect();
    let mut out = Vec::new();
    hgrm::write(&all, &mut out).expect("a Vec takes all");
    let _ = hlog::write(&all, &mut out);
}

fn histories(log: &RunLog, options: &TerminalOptions) {
    let first = log.header.candidates.first().map(|candidate| candidate.label.as_str());
    for relative_to in [None, first] {
        let of = |figure| {
            let run = history::figures_of(log, FILE, figure, relative_to).ok()?;
            Some(history::history(vec![run], figure, relative_to, Vec::new()))
        };
        let histories: Vec<_> = history::figures().filter_map(of).collect();
        let [first, ..] = histories.as_slice() else { continue };
        printable(&terminal::history(first, options));
        let _ = page::history(&HistoryFrom {
            histories: &histories,
            folder: "runs",
            href: &|_| None,
            home: None,
        });
    }
}

/// Whether nothing in a text steers a terminal.
fn printable(text: &str) {
    let steers = |c: char| c.is_control() && c != '\n' || ('\u{202a}'..='\u{202e}').contains(&c);
    let line = text.lines().find(|line| line.contains(steers));
    assert!(line.is_none(), "{line:?} steers a terminal");
}
