//! Two that ran at once: the same seconds of both held against each other. A second of B over the same second of A does
//! not have what the machine did to both in it. Their centre is a half's ratio; the mean of a block's two halves,
//! between which A and B have changed places, does not have what one place has and the other not. Blocks are the
//! replication, as everywhere: [`crate::compare`] judges their ratios by its one rule. Source: Bulej et al. (2020),
//! *Duet benchmarking: improving measurement accuracy in the cloud*, ICPE.

use prony_model::duet::DuetSide;
use prony_model::trial::{SeriesPoint, Trial};
use prony_stats::CONFIDENCE;
use prony_stats::hodges_lehmann::{VALUES_MAX, centre};
use prony_stats::interval::{Interval, geometric_mean, mean_interval};
use prony_stats::parts::means;

use super::noise::Noise;
use crate::cell::Cell;
use crate::compare::{RatioComparison, Rule, compare, log_ratio};
use crate::figure::Figure;
use crate::look::Level;
use crate::numbers::{real, real_len};

/// With fewer seconds than this the whole windows are compared.
const SECONDS_MIN: usize = 3;
/// So are they where a smaller share of seconds has the figure (a p99 needs 100 answers): those are the busier ones.
const SECONDS_SHARE_MIN: f64 = 0.8;
/// An entry of a series that is shorter than this share of a second is a window's end.
const SECOND_MIN_NS: u64 = 900_000_000;
/// Windows that begin within so many milliseconds are taken to begin together: a log keeps milliseconds.
const APART_MAX_MS: u128 = 2;

#[derive(Debug, Clone, Copy)]
pub(super) struct Half<'a> {
    a: Cell<'a>,
    b: Cell<'a>,
}

/// A block of which both halves count: A on the left, then A on the right.
pub(super) type Block<'a> = [Half<'a>; 2];

/// The blocks of both of which every trial counts, in their order. None where they did not run at once.
pub(super) fn blocks<'a>(a: &[Cell<'a>], b: &[Cell<'a>]) -> Vec<Block<'a>> {
    let mut numbers: Vec<u32> = a.iter().map(|cell| cell.planned.block).collect();
    numbers.dedup();
    let half = |block: u32, side: DuetSide| {
        let here = |cell: &&Cell<'a>| cell.planned.block == block;
        let a = a.iter().filter(here).find(|c| c.planned.duet.is_some_and(|p| p.side == side))?;
        let place = a.planned.duet?;
        let beside = |c: &&Cell<'a>| c.planned.duet.is_some_and(|p| p.half == place.half && p.side != side);
        Some(Half { a: *a, b: *b.iter().filter(here).find(beside)? })
    };
    let whole = |block: u32| Some([half(block, DuetSide::Left)?, half(block, DuetSide::Right)?]);
    numbers.into_iter().filter_map(whole).collect()
}

pub(super) struct BlocksResult {
    /// B over A, over blocks; `None` below two.
    pub(super) compared: Option<RatioComparison>,
    pub(super) noise: Option<Noise>,
    /// The left place over the right one, whoever was there; on logarithms. `None` below two blocks.
    pub(super) left_over_right: Option<Interval>,
    pub(super) point: Option<f64>,
    /// Why whole windows are compared, where their seconds could not be.
    pub(super) why_windows: Option<&'static str>,
}

/// Judges a figure; `None` where a half does not have it.
pub(super) fn judge(
    figure: Figure,
    blocks: &[Block<'_>],
    (rule, level): (Rule, Level),
) -> Option<BlocksResult> {
    let why_windows = blocks.iter().flatten().find_map(|half| half.seconds(figure).err());
    let of_half = |half: &Half<'_>| match why_windows {
        None => half.seconds(figure).ok().and_then(|seconds| centre(&means(&seconds, VALUES_MAX))),
        Some(_) => half.window(figure),
    };
    let halves: Option<Vec<(f64, f64)>> =
        blocks.iter().map(|[left, right]| Some((of_half(left)?, of_half(right)?))).collect();
    let halves = halves?;
    let pairs: Vec<(f64, f64)> =
        halves.iter().map(|(left, right)| (1.0, f64::midpoint(*left, *right).exp())).collect();
    // With A on the left: B/A × right/left. With A on the right: B/A × left/right.
    let places: Vec<f64> = halves.iter().map(|(left, right)| (right - left) / 2.0).collect();
    let by_seconds = figure == Figure::THROUGHPUT || figure.quantile().is_some();
    Some(BlocksResult {
        compared: compare(&pairs, rule, level),
        noise: Noise::of_places(&places),
        left_over_right: mean_interval(&places, CONFIDENCE),
        point: geometric_mean(&pairs.iter().map(|(_, ratio)| *ratio).collect::<Vec<_>>()),
        why_windows: why_windows.filter(|_| by_seconds),
    })
}

impl Half<'_> {
    /// ln(B/A) of each second that both have; why whole windows are to be compared instead.
    fn seconds(&self, figure: Figure) -> Result<Vec<f64>, &'static str> {
        let (a, b) = (self.a.trial, self.b.trial);
        let of: fn(&SeriesPoint) -> Option<f64> = match figure {
            Figure::THROUGHPUT => |second| Some(real(second.completed) / real(second.length_ns)),
            Figure::P50 => |second| second.p50_ns.map(real),
            Figure::P99 => |second| second.p99_ns.map(real),
            _ => return Err("only throughput, p50 and p99 are recorded for each second"),
        };
        if figure != Figure::THROUGHPUT && a.requests.failed + b.requests.failed > 0 {
            return Err("requests failed, and the percentiles of single seconds are of the others alone");
        }
        if !began_together(a, b) {
            return Err("the windows did not begin at the same time");
        }
        let same = |(a, b): &(&SeriesPoint, &SeriesPoint)| {
            a.length_ns >= SECOND_MIN_NS && (a.at_ns, a.length_ns) == (b.at_ns, b.length_ns)
        };
        let whole: Vec<_> = a.series.iter().zip(&b.series).filter(same).collect();
        let logs: Vec<f64> = whole.iter().filter_map(|(a, b)| log_ratio(of(a)?, of(b)?)).collect();
        if logs.len() < SECONDS_MIN {
            return Err("the windows have too few whole seconds");
        }
        if real_len(logs.len()) < SECONDS_SHARE_MIN * real_len(whole.len()) {
            return Err("too few seconds have 100 responses");
        }
        Ok(logs)
    }

    /// ln(B/A) of the whole windows.
    fn window(&self, figure: Figure) -> Option<f64> {
        log_ratio(self.a.figure(figure)?.value, self.b.figure(figure)?.value)
    }
}

fn began_together(a: &Trial, b: &Trial) -> bool {
    let window = |trial: &Trial| {
        let start = trial.started_at.parse::<jiff::Timestamp>().ok()?;
        Some(start.as_nanosecond() + i128::from(trial.window.warmup_ns))
    };
    window(a).zip(window(b)).is_some_and(|(a, b)| a.abs_diff(b) <= APART_MAX_MS * 1_000_000)
}

#[cfg(test)]
#[path = "duet_tests.rs"]
mod tests;
