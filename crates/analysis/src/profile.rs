//! Where CPU time per request grew: two trials under `perf record` beside each other, function by function. Their counts
//! of samples are taken as Poisson's; what differs from start to start is not in the intervals.

use std::collections::BTreeMap;

use prony_model::Estimate;
use prony_model::profile::Profile;
use prony_model::run_log::RunLog;
use prony_stats::CONFIDENCE;
use prony_stats::poisson::rate_difference;
use schemars::JsonSchema;
use serde::Serialize;

use crate::numbers::{estimate, real};

const SHOWN: usize = 10;
/// Functions that are looked at for it: those that grew most, their callers among them.
const CONSIDERED: usize = 64;
/// A function is new where A has less than this share of B's time in it.
const NEW_SHARE: f64 = 0.001;
/// A function hands its growth on where one that it calls has this share of it.
const HANDED_ON: f64 = 0.9;
/// Parts of a flame graph that are narrower than this share of it are left out: about one pixel.
const NARROWEST: f64 = 0.001;

/// Where CPU time per request grew from A to B. No other figure is made of these two trials.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ProfileComparison {
    /// The plan's name.
    pub plan: String,
    /// Whether the kernel's part was sampled.
    pub kernel: bool,
    /// What is compared with.
    pub a: ProfileSide,
    /// What is compared.
    pub b: ProfileSide,
    /// B's CPU time per request less A's, as sampled, in nanoseconds.
    pub growth: Estimate,
    /// The functions that surely grew and grew most, at most ten, and not just by one that they call.
    pub functions: Vec<FunctionGrowth>,
}

/// One side's samples.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ProfileSide {
    /// The candidate's label.
    pub candidate: String,
    /// Samples.
    pub samples: u64,
    /// CPU time per request that they stand for, in nanoseconds.
    pub cpu_per_request_ns: f64,
    /// Samples in a function whose name is known, as a share.
    pub named: f64,
}

/// A function, with what it calls.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FunctionGrowth {
    /// Its name.
    pub function: String,
    /// A's CPU time per request in it and in what it calls, in nanoseconds.
    pub a_ns: f64,
    /// B's.
    pub b_ns: f64,
    /// B's less A's, with the interval of both counts of samples.
    pub growth: Estimate,
    /// Whether A spends hardly any time in it.
    pub new: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct FlamePart {
    pub function: String,
    /// Calls above it: 0 of all, at the bottom.
    pub depth: usize,
    /// Where it begins, as a share of B's CPU time per request; and how much it is.
    pub start: f64,
    pub share: f64,
    /// Its growth, in nanoseconds per request.
    pub growth_ns: f64,
}

type Counts = [u64; 2];

struct Sides<'a> {
    a: &'a Profile,
    b: &'a Profile,
    sample_ns: [f64; 2],
}

