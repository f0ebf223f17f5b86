//! Synthetic logs whose truth is known.

use prony_model::fleet::{AgentRecord, FleetRecord};
use prony_model::host::Host;
use prony_model::list::Order;
use prony_model::recorded_plan::{RecordedList, RecordedPlan};
use prony_model::run_log::RunLog;
use prony_model::server_host::ServerHost;
use prony_model::trial::{Bound, Outcome};

use super::*;
use crate::analyse;
use crate::history::take_earlier;
use crate::testing::run::Log;

/// Six blocks in which b carries `factor` of a, on a machine that swings.
pub(super) fn run(factor: f64) -> RunLog {
    let swing = [10_000u64, 14_000, 9_000, 12_000, 11_000, 10_500];
    let wobble = [1.001, 0.999, 1.0005, 0.9995, 1.0, 1.0002];
    let rates: Vec<Vec<u64>> =
        swing.iter().zip(wobble).map(|(a, w)| vec![*a, (*a as f64 * factor * w).round() as u64]).collect();
    let rows: Vec<&[u64]> = rates.iter().map(Vec::as_slice).collect();
    with_p99(Log::new(&["a", "b"], 6).with(&rows).0)
}

/// The builder's trials are too short for a p99: here they have one.
pub(super) fn with_p99(mut log: RunLog) -> RunLog {
    for result in &mut log.results {
        result.trial.as_mut().unwrap().latency.response.p99_ns = Some(2_000_000);
    }
    log
}

pub(super) fn part<'a>(log: &'a RunLog, candidate: &'a str) -> RunCandidate<'a> {
    RunCandidate { log, run: "run.jsonl", candidate }
}

pub(super) fn compared(log: &RunLog) -> Comparison {
    compare_candidates(part(log, "a"), part(log, "b"), &Options::default()).unwrap()
}

pub(super) fn of(c: &Comparison, figure: &str) -> FigureComparison {
    c.plans[0].figures.iter().find(|f| f.figure.name == figure).unwrap().clone()
}

/// The same over a network, with servers on this machine.
fn over_a_network(mut log: RunLog, machine: &str) -> RunLog {
    for result in &mut log.results {
        result.trial.as_mut().unwrap().target.address = "10.0.0.2:8080".to_owned();
    }
    let host = Host { machine: Some(machine.to_owned()), ..Host::default() };
    log.header.server_host = Some(ServerHost { host, ..ServerHost::default() });
    log
}

#[test]
fn other_networks_or_machines_are_compared_only_if_forced() {
    let mut loopback = run(0.95);
    for result in &mut loopback.results {
        result.trial.as_mut().unwrap().target.address = "127.0.0.1:8080".to_owned();
    }
    let two_hosts = over_a_network(another_run(run(0.95)), "one");
    let compared = |a: &RunLog, b: &RunLog, force| {
        compare_candidates(part(a, "a"), part(b, "a"), &Options { force, ..Options::default() })
    };
    let why = compared(&loopback, &two_hosts, false).unwrap_err().to_string();
    assert!(why.contains("the way to the server is loopback in one and a network in the other"), "{why}");
    assert!(compared(&loopback, &two_hosts, true).is_ok());
    let same = over_a_network(run(0.95), "one");
    assert!(compared(&same, &two_hosts, false).is_ok());
    let why = compared(&over_a_network(run(0.95), "other"), &two_hosts, false).unwrap_err().to_string();
    assert!(why.contains("the servers' machine is a different one"), "{why}");
    // Nor are a process's loads and a fleet's.
    let mut by_fleet = over_a_network(run(0.95), "one");
    for result in &mut by_fleet.results {
        let agents = vec![AgentRecord::default(); 2];
        result.trial.as_mut().unwrap().fleet = Some(FleetRecord { agents, ..FleetRecord::default() });
    }
    let why = compared(&same, &another_run(by_fleet), false).unwrap_err().to_string();
    assert!(
        why.contains("who applies the load is one process in one and a fleet of 2 agents in the other"),
        "{why}"
    );
    // Within one run it is said beside the figures.
    let mut mixed = loopback;
    mixed.results[0].trial.as_mut().unwrap().target.address = "10.0.0.2:8080".to_owned();
    let notes = analyse(&mixed).notes.join(" ");
    assert!(notes.contains("over a network") && notes.contains("over loopback"), "{notes}");
}

