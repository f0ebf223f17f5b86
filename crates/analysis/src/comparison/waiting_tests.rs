//! When a difference is said to be waiting.

use prony_model::Estimate;

use super::waits;
use crate::compare::Finding;
use crate::comparison::{FigureComparison, PlanComparison};
use crate::figure::Figure;

fn figure(figure: Figure, finding: Finding, (low, high): (f64, f64)) -> FigureComparison {
    FigureComparison {
        figure,
        a: None,
        b: None,
        ratio: Some(Estimate::new((low * high).sqrt(), low, high, 5)),
        finding: Some(finding),
        smallest: 0.05,
        stands: true,
        blocks_needed: None,
        forecast: Vec::new(),
        noise: None,
        why: None,
        test: None,
    }
}

fn plan(figures: Vec<FigureComparison>) -> PlanComparison {
    PlanComparison {
        name: "c4".to_owned(),
        describe: String::new(),
        a_trials: 5,
        b_trials: 5,
        blocks: 5,
        a_died: None,
        b_died: None,
        figures,
        tails: Vec::new(),
    }
}

#[test]
fn waiting_is_said_where_cpu_time_cannot_be_the_reason() {
    let slower = || figure(Figure::P50, Finding::Slower, (1.9, 2.1));
    let fewer = || figure(Figure::THROUGHPUT, Finding::Slower, (0.5, 0.6));
    let cpu = |finding, ends| figure(Figure::CPU_PER_REQUEST, finding, ends);
    let said = |figures: Vec<FigureComparison>| waits(&plan(figures));
    let text = said(vec![slower(), cpu(Finding::Equivalent, (0.98, 1.02))]).unwrap();
    assert!(text.starts_with("Under c4 the difference is waiting, not CPU: CPU per request "), "{text}");
    assert!(said(vec![fewer(), cpu(Finding::Faster, (0.7, 0.8))]).is_some());
    assert!(said(vec![slower(), cpu(Finding::Inconclusive, (0.9, 1.3))]).is_some());
    let close = figure(Figure::P50, Finding::Slower, (1.03, 1.1));
    for none in [
        vec![slower(), cpu(Finding::Slower, (1.8, 2.2))],
        vec![slower(), cpu(Finding::Inconclusive, (0.9, 1.8))],
        vec![close, cpu(Finding::Equivalent, (0.97, 1.04))],
        vec![figure(Figure::P50, Finding::Faster, (0.5, 0.6)), cpu(Finding::Equivalent, (0.98, 1.02))],
        vec![slower()],
    ] {
        assert_eq!(said(none), None);
    }
}
