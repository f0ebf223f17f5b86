use serde_json::json;

use super::*;

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
fn ratios_are_of_a_time_where_the_source_printed_no_throughput() {
    let row = |candidate: &str, ours: f64, theirs: f64| json!({"candidate": candidate, "p99_ns": {"point": ours}, "published": {"figures": {"p99_ms": theirs}}});
    let (base, other) = (row("a", 2e6, 5.0), row("b", 1e6, 4.0));
    assert_eq!(ratio_there(&other, Some(&base), "p99_ms"), "0.8");
    assert_eq!(ratio_there(&other, None, "p99_ms"), "–");
}

#[test]
fn rows_without_a_figure_have_a_table() {
    let run = Replication {
        name: String::new(),
        judged_by: String::new(),
        header: json!({"published": {"rows": [{"name": "A", "connections": 8}]}}),
        analysis: json!({}),
    };
    let table = not_measured(&run);
    assert!(
        table.contains("| in the source | load | why not measured |\n|:--|:--|:--|\n| A | c=8 |"),
        "{table}"
    );
}
