//! The data and the shell; what the script makes of them is tested in web/.

use prony_model::Estimate;
use prony_model::capacity::{CapacityRecord, CapacityReport, Probe};
use prony_model::client::ClientColumns;
use prony_model::published::{Conclusion, Published, PublishedRow};
use prony_model::trial::Bound;
use serde_json::Value;

use super::shell::App;
use super::*;
use crate::fixtures;

pub(super) const APP: App<'_> =
    App { program: "cGFja2Vk", loader: "load()", style: "p{}", hashes: "'sha256-aGFzaA=='" };

pub(super) fn file(log: &RunLog) -> String {
    super::file(&APP, log, None)
}

fn element<'a>(page: &'a str, id: &str) -> &'a str {
    page.split_once(&format!("id=\"{id}\">")).unwrap().1.split_once("</script>").unwrap().0
}

pub(super) fn unpacked(page: &str, id: &str) -> Value {
    serde_json::from_str(&pack::unpacked(element(page, id))).unwrap()
}

pub(super) fn data(page: &str) -> Value {
    serde_json::from_str(element(page, "data")).unwrap_or_else(|_| unpacked(page, "data"))
}

pub(super) fn detail(page: &str, index: &Value) -> Value {
    unpacked(page, &format!("t{}", index.as_u64().unwrap() / 16))[index.to_string()].clone()
}

#[test]
fn a_page_loads_nothing_and_runs_one_script() {
    let page = file(&fixtures::run());
    assert!(page.contains("default-src 'none'; script-src 'sha256-aGFzaA=='; style-src 'unsafe-inline'"));
    assert!(page.contains("<script>load()</script>"), "its hash is of exactly this");
    assert_eq!(element(&page, "program"), "cGFja2Vk");
    for load in ["src=", "href=\"http", "href=\"//", "url(", "@import", "connect-src"] {
        assert!(!page.contains(load), "the page has {load}");
    }
}

#[test]
fn data_that_are_long_are_packed() {
    let long = format!("{{\"a\":\"{}\"}}", "</script>".repeat(8_000));
    let page = APP.file("t", &long, None, &[]);
    assert!(page.len() < 8_000, "{}", page.len());
    assert_eq!(data(&page)["a"].as_str().unwrap().len(), 72_000);
    let short = APP.file("t", "{\"a\":\"</script>\"}", None, &[]);
    assert!(short.contains("id=\"data\">{\"a\":\"\\u003c/script\\u003e\"}</script>"), "{short}");
    assert_eq!(data(&short)["a"], "</script>");
}

#[test]
fn what_stands_elsewhere_in_the_data_is_not_in_the_head_too() {
    let mut log = fixtures::run();
    log.header.published = Some(published());
    for log in [&log, &fixtures::duet()] {
        let data = data(&file(log));
        let head = &data["head"];
        assert!(head["plans"] == serde_json::json!([]) && head["protocols"].is_null(), "{head}");
        for of in [&head["published"]["conclusions"], &head["duet"]["plans"]] {
            assert!(of.is_null() || of == &serde_json::json!([]), "{head}");
        }
        let cell = &data["cells"][0];
        for key in ["trials", "counted", "failed", "completed", "remarks", "reasons"] {
            assert!(!cell[key].is_null(), "{cell} has no {key}");
        }
    }
}

#[test]
fn labels_from_outside_are_escaped() {
    let page = file(&fixtures::hostile_run());
    for tag in ["<b onmouseover", "<script>alert", "<img src", "\u{1b}", "\u{2028}"] {
        assert!(!page.contains(tag), "{tag:?} came through");
    }
    let scripts = page.matches("<script").count();
    assert_eq!(page.matches("</script").count(), scripts, "no label ended a script");
    let data = data(&page);
    assert_eq!(data["candidates"][1]["label"], "<b onmouseover=\"x\">|`\n</script>\u{2028}\u{1b}[31m");
}

