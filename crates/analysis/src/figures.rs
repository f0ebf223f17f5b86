//! The figures of a plan's candidates: estimates over trials, ranks with their ties, and ratios between any two.

use std::borrow::Cow;
use std::ops::{Index, IndexMut};

use prony_model::Estimate;
use prony_stats::interval::{geometric_mean, logarithms, mean};
use prony_stats::order::Quantile;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::cell::{ByBlock, CandidateTrials, Cell};
use crate::figure::{FIGURES, Figure, OverTrials};
use crate::look::Level;
use crate::numbers::{self, rounded};
use crate::ranking::{Contest, ratio_to_baseline};
use crate::starts::Starts;

/// A candidate's figure under one plan.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct CandidateFigure {
    /// Over its trials that count; `None` where the figure is withheld or censored in one of them.
    pub estimate: Option<Estimate>,
    /// For a percentile that is censored in a trial: it is longer than this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub censored_at_ns: Option<u64>,
    /// Print `≥`: the client was the limit.
    pub lower_bound: bool,
    /// The best and the worst place it may hold, of a figure that candidates are ranked by.
    pub rank: Option<(u32, u32)>,
    /// Its group of ties, from 1: the rank intervals of different groups do not overlap.
    pub tie: Option<u32>,
    /// Each counted trial's figure, in block order.
    pub trials: Vec<f64>,
    /// Over the candidate of each of the plan's rows, in their order: the ratio, paired within blocks.
    #[serde(skip)]
    pub ratios: Vec<Option<Estimate>>,
}

/// All figures of a candidate under one plan, one for each of [`FIGURES`].
#[derive(Debug, Clone, PartialEq)]
pub struct Figures(Vec<CandidateFigure>);

impl Default for Figures {
    fn default() -> Figures {
        Figures(FIGURES.iter().map(|_| CandidateFigure::default()).collect())
    }
}

impl Index<Figure> for Figures {
    type Output = CandidateFigure;

    fn index(&self, figure: Figure) -> &CandidateFigure {
        &self.0[figure.index()]
    }
}

impl IndexMut<Figure> for Figures {
    fn index_mut(&mut self, figure: Figure) -> &mut CandidateFigure {
        &mut self.0[figure.index()]
    }
}

impl Figures {
    pub(crate) fn over(counted: &[Cell<'_>], starts: &Starts<'_>, level: Level) -> Figures {
        Figures(Figure::all().map(|figure| over_starts(figure, starts, counted, level)).collect())
    }
}

/// The fields of a row in `prony.analysis/1`, each named by the table.
impl Serialize for Figures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for figure in Figure::all() {
            let own = &self[figure];
            match figure.over_trials {
                OverTrials::Highest => {
                    map.serialize_entry(figure.field, &own.estimate.as_ref().map(|e| rounded(e.point)))?;
                }
                _ => map.serialize_entry(figure.field, &own.estimate)?,
            }
            if figure.quantile().is_some() {
                map.serialize_entry(&format!("{figure}_censored_at_ns"), &own.censored_at_ns)?;
            }
        }
        let throughput = &self[Figure::THROUGHPUT];
        map.serialize_entry("lower_bound", &throughput.lower_bound)?;
        map.serialize_entry("rank", &throughput.rank)?;
        map.serialize_entry("per_trial_requests_per_s", &throughput.trials)?;
        map.end()
    }
}

impl JsonSchema for Figures {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Figures".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut properties = serde_json::Map::new();
        let mut add = |name: String, mut schema: Schema, explain: &str| {
            schema.insert("description".to_owned(), explain.into());
            properties.insert(name, schema.into());
        };
        for figure in Figure::all() {
            let schema = match figure.over_trials {
                OverTrials::Highest => generator.subschema_for::<Option<u64>>(),
                _ => generator.subschema_for::<Option<Estimate>>(),
            };
            add(figure.field.to_owned(), schema, figure.explain);
            if figure.quantile().is_some() {
                let longer = "When the percentile is censored: it is longer than this.";
                add(format!("{figure}_censored_at_ns"), generator.subschema_for::<Option<u64>>(), longer);
            }
        }
        let bound = "Whether any counted trial's throughput is a lower bound.";
        add("lower_bound".to_owned(), generator.subschema_for::<bool>(), bound);
        let rank = "Best and worst place by throughput it may hold: `1 + surely better`, `k − surely worse`.";
        add("rank".to_owned(), generator.subschema_for::<Option<(u32, u32)>>(), rank);
        let trials = "Each counted trial's requests per second, in block order: the raw replication.";
        add("per_trial_requests_per_s".to_owned(), generator.subschema_for::<Vec<f64>>(), trials);
        let required: Vec<String> = properties.keys().cloned().collect();
        schemars::json_schema!({ "type": "object", "properties": properties, "required": required })
    }
}