/// The same candidate as another run's.
fn another_run(mut log: RunLog) -> RunLog {
    log.header.created_at = "2026-01-01T03:00:00.000Z".to_owned();
    for (i, result) in log.results.iter_mut().enumerate() {
        result.trial.as_mut().unwrap().started_at = format!("2026-01-01T03:{i:02}:00.000Z");
    }
    log
}

#[test]
fn pairing_finds_five_percent_where_blocks_vary_by_half() {
    let c = compared(&run(0.95));
    let throughput = of(&c, "throughput");
    assert!(c.paired && c.plans[0].blocks == 6);
    assert_eq!(throughput.finding, Some(Finding::Slower));
    let ratio = throughput.ratio.unwrap();
    assert!(ratio.ci_low.unwrap() < 0.95 && ratio.ci_high.unwrap() > 0.9495, "{ratio:?}");
    assert!(c.headline.starts_with("b is slower than a: throughput −5.0"), "{}", c.headline);
    // The noise of the same run: successive blocks differ by far more than pairs do, and it says so.
    assert!(throughput.noise.unwrap().half_width > 0.1);
    // Nothing else differs, and every other figure is there.
    for figure in ["p50", "p99", "cpu", "memory", "startup"] {
        assert_eq!(of(&c, figure).finding, Some(Finding::Equivalent), "{figure}");
    }
    assert_eq!(c.next, None);
    let answer = c.answer();
    assert_eq!((answer.verdict, answer.figure), ("slower", Some(Figure::THROUGHPUT)));
    assert_eq!(answer.ratio, of(&c, "throughput").ratio);
    assert_eq!(compared(&run(1.05)).answer().verdict, "faster");
    // Faster in one, slower by more in another: what is worse decides.
    let mut mixed = run(1.05);
    for result in mixed.results.iter_mut().filter(|r| r.planned.candidate == "b") {
        result.trial.as_mut().unwrap().latency.response.p99_ns = Some(3_000_000);
    }
    let answer = compared(&mixed).answer();
    assert_eq!((answer.verdict, answer.figure), ("mixed", Some(Figure::P99)));
    assert!((answer.ratio.unwrap().point - 1.5).abs() < 1e-6);
}

#[test]
fn equals_are_equivalent() {
    let c = compared(&run(1.0));
    assert_eq!(of(&c, "throughput").finding, Some(Finding::Equivalent));
    assert_eq!(c.headline, "b and a are equivalent: throughput within 2 %, p50 within 5 % and 3 more");
    assert_eq!(c.answer().verdict, "equivalent");
    // Where 0.05 % matters, the same trials do not say.
    let margins = BTreeMap::from([(Figure::THROUGHPUT, 0.0005)]);
    let log = run(1.0);
    let strict =
        compare_candidates(part(&log, "a"), part(&log, "b"), &Options { margins, ..Options::default() })
            .unwrap();
    assert_eq!(of(&strict, "throughput").finding, Some(Finding::Inconclusive));
    assert_eq!((strict.answer().verdict, strict.answer().figure), ("inconclusive", Some(Figure::THROUGHPUT)));
    assert!(of(&strict, "throughput").blocks_needed.is_some());
    assert!(strict.headline.contains("more block"), "{}", strict.headline);
    assert!(strict.next.unwrap().contains("--blocks"));
}

/// A steady plan, and one called `wide` whose b is up to so much a thousandth above and below a.
pub(super) fn of_two_plans(swing: u64) -> RunLog {
    let mut log = run(1.0);
    let (some, more) = (swing * 5 / 6, swing);
    let b = [1_000 + some, 1_000 - some, 1_000 + more, 1_000 - more, 1_000 + some, 1_000 - some];
    let noisy = b.map(|rate| [10_000, rate * 10]);
    let rows: Vec<&[u64]> = noisy.iter().map(|pair| &pair[..]).collect();
    let mut more = with_p99(Log::new(&["a", "b"], 6).with(&rows).0);
    more.header.plans[0].name = "wide".to_owned();
    for result in &mut more.results {
        result.planned.index += 100;
        result.planned.plan = "wide".to_owned();
    }
    log.header.plans.append(&mut more.header.plans);
    log.results.append(&mut more.results);
    log
}

