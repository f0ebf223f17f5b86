use serde_json::json;

use super::*;

fn estimate_of(point: f64) -> Value {
    json!({"point": point, "ci_low": point * 0.9, "ci_high": point * 1.1})
}

fn published(name: &str, figures: &Value, doubt: Option<&str>) -> Value {
    json!({"name": name, "figures": figures, "doubt": doubt})
}

fn run() -> Replication {
    let row = |candidate: &str, rate: f64, published: Value| {
        json!({
            "candidate": candidate, "requests_per_s": estimate_of(rate), "p99_ns": estimate_of(3e6), "ratio": estimate_of(rate / 1000.0),
            "published": published, "trials": 3, "counted": 3, "overloaded": 0, "broken": 2
        })
    };
    Replication {
        name: "some-2020".to_owned(),
        judged_by: "abc1234".to_owned(),
        header: json!({
            "tool": {"version": "0.1.0"},
            "plans": [{"name": "c100", "workers": "source"}],
            "published": {"facts": {"duration_s": "30", "server_cores": "4"}, "rows": [
                {"name": "A", "candidate": "a", "connections": 100,
                 "figures": {"requests_per_s": 100.0, "max_ms": 9.5}},
                {"name": "B", "candidate": "b", "connections": 100, "workers": 8,
                 "figures": {"requests_per_s": 250.0}, "remarks": {"language": "Erlang"}},
                {"name": "B", "candidate": "b", "connections": 1, "figures": {"requests_per_s": 7.0}, "doubt": "odd"},
                {"name": "B", "candidate": "b", "connections": 10, "figures": {"requests_per_s": 70.0}},
                {"name": "C|C", "candidate": "c", "connections": 100, "figures": {"requests_per_s": 8.0}},
            ]},
        }),
        analysis: json!({
            "created_at": "2026-01-02T03:04:05Z", "headline": "b is faster", "interrupted": false,
            "host": {"cpu_model": "A CPU", "os": "An OS", "kernel": "6.0", "cpus_online": 2},
            "baseline": "a", "server_cpus": [1], "client_cpus": [0], "reproduce": "prony bench some-2020",
            "trials": {"planned": 6, "suspect": 1, "void": 0},
            "plans": [{"name": "c100", "describe": "100 connections, workers as the source had them", "rows": [
                row("a", 1000.0, published("A", &json!({"requests_per_s": 100.0, "max_ms": 9.5}), None)),
                row("b", 12_345.0, published("B", &json!({"requests_per_s": 250.0}), Some("best of five"))),
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
                    {"text": "c is for games", "by": "source", "claim": "", "judgement": "unjudged", "published": null,
                     "is_ratio": false, "plans": [], "why": "a use"},
                    {"text": "c is slow", "by": "reading", "claim": "rank(c) < 3", "judgement": "undecided", "published": null,
                     "is_ratio": false, "plans": [], "why": "c was skipped"},
                ],
            },
        }),
    }
}

#[test]
fn a_page_has_each_row_of_the_source_measured_or_with_a_reason() {
    let page = figures(&run(), &["![a](some-2020-1.svg)".to_owned()]);
    for line in [
        "| b is faster | `throughput(b) > throughput(a)` | 2.5 × ? | 12.3 (11.1 to 13.5) × | **HOLDS** |",
        "**What the source concluded**",
        "| c is for games | – | – | a use | **UNJUDGED** |",
        "**Our readings of its table**",
        "| c is slow | `rank(c) < 3` | – | c was skipped | **UNDECIDED** |",
        "### c100: 100 connections, workers as the source had them (b 8; it names no number of the others, which have as \
         many as the run's other plans)",
        "| server | source's name | Throughput req/s, source, 4 cores | measured, 1 core | measured, 4 cores | p99 ms, measured | \
         Max ms, source | × of Throughput, source | ×, measured | |",
        "| b | B | 250 ? | 12,345 (11,110 to 13,580) | – | 3 (2.7 to 3.3) | – | – | 12.3 (11.1 to 13.6) | broken in 2 of 3 |",
        "| a | A | 100 | 1,000 (900 to 1,100) | – | 3 (2.7 to 3.3) | 9.5 | 1 | 1 (0.9 to 1.1) | broken in 2 of 3 |",
        "| d |  | – | 5 (4.5 to 5.5) | – | 3 (2.7 to 3.3) | – | – | 0.005 (0.0045 to 0.0055) | broken in 2 of 3 |",
        "With 4 cores for the server, as in the source, it was not run: this machine has 2 CPUs, and the client needs one. \
         `--server-cores 4` runs it on a machine with more.",
        "| in the source | load | Throughput req/s | why not measured |",
        "| B | c=1 | 7 ? | no plan of this run repeats it |",
        "| B | c=10 | 70 | no plan of this run repeats it |",
        "| C\\|C | c=100 | 8 | Not installed: the command c. |",
        "- duration: 30 s",
        "- server cores: 4",
        "- B (language: Erlang)",
        "- The order of both under c100: Kendall's tau-b 1.",
        "- b: best of five",
        "- One run.",
        "Run of 2026-01-02, with Prony 0.1.0, judged by abc1234: A CPU, An OS, 6.0, 2 CPUs; the server on CPU 1, the \
         client on CPU 0. 6 trials planned, 1 suspect. [The whole report](../gallery/site/runs/some-2020.html).",
        "## Plots",
        "![a](some-2020-1.svg)",
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
        "| [some-2020](site/runs/some-2020.html) | [Some, 2020](../replications/some-2020.md) | 2026-01-02 | \
         6 trials planned, 1 suspect | b is faster |"
    );
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