#[test]
fn every_figure_of_every_plan_is_ranked_with_every_ratio() {
    let page = file(&fixtures::run());
    let data = data(&page);
    assert_eq!(data["schema"], "prony.page/1");
    let rankings = data["rankings"].as_array().unwrap();
    assert_eq!(rankings.len(), 2 * 8, "two plans, six figures that rank and two of first bytes");
    for ranking in rankings {
        assert_eq!(ranking["rows"].as_array().unwrap().len(), 3);
    }
    // The fixture's second candidate carries twice the first's, in every block.
    let ratios = unpacked(&page, "r0");
    let place = |candidate: u64| {
        ratios["candidates"].as_array().unwrap().iter().position(|c| c.as_u64() == Some(candidate)).unwrap()
    };
    let (first, second) = (place(0), place(1));
    let over_first = &ratios["ratios"][0][second][first];
    assert!((over_first["point"].as_f64().unwrap() - 2.0).abs() < 1e-5, "{over_first}");
    assert!((ratios["ratios"][0][first][second]["point"].as_f64().unwrap() - 0.5).abs() < 1e-5);
    let best = &rankings[0]["rows"][0];
    assert_eq!((&best["candidate"], &best["rank"]), (&Value::from(2), &serde_json::json!([1, 1])));
    let quickest = &rankings[1]["rows"][0];
    assert_eq!(quickest["candidate"], 0, "of latency, less is better");
}

#[test]
fn first_bytes_and_interrupts_are_columns_where_known() {
    let page = file(&fixtures::on_two_hosts());
    let data = data(&page);
    let ids: Vec<&str> =
        data["figures"].as_array().unwrap().iter().map(|figure| figure["id"].as_str().unwrap()).collect();
    assert_eq!(ids[6..], ["first_byte_p50", "first_byte_p99", "interrupts"]);
    let interrupts = data["rankings"].as_array().unwrap().iter().find(|r| r["figure"] == 8).unwrap();
    let row = &interrupts["rows"][0];
    assert!(row["estimate"]["point"].as_f64().unwrap() > 0.0 && row["rank"].is_null(), "{row}");
    assert_eq!(data["head"]["server_host"]["address"], "10.0.0.2");
    let detail = detail(&page, &data["trials"][0]["index"]);
    assert_eq!(detail["trial"]["server"]["host"]["packets_sent"], 6_000);
}

