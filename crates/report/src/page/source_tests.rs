//! What a page says of a source's tables, of candidates' axes, of plans, and of searches that nothing upheld.

use prony_model::published::PublishedRow;
use prony_model::run_log::{RunLog, Setting};
use serde_json::{Value, json};

use super::tests::{data, detail, file, published, search, unpacked};
use crate::fixtures;

/// The run with a source beside it whose first row stands beside one plan only.
fn beside() -> RunLog {
    let mut log = fixtures::run();
    log.header.plans[0].plan.connections = 50;
    let mut source = published();
    let first = &mut source.rows[0];
    first.connections = Some(50);
    first.figures.extend([("max_ms".to_owned(), 31.0), ("p90_ms".to_owned(), 4.5)]);
    first.remarks.insert("failure".into(), "<b>refused".into());
    first.workers = Some(2);
    source.rows.push(PublishedRow {
        name: "nobody's".into(),
        candidate: "nginx-fpm".into(),
        connections: Some(7),
        figures: [("requests_per_s".to_owned(), 5.0), ("own_figure".to_owned(), 1.0)].into(),
        ..PublishedRow::default()
    });
    source.facts.insert("duration_s".into(), "30".into());
    log.header.published = Some(source);
    log
}

#[test]
fn all_figures_of_a_source_are_a_table_with_the_measured_ones() {
    let page = data(&file(&beside()));
    let source = &page["source"];
    let columns: Vec<&str> =
        source["columns"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    assert_eq!(columns, ["requests_per_s", "p90_ms", "p99_ms", "max_ms", "own_figure"]);
    assert_eq!(source["columns"][4]["title"], "own figure", "a figure that is not known keeps its name");
    let rows = source["rows"].as_array().unwrap();
    let row = &rows[0];
    assert_eq!(
        (&row["printed"]["candidate"], &row["index"], &row["plan"]),
        (&"nginx-fpm".into(), &0.into(), &0.into())
    );
    assert_eq!(
        (&row["printed"]["workers"], &row["printed"]["remarks"]),
        (&2.into(), &json!({"failure": "<b>refused"}))
    );
    let ours = &row["figures"][0]["ours"]["point"];
    assert!((ours.as_f64().unwrap() / 5_000.0 - 1.0).abs() < 0.02, "{row}");
    let p99 = row["figures"][2]["ours"]["point"].as_f64().unwrap();
    assert!((p99 / 9.7 - 1.0).abs() < 0.02, "ours is in the source's milliseconds: {row}");
    assert_eq!(row["figures"][3], json!({"value": 31.0}), "a maximum has none of ours beside it");
    // One that is a load of no plan here stands beside none.
    assert_eq!(
        rows.iter().filter(|r| r["printed"]["candidate"] == "node-http").count(),
        1,
        "of 100 connections only"
    );
    let last = rows.last().unwrap();
    assert_eq!((&last["plan"], &last["figures"][0]), (&Value::Null, &json!({"value": 5.0})));
    let elsewhere = rows.iter().find(|r| r["printed"]["candidate"] == "php-pm").unwrap();
    assert_eq!((&elsewhere["index"], &elsewhere["plan"]), (&Value::Null, &Value::Null));
    assert_eq!(page["head"]["published"]["facts"], json!({"duration_s": "30"}));
}

#[test]
fn candidates_have_a_value_per_axis_and_older_logs_one_axis() {
    let mut log = fixtures::run();
    let axes = |log: &RunLog| data(&file(log))["candidates"].as_array().unwrap().clone();
    assert!(axes(&log)[0].get("axes").is_none(), "the only nginx-fpm differs from no other");
    assert_eq!(axes(&log)[2]["axes"], json!([{"axis": "settings", "value": "b+c"}]));
    log.header.candidates[0].settings = vec![
        Setting { axis: "opt".into(), value: "none".into() },
        Setting { axis: "loop".into(), value: "ev".into() },
    ];
    assert_eq!(
        axes(&log)[0]["axes"],
        json!([{"axis": "opt", "value": "none"}, {"axis": "loop", "value": "ev"}])
    );
}

#[test]
fn a_trials_plan_is_in_its_chunk() {
    let plan = &detail(&file(&fixtures::run()), &0.into())["trial"]["plan"];
    assert_eq!(
        (&plan["method"], &plan["timeout_ns"], &plan["seed"]),
        (&"GET".into(), &10_000_000_000_u64.into(), &7.into())
    );
}

#[test]
fn an_unconfirmed_capacity_says_so() {
    let mut log = fixtures::run();
    for result in log.results.iter_mut().filter(|r| r.planned.plan == "c50") {
        let mut found = search(Some(900.0));
        found.confirmed = Some(!(result.planned.candidate == "nginx-fpm" && result.planned.block < 2));
        result.capacity = Some(found);
    }
    let page = file(&log);
    let rows = data(&page)["capacities"][0]["rows"].as_array().unwrap().clone();
    assert_eq!((&rows[0]["unconfirmed"], &rows[1]["unconfirmed"]), (&2.into(), &0.into()));
    assert_eq!(unpacked(&page, "c0")["searches"][0]["found"]["confirmed"], false);
    let mut one = search(Some(900.0));
    one.confirmed = Some(false);
    assert_eq!(super::capacity::answer(&one), "about 900 req/s (95 %: 900 to 990), of one start (p99<50ms)");
}