#[test]
fn the_blocks_asked_for_decide_every_open_figure() {
    let log = of_two_plans(2);
    let margins = BTreeMap::from([(Figure::THROUGHPUT, 0.0005)]);
    let c = compare_candidates(part(&log, "a"), part(&log, "b"), &Options { margins, ..Options::default() })
        .unwrap();
    let needed: Vec<u32> = c.plans.iter().filter_map(|p| p.figures[0].blocks_needed).collect();
    assert!(needed.len() == 2 && needed[0] < needed[1], "{needed:?}");
    assert!(c.headline.contains(&format!("{} more blocks decide in 4 of 5", needed[1])), "{}", c.headline);
}

#[test]
fn the_headline_of_several_plans_names_those_that_are_open() {
    let log = of_two_plans(60);
    let told = &log.header.plans[0].name;
    let headline = compared(&log).headline;
    assert!(headline.contains(&format!("throughput within 2 % under {told}")), "{headline}");
    assert!(headline.contains(", undecided in throughput under wide"), "{headline}");
}

#[test]
fn one_trial_each_has_no_verdict_and_a_command_that_gives_one() {
    let log = Log::new(&["a", "b"], 1).with(&[&[10_000, 9_000]]).0;
    let c = compared(&log);
    let throughput = of(&c, "throughput");
    assert_eq!((throughput.finding, throughput.noise), (None, None));
    assert!(throughput.ratio.unwrap().ci_low.is_none());
    assert!(c.headline.contains("no verdict") && c.headline.contains("one trial each"), "{}", c.headline);
    let next = "prony bench --candidate a=A --candidate b=B -c 50 -d 10s --warmup 1s --blocks 6";
    assert_eq!(c.next.unwrap(), next);
    // The same load again, whatever was asked of it.
    let mut log = log;
    for result in &mut log.results {
        let plan = &mut result.trial.as_mut().unwrap().plan;
        (plan.keepalive, plan.threads, plan.duration_ns) = (false, 2, Some(500_000_000));
        plan.headers = vec![("Accept".to_owned(), "text/html".to_owned())];
    }
    let next = compared(&log).next.unwrap();
    assert!(
        next.contains(" -t 2 -d 500ms ") && next.contains("-H 'Accept: text/html' --no-keepalive"),
        "{next}"
    );
}

#[test]
fn two_runs_without_earlier_ones_have_a_note_and_no_verdict() {
    let (log, later) = (run(0.95), another_run(run(0.95)));
    let c = compare_candidates(part(&log, "a"), part(&later, "b"), &Options::default()).unwrap();
    assert!(!c.paired);
    let throughput = of(&c, "throughput");
    let ratio = throughput.ratio.unwrap();
    assert_eq!((throughput.finding, throughput.noise, ratio.ci_low), (None, None, None));
    assert!((ratio.point - 0.95).abs() < 0.01, "what they differ by stands there all the same");
    assert!(c.headline.starts_with("no verdict on a and b: what differs from run to run"), "{}", c.headline);
    assert!(c.next.is_some(), "and what would tell");
    assert!(c.notes[0].contains("3 h apart") && c.notes[0].contains("may have changed"), "{:?}", c.notes);
    assert!(c.method.contains("without --history"));
    let same = compare_candidates(part(&log, "a"), part(&later, "a"), &Options::default()).unwrap();
    assert!(same.headline.contains("a of run.jsonl"), "{}", same.headline);
}

/// A run of one candidate at this rate, made on this day.
fn on_day(day: u32, rate: u64) -> RunLog {
    let row: &[u64] = &[rate];
    let mut log = Log::new(&["a"], 2).with(&[row; 2]).0;
    log.header.created_at = format!("2026-02-{day:02}T00:00:00.000Z");
    log.results[0].trial.as_mut().unwrap().started_at = log.header.created_at.clone();
    log
}

