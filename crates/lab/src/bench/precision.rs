//! When a run has blocks enough, in sentences: pure.

use std::time::Duration;

use prony_analysis::precision::{SequentialStop, Widest, blocks_for, expected};

use super::BenchSetup;
use prony_model::units::show_duration;

pub(super) fn reached(setup: &BenchSetup, looking: &SequentialStop, block: u32) -> Option<String> {
    let wanted = setup.experiment.precision?;
    if block < setup.experiment.blocks.min {
        return None;
    }
    let widest = looking.widest(setup.baseline.as_deref())?;
    (widest.half_width <= wanted)
        .then(|| format!("Within ±{} after {block} blocks: {}.", percent(wanted), said(&widest, setup)))
}

/// What was not reached and what it would take, with a space before it; `None` where nothing was asked, or it was reached.
pub(super) fn what_more_would_buy(
    setup: &BenchSetup,
    looking: &SequentialStop,
    a_block: Duration,
) -> Option<String> {
    let wanted = setup.experiment.precision?;
    let widest = looking.widest(setup.baseline.as_deref())?;
    if widest.half_width <= wanted {
        return None;
    }
    let mut text = format!(" Not within ±{}: {}.", percent(wanted), said(&widest, setup));
    let Some(spread) = widest.spread else { return Some(text) };
    match blocks_for(spread, wanted) {
        Some(blocks) => {
            let more = blocks.saturating_sub(widest.blocks).max(1);
            text.push_str(&format!(
                " At this noise, ±{} takes about {more} more blocks, {}",
                percent(wanted),
                rounded(a_block.saturating_mul(more))
            ));
        }
        None => text.push_str(" At this noise a thousand blocks would not reach it"),
    }
    if let Some(half) = expected(spread, widest.blocks.saturating_mul(2), true) {
        text.push_str(&format!("; twice the blocks would give ±{}", percent(half)));
    }
    text.push('.');
    Some(text)
}

fn said(widest: &Widest, setup: &BenchSetup) -> String {
    let of = match (widest.is_ratio, &setup.baseline) {
        (true, Some(baseline)) => format!("{} × {baseline}", widest.candidate),
        _ => widest.candidate.clone(),
    };
    if widest.half_width.is_finite() {
        format!("the widest is {of} under {}, ±{}", widest.plan, percent(widest.half_width))
    } else {
        format!("{of} under {} has no interval", widest.plan)
    }
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let digits = if percent < 9.95 { 1 } else { 0 };
    let text = format!("{percent:.digits$}");
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

fn rounded(time: Duration) -> String {
    show_duration(Duration::from_secs(time.as_secs().max(1)))
}