pub(crate) fn over_trials(figure: Figure, cells: &[Cell<'_>], level: Level) -> CandidateFigure {
    over_starts(figure, &Starts::new(cells, level.widened), cells, level)
}

fn over_starts(figure: Figure, starts: &Starts<'_>, cells: &[Cell<'_>], level: Level) -> CandidateFigure {
    let trials: Vec<f64> = cells.iter().filter_map(|cell| Some(cell.uncensored(figure)?.value)).collect();
    let quantile = figure.quantile().and_then(Quantile::new);
    let (estimate, censored_at_ns) = match figure.over_trials {
        _ if quantile.is_some() => quantile.map_or((None, None), |quantile| starts.percentile(quantile)),
        // An average over those that happen to have it would favour them.
        _ if figure.affected_as == "service" && trials.len() < cells.len() => (None, None),
        OverTrials::GeometricMean => (estimate(&trials, level), None),
        OverTrials::Mean => (arithmetic(&trials, level), None),
        OverTrials::Highest => {
            let most = trials.iter().copied().reduce(f64::max);
            let why = "it is the highest of the trials";
            (most.map(|most| Estimate::bare(most, trials.len() as u64, why)), None)
        }
    };
    let lower_bound = figure == Figure::THROUGHPUT && cells.iter().any(|cell| cell.throughput().at_least);
    CandidateFigure { estimate, censored_at_ns, lower_bound, trials, ..CandidateFigure::default() }
}

/// The geometric mean with its t interval on logarithms, or the reason why there is none.
pub(crate) fn estimate(values: &[f64], level: Level) -> Option<Estimate> {
    let n = values.len() as u64;
    let Some(logs) = logarithms(values) else {
        let why = "a trial of 0 has no geometric mean: this is the plain one";
        return mean(values).map(|point| Estimate::bare(point, n, why));
    };
    match level.interval(&logs) {
        Some(interval) => Some(numbers::estimate(interval.exp())),
        None => geometric_mean(values).map(|point| Estimate::bare(point, n, "one trial has no interval")),
    }
}

/// The mean with its t interval, of figures that may be 0 or below.
fn arithmetic(values: &[f64], level: Level) -> Option<Estimate> {
    let alone = || Some(Estimate::bare(mean(values)?, values.len() as u64, "one trial has no interval"));
    level.interval(values).map(numbers::estimate).or_else(alone)
}

/// Ranks a plan's candidates, in the same order, by every figure that they are ranked by.
pub(crate) fn rank(rows: &mut [&mut Figures], contestants: &[CandidateTrials<'_>], level: Level) {
    for figure in Figure::ranked() {
        let all: Vec<Option<ByBlock>> = contestants.iter().map(|own| own.comparable(figure)).collect();
        let ranked: Vec<Option<ByBlock>> = contestants.iter().map(|own| own.ranked_by(figure)).collect();
        let mut places =
            Contest::of(&ranked.iter().flatten().collect::<Vec<_>>(), level).places().into_iter();
        for (i, own) in all.iter().enumerate() {
            let Some(own) = own else { continue };
            let found = &mut rows[i][figure];
            found.rank = if ranked[i].is_some() { places.next() } else { None };
            found.ratios = all.iter().map(|base| ratio_to_baseline(own, base.as_ref()?, level)).collect();
            let n = found.trials.len() as u64;
            found.ratios[i] = Some(Estimate::bare(1.0, n, "it is the baseline"));
        }
        group_ties(rows.iter_mut().map(|row| &mut row[figure]).collect());
    }
}

/// Rank intervals that overlap, directly or over others, are one group.
fn group_ties(mut figures: Vec<&mut CandidateFigure>) {
    figures.retain(|found| found.rank.is_some());
    figures.sort_by_key(|found| found.rank);
    let (mut group, mut reaches) = (0, 0);
    for found in figures {
        let (low, high) = found.rank.unwrap_or_default();
        if low > reaches {
            group += 1;
        }
        reaches = reaches.max(high);
        found.tie = Some(group);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::FigureValue;

    #[test]
    fn rank_intervals_that_overlap_are_one_group_of_ties() {
        let of = |rank| CandidateFigure { rank: Some(rank), ..CandidateFigure::default() };
        let mut all = [(3, 4), (1, 2), (5, 5), (1, 2), (4, 4)].map(of);
        group_ties(all.iter_mut().collect());
        assert_eq!(all.map(|found| found.tie.unwrap()), [2, 1, 3, 1, 2]);
    }

    #[test]
    fn where_less_is_better_the_order_of_ranks_is_reversed() {
        let about = |value: f64| {
            let known = |factor: f64| FigureValue { value: value * factor, at_least: false };
            ByBlock::new((0..).zip([1.0, 1.001, 0.999].map(known)), geometric_mean, false).unwrap()
        };
        let (quick, slow) = (about(1.0), about(2.0));
        let ranks = |two: [&ByBlock; 2]| Contest::of(&two, Level::look(1)).places();
        assert_eq!(ranks([&quick.clone().inverse(), &slow.clone().inverse()]), [(1, 1), (2, 2)]);
        assert_eq!(ranks([&quick, &slow]), [(2, 2), (1, 1)]);
    }

    #[test]
    fn every_figure_is_a_field_and_in_the_schema() {
        let json = serde_json::to_value(Figures::default()).unwrap();
        let fields = json.as_object().unwrap();
        let schema = schemars::schema_for!(Figures);
        let required = schema.get("required").unwrap().as_array().unwrap();
        assert_eq!(required.len(), fields.len());
        assert!(required.iter().all(|name| fields.contains_key(name.as_str().unwrap())));
        let percentiles = Figure::all().filter(|figure| figure.quantile().is_some()).count();
        // Beside the table's: `lower_bound`, `rank` and the trials' own.
        assert_eq!(fields.len(), FIGURES.len() + percentiles + 3, "{fields:?}");
    }
}