#[test]
fn two_runs_are_compared_by_how_earlier_ones_like_them_vary() {
    let rates = [10_000, 10_100, 9_900, 10_050, 9_950];
    let earlier: Vec<RunLog> = (1..).zip(rates).map(|(day, rate)| on_day(day, rate)).collect();
    let found = |rate: u64, logs: &[RunLog]| {
        let b = on_day(20, rate);
        let mut runs = EarlierRuns::default();
        for log in logs.iter().chain([&earlier[4], &b]) {
            take_earlier(&mut runs, log, part(&earlier[4], "a"), &b).unwrap();
        }
        let options = Options { earlier: Some(runs), ..Options::default() };
        let c = compare_candidates(part(&earlier[4], "a"), part(&b, "a"), &options).unwrap();
        (of(&c, "throughput"), c.headline)
    };
    let (throughput, _) = found(9_000, &earlier);
    assert_eq!(throughput.finding, Some(Finding::Slower));
    assert_eq!(throughput.ratio.unwrap().n, 5, "A is one of the five, and counts once; B is none");
    assert_eq!(found(9_850, &earlier).0.finding, Some(Finding::Inconclusive));
    let (few, headline) = found(9_000, &earlier[1..4]);
    assert_eq!(few.finding, None);
    assert!(headline.contains("--history has 4 runs of A's kind"), "{headline}");
    // Another plan is another kind, also by what no line of words says; another address or seed is not.
    let changed = |change: fn(&mut RecordedPlan)| {
        let mut other = earlier.clone();
        for result in other.iter_mut().take(4).flat_map(|log| &mut log.results) {
            change(&mut result.trial.as_mut().unwrap().plan);
        }
        found(9_000, &other).0.finding
    };
    assert_eq!(changed(|plan| plan.connections = 51), None);
    assert_eq!(changed(|plan| plan.timeout_ns += 1), None);
    assert_eq!(changed(|plan| plan.url.push_str("other")), None);
    let aimed = |plan: &mut RecordedPlan| (plan.url, plan.seed) = ("http://127.0.0.1:9999/".to_owned(), 99);
    assert_eq!(changed(aimed), Some(Finding::Slower));
}

#[test]
fn differences_of_runs_are_named_if_refused_and_if_forced() {
    let log = run(1.0);
    let refused = |later: &RunLog, words: &[&str]| {
        let (a, b) = (part(&log, "a"), part(later, "b"));
        let said = compare_candidates(a, b, &Options::default()).unwrap_err().to_string();
        for word in words {
            assert!(said.contains(word), "{word:?}: {said}");
        }
        let forced = compare_candidates(a, b, &Options { force: true, ..Options::default() }).unwrap();
        assert!(forced.not_comparable.join(" ").contains(words[0]), "{:?}", forced.not_comparable);
    };
    let changed = |change: &dyn Fn(&mut prony_model::run_log::TrialResult)| {
        let mut later = another_run(run(1.0));
        later.results.iter_mut().for_each(change);
        later
    };
    refused(
        &changed(&|r| r.trial.as_mut().unwrap().host.cpu_model = "Another CPU".to_owned()),
        &["the CPU is", "Another CPU", "--force", "not comparable"],
    );
    refused(
        &changed(&|r| r.trial.as_mut().unwrap().plan.connections = 51),
        &["connections is 50 in one and 51 in the other"],
    );
    refused(&changed(&|r| r.trial.as_mut().unwrap().tool.version = "0.0".to_owned()), &["Prony's version"]);
    refused(
        &changed(&|r| r.server.as_mut().unwrap().cpu_method = "cgroup-v2".to_owned()),
        &["how the server's CPU was read is schedstat in one and cgroup-v2 in the other"],
    );
    // A seed and an address may differ.
    let aimed = changed(&|r| {
        let plan = &mut r.trial.as_mut().unwrap().plan;
        (plan.seed, plan.url) = (99, "http://127.0.0.1:9999/".to_owned());
    });
    assert!(compare_candidates(part(&log, "a"), part(&aimed, "b"), &Options::default()).is_ok());
}

#[test]
fn trials_with_different_sampling_methods_are_not_comparable() {
    let mut log = run(1.0);
    for result in log.results.iter_mut().filter(|r| r.planned.candidate == "b") {
        result.server.as_mut().unwrap().memory_method = "pss".to_owned();
    }
    let said =
        compare_candidates(part(&log, "a"), part(&log, "b"), &Options::default()).unwrap_err().to_string();
    assert!(said.contains("memory was read is rss in one and pss in the other"), "{said}");
}

