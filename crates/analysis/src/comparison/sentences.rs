//! A comparison in sentences.

use prony_model::Estimate;
use prony_model::command::{self, shell_word};
use prony_model::printable::harmless;
use prony_model::recorded_plan::RecordedPlan;
use prony_model::run_log::RunLog;

use super::fail_if::{COSTS, SPEED};
use super::{Comparison, FigureComparison, Options, PlanComparison, PlanPair, RunCandidate, duet};
use crate::compare::Finding;
use crate::figure::Figure;
use crate::look::Level;
use crate::text::shortened;

/// Blocks that are asked for where there is only one: enough for an interval that is worth printing.
const BLOCKS_ASKED: u32 = 6;

pub(super) fn method(paired: bool, duet: bool, options: &Options) -> String {
    let said = if duet {
        "95 % intervals: Student's t over blocks, on log ratios of the same seconds of both; the halves of \
         the CPUs were swapped within each block"
    } else if paired {
        "95 % intervals: Student's t on log ratios, paired within blocks"
    } else if options.earlier.is_some() {
        "95 % intervals: B's run against the mean of A's and earlier runs of its kind, by Student's t over these runs"
    } else {
        "two runs: without --history, no interval contains what differs from run to run"
    };
    said.to_owned()
}

pub(super) fn notes(
    a: RunCandidate<'_>,
    b: RunCandidate<'_>,
    one_run: bool,
    paired: bool,
    plans: &[PlanPair<'_>],
) -> Vec<String> {
    let mut notes = Vec::new();
    if !one_run {
        let (host, other) = (&a.log.header.host, &b.log.header.host);
        let between = if host.boot_id == other.boot_id {
            ""
        } else if host.is_another_machine(other) {
            ", on another machine"
        } else if host.machine.is_some() && host.machine == other.machine {
            ", with a boot between"
        } else {
            ", possibly on another machine"
        };
        notes.push(format!(
            "These are two runs{}{}: the machine may have changed between them. Measured in one run, in alternation, \
             such a change affects both alike.",
            apart(a.log, b.log).map(|apart| format!(", {apart} apart")).unwrap_or_default(),
            between
        ));
    } else if !paired {
        notes.push(
            "They were not measured in alternation: a change of the machine over time shows as a difference."
                .to_owned(),
        );
    }
    for (side, part) in [("A", a), ("B", b)] {
        notes.extend(part.log.header.tool.judged_by_another().map(|versions| format!("{side}: {versions}.")));
    }
    for plan in plans {
        for (side, part, deaths) in [("A", a, plan.a.died), ("B", b, plan.b.died)] {
            notes.extend(deaths.map(|deaths| {
                format!(
                    "{side}, {}, {deaths} under {}: it is not called better than the other, nor equivalent.",
                    part.candidate, plan.name
                )
            }));
        }
        for (side, part, cells) in [("A", a, &plan.a.counted), ("B", b, &plan.b.counted)] {
            let failed: u64 = cells.iter().map(|c| c.trial.requests.failed).sum();
            if failed > 0 {
                let completed: u64 = cells.iter().map(|c| c.trial.requests.completed).sum();
                notes.push(format!(
                    "{side}, {}, under {}: {failed} of {} requests failed.",
                    part.candidate,
                    plan.name,
                    failed + completed
                ));
            }
        }
    }
    notes
}

/// Of a duet: where one place is surely worse than the other by what matters.
pub(super) fn places(plans: &[PlanPair<'_>], options: &Options) -> Vec<String> {
    let mut said = Vec::new();
    for plan in plans.iter().filter(|plan| plan.duets.len() > 1) {
        for figure in SPEED {
            let rule = options.rule(figure);
            let judged = duet::judge(figure, &plan.duets, (rule, Level::look(1)));
            let Some(places) = judged.and_then(|judged| judged.left_over_right) else { continue };
            let sure = places.low > 0.0 || places.high < 0.0;
            if sure && places.point.abs() >= rule.smallest.ln_1p() {
                let [point, low, high] = [places.point, places.low, places.high].map(|p| change(p.exp()));
                said.push(format!(
                    "Under {} the left half of the CPUs differs from the right one in {figure} by {point} \
                     (95 %: {low} to {high}), whichever candidate runs there. Both ran on both halves, so \
                     that no ratio contains this.",
                    plan.name
                ));
            }
        }
    }
    said
}

fn apart(a: &RunLog, b: &RunLog) -> Option<String> {
    let at =
        |log: &RunLog| log.header.created_at.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_second);
    let seconds = at(a)?.abs_diff(at(b)?);
    Some(match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    })
}