impl<'a> Sides<'a> {
    fn of(log: &'a RunLog, [a, b]: [&str; 2]) -> Option<Sides<'a>> {
        let of =
            |label: &str, plan: &str| log.profiles.iter().find(|p| p.candidate == label && p.plan == plan);
        let last = log.profiles.iter().rev().filter(|profile| profile.candidate == b);
        let (a, b) = last.filter_map(|b| Some((of(a, &b.plan)?, b))).next()?;
        let sample_ns = [a, b].map(|of| real(of.cpu_ns) / real(of.samples.max(1)) / real(of.requests.max(1)));
        Some(Sides { a, b, sample_ns })
    }

    fn stacks(&self) -> impl Iterator<Item = (Counts, Vec<&'a str>)> {
        let of_a = self.a.counted().map(|(count, stack)| ([count, 0], stack));
        of_a.chain(self.b.counted().map(|(count, stack)| ([0, count], stack)))
    }

    fn ns(&self, counts: Counts) -> [f64; 2] {
        [real(counts[0]) * self.sample_ns[0], real(counts[1]) * self.sample_ns[1]]
    }

    fn growth_ns(&self, counts: Counts) -> f64 {
        let [a, b] = self.ns(counts);
        b - a
    }

    fn estimate(&self, [a, b]: Counts) -> Estimate {
        let [each_a, each_b] = self.sample_ns;
        estimate(rate_difference((a, each_a), (b, each_b), CONFIDENCE))
    }

    fn is_new(&self, counts: Counts) -> bool {
        let [a, b] = self.ns(counts);
        a < b * NEW_SHARE
    }

    fn side(&self, profile: &Profile, ns: f64) -> ProfileSide {
        let is_known = |stack: &[&str]| stack.last().is_some_and(|name| !name.starts_with('['));
        let named: u64 = profile.counted().filter(|(_, stack)| is_known(stack)).map(|(count, _)| count).sum();
        ProfileSide {
            candidate: profile.candidate.clone(),
            samples: profile.samples,
            cpu_per_request_ns: ns,
            named: real(named) / real(profile.samples.max(1)),
        }
    }
}

/// Two candidates of a run beside each other; `None` where one has no profile under a plan of the other's.
pub fn compare(log: &RunLog, sides: [&str; 2]) -> Option<ProfileComparison> {
    let sides = Sides::of(log, sides)?;
    let (a, b) = (sides.a, sides.b);
    let all = [a.samples, b.samples];
    let [a_ns, b_ns] = sides.ns(all);
    let function = |(function, counts): (&str, Counts)| {
        let [a_ns, b_ns] = sides.ns(counts);
        let (growth, new) = (sides.estimate(counts), sides.is_new(counts));
        FunctionGrowth { function: function.to_owned(), a_ns, b_ns, growth, new }
    };
    let is_sure = |of: &FunctionGrowth| of.growth.ci_low.is_some_and(|low| low > 0.0);
    Some(ProfileComparison {
        plan: b.plan.clone(),
        kernel: !(a.event.ends_with(":u") || b.event.ends_with(":u")),
        a: sides.side(a, a_ns),
        b: sides.side(b, b_ns),
        growth: sides.estimate(all),
        functions: grown(&sides).into_iter().map(function).filter(is_sure).take(SHOWN).collect(),
    })
}

/// The functions that grew most. Left out is one that A had and that only hands on what one that it calls has grown by
/// (`main`); what grew only within a new function stands behind that.
fn grown<'a>(sides: &Sides<'a>) -> Vec<(&'a str, Counts)> {
    let mut within: BTreeMap<&str, Counts> = BTreeMap::new();
    for (counts, mut stack) in sides.stacks() {
        stack.sort_unstable();
        stack.dedup();
        stack.into_iter().for_each(|function| add(within.entry(function).or_default(), counts));
    }
    let mut most: Vec<(&str, Counts)> =
        within.into_iter().filter(|(_, counts)| sides.growth_ns(*counts) > 0.0).collect();
    most.sort_by(|(_, a), (_, b)| sides.growth_ns(*b).total_cmp(&sides.growth_ns(*a)));
    most.truncate(CONSIDERED);
    let below = below(sides, &most);
    let growth: Vec<f64> = most.iter().map(|(_, counts)| sides.growth_ns(*counts)).collect();
    let has_of = |caller: usize, called: usize, of: usize| {
        caller != called && sides.growth_ns(below[caller][called]) >= HANDED_ON * growth[of]
    };
    let new: Vec<bool> = most.iter().map(|(_, counts)| sides.is_new(*counts)).collect();
    let mut stands = vec![true; most.len()];
    for at in 0..most.len() {
        stands[at] = new[at] || !(0..most.len()).any(|called| stands[called] && has_of(at, called, at));
    }
    // The new function that it grew within, where there is one: by its growth, and after it.
    let outer = |at: usize| {
        let outer = (0..most.len()).find(|caller| new[*caller] && has_of(*caller, at, at));
        outer.map_or((growth[at], false), |outer| (growth[outer], true))
    };
    let mut order: Vec<usize> = (0..most.len()).filter(|at| stands[*at]).collect();
    order.sort_by(|a, b| {
        let ((of_a, behind_a), (of_b, behind_b)) = (outer(*a), outer(*b));
        of_b.total_cmp(&of_a).then(behind_a.cmp(&behind_b)).then(a.cmp(b))
    });
    order.into_iter().map(|at| most[at]).collect()
}

fn add(sum: &mut Counts, [a, b]: Counts) {
    *sum = [sum[0] + a, sum[1] + b];
}

/// Samples in which one function stands somewhere below another's innermost call, by their places in the list.
fn below(sides: &Sides<'_>, functions: &[(&str, Counts)]) -> Vec<Vec<Counts>> {
    let places: BTreeMap<&str, usize> =
        functions.iter().enumerate().map(|(at, (name, _))| (*name, at)).collect();
    let mut below = vec![vec![[0, 0]; functions.len()]; functions.len()];
    for (counts, stack) in sides.stacks() {
        // From the innermost outwards: each once.
        let mut inner: Vec<usize> = Vec::new();
        for at in stack.iter().rev().filter_map(|function| places.get(function).copied()) {
            if !inner.contains(&at) {
                inner.iter().for_each(|called| add(&mut below[at][*called], counts));
                inner.push(at);
            }
        }
    }
    below
}

/// A flame graph of B: widths are its CPU time per request, and each part has its growth from A. Parts that are gone in B
/// have no width.
pub fn flame(log: &RunLog, sides: [&str; 2]) -> Option<Vec<FlamePart>> {
    let sides = Sides::of(log, sides)?;
    let mut stacks: Vec<(Counts, Vec<&str>)> = sides.stacks().collect();
    stacks.sort_by(|(_, a), (_, b)| a.cmp(b));
    let all = sides.ns([sides.a.samples, sides.b.samples])[1];
    let mut parts = Vec::new();
    part("all", &stacks, (0, 0.0), (&sides, all), &mut parts);
    Some(parts)
}

/// A part and those on it, of stacks that are alike up to its depth, in their order.
fn part(
    function: &str,
    stacks: &[(Counts, Vec<&str>)],
    (depth, start): (usize, f64),
    of: (&Sides<'_>, f64),
    parts: &mut Vec<FlamePart>,
) {
    let (sides, all) = of;
    let mut counts = [0, 0];
    stacks.iter().for_each(|(own, _)| add(&mut counts, *own));
    let share = sides.ns(counts)[1] / all;
    if share >= NARROWEST {
        let growth_ns = sides.growth_ns(counts);
        parts.push(FlamePart { function: function.to_owned(), depth, start, share, growth_ns });
        let mut start = start;
        for group in stacks.chunk_by(|(_, a), (_, b)| a.get(depth) == b.get(depth)) {
            let Some(function) = group[0].1.get(depth) else { continue };
            part(function, group, (depth + 1, start), of, parts);
            let b: u64 = group.iter().map(|(counts, _)| counts[1]).sum();
            start += sides.ns([0, b])[1] / all;
        }
    }
}

#[cfg(test)]
#[path = "profile_tests.rs"]
mod tests;
