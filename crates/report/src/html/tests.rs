use super::*;
use crate::fixtures;

fn pages() -> [String; 3] {
    let named = |name: &str, trial| (name.to_owned(), trial);
    [
        experiment(&fixtures::experiment()),
        experiment(&fixtures::hostile()),
        trials(&[
            named("first", fixtures::closed()),
            named("<img src=x>", fixtures::overloaded()),
            named("third", fixtures::broken()),
        ]),
    ]
}

/// Writes the pages to look at: `PRONY_PAGES=/some/folder cargo test -p prony-report -- --ignored pages`.
#[test]
#[ignore = "writes files for a person to look at"]
fn write_pages() {
    let folder = std::path::PathBuf::from(std::env::var("PRONY_PAGES").unwrap());
    for (page, name) in pages().iter().zip(["experiment", "hostile", "trials"]) {
        std::fs::write(folder.join(format!("{name}.html")), page).unwrap();
    }
    std::fs::write(folder.join("trial.html"), trials(&[("one".to_owned(), fixtures::closed())])).unwrap();
}

#[test]
fn a_page_loads_nothing() {
    for page in pages() {
        assert!(page.contains(
            "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
        ));
        for load in
            ["src=", "href=\"http", "href=\"//", "url(", "@import", "fetch(", "XMLHttpRequest", "import("]
        {
            let found = page.replace("&lt;img src=x", "").replace("\\u003cimg src=x", "").contains(load);
            assert!(!found, "the page has {load}");
        }
    }
}

#[test]
fn labels_stay_text() {
    let page = experiment(&fixtures::hostile());
    for tag in ["<b onmouseover", "<script>alert", "<img src", "<signal 11>", "\u{1b}", "\u{2028}"] {
        assert!(!page.contains(tag), "{tag:?} came through");
    }
    assert!(page.contains("&lt;b onmouseover=&quot;x&quot;&gt;|`"));
    // Ours: the JSON and the script.
    assert_eq!(page.matches("</script").count(), 2);
}

#[test]
fn the_data_are_inside_whole() {
    let analysis = fixtures::hostile();
    let page = experiment(&analysis);
    let (_, rest) = page.split_once("id=\"data\">").unwrap();
    let (json, _) = rest.split_once("</script>").unwrap();
    let value: serde_json::Value = serde_json::from_str(json).unwrap();
    let rows = value["plans"][0]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4);
    assert_eq!(rows[1]["candidate"], analysis.plans[0].rows[1].candidate.as_str());
    assert_eq!(rows[3]["reasons"][0]["detail"], "it ended with <signal 11> after 2 s");
}

/// The drawings of a class of figure.
fn plots<'a>(page: &'a str, figure: &str) -> Vec<&'a str> {
    let (_, rest) = page.split_once(&format!("<figure class=\"{figure}\">")).unwrap();
    let (figure, _) = rest.split_once("</figure>").unwrap();
    figure.split("<svg class=\"plot ").skip(1).map(|p| p.split_once("</svg>").unwrap().0).collect()
}

#[test]
fn every_candidate_has_its_mark_in_every_plot() {
    let page = experiment(&fixtures::experiment());
    let throughput = plots(&page, "throughput");
    assert_eq!(throughput.len(), 2, "one for wide screens and one for narrow ones");
    for plot in throughput {
        assert_eq!(plot.matches("<circle class=\"mark").count(), 9);
        assert_eq!(plot.matches("<path class=\"whisker\"").count(), 9);
        assert_eq!(
            plot.matches("<circle class=\"one\"").count(),
            44,
            "9 × 5 trials, of which one does not count"
        );
        assert_eq!(plot.matches("class=\"more\"").count(), 1, "one is a lower bound");
    }
    let latency = plots(&page, "latency");
    assert_eq!(latency.len(), 2);
    assert!(latency.iter().all(|plot| plot.matches("<g class=\"curve").count() == 9));
    let time = plots(&page, "time");
    assert_eq!(time.len(), 9 * 4, "requests, p99, CPU and memory of each");
    assert!(time.iter().all(|plot| plot.matches("<g class=\"curve").count() == 5));
    assert_eq!(time.iter().filter(|plot| plot.contains("curve void")).count(), 4, "one trial is invalid");
}

#[test]
fn a_candidate_without_a_figure_has_a_row_and_no_mark() {
    let page = experiment(&fixtures::hostile());
    for plot in plots(&page, "throughput") {
        assert_eq!(plot.matches("<circle class=\"mark").count(), 3);
        assert!(plot.contains("no figure"));
    }
    assert!(plots(&page, "latency").iter().all(|plot| plot.matches("<g class=\"curve").count() == 3));
}

#[test]
fn drawings_speak_to_those_who_cannot_see_them() {
    for page in pages() {
        let drawings = page.matches("<svg class=\"plot ").count();
        assert!(drawings > 2);
        assert_eq!(page.matches("role=\"img\" aria-label=").count(), drawings);
        assert_eq!(page.matches("<desc>").count(), drawings);
    }
}

#[test]
fn nothing_is_not_a_number_in_a_drawing() {
    for page in pages() {
        for svg in page.split("<svg ").skip(1).map(|s| s.split_once("</svg>").unwrap().0) {
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{}", &svg[..200]);
        }
    }
}

#[test]
fn an_empty_run_is_a_page_all_the_same() {
    let mut analysis = fixtures::experiment();
    analysis.plans[0].rows.clear();
    assert!(experiment(&analysis).contains("</html>"));
    analysis.plans.clear();
    assert!(experiment(&analysis).contains("hyper leads"));
    assert!(trials(&[]).contains("0 trials"));
}

#[test]
fn a_curve_of_survivors_is_not_drawn() {
    // Nearly all of it failed: no percentile is known, so there is nothing to draw.
    let page = trials(&[("broken".to_owned(), fixtures::broken())]);
    assert!(!page.contains("figure class=\"latency\""));
    // Overloaded: p50 to p90 are known, the rest is beyond what was waited for.
    let page = trials(&[("overloaded".to_owned(), fixtures::overloaded())]);
    let curve =
        plots(&page, "latency")[0].split("class=\"line\" d=\"").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(curve.matches(['M', 'L']).count(), 3, "{curve}");
}