/// `−5.0 %`, `+12 %`, from a ratio; `±0 %` where it rounds to that.
pub(super) fn change(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    let decimals = match percent.abs() {
        p if p < 0.005 => return "±0 %".to_owned(),
        p if p < 0.095 => 2,
        p => usize::from(p < 9.95),
    };
    format!("{}{:.decimals$} %", if percent > 0.0 { "+" } else { "−" }, percent.abs())
}

/// A share as it was asked for: `2 %`, `0.5 %`.
fn asked(share: f64) -> String {
    format!("{} %", (share * 1e8).round() / 1e6)
}

/// A figure's title inside a sentence: `throughput`, `CPU per request`, `p99`.
fn said_name(figure: Figure) -> String {
    if figure == Figure::CPU_PER_REQUEST { figure.title.to_owned() } else { figure.title.to_lowercase() }
}

pub(crate) fn with_interval(figure: Figure, ratio: &Estimate) -> String {
    let interval = ratio.ci_low.zip(ratio.ci_high);
    let interval = interval
        .map(|(low, high)| format!(" (95 %: {} to {})", change(low).trim_end_matches(" %"), change(high)));
    format!("{} {}{}", said_name(figure), change(ratio.point), interval.unwrap_or_default())
}

struct Told<'a>(&'a Comparison, Vec<(&'a str, &'a FigureComparison)>);