#[test]
fn a_lower_bound_allows_only_findings_that_more_cannot_change() {
    let mark = |candidate: &str, factor: f64| {
        let mut log = run(factor);
        for result in log.results.iter_mut().filter(|r| r.planned.candidate == candidate) {
            result.trial.as_mut().unwrap().throughput.bound = Bound::Lower;
        }
        of(&compared(&log), "throughput").finding
    };
    assert_eq!(mark("a", 1.1), Some(Finding::Inconclusive), "A may be more");
    assert_eq!(mark("a", 0.9), Some(Finding::Slower), "B is below what A is at least");
    assert_eq!(mark("b", 1.1), Some(Finding::Faster));
    assert_eq!(mark("b", 0.9), Some(Finding::Inconclusive));
    assert_eq!(mark("b", 1.0), Some(Finding::Inconclusive), "equal, or more");
}

#[test]
fn overloads_and_withheld_percentiles_are_not_compared() {
    let mut log = run(1.0);
    log.results[0].trial.as_mut().unwrap().outcome = Outcome::Overloaded;
    let c = compared(&log);
    assert!(of(&c, "p99").finding.is_none() && of(&c, "p99").why.unwrap().contains("overloaded"));
    assert_eq!(of(&c, "throughput").finding, Some(Finding::Equivalent));
    let mut log = run(1.0);
    log.results[1].trial.as_mut().unwrap().latency.response.p99_ns = None;
    assert!(of(&compared(&log), "p99").why.unwrap().contains("1 of 6 trials have no p99"));
    let mut log = run(1.0);
    log.results.iter_mut().for_each(|r| r.server = None);
    let figures: Vec<&str> = compared(&log).plans[0].figures.iter().map(|f| f.figure.name).collect();
    assert_eq!(figures, ["throughput", "p50", "p99"], "what nobody looked at is not there");
}

#[test]
fn memory_is_the_highest_of_the_trials_as_in_every_table() {
    let mut log = run(1.0);
    for (bytes, result) in (1..).zip(&mut log.results) {
        result.server.as_mut().unwrap().peak_memory_bytes = bytes * 1_000_000;
    }
    // Twelve trials, the candidates' in turn.
    let found = of(&compared(&log), "memory");
    let table: Vec<u64> = analyse(&log).plans[0]
        .rows
        .iter()
        .map(|row| row.figures[Figure::MEMORY].estimate.as_ref().unwrap().point as u64)
        .collect();
    let both = [found.a, found.b].map(|side| side.unwrap().point as u64);
    assert_eq!(both.into_iter().max(), Some(12_000_000));
    assert!(both.iter().all(|bytes| table.contains(bytes)), "{both:?} {table:?}");
    assert!(found.ratio.unwrap().ci_low.is_some(), "the ratio is paired all the same");
}

#[test]
fn after_loads_of_a_list_a_bench_of_that_list_is_proposed() {
    let mut log = Log::new(&["a", "b"], 1).with(&[&[10_000, 9_000]]).0;
    let list = RecordedList {
        format: prony_model::list::Format::Plain,
        lines: 2,
        requests: 2,
        order: Order::InTurn,
        fingerprint: "0".to_owned(),
        expecting: 0,
        servers: Vec::new(),
    };
    log.results.iter_mut().for_each(|r| r.trial.as_mut().unwrap().plan.targets = Some(list.clone()));
    log.header.experiment_toml = None;
    let next = compared(&log).next.unwrap();
    assert!(next.starts_with("prony bench --candidate") && next.contains("--targets FILE"), "{next}");
}