#[test]
fn a_trials_plot_data_are_in_its_chunk_and_bounded() {
    let page = file(&fixtures::run());
    let data = data(&page);
    let trials = data["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 3 * 2 * 3);
    for trial in trials {
        let detail = detail(&page, &trial["index"]);
        let picture = &detail["picture"];
        let points = picture["response_ns"].as_array().unwrap().len();
        assert!(points > 4 && points <= data["quantiles"].as_array().unwrap().len());
        assert_eq!(picture["series"]["at_ns"].as_array().unwrap().len(), 30);
        assert!(!picture["distribution"]["count"].as_array().unwrap().is_empty());
        assert!(detail["reproduce"].as_str().unwrap().starts_with("prony load http"));
    }
}

#[test]
fn a_trials_first_byte_stands_beside_its_service_time() {
    let mut log = fixtures::run();
    let latency = &mut log.results[0].trial.as_mut().unwrap().latency;
    (latency.first_byte.p50_ns, latency.service.p50_ns) = (Some(1_000_000), Some(7_000_000));
    let page = file(&log);
    let detail = detail(&page, &data(&page)["trials"][0]["index"]);
    let p50 = |part: &str| detail["trial"]["latency"][part]["p50_ns"].as_u64().unwrap();
    assert_eq!((p50("first_byte"), p50("service")), (1_000_000, 7_000_000));
    assert_eq!(detail["trial"]["series"], serde_json::json!([]), "it is in the picture");
}

#[test]
fn a_page_of_single_loads_opens_on_the_trial_with_its_command() {
    let mut log = fixtures::run();
    log.header.one_by_one = true;
    log.results.truncate(1);
    let data = data(&file(&log));
    assert_eq!(data["experiment"], false);
    assert_eq!(data["rankings"].as_array().unwrap().len(), 0);
    assert!(data["head"]["headline"].as_str().unwrap().contains("req/s"));
    assert!(data["head"]["reproduce"].as_str().unwrap().starts_with("prony load http"));
}

#[test]
fn an_experiment_named_load_opens_on_its_ranking() {
    let mut log = fixtures::run();
    log.header.name = "load".into();
    let data = data(&file(&log));
    assert_eq!(data["experiment"], true);
    assert!(!data["rankings"].as_array().unwrap().is_empty());
}

#[test]
fn a_page_of_several_loads_has_the_command_of_each() {
    let mut log = fixtures::run();
    log.header.one_by_one = true;
    log.header.reproduce = "the first one's".into();
    log.results.truncate(3);
    log.results[1].trial.as_mut().unwrap().plan.rate_per_s = Some(250.0);
    let data = data(&file(&log));
    let url = "prony load http://127.0.0.1:8080/ -c 100";
    assert_eq!(
        data["head"]["reproduce"],
        format!("{url} -d 30s --warmup 3s\n{url} -R 250 -d 30s --warmup 3s")
    );
}

#[test]
fn a_duets_comparison_is_a_table() {
    let data = data(&file(&fixtures::duet()));
    let duet = &data["duet"];
    assert_eq!((&duet["a"], &duet["b"]), (&Value::from(0), &Value::from(1)));
    let row = |figure: &str| {
        duet["rows"].as_array().unwrap().iter().find(|row| row["found"]["figure"] == figure).unwrap().clone()
    };
    for (figure, finding, verdict) in
        [("throughput", "faster", "FASTER"), ("p50", "slower", "SLOWER"), ("p99", "slower", "SLOWER")]
    {
        let row = row(figure);
        assert_eq!((&row["found"]["finding"], &row["verdict"]), (&finding.into(), &verdict.into()), "{row}");
        let number = |end: &str| row["found"]["ratio"][end].as_f64().unwrap();
        assert!((number("point") - 2.0).abs() < 0.01, "{row}");
        assert!(number("ci_low") < number("point") && number("point") < number("ci_high"), "{row}");
        assert!(row["found"]["a"]["point"].is_number() && row["noise"].as_str().unwrap().starts_with('±'));
    }
    assert!(duet["amounts"][0][1].as_str().unwrap().contains("3 blocks of one run, both at once"), "{duet}");
    assert!(duet["legend"].as_str().unwrap().contains("two identical candidates"));
    let notes = data["head"]["notes"].to_string();
    assert!(!notes.contains("A/A"), "{notes}");
    assert!(self::data(&file(&fixtures::run()))["duet"].is_null());
}

#[test]
fn a_trial_without_a_measurement_is_listed_with_its_failure() {
    let mut log = fixtures::run();
    log.results[4].trial = None;
    log.results[4].failure = Some("it did not start".into());
    let page = file(&log);
    assert_eq!(data(&page)["trials"][4]["failure"], "it did not start");
    assert!(!page.contains("id=\"t4\""));
}

#[test]
fn a_run_without_trials_is_a_page() {
    let mut log = fixtures::run();
    log.results.clear();
    let data = data(&file(&log));
    assert_eq!(data["trials"].as_array().unwrap().len(), 0);
    log.header.plans.clear();
    log.header.order.clear();
    assert_eq!(self::data(&file(&log))["rankings"].as_array().unwrap().len(), 0);
}

#[test]
fn without_a_front_end_the_error_says_how_to_build_it() {
    assert!(NoPage.to_string().contains("make build") && NoPage.to_string().contains("--format"));
}

/// A source with a row for each of three, one of them in doubt, and a conclusion of each judgement.
pub(super) fn published() -> Published {
    let row = |candidate: &str, rate: f64, p99_ms: Option<f64>, doubt: Option<&str>| PublishedRow {
        name: candidate.to_uppercase(),
        candidate: candidate.into(),
        connections: Some(100),
        rate_per_s: None,
        figures: [("requests_per_s", Some(rate)), ("p99_ms", p99_ms)]
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect(),
        remarks: Default::default(),
        doubt: doubt.map(str::to_owned),
        workers: None,
    };
    let conclusion = |text: &str, claim: &str| Conclusion {
        text: text.into(),
        claim: claim.into(),
        ..Conclusion::default()
    };
    Published {
        source: "Three of them, 2019".into(),
        method: "by hand".into(),
        statistic: None,
        rows: vec![
            row("nginx-fpm", 1_000.0, Some(20.0), None),
            row("node-http", 1_500.0, Some(10.0), None),
            row("hyper:b+c", 9_000.0, None, Some("</script>too good")),
            row("php-pm", 10.0, None, None),
        ],
        conclusions: vec![
            conclusion("Node beats nginx", "throughput(node-http) > 1.5 * throughput(nginx-fpm)"),
            conclusion("Node is ten times nginx", "throughput(node-http) > 10 * throughput(nginx-fpm)"),
            conclusion("PHP-PM is slow", "throughput(php-pm) < throughput(nginx-fpm)"),
        ],
        facts: Default::default(),
        differences: vec!["One run there.".into()],
    }
}

#[test]
fn a_sources_figures_and_claims_are_in_the_data() {
    let mut log = fixtures::run();
    log.header.published = Some(published());
    let page = file(&log);
    let data = data(&page);
    let theirs = data["published"].as_array().unwrap();
    // Of each plan three rates and two percentiles: the fourth candidate is not here.
    assert_eq!(theirs.len(), 2 * (3 + 2), "{theirs:?}");
    let of = |candidate: u64, figure: u64| {
        theirs
            .iter()
            .find(|p| p["plan"] == 0 && p["candidate"] == candidate && p["figure"] == figure)
            .unwrap()
    };
    let shown = |candidate, figure| {
        (of(candidate, figure)["value"].as_f64(), of(candidate, figure)["doubt"].as_str())
    };
    assert_eq!(shown(1, 0), (Some(1_500.0), None));
    assert_eq!(shown(1, 2), (Some(10e6), None), "milliseconds as nanoseconds");
    assert_eq!(shown(2, 0), (Some(9_000.0), Some("</script>too good")));
    let judged: Vec<_> = data["conclusions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| {
            (
                c["judged"]["judgement"].as_str().unwrap(),
                c["there"].as_str().unwrap(),
                c["here"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(judged[0], ("holds", "1.50 ×", "2.00 ×"));
    assert_eq!((judged[1].0, judged[2].0), ("fails", "undecided"));
    assert_eq!(data["conclusions"][0]["plans"].as_array().unwrap().len(), 2, "judged plan by plan");
    assert!(data["conclusions"][2]["why"].as_str().unwrap().contains("php-pm"), "{}", data["conclusions"][2]);
    assert_eq!(data["head"]["published"]["not_here"][0], "php-pm");
    assert_eq!(data["head"]["published"]["doubts"][0]["candidate"], "hyper:b+c");
}

#[test]
fn a_run_without_a_source_has_no_data_of_one() {
    let data = data(&file(&fixtures::run()));
    for key in ["published", "conclusions", "source", "capacities", "home"] {
        assert!(data.get(key).is_none(), "{key}");
    }
}

/// A search that found 900 a second times a factor, or nothing.
pub(super) fn search(found: Option<f64>) -> CapacityRecord {
    let probe = |rate_per_s: f64, sustained: bool| Probe {
        rate_per_s,
        completed_per_s: rate_per_s.min(950.0),
        sustained,
        why: "p99 is 9 ms".into(),
        undecided: None,
        not_judged: Vec::new(),
        phase: "up_down".into(),
        duration_ns: 1_000_000_000,
        p50_ns: Some(1_234_567),
        p99_ns: None,
        failed_share: 0.0,
        beyond_share: None,
    };
    CapacityRecord {
        slo: "p99<50ms".into(),
        capacity_per_s: found.map(|rate| Estimate::new(rate, rate, rate * 1.1, 2)),
        bound: Bound::Exact,
        confirmed: Some(true),
        recovers: Some(false),
        probes: vec![probe(900.0, true), probe(1_000.0, false)],
        void: None,
    }
}

#[test]
fn search_probes_are_in_a_chunk_and_capacities_in_the_head() {
    let mut log = fixtures::run();
    for result in log.results.iter_mut().filter(|r| r.planned.plan == "c50") {
        let found = match (result.planned.candidate.as_str(), result.planned.block) {
            ("nginx-fpm", block) => Some(900.0 + f64::from(block)),
            ("node-http", 0) => Some(1_800.0),
            _ => None,
        };
        result.capacity = Some(search(found));
    }
    log.results.retain(|r| r.planned.candidate != "node-http" || r.planned.block == 0);
    let page = file(&log);
    let data = data(&page);
    let head = &data["capacities"][0];
    assert_eq!((&head["plan"], &head["slo"]), (&0.into(), &"p99<50ms".into()));
    let rows = head["rows"].as_array().unwrap();
    let seen =
        |i: usize| (rows[i]["edge"].as_bool(), rows[i]["searches"].as_u64(), rows[i]["found"].as_u64());
    assert_eq!(
        [seen(0), seen(1), seen(2)],
        [(Some(false), Some(3), Some(3)), (Some(true), Some(1), Some(1)), (Some(false), Some(3), Some(0))]
    );
    assert!((rows[0]["estimate"]["point"].as_f64().unwrap() - 901.0).abs() < 0.1, "{}", rows[0]);
    assert!(rows[0]["estimate"]["ci_high"].as_f64().unwrap() < 910.0, "over three searches, not of one");
    assert_eq!(
        rows[1]["estimate"]["ci_high"].as_f64().map(f64::round),
        Some(1_980.0),
        "of one, up to what failed"
    );
    assert_eq!(rows[2]["estimate"], Value::Null);
    assert_eq!((&rows[2]["slow_to_recover"], &rows[2]["tried_again"]), (&3.into(), &3.into()));
    let searches = unpacked(&page, "c0");
    assert_eq!(searches["searches"].as_array().unwrap().len(), 7);
    let probe = &searches["searches"][0]["found"]["probes"][1];
    assert_eq!((&probe["sustained"], &probe["p50_ns"]), (&false.into(), &1_234_567.into()));
    assert!(!page.contains("id=\"c1\""), "the other plan searches for nothing");
}

#[test]
fn a_search_by_itself_is_a_page() {
    let trial = fixtures::closed();
    let report = CapacityReport {
        schema: prony_model::capacity::SCHEMA.into(),
        tool: Tool::this(),
        started_at: trial.started_at.clone(),
        reproduce: "prony capacity http://h/".into(),
        interrupted: false,
        target: trial.target.clone(),
        plan: trial.plan.clone(),
        host: trial.host.clone(),
        found: search(Some(900.0)),
        confirmation: Some(trial),
    };
    let data = data(&file(&report.run_log("a")));
    assert_eq!(data["head"]["headline"], "about 900 req/s (95 %: 900 to 990), of one start (p99<50ms)");
    assert_eq!(data["capacities"][0]["rows"][0]["edge"], true);
}

#[test]
fn cpu_and_client_columns_are_in_a_trials_chunk() {
    let mut log = fixtures::run();
    let times = |step: u64| (0..100).map(|i| i * step).collect::<Vec<u64>>();
    log.results[0].trial.as_mut().unwrap().client.columns = Some(ClientColumns {
        at_ns: (0..100).map(|i| i * 100_000_000).collect(),
        process_cpu_ns: times(50_000_000),
        worker_cpu_ns: vec![times(40_000_000)],
        rss_bytes: vec![7; 100],
        cores: vec![0],
        core_busy_ns: vec![times(90_000_000)],
    });
    let page = file(&log);
    let picture = &detail(&page, &0.into())["picture"];
    assert_eq!(
        (&picture["client"]["cores"][3], &picture["client"]["busiest_worker"][3]),
        (&0.5.into(), &0.4.into())
    );
    assert_eq!(
        (&picture["client"]["memory_bytes"][3], &picture["cores"]["cpus"][0]["busy"][3]),
        (&7.into(), &0.9.into())
    );
    // An older log has none of it, and is shown all the same.
    let older = &detail(&page, &1.into())["picture"];
    assert_eq!(
        (
            older["client"]["at_ns"].as_array().unwrap().len(),
            older["cores"]["cpus"].as_array().unwrap().len()
        ),
        (0, 0)
    );
}

#[test]
fn a_historys_points_are_in_chunks_and_its_changes_in_the_head() {
    use prony_analysis::history::{figures, figures_of, history};
    let logs: Vec<RunLog> = (0..10_u32)
        .map(|day| {
            let mut log = fixtures::run();
            log.header.created_at = format!("2026-03-{:02}T10:00:00.000Z", day + 1);
            log.header.commit = Some(format!("{day:040x}"));
            let worse = if day < 6 { 1.0 } else { 0.7 };
            for result in log.results.iter_mut().filter(|r| r.planned.candidate == "node-http") {
                result.trial.as_mut().unwrap().throughput.requests_per_s.point *=
                    worse + f64::from(day % 3) / 1e3;
            }
            log
        })
        .collect();
    let of = |figure| {
        let runs = logs.iter().map(|log| figures_of(log, "<b>.jsonl", figure, None).unwrap());
        history(runs.collect(), figure, None, Vec::new())
    };
    let histories: Vec<_> = figures().map(of).collect();
    let href = |file: &str| Some(format!("runs/{}", file.len()));
    let from = HistoryFrom { histories: &histories, folder: "runs", href: &href, home: None };
    let (json, chunks) = history::data(&from);
    let page = APP.file("History", &json, None, &chunks);
    let data = data(&page);
    assert_eq!((&data["kind"], &data["history"]["runs"]), (&"history".into(), &10.into()));
    let series = data["history"]["series"].as_array().unwrap();
    assert_eq!(series.len(), 3 * 2);
    let worse = series.iter().position(|s| s["candidate"] == "node-http").unwrap();
    let change = &series[worse]["figures"][0]["changes"][0];
    assert_eq!(
        (&change["index"], &change["word"], &change["size"]),
        (&6.into(), &"WORSE".into(), &"−30 %".into())
    );
    let points = unpacked(&page, &format!("h{worse}"));
    assert_eq!(points["runs"].as_array().unwrap().len(), 10);
    assert_eq!(points["figures"].as_array().unwrap().len(), histories.len());
    assert_eq!(points["figures"][0]["levels"].as_array().unwrap().len(), 2);
    assert_eq!(
        (&points["runs"][0]["href"], points["figures"][0]["at_least"][9].as_bool()),
        (&"runs/9".into(), Some(false))
    );
    assert!(!page.contains("<b>"), "a file's name is text");
}