impl<'a> Told<'a> {
    fn of(comparison: &'a Comparison, figures: &[Figure]) -> Told<'a> {
        let all = comparison.plans.iter().flat_map(|p| p.figures.iter().map(|f| (p.name.as_str(), f)));
        Told(comparison, all.filter(|(_, f)| figures.contains(&f.figure)).collect())
    }

    fn said(
        &self,
        is: impl Fn(&FigureComparison) -> bool,
        say: impl Fn(&FigureComparison) -> String,
    ) -> String {
        let many = self.0.plans.len() > 1;
        let under = |plan: &str| if many { format!(" under {plan}") } else { String::new() };
        let of = self.1.iter().filter(|(_, f)| is(f));
        shortened(&of.map(|(plan, f)| say(f) + &under(plan)).collect::<Vec<_>>(), "more")
    }

    fn changes(&self, found: &[Finding], stands: bool) -> String {
        let is = |f: &FigureComparison| f.stands == stands && f.finding.is_some_and(|of| found.contains(&of));
        self.said(is, |f| f.ratio.as_ref().map_or(String::new(), |ratio| with_interval(f.figure, ratio)))
    }

    fn alike(&self, say: impl Fn(&FigureComparison) -> String) -> String {
        self.said(|f| f.finding == Some(Finding::Equivalent), say)
    }

    /// What is undecided, and so many more blocks that all of it would be told; of one that no number tells, none is promised.
    fn open(&self) -> Option<String> {
        let is = |f: &FigureComparison| f.finding.is_some() && !f.stands;
        let open = self.said(is, |f| said_name(f.figure));
        let more: Option<Vec<_>> =
            self.1.iter().filter(|(_, f)| is(f)).map(|(_, f)| f.blocks_needed).collect();
        let more = more.and_then(|needed| needed.into_iter().max()).map_or(String::new(), |n| {
            let what = if n == 1 { "block decides" } else { "blocks decide" };
            format!("; {n} more {what} in 4 of 5 such runs")
        });
        (!open.is_empty()).then(|| format!("undecided in {open}{more}"))
    }
}

/// The answer in one sentence: what is sure first, then what is alike, then what is open.
pub(super) fn headline(c: &Comparison) -> String {
    let (a, b) = (c.a.said(&c.b), c.b.said(&c.a));
    let (speed, costs) = (Told::of(c, &SPEED), Told::of(c, c.costs()));
    let all = Told::of(c, &[&SPEED[..], c.costs()].concat());
    let within = |f: &FigureComparison| format!("{} within {}", said_name(f.figure), asked(f.smallest));
    let [slower, faster] = [Finding::Slower, Finding::Faster].map(|finding| speed.changes(&[finding], true));
    let [more, less] = [Finding::Slower, Finding::Faster].map(|finding| costs.changes(&[finding], true));
    let of_speed = match (faster.is_empty(), slower.is_empty()) {
        (false, false) => format!("{b} is better than {a} in {faster} and worse in {slower}"),
        (false, true) => format!("{b} is faster than {a}: {faster}"),
        (true, false) => format!("{b} is slower than {a}: {slower}"),
        (true, true) => String::new(),
    };
    let of_costs = [("more", more), ("less", less)].into_iter().filter(|(_, changes)| !changes.is_empty());
    let mut of_costs = of_costs.map(|(what, changes)| (format!("costs {what}"), changes));
    if !of_speed.is_empty() {
        return of_costs.fold(of_speed, |said, (costs, changes)| format!("{said}; {costs}: {changes}"));
    }
    if let Some((costs, changes)) = of_costs.next() {
        let said = format!("{b} {costs} than {a}: {changes}");
        let said = of_costs.fold(said, |said, (costs, changes)| format!("{said}; {costs}: {changes}"));
        let alike = speed.alike(|f| said_name(f.figure));
        let rest = match speed.1.iter().all(|(_, f)| f.finding == Some(Finding::Equivalent)) {
            true => Some("no slower".to_owned()),
            false => speed.open().or((!alike.is_empty()).then(|| format!("no slower in {alike}"))),
        };
        return rest.map_or(said.clone(), |rest| format!("{said}; {rest}"));
    }
    let alone = all.changes(&[Finding::Slower, Finding::Faster], false);
    if !alone.is_empty() {
        return format!(
            "inconclusive between {b} and {a}: by itself {alone}, but one of {} may differ so by chance",
            c.hypotheses
        );
    }
    let (alike, open) = (all.alike(within), all.open());
    let Some(open) = open else {
        if !alike.is_empty() {
            return format!("{b} and {a} are equivalent: {alike}");
        }
        let one = c.plans.iter().all(|p| p.a_trials.min(p.b_trials) < 2);
        let why = match (one && c.paired, c.paired && c.duet && c.plans.iter().all(|p| p.blocks < 2)) {
            (true, _) => {
                format!("one trial each does not show how much trials vary; {BLOCKS_ASKED} blocks do")
            }
            (false, true) => format!("one block does not show how much blocks vary; {BLOCKS_ASKED} do"),
            (false, false) => {
                let why = speed.1.iter().find_map(|(_, f)| f.why.as_deref());
                why.unwrap_or("no figure could be compared").to_owned()
            }
        };
        return format!("no verdict on {a} and {b}: {why}");
    };
    let known = speed.alike(within);
    if speed.open().is_none() && !known.is_empty() {
        return format!("{b} is no slower than {a}: {known}; {open}");
    }
    let known = if alike.is_empty() { alike } else { format!("equivalent in {alike}, ") };
    format!("inconclusive between {b} and {a}: {known}{open}")
}

pub(super) fn next(c: &Comparison, a: RunCandidate<'_>, plans: &[PlanPair<'_>]) -> Option<String> {
    let told = Told::of(c, &[&SPEED[..], &COSTS].concat());
    let figures = || told.1.iter().map(|(_, f)| *f);
    let too_few = c.plans.iter().any(|p| p.a_trials.min(p.b_trials) < 2 || (c.paired && p.blocks < 2));
    let is_open =
        |f: &&FigureComparison| f.finding.map_or(!c.paired, |finding| finding == Finding::Inconclusive);
    let open = figures().any(|f| is_open(&f));
    if !too_few && !open {
        return None;
    }
    let more = figures().filter_map(|f| f.blocks_needed).max().unwrap_or(BLOCKS_ASKED);
    let duet = if c.duet { " --duet" } else { "" };
    let have = |p: &PlanComparison| if c.duet { p.blocks } else { p.a_trials.min(p.b_trials) };
    let have = c.plans.iter().map(have).min().unwrap_or(0);
    // A forecast of some hundreds is not a command that anybody gives.
    let blocks = if too_few { BLOCKS_ASKED } else { (have + more).min(200) };
    let from_bench = a.log.header.experiment_toml.is_some();
    if from_bench && c.paired {
        return Some(format!("prony bench --resume {} --blocks {blocks}", shell_word(&harmless(a.run))));
    }
    if from_bench {
        return Some(format!("prony bench {}{duet} --blocks {blocks}", a.log.header.name));
    }
    let trial = &plans.first().and_then(|p| p.a.counted.first())?.trial;
    // Each candidate of a bench is one server.
    if trial.plan.servers() > 1 {
        return None;
    }
    let (name_a, name_b) =
        if name_like(&c.a.candidate) && name_like(&c.b.candidate) && c.a.candidate != c.b.candidate {
            (c.a.candidate.as_str(), c.b.candidate.as_str())
        } else {
            ("base", "head")
        };
    // The laboratory chooses the client's CPUs itself.
    let plan = RecordedPlan { cpus: Vec::new(), ..trial.plan.clone() };
    Some(format!(
        "prony bench --candidate {} --candidate {} {}{duet} --blocks {blocks}",
        shell_word(&harmless(&format!("{name_a}={}", c.a.title))),
        shell_word(&harmless(&format!("{name_b}={}", c.b.title))),
        command::flags(&plan, &trial.target.address).join(" ")
    ))
}

