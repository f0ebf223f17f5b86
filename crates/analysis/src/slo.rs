//! Thresholds: `p99<50ms`, `errors<0.1%`, `throughput>5k`. Met, missed, or undecided by interval. A failed request
//! misses every time, and so does one unanswered that has waited longer.

pub(crate) mod rules;

use std::fmt;

use prony_model::code::Code;
use prony_model::histogram::{SparseHistogram, highest_ns};
use prony_model::plan::ArrivalKind;
use prony_model::server::ServerSamples;
pub use prony_model::slo::{Decision, SloRecord};
use prony_model::trial::{Reason, Summary, Trial};
use prony_model::unit::Unit;
use prony_model::units::{multiple, plain_number};

use crate::figure::Figure;
use crate::numbers::{real, rounded};

#[derive(Debug, Clone, PartialEq)]
pub struct Slo {
    text: String,
    pub(crate) objective: Objective,
    /// In the unit that the figure is stored in: nanoseconds, bytes, a share from 0 to 1, requests per second.
    pub(crate) limit: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Objective {
    /// A percentile of a part of the latency, by its field and as a share.
    Percentile { part: Part, field: &'static str, quantile: f64 },
    /// Any other figure of the table.
    Figure(Figure),
    /// The longest response.
    Max,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr, strum::EnumString)]
#[strum(serialize_all = "snake_case")]
pub(crate) enum Part {
    Response,
    Service,
    FirstByte,
}

impl Part {
    fn summary(self, trial: &Trial) -> &Summary {
        match self {
            Part::Response => &trial.latency.response,
            Part::Service => &trial.latency.service,
            Part::FirstByte => &trial.latency.first_byte,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a threshold: {why} Write p99<50ms, errors<0.1% or throughput>5k.")]
pub struct SloError {
    text: String,
    why: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    pub decision: Decision,
    /// Whether the figure itself, whatever its interval, is within the limit; `None` without a figure.
    pub point_within: Option<bool>,
    /// Undecided for want of the figure itself.
    pub not_judged: bool,
    pub seen: String,
    pub to_decide: Option<String>,
}

impl Held {
    fn new(
        decision: Decision,
        point_within: Option<bool>,
        seen: String,
        to_decide: impl Into<String>,
    ) -> Held {
        let undecided = decision == Decision::Undecided;
        let to_decide = undecided.then(|| to_decide.into());
        Held { decision, point_within, not_judged: undecided && point_within.is_none(), seen, to_decide }
    }
}

impl Slo {
    /// A figure of the table, `max`, or a percentile of a part (`service.p99`, `first_byte.p99`); `<` or `>`; a limit
    /// in its unit.
    pub fn parse(text: &str) -> Result<Slo, SloError> {
        let wrong = |why: String| SloError { text: text.chars().take(60).collect(), why };
        let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let at = compact.find(['<', '>']).ok_or_else(|| wrong("it has neither < nor >.".to_owned()))?;
        let (name, rest) = compact.split_at(at);
        let (above, limit) = (rest.starts_with('>'), rest[1..].trim_start_matches('='));
        let objective = objective(name).ok_or_else(|| {
            wrong(format!(
                "its figure is not one of {}, max, service.p99, first_byte.p99.",
                figures().join(", ")
            ))
        })?;
        let (unit, lower) = match objective {
            Objective::Figure(figure) => (figure.unit, figure.more_is_better),
            Objective::Percentile { .. } | Objective::Max => (Unit::Milliseconds, false),
        };
        if above != lower {
            let (kind, sign) = if lower { ("a lower", ">") } else { ("an upper", "<") };
            return Err(wrong(format!("{name} has {kind} limit, {sign}.")));
        }
        let limit = limit_in(unit, limit).map_err(wrong)?;
        Ok(Slo { text: compact, objective, limit })
    }

    /// Reads a threshold that a search holds each of its probes to: one that a single trial of a load can decide.
    pub fn parse_for_a_search(text: &str) -> Result<Slo, SloError> {
        let slo = Slo::parse(text)?;
        let has_a_rule = [Figure::FAILED_SHARE, Figure::THROUGHPUT, Figure::MEAN];
        let of_several = matches!(slo.objective, Objective::Figure(figure) if !has_a_rule.contains(&figure));
        let why = "a search decides by one probe, which gives this figure no interval.".to_owned();
        if of_several { Err(SloError { text: slo.text, why }) } else { Ok(slo) }
    }

    pub fn hold(&self, trial: &Trial, server: Option<&ServerSamples>) -> Held {
        let (limit, limit_ns) = (self.limit, rounded(self.limit));
        match self.objective {
            Objective::Percentile { part, field, quantile } => {
                rules::percentile_held(trial, part, (field, quantile), limit_ns)
            }
            Objective::Max => rules::max_held(trial, limit_ns),
            Objective::Figure(Figure::FAILED_SHARE) => rules::errors_held(trial, limit),
            Objective::Figure(Figure::THROUGHPUT) => rules::throughput_held(trial, limit),
            Objective::Figure(Figure::MEAN) => rules::mean_held(trial, limit_ns),
            Objective::Figure(figure) => rules::value_held(figure, trial, server, limit),
        }
    }

    /// The reason that the percentile it names is withheld; `None` where it is not, or where it is a reason already.
    fn withheld(&self, trial: &Trial, held: &Held) -> Option<Reason> {
        let Objective::Percentile { part, field, .. } = self.objective else { return None };
        let (name, summary): (&str, _) = (part.into(), part.summary(trial));
        let known = summary.percentile(field).is_some() || summary.censored_at_ns.contains_key(field);
        let mut reason = Code::TooFewSamples.reason(format!(
            "{} needs 100 samples beyond the percentile: {}",
            self.text,
            held.to_decide.as_deref().unwrap_or("a longer load (-d)")
        ));
        reason.affects = vec![format!("{name}.{field}")];
        let said = |r: &Reason| r.code == reason.code && r.affects == reason.affects;
        (!known && !trial.verdict.reasons.iter().any(said)).then_some(reason)
    }

    pub fn is_of_errors(&self) -> bool {
        self.errors_limit().is_some()
    }

    /// The share of requests that may fail, where it is about that.
    pub fn errors_limit(&self) -> Option<f64> {
        (self.objective == Objective::Figure(Figure::FAILED_SHARE)).then_some(self.limit)
    }

    /// The percentile's field, its quantile and the limit in nanoseconds, where it is about one of response.
    pub fn response_percentile(&self) -> Option<(&'static str, f64, u64)> {
        match self.objective {
            Objective::Percentile { part: Part::Response, field, quantile } => {
                Some((field, quantile, rounded(self.limit)))
            }
            _ => None,
        }
    }

    /// The requests beyond the limit, all of them, and the share that may be beyond it. Failed ones are beyond any
    /// limit.
    pub fn share_beyond(&self, trial: &Trial) -> Option<(u64, u64, f64)> {
        if let Objective::Percentile { part, quantile, .. } = self.objective {
            let (all, beyond) = rules::beyond(trial, part, rounded(self.limit));
            return Some((beyond, all, 1.0 - quantile));
        }
        let (all, failed) = rules::failed(trial);
        Some((failed, all, self.errors_limit()?))
    }

    fn response_limit_ns(&self) -> Option<u64> {
        match self.objective {
            Objective::Percentile { part: Part::Response, .. } | Objective::Max => Some(rounded(self.limit)),
            _ => None,
        }
    }
}

/// Completed requests per second that meet every threshold on response times; `None` without one.
fn goodput(slos: &[Slo], trial: &Trial) -> Option<f64> {
    let limit_ns = slos.iter().filter_map(Slo::response_limit_ns).min()?;
    let good = trial.latency.response.hdr.len() - not_below(&trial.latency.response.hdr, limit_ns);
    (trial.window.duration_ns > 0).then(|| real(good) / (real(trial.window.duration_ns) / 1e9))
}

/// How many took as long as the limit; a time is the top of its bucket.
pub(crate) fn not_below(times: &SparseHistogram, limit_ns: u64) -> u64 {
    times.buckets().filter(|(bucket, _)| highest_ns(*bucket) >= limit_ns).map(|(_, count)| count).sum()
}

/// Keeps what became of them in the trial. A withheld percentile that one names becomes a reason, unless it was
/// decided.
pub fn hold_all(slos: &[Slo], trial: &mut Trial, server: Option<&ServerSamples>) {
    trial.goodput_per_s = goodput(slos, trial);
    for slo in slos {
        let held = slo.hold(trial, server);
        if held.decision == Decision::Undecided
            && let Some(reason) = slo.withheld(trial, &held)
        {
            trial.verdict.reasons.push(reason);
        }
        let Held { decision, not_judged, mut seen, to_decide, .. } = held;
        if slo.response_limit_ns().is_some() && trial.plan.arrivals == ArrivalKind::Constant {
            seen.push_str("; arrivals are even, which users' are not (--arrivals poisson)");
        }
        trial.slo.push(SloRecord { slo: slo.to_string(), decision, not_judged, seen, to_decide });
    }
}

impl fmt::Display for Slo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn objective(name: &str) -> Option<Objective> {
    let (part, name) = match name.split_once('.').map(|(part, name)| (part.parse(), name)) {
        Some((Ok(part), name)) => (part, name),
        _ => name.strip_prefix("first_byte_").map_or((Part::Response, name), |name| (Part::FirstByte, name)),
    };
    let name = match name {
        "median" => "p50",
        "errors" | "failed" => "failed_share",
        "rps" => "throughput",
        name => name,
    };
    let figure = Figure::all().find(|figure| [figure.name, figure.title].contains(&name));
    if let Some((figure, quantile)) = figure.and_then(|figure| Some((figure, figure.quantile()?))) {
        return Some(Objective::Percentile { part, field: figure.field, quantile });
    }
    match (part, name) {
        (Part::Response, "max") => Some(Objective::Max),
        (Part::Response, _) => figure.map(Objective::Figure),
        _ => None,
    }
}

fn figures() -> Vec<&'static str> {
    Figure::all().map(|figure| if figure.quantile().is_some() { figure.title } else { figure.name }).collect()
}

fn limit_in(unit: Unit, limit: &str) -> Result<f64, String> {
    match unit {
        Unit::Milliseconds | Unit::Microseconds => time(limit),
        Unit::RequestsPerS | Unit::RequestsPerCpuS | Unit::Ratio | Unit::Count => rate(limit),
        Unit::Megabytes => bytes(limit),
        Unit::MegabytesPerS => bytes(limit.strip_suffix("/s").unwrap_or(limit)),
        Unit::Share => share(limit),
    }
}

fn positive(number: &str) -> Option<f64> {
    plain_number(number).filter(|n| n.is_finite() && *n > 0.0)
}

fn share(limit: &str) -> Result<f64, String> {
    let percent = limit.strip_suffix('%').and_then(positive).map(|n| n / 100.0);
    let share = percent.or_else(|| positive(limit)).filter(|share| *share < 1.0);
    share.ok_or_else(|| format!("{limit:?} is not a percentage between 0 and 100%."))
}

fn rate(limit: &str) -> Result<f64, String> {
    let (digits, factor) = multiple(limit.strip_suffix("/s").unwrap_or(limit));
    let per_s = positive(digits).map(|n| n * f64::from(factor));
    per_s.ok_or_else(|| format!("{limit:?} is not a number of requests per second."))
}

fn time(limit: &str) -> Result<f64, String> {
    let units = [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 6e10)];
    let ns = of_units(limit, &units).filter(|ns| (1.0..=3.6e12).contains(ns));
    ns.map(f64::round).ok_or_else(|| format!("{limit:?} is not a time with a unit, up to an hour."))
}

fn bytes(limit: &str) -> Result<f64, String> {
    let units = [("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("B", 1.0)];
    of_units(limit, &units).ok_or_else(|| format!("{limit:?} is not a size: write 200MB."))
}

/// A number above 0 with one of these units behind it.
fn of_units(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    units.iter().find_map(|(unit, factor)| Some(positive(text.strip_suffix(unit)?)? * factor))
}

#[cfg(test)]
#[path = "slo_tests.rs"]
mod tests;
