//! What a run varies: plans, or trials of `prony load`, that differ in one thing only.

use std::cmp::Ordering;
use std::collections::HashMap;

use prony_model::recorded_plan::RecordedPlan;
use prony_model::run_log::{NamedPlan, RunLog, ShareOf, TrialResult};

use schemars::JsonSchema;
use serde::Serialize;

use super::names::Names;
use crate::format;

/// Plans, or trials of `prony load`, that differ in one thing only.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Sweep {
    /// What differs.
    against: Against,
    /// What they have in common, where several sweeps differ in it: `500 connections`.
    title: String,
    /// Whether throughput is the rate that a search found.
    capacity: bool,
    /// In order of `x`.
    points: Vec<SweepPoint>,
}

/// Along what a sweep goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Against {
    /// Requests per second asked for.
    Rate,
    /// A rate as a share of a knee, in percent.
    Share,
    /// Connections.
    Connections,
}

/// A plan or a trial of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct SweepPoint {
    /// Requests per second, percent, or connections.
    x: f64,
    /// Index of the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<usize>,
    /// Number of the trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    trial: Option<u32>,
}

const AXES: [Against; 3] = [Against::Rate, Against::Share, Against::Connections];

/// A plan without what makes no other sweep of it: target, length and seed. Stages have a page of their own.
fn swept(plan: &RecordedPlan) -> Option<NamedPlan> {
    (!plan.varies()).then(|| NamedPlan {
        plan: RecordedPlan {
            url: String::new(),
            duration_ns: None,
            requests: None,
            warmup_ns: 0,
            seed: 0,
            ..plan.clone()
        },
        ..NamedPlan::default()
    })
}

impl Against {
    /// Where a plan stands on it; `None` where it has no place.
    fn place(self, named: &NamedPlan) -> Option<f64> {
        match self {
            Against::Rate => named.plan.rate_per_s,
            Against::Share => named.share.as_ref().map(ShareOf::percent),
            Against::Connections => Some(f64::from(named.plan.connections)),
        }
    }

    /// The same without its place: what the plans of one sweep have in common.
    fn common(self, named: &NamedPlan) -> NamedPlan {
        let mut common = named.clone();
        match self {
            Against::Rate => common.plan.rate_per_s = None,
            Against::Share => common.share.iter_mut().for_each(|share| share.share = 0.0),
            Against::Connections => common.plan.connections = 0,
        }
        common
    }

    /// What a plan is, but for its place.
    fn title(self, named: &NamedPlan) -> String {
        let plan = &named.plan;
        let connections = (self != Against::Connections).then(|| plan.connections());
        let pace = match (&named.capacity, &named.share) {
            (Some(slo), _) if slo.is_empty() => Some("capacity".to_owned()),
            (Some(slo), _) => Some(format!("capacity, kept: {slo}")),
            (None, Some(share)) if self == Against::Share => Some(format!("share of {}", share.of)),
            (None, Some(share)) => Some(format!("{} of {}", format::percent(share.share), share.of)),
            (None, None) => (self != Against::Rate).then(|| plan.pace()),
        };
        let said: Vec<String> = named.group.iter().cloned().chain(connections).chain(pace).collect();
        format::printable(&(said.join(", ") + &plan.unusual()))
    }
}

pub(super) fn of_plans(log: &RunLog, names: &Names) -> Vec<Sweep> {
    let plans = log.header.plans.iter().filter_map(|named| {
        let NamedPlan { group, capacity, share, .. } = named.clone();
        let plan = NamedPlan { group, capacity, share, ..swept(&named.plan)? };
        Some((plan, SweepPoint { x: 0.0, plan: Some(names.plan(&named.name)?), trial: None }))
    });
    sweeps(&plans.collect::<Vec<_>>())
}

pub(super) fn of_trials(results: &[&TrialResult]) -> Vec<Sweep> {
    let plans = results.iter().filter_map(|result| {
        let mut named = swept(&result.trial.as_ref()?.plan)?;
        // Trials of a shell's loop may have any number of workers.
        named.plan.threads = 0;
        if let Some(capacity) = &result.capacity {
            named.capacity = Some(capacity.slo.clone());
            named.plan.rate_per_s = None;
        }
        Some((named, SweepPoint { x: 0.0, plan: None, trial: Some(result.planned.index) }))
    });
    sweeps(&plans.collect::<Vec<_>>())
}