fn name_like(label: &str) -> bool {
    label.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) && !label.is_empty()
}

/// By how much more than CPU time a response must have grown where CPU time is undecided.
const CLEARLY: f64 = 2.0;

impl Comparison {
    /// The plan under which B's CPU time per request is surely higher than A's, of several the one by most.
    pub fn cpu_grew(&self) -> Option<&str> {
        let grew = self.plans.iter().filter_map(|plan| {
            let cpu = found(plan, Figure::CPU_PER_REQUEST)?;
            (cpu.finding? == Finding::Slower).then_some((cpu.ratio.as_ref()?.point, plan.name.as_str()))
        });
        grew.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, plan)| plan)
    }
}

/// Of a plan under which B is surely slower and its CPU time per request cannot be why: that, in a sentence.
pub(super) fn waits(plan: &PlanComparison) -> Option<String> {
    let cpu = found(plan, Figure::CPU_PER_REQUEST)?;
    let most = cpu.ratio.as_ref()?.ci_high?;
    let least = SPEED.iter().filter_map(|figure| least_slowdown(found(plan, *figure)?)).reduce(f64::max)?;
    let grew = match cpu.finding? {
        Finding::Slower => true,
        Finding::Equivalent | Finding::Faster => least <= most,
        Finding::Inconclusive => least - 1.0 < CLEARLY * (most - 1.0),
    };
    (!grew).then(|| {
        format!(
            "Under {} the difference is waiting, not CPU: {}. Prony does not sample what a server waits for; as root, \
             `perf trace -s -p PID` (package linux-perf) lists its system calls with their times.",
            plan.name,
            cpu.ratio.as_ref().map_or(String::new(), |ratio| with_interval(cpu.figure, ratio))
        )
    })
}

fn found(plan: &PlanComparison, figure: Figure) -> Option<&FigureComparison> {
    plan.figures.iter().find(|found| found.figure == figure)
}

/// So many times as long B takes at least, where it is surely slower.
fn least_slowdown(found: &FigureComparison) -> Option<f64> {
    let ratio: &Estimate = found.ratio.as_ref().filter(|_| found.finding == Some(Finding::Slower))?;
    if found.figure.more_is_better { ratio.ci_high.map(f64::recip) } else { ratio.ci_low }
}

#[cfg(test)]
#[path = "waiting_tests.rs"]
mod waiting_tests;