#[test]
fn candidates_are_chosen_by_name_or_baseline_or_if_only_two() {
    let log = run(1.0);
    let named = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
    let pair = |names: &[&str]| {
        let names = named(names);
        choose_in(&log, "r", &names).map(|(a, b)| format!("{} {}", a.candidate, b.candidate))
    };
    // The baseline of the builder is the last.
    assert_eq!(pair(&[]).unwrap(), "b a");
    assert_eq!(pair(&["a"]).unwrap(), "b a");
    assert_eq!(pair(&["a", "b"]).unwrap(), "a b");
    assert!(pair(&["a", "c"]).unwrap_err().to_string().contains("no measured candidate \"c\"; it has a, b"));
    let three = Log::new(&["a", "b", "c"], 1).with(&[&[1, 2, 3]]).0;
    assert!(choose_in(&three, "r", &[]).unwrap_err().to_string().contains("3 candidates: name two"));
    let one = Log::new(&["a"], 2).with(&[&[100], &[101]]).0;
    assert!(choose_in(&one, "r", &[]).unwrap_err().to_string().contains("another run log"));
    let labels = |a: &RunLog, b: &RunLog, names: &[&str]| {
        let names = named(names);
        let pairs = choose((a, "A"), (b, "B"), &names).map_err(|e| e.to_string())?;
        Ok::<_, String>(
            pairs
                .iter()
                .map(|(a, b)| format!("{}{}", a.candidate, b.candidate))
                .collect::<Vec<_>>()
                .join(" "),
        )
    };
    assert_eq!(labels(&log, &three, &[]).unwrap(), "aa bb");
    assert_eq!(labels(&log, &three, &["a", "c"]).unwrap(), "ac");
    assert_eq!(labels(&one, &Log::new(&["z"], 1).with(&[&[5]]).0, &[]).unwrap(), "az");
    assert!(labels(&log, &Log::new(&["z"], 1).with(&[&[5]]).0, &[]).unwrap_err().contains("No candidate"));
    let itself = compare_candidates(part(&log, "a"), part(&log, "a"), &Options::default());
    assert!(itself.unwrap_err().to_string().contains("the same trials"));
}

#[test]
fn tails_have_five_percentiles_that_every_trial_has() {
    let with = |last: bool, factor: f64| {
        let mut log = run(1.0);
        for result in &mut log.results {
            let times = if result.planned.candidate == "b" { factor } else { 1.0 };
            let response = &mut result.trial.as_mut().unwrap().latency.response;
            for (field, ns) in
                [("p50_ns", 1e6), ("p75_ns", 1.2e6), ("p90_ns", 1.5e6), ("p95_ns", 2e6), ("p99_ns", 3e6)]
            {
                response.set_percentile(field, Some((ns * times) as u64));
            }
            response.set_percentile("p999_ns", Some((9e6 * times * times) as u64).filter(|_| last));
        }
        compared(&log).plans.remove(0).tails
    };
    let of = |tails: &[TailRatio]| tails.iter().map(|tail| tail.quantile).collect::<Vec<_>>();
    assert_eq!(of(&with(false, 1.0)), [0.5, 0.75, 0.9, 0.95, 0.99]);
    let tails = with(true, 1.2);
    assert_eq!(of(&tails), [0.5, 0.9, 0.95, 0.99, 0.999]);
    assert!((tails[4].ratio.point - 1.44).abs() < 1e-3 && (tails[0].ratio.point - 1.2).abs() < 1e-3);
    assert!(tails.iter().all(|tail| tail.finding == Finding::Slower && tail.ratio.n == 6));
    assert!(with(true, 1.0).iter().all(|tail| tail.finding == Finding::Equivalent));
}

/// The same log as of a machine and a boot.
fn of_machine(mut log: RunLog, machine: Option<&str>, boot: &str) -> RunLog {
    let hosts = log.results.iter_mut().map(|r| &mut r.trial.as_mut().unwrap().host);
    for host in hosts.chain([&mut log.header.host]) {
        (host.machine, host.boot_id) = (machine.map(str::to_owned), boot.to_owned());
    }
    log
}

#[test]
fn another_machine_is_told_by_its_id_and_its_boot() {
    let log = of_machine(run(1.0), Some("1"), "boot-1");
    let with = |machine, boot, force| {
        let later = of_machine(another_run(run(1.0)), machine, boot);
        compare_candidates(part(&log, "a"), part(&later, "b"), &Options { force, ..Options::default() })
    };
    let refused = with(Some("2"), "boot-2", false).unwrap_err().to_string();
    assert!(refused.contains("not comparable: the machine is a different one. "), "{refused}");
    for (machine, boot, said) in [
        (Some("2"), "boot-2", "apart, on another machine: the"),
        (Some("1"), "boot-2", "apart, with a boot between: the"),
        (None, "boot-2", "apart, possibly on another machine: the"),
        // One boot is of one machine: this one's containers have machine ids of their own, or none.
        (Some("2"), "boot-1", "apart: the"),
        (None, "boot-1", "apart: the"),
    ] {
        let forced = with(machine, boot, true).unwrap();
        assert!(forced.notes[0].contains(said), "{machine:?} {boot}: {:?}", forced.notes);
        let another = machine == Some("2") && boot == "boot-2";
        assert_eq!(forced.not_comparable.len(), usize::from(another), "{:?}", forced.not_comparable);
    }
}
