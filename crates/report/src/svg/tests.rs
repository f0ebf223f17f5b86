use roxmltree::{Document, Node};

use super::*;

fn bar(label: &str, point: f64, interval: Option<(f64, f64)>) -> Bar {
    Bar { label: label.to_owned(), shown: format!("{point}"), point, interval }
}

fn bars(all: Vec<Bar>) -> Plot {
    Plot { title: "a & <b>".to_owned(), said: "\"quoted\"".to_owned(), drawn: Drawn::Bars(all) }
}

fn lines(x: Scale, y: Scale, points: &[(f64, f64)]) -> Plot {
    let line = Line { points: points.to_vec(), ..Line::new("line", 0) };
    let drawn = Drawn::Chart(Chart { x, y, lines: vec![line], marks: Vec::new() });
    Plot { title: "t".to_owned(), said: String::new(), drawn }
}

fn numbers(node: Node<'_, '_>, names: &[&str]) -> Vec<f64> {
    names.iter().map(|name| node.attribute(*name).unwrap().parse().unwrap()).collect()
}

#[test]
fn a_bar_is_as_long_as_its_figure_and_texts_are_escaped() {
    let svg = standalone(&bars(vec![bar("<&\">", 100.0, Some((90.0, 110.0))), bar("half", 50.0, None)]));
    let document = Document::parse(&svg).unwrap();
    assert_eq!(document.root_element().attribute("aria-label"), Some("a & <b>. \"quoted\""));
    let all = document.descendants().filter(|n| n.has_tag_name("rect"));
    let long: Vec<f64> = all.map(|rect| numbers(rect, &["width"])[0]).collect();
    assert!((long[0] - 2.0 * long[1]).abs() < 0.2, "{long:?}");
    // The interval's end is the most, and reaches to the right.
    let whisker = document.descendants().find(|n| n.attribute("class") == Some("whisker")).unwrap();
    assert!(whisker.attribute("d").unwrap().contains(&format!("H{:.1}", WIDTH - VALUE)), "{svg}");
    assert!(document.descendants().any(|n| n.is_text() && n.text() == Some("<&\">")));
}

#[test]
fn every_place_is_within_the_picture() {
    let points: Vec<(f64, f64)> = quantiles().into_iter().map(|q| (q, 1e6 * (1.0 + 9.0 * q))).collect();
    for (x, y, points) in [
        (Scale::Percentile, Scale::Duration, points.as_slice()),
        (
            Scale::Seconds,
            Scale::Figure(prony_model::unit::Unit::RequestsPerS, true),
            &[(0.0, 5.0), (9.0, 5.0)],
        ),
        (
            Scale::Time,
            Scale::Figure(prony_model::unit::Unit::Megabytes, false),
            &[(1.7e9, 1e6), (1.8e9, 2e6)],
        ),
        (Scale::Seconds, Scale::Duration, &[(1.0, 1e9)]),
    ] {
        let svg = standalone(&lines(x, y, points));
        let document = Document::parse(&svg).unwrap();
        let line = document.descendants().find(|n| n.attribute("class") == Some("line l0")).unwrap();
        for place in line.attribute("d").unwrap().split(['M', 'L']).skip(1) {
            let (a, b) = place.split_once(' ').unwrap();
            let (a, b): (f64, f64) = (a.parse().unwrap(), b.parse().unwrap());
            assert!(
                (LEFT..=WIDTH - RIGHT).contains(&a) && (TOP..=TOP + HEIGHT - BOTTOM).contains(&b),
                "{svg}"
            );
        }
        let labels = document.descendants().filter(|n| n.has_tag_name("text")).count();
        assert!(labels >= 3, "{x:?} {y:?} name {labels} values: {svg}");
    }
}

fn quantiles() -> Vec<f64> {
    prony_analysis::plot_data::quantiles()
}

#[test]
fn what_has_no_place_is_not_drawn() {
    let scale = Scale::Figure(prony_model::unit::Unit::Ratio, true);
    for points in [&[][..], &[(0.0, f64::NAN)], &[(f64::INFINITY, 1.0)]] {
        assert!(lines(Scale::Seconds, scale, points).is_empty(), "{points:?}");
    }
    assert!(lines(Scale::Seconds, Scale::Duration, &[(1.0, 0.0)]).is_empty(), "0 has no logarithm");
    for points in
        [&[(0.0, f64::MAX), (1.0, -f64::MAX)][..], &[(0.0, 1e300), (1.0, 0.0)], &[(0.0, 0.0), (0.0, 0.0)]]
    {
        let svg = standalone(&lines(Scale::Seconds, scale, points));
        assert!(Document::parse(&svg).is_ok() && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}

#[test]
fn an_axis_names_round_values() {
    let named = |scale: Scale, ends: [f64; 2]| -> Vec<String> {
        scale.over(ends.into_iter()).unwrap().ticks().into_iter().map(|(_, name)| name).collect()
    };
    let rate = Scale::Figure(prony_model::unit::Unit::RequestsPerS, true);
    assert_eq!(named(rate, [0.0, 81_240.0]), ["0", "50k"]);
    assert_eq!(named(Scale::Seconds, [0.0, 30.0]), ["0 s", "10 s", "20 s", "30 s"]);
    assert_eq!(named(Scale::Duration, [1e6, 1e9]), ["1 ms", "10 ms", "100 ms", "1 s"]);
    assert_eq!(
        named(Scale::Time, [1_772_359_200.0, 1_772_359_200.0 + 86_400.0]),
        ["2026-03-01", "2026-03-02"]
    );
}