/// Those of two places and more, along each axis, in the order of their first plan.
fn sweeps(all: &[(NamedPlan, SweepPoint)]) -> Vec<Sweep> {
    let mut out = Vec::new();
    for axis in AXES {
        let mut groups: Vec<Sweep> = Vec::new();
        // By all that they have in common, in words: a log may have more trials than pairs of them can be compared.
        let mut known: HashMap<String, usize> = HashMap::new();
        for (named, point) in all {
            let Some(x) = axis.place(named) else { continue };
            let at = *known.entry(format!("{:?}", axis.common(named))).or_insert(groups.len());
            if at == groups.len() {
                let (title, capacity) = (axis.title(named), named.capacity.is_some());
                groups.push(Sweep { against: axis, title, capacity, points: Vec::new() });
            }
            groups[at].points.push(SweepPoint { x, ..point.clone() });
        }
        out.extend(groups.into_iter().filter_map(|mut sweep| {
            sweep.points.sort_by(|a, b| a.x.total_cmp(&b.x));
            let places = sweep.points.chunk_by(|a, b| a.x.total_cmp(&b.x) == Ordering::Equal).count();
            (places > 1).then_some(sweep)
        }));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use prony_model::plan::ArrivalKind;
    use prony_model::published::CapacityOf;

    fn plan(name: &str, connections: u32, rate: Option<f64>) -> NamedPlan {
        let arrivals = if rate.is_some() { ArrivalKind::Constant } else { ArrivalKind::Closed };
        let plan = RecordedPlan { connections, rate_per_s: rate, arrivals, ..fixtures::closed().plan };
        let (name, describe) = (name.to_owned(), name.to_owned());
        NamedPlan { name, describe, plan, ..NamedPlan::default() }
    }

    fn found(plans: Vec<NamedPlan>) -> Vec<(Against, String, Vec<f64>)> {
        let names = Names { candidates: vec![], plans: plans.iter().map(|p| p.name.clone()).collect() };
        let mut log = fixtures::run();
        log.header.plans = plans;
        let of = |s: Sweep| (s.against, s.title, s.points.iter().map(|p| p.x).collect());
        of_plans(&log, &names).into_iter().map(of).collect()
    }

    #[test]
    fn plans_sweep_over_rates_and_over_connections() {
        let plans = [(500, 5e3), (500, 1e4), (800, 1e4), (800, 2e4)];
        let plans = plans.map(|(c, r)| plan(&format!("c{c}-r{r}"), c, Some(r)));
        assert_eq!(
            found(plans.into()),
            [
                (Against::Rate, "500 connections".to_owned(), vec![5e3, 1e4]),
                (Against::Rate, "800 connections".to_owned(), vec![1e4, 2e4]),
                (Against::Connections, "constant 10,000/s".to_owned(), vec![500.0, 800.0]),
            ]
        );
    }

    #[test]
    fn closed_loops_sweep_over_connections_and_stages_over_nothing() {
        let mut ramp = plan("ramp", 5000, None);
        ramp.plan.arrivals = ArrivalKind::Stages;
        let plans = vec![plan("c100", 100, None), plan("c1", 1, None), ramp];
        assert_eq!(found(plans), [(Against::Connections, "closed loop".to_owned(), vec![1.0, 100.0])]);
    }

    #[test]
    fn shares_sweep_over_the_share_and_searches_over_connections() {
        let mut plans = Vec::new();
        for connections in [500, 800] {
            let mut knee = plan(&format!("knee-c{connections}"), connections, None);
            (knee.group, knee.capacity) = (Some("knee".into()), Some("p99<50ms".into()));
            plans.push(knee);
        }
        for share in [1.05, 0.5] {
            let mut stress = plan(&format!("s{share}"), 500, None);
            stress.group = Some("stress".into());
            stress.share =
                Some(ShareOf { share, of: CapacityOf { candidate: "a".into(), plan: "knee".into() } });
            plans.push(stress);
        }
        assert_eq!(
            found(plans),
            [
                (Against::Share, "stress, 500 connections, share of a knee".to_owned(), vec![50.0, 105.0]),
                (Against::Connections, "knee, capacity, kept: p99<50ms".to_owned(), vec![500.0, 800.0]),
            ]
        );
    }

    #[test]
    fn trials_of_single_loads_are_a_sweep_whatever_their_length() {
        let mut log = fixtures::run();
        for (i, result) in log.results.iter_mut().enumerate() {
            let plan = &mut result.trial.as_mut().unwrap().plan;
            plan.rate_per_s = Some(1_000.0 * (1 + i / 2) as f64);
            plan.duration_ns = Some(i as u64);
        }
        let results: Vec<&TrialResult> = log.results.iter().collect();
        let sweeps = of_trials(&results[..6]);
        assert_eq!((sweeps.len(), sweeps[0].against, sweeps[0].points.len()), (1, Against::Rate, 6));
        assert_eq!(sweeps[0].points[2].trial, Some(2));
    }
}
