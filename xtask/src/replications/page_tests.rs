use serde_json::json;

use super::*;

fn estimate_of(point: f64) -> Value {
    json!({"point": point, "ci_low": point * 0.9, "ci_high": point * 1.1})
}

fn published(name: &str, rate: f64, doubt: Option<&str>) -> Value {
    let figures = json!({"requests_per_s": rate});
    json!({"name": name, "figures": figures, "ratio": rate / 100.0, "doubt": doubt})
}

fn run() -> Replication {
    let row = |candidate: &str, rate: f64, published: Value| {
        json!({
            "candidate": candidate, "requests_per_s": estimate_of(rate), "ratio": estimate_of(rate / 1000.0),
            "published": published, "trials": 3, "counted": 3, "overloaded": 0, "broken": 2
        })
    };
    Replication {
        name: "some-2020".to_owned(),
        header: json!({
            "tool": {"version": "0.1.0"},
            "published": {"rows": [
                {"name": "A", "candidate": "a", "connections": 100, "figures": {"requests_per_s": 100.0}},
                {"name": "B", "candidate": "b", "connections": 100, "figures": {"requests_per_s": 250.0}},
                {"name": "B", "candidate": "b", "connections": 1, "figures": {"requests_per_s": 7.0}, "doubt": "odd"},
                {"name": "B", "candidate": "b", "connections": 10, "figures": {"requests_per_s": 70.0}},
                {"name": "C|C", "candidate": "c", "connections": 100, "figures": {"requests_per_s": 8.0}},
            ]},
        }),
        analysis: json!({
            "created_at": "2026-01-02T03:04:05Z", "headline": "b is faster", "interrupted": false,
            "host": {"cpu_model": "A CPU", "os": "An OS", "kernel": "6.0", "cpus_online": 2},
            "server_cpus": [1], "client_cpus": [0], "reproduce": "prony bench some-2020",
            "trials": {"planned": 6, "suspect": 1, "void": 0},
            "plans": [{"name": "c100", "describe": "100 connections", "rows": [
                row("a", 1000.0, published("A", 100.0, None)),
                row("b", 12_345.0, published("B", 250.0, Some("best of five"))),
                row("d", 5.0, Value::Null),
            ]}],
            "skipped": [{"candidate": "c", "reason": "Not installed: the command c."}],
            "published": {
                "source": "Some, 2020", "method": "one run", "differences": ["One run."],
                "agreement": [{"plan": "c100", "tau_b": {"point": 1.0, "ci_low": null, "ci_high": null}}],
                "doubts": [{"candidate": "b", "reason": "best of five"}],
                "conclusions": [
                    {"text": "b is faster", "claim": "throughput(b) > throughput(a)", "judgement": "holds",
                     "published": 2.5, "published_at_least": false, "published_doubted": true, "is_ratio": true,
                     "plans": [{"plan": "c100", "judgement": "holds", "here": estimate_of(12.3), "why": null}]},
                    {"text": "c is slow", "claim": "rank(c) < 3", "judgement": "undecided", "published": null,
                     "is_ratio": false, "plans": [], "why": "c was skipped"},
                ],
            },
        }),
    }
}

#[test]
fn a_page_has_each_row_of_the_source_measured_or_with_a_reason() {
    let page = figures(&run());
    for line in [
        "| b is faster | `throughput(b) > throughput(a)` | 2.5 × ? | 12.3 (11.1 to 13.5) × | **HOLDS** |",
        "| c is slow | `rank(c) < 3` | – | c was skipped | **UNDECIDED** |",
        "| b | B | 250 ? | 12,345 (11,110 to 13,580) | 2.5 ? | 12.3 (11.1 to 13.6) | broken in 2 of 3 |",
        "| a | A | 100 | 1,000 (900 to 1,100) | 1 | 1 (0.9 to 1.1) | broken in 2 of 3 |",
        "| d |  | – | 5 (4.5 to 5.5) | – | 0.005 (0.0045 to 0.0055) | broken in 2 of 3 |",
        "| B | c=1: Throughput 7 req/s ?; c=10: Throughput 70 req/s | no plan of this run repeats it |",
        "| C\\|C | c=100: Throughput 8 req/s | Not installed: the command c. |",
        "- The order of both under c100: Kendall's tau-b 1.",
        "- b: best of five",
        "- One run.",
        "prony bench some-2020",
    ] {
        assert!(page.lines().any(|one| one == line), "{line}\n{page}");
    }
    let place = |server: &str| page.find(&format!("\n| {server} |")).unwrap();
    assert!(place("b") < place("a") && place("a") < place("d"), "in the source's order\n{page}");
}

#[test]
fn a_run_s_line_says_what_it_is_and_found() {
    assert_eq!(
        line(&run()),
        "| [some-2020](some-2020.html) | [Some, 2020](../replications/some-2020.md) | 2026-01-02 | \
         6 trials planned, 1 suspect | b is faster |"
    );
}

#[test]
fn a_row_without_a_figure_shows_what_is_known() {
    let censored = json!({"p99_ns": null, "p99_censored_at_ns": 2e9});
    let column = |key: &str| columns().into_iter().find(|column| column.key == key).unwrap();
    assert_eq!(ours(&censored, &column("p99_ms")), "> 2,000");
    assert_eq!(ours(&json!({}), &column("p99_ms")), "–");
    let seconds = json!({"series": [{"requests_per_s": [1.0, 3.0]}, {"requests_per_s": [5.0]}]});
    assert_eq!(ours(&seconds, &column("peak_requests_per_s")), "4");
    let bound = json!({"requests_per_s": {"point": 1500.0}, "lower_bound": true});
    assert_eq!(ours(&bound, &column("requests_per_s")), "≥ 1,500");
}

#[test]
fn numbers_have_three_digits_or_all_before_the_point() {
    let cases = [
        (0.0, "0"),
        (0.8364, "0.836"),
        (0.0204, "0.0204"),
        (1.864, "1.86"),
        (42.93, "42.9"),
        (999.4, "999"),
        (1e6, "1,000,000"),
    ];
    for (value, text) in cases {
        assert_eq!(number(value), text);
    }
    assert_eq!(number(-1234.0), "−1,234");
}
