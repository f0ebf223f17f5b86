//! The view as people see it, at the widths that people have.

use std::time::Duration;

use prony_analysis::testing::{closed_plan, healthy};
use prony_analysis::trial::judge;
use prony_lab::bench::BenchEvent;
use prony_lab::capacity::{CapacityEvent, CapacityPlan};
use prony_load::{LastSecond, LiveSummary, Snapshot};
use prony_model::capacity::Probe;
use prony_model::fleet::LiveAgent;
use prony_model::histogram::Histogram;
use prony_model::host::Host;
use prony_model::observed::Observed;
use prony_model::plan::{Arrivals, Stop};
use prony_model::rate::{Rate, Stage};
use prony_model::run_log::{PlannedTrial, TrialResult};
use prony_model::trial::{Bound, Outcome, Validity};
use prony_model::{Plan, Target};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::canvas::Theme;
use super::painter::{FRAME_EVERY, Frames, Pace};
use super::view::{View, draw};
use super::{BenchState, CapacityState, LoadState};

const S: u64 = 1_000_000_000;

fn url() -> Target {
    Target::parse("http://127.0.0.1:8080/json").unwrap()
}

/// A view in a terminal of so many columns and rows, as text.
fn screen<V: View>(view: &V, width: u16, height: u16, notes: &[&str]) -> String {
    let notes: Vec<String> = notes.iter().map(|note| (*note).to_owned()).collect();
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal
        .draw(|frame| {
            draw(view, Duration::from_secs(560), false, &notes, frame.buffer_mut(), Theme::new(true));
        })
        .unwrap();
    let buffer = terminal.backend().buffer();
    let row = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..height).map(|y| format!("{}\n", row(y).trim_end())).collect()
}

/// Answers around 7 ms with a tail to 60 ms, `count` of them.
fn answers(count: u64) -> Histogram {
    let mut histogram = Histogram::default();
    for i in 0..count {
        // A smooth hill and, for one in fifty, a tail.
        let turn = (i * 7_919 % 1_000) as f64 / 1_000.0;
        let hill = 6.4 + 0.9 * (turn - 0.5).sinh() + 0.4 * (turn * 40.0).sin();
        let tail = if i % 50 == 0 { 1.5 * (1.0 + turn * 5.0) } else { 1.0 };
        let straggler = if i % 5_000 == 0 { 4.0 } else { 1.0 };
        histogram.record((hill * tail * straggler * 1e6) as u64);
    }
    histogram
}

/// A load at `per_s`, looked at ten times a second until `seconds`.
fn ran(plan: &Plan, seconds: u64, per_s: u64, change: impl Fn(u64, &mut Snapshot)) -> LoadState {
    let mut load = LoadState::of(plan);
    let warmup_ns = u64::try_from(plan.warmup.as_nanos()).unwrap();
    let all = answers(20_000);
    for tenth in 1..=seconds * 10 {
        let elapsed_ns = tenth * S / 10;
        let window_ns = elapsed_ns.saturating_sub(warmup_ns);
        let wobble = (tenth * 37 % 11) * per_s / 400;
        let finished = window_ns / S;
        let mut snapshot = Snapshot {
            elapsed_ns,
            in_window: elapsed_ns >= warmup_ns,
            completed: tenth * per_s / 10 + wobble,
            sent: tenth * per_s / 10 + 98,
            in_flight: 98,
            busy_ns: window_ns / 12,
            ..Snapshot::default()
        };
        if finished > 0 {
            snapshot.so_far = LiveSummary::of(&all, 0);
            snapshot.last_second = Some(LastSecond {
                at_ns: (finished - 1) * S,
                completed: per_s,
                connections: 100,
                p50_ns: Some(6_980_000),
                p99_ns: Some(9_610_000 + (finished * 31 % 7) * 1_000_000),
                max_ns: Some(31_400_000),
                lateness_mean_ns: 12_300,
                lateness_max_ns: 310_000,
                ..LastSecond::default()
            });
        }
        change(tenth, &mut snapshot);
        load.take(&snapshot);
    }
    load
}

fn open_plan() -> Plan {
    let mut plan = Plan::closed(url());
    plan.connections = 100;
    plan.arrivals = Arrivals::Constant(Rate::per_s(14_000.0).unwrap());
    plan.stop.duration = Some(Duration::from_secs(30));
    plan.warmup = Duration::from_secs(3);
    plan
}

fn steady() -> LoadState {
    ran(&open_plan(), 21, 13_870, |_, _| ())
}

/// Overloaded: a third of the rate is carried, some fail, and the client is at its end.
fn overloaded() -> LoadState {
    let mut plan = open_plan();
    plan.arrivals = Arrivals::Constant(Rate::per_s(42_000.0).unwrap());
    ran(&plan, 12, 13_870, |tenth, snapshot| {
        snapshot.busy_ns = (snapshot.busy_ns * 12).saturating_sub(1000);
        snapshot.failed = tenth * 150;
        (snapshot.failed_by_kind[4], snapshot.failed_by_kind[7]) = (tenth * 20, tenth * 130);
        if let Some(second) = &mut snapshot.last_second {
            second.connection_wait_mean_ns = 530_000_000;
            (second.lateness_mean_ns, second.lateness_max_ns) = (1_700_000, 21_000_000);
            snapshot.so_far = LiveSummary::of(&answers(20_000), 260);
        }
    })
}

#[test]
fn a_load_at_every_width() {
    let notes = ["Live page: http://127.0.0.1:40123/"];
    insta::assert_snapshot!("load_80x24", screen(&steady(), 80, 24, &[]));
    insta::assert_snapshot!("load_120x40", screen(&steady(), 120, 40, &notes));
    insta::assert_snapshot!("load_40x24", screen(&steady(), 40, 24, &notes));
    insta::assert_snapshot!("load_40x10", screen(&steady(), 40, 10, &[]));
}

#[test]
fn an_overloaded_load() {
    insta::assert_snapshot!("overloaded_80x24", screen(&overloaded(), 80, 24, &[]));
    insta::assert_snapshot!("overloaded_40x10", screen(&overloaded(), 40, 10, &[]));
}

#[test]
fn a_load_of_a_fleet_shows_each_agent() {
    let with = |count: u64| {
        let mut load = steady();
        let agent = |i: u64| LiveAgent {
            name: format!("load{i}"),
            sent: 24_100,
            completed: 24_000 - i * 7,
            failed: if i == 2 { 31 } else { 0 },
        };
        load.take_agents((1..=count).map(agent).collect());
        load
    };
    insta::assert_snapshot!("fleet_80x24", screen(&with(3), 80, 24, &[]));
    let many = screen(&with(100), 80, 24, &[]);
    assert!(many.contains("100 agents, fewest requests first · load100 23,300 · load99 23,307"), "{many}");
}

#[test]
fn a_load_at_its_start_and_one_with_a_request_limit() {
    insta::assert_snapshot!("not_begun_80x24", screen(&LoadState::of(&open_plan()), 80, 24, &[]));
    let warming = ran(&open_plan(), 2, 13_870, |_, _| ());
    insta::assert_snapshot!("warm_up_80x24", screen(&warming, 80, 24, &[]));
    let mut counted = Plan::closed(url());
    (counted.stop.duration, counted.stop.requests, counted.warmup) = (None, Some(200_000), Duration::ZERO);
    let counted = ran(&counted, 4, 13_870, |_, _| ());
    insta::assert_snapshot!("counted_80x24", screen(&counted, 80, 24, &[]));
}

#[test]
fn a_load_as_one_line() {
    assert_eq!(
        overloaded().line(),
        "12.0 s of 33.0 s · 14,112 of 42,000 req/s · p99 15.6 ms · 18,000 failed"
    );
    assert_eq!(LoadState::of(&open_plan()).line(), "0.0 s of 33.0 s · warm-up");
}

/// Eleven candidates, four plans, six blocks; 112 trials done, the next one running.
fn experiment(candidates: usize, blocks: u32, done: usize) -> BenchState {
    let names = ["workerman", "openswoole", "swoole", "roadrunner", "amphp:jit+ev", "reactphp", "nginx-fpm"];
    let names: Vec<String> = (0..candidates)
        .map(|i| names.get(i).map_or(format!("candidate-{i}"), |name| (*name).to_owned()))
        .collect();
    let plans = ["c100", "c500", "c1000", "c100-close"].map(str::to_owned).to_vec();
    let mut order = Vec::new();
    for block in 0..blocks {
        for i in 0..candidates * plans.len() {
            // A shuffle, the same every time.
            let at = (i * 17 + block as usize * 5) % (candidates * plans.len());
            let (candidate, plan) = (names[at / plans.len()].clone(), plans[at % plans.len()].clone());
            order.push(PlannedTrial {
                index: order.len() as u32,
                block,
                candidate,
                plan,
                duet: None,
                repeat: 0,
                control: None,
            });
        }
    }
    let total = order.len() as u32;
    let title = "Which of these servers is fastest here? (php-servers-2023)";
    let mut bench = BenchState::planned(title, names, plans, &order);
    let log = std::path::Path::new("runs/r.jsonl");
    bench.on_event(&BenchEvent::Begun { log, total, remaining: total });
    let judged = judge(&Observed::new(healthy(1, 100), closed_plan()), &Host::default());
    for (i, planned) in order.iter().take(done).enumerate() {
        let elapsed = Duration::from_secs(i as u64 * 5);
        let (n, left) = (i as u32, Duration::from_secs(u64::from(total - i as u32) * 5));
        bench.on_event(&BenchEvent::TrialBegins { planned, done: n, remaining: total, elapsed });
        let mut trial = judged.clone();
        trial.throughput.requests_per_s.point = 9_000.0 + (i * 7_919 % 12_000) as f64;
        trial.throughput.bound = if i % 23 == 7 { Bound::Lower } else { Bound::Exact };
        trial.latency.response.p99_ns = Some(8_900_000);
        trial.requests.failed = if i == 111 { 12 } else { 0 };
        trial.outcome = Outcome::Carried;
        trial.verdict.validity = if i % 31 == 12 { Validity::Suspect } else { Validity::Valid };
        let trial = (i % 41 != 20).then_some(trial);
        let failure = trial.is_none().then(|| "it did not listen within 30 s".to_owned());
        let result = TrialResult { planned: planned.clone(), trial, server: None, failure, capacity: None };
        let (done, remaining, left) = (n + 1, total, Some(left));
        bench.on_event(&BenchEvent::TrialEnded { result: &result, done, remaining, elapsed, left });
    }
    if let Some(planned) = order.get(done) {
        let elapsed = Duration::from_secs(done as u64 * 5);
        bench.on_event(&BenchEvent::TrialBegins { planned, done: done as u32, remaining: total, elapsed });
        if done > 0 {
            for tenth in 1..=27 {
                let snapshot = Snapshot {
                    elapsed_ns: tenth * S / 10,
                    in_window: true,
                    completed: tenth * 2_140,
                    in_flight: 100,
                    busy_ns: tenth * S / 30,
                    last_second: (tenth > 10).then(|| LastSecond {
                        p50_ns: Some(4_200_000),
                        p99_ns: Some(8_900_000),
                        max_ns: Some(12_000_000),
                        ..LastSecond::default()
                    }),
                    so_far: if tenth > 10 {
                        LiveSummary::of(&answers(20_000), 0)
                    } else {
                        LiveSummary::default()
                    },
                    ..Snapshot::default()
                };
                bench.on_event(&BenchEvent::Load { planned, snapshot: &snapshot, plan: &lasting(4_000) });
            }
        }
    }
    bench
}

/// A closed load without warm-up.
fn lasting(milliseconds: u64) -> Plan {
    let stop = Stop { duration: Some(Duration::from_millis(milliseconds)), requests: None };
    Plan { stop, warmup: Duration::ZERO, ..Plan::closed(Target::parse("http://h/").unwrap()) }
}

#[test]
fn a_trial_is_shown_by_the_rate_and_stages_of_its_own_plan() {
    let order = [PlannedTrial::one_by_one(0, "a", "half")];
    let offered = |arrivals: Arrivals, at_ns: u64| {
        let mut bench = BenchState::planned("t", vec!["a".to_owned()], vec!["half".to_owned()], &order);
        let (snapshot, plan) = (Snapshot::default(), Plan { arrivals, ..lasting(10_000) });
        bench.on_event(&BenchEvent::Load { planned: &order[0], snapshot: &snapshot, plan: &plan });
        bench.running.unwrap().1.unwrap().offered.rate_at(at_ns).map(f64::round)
    };
    // The share's rate, which no header has.
    assert_eq!(offered(Arrivals::Constant(Rate::per_s(4_321.0).unwrap()), S), Some(4_321.0));
    let stages = vec![Stage { duration: Duration::from_secs(10), to: 10_000_000_000 }];
    assert_eq!(offered(Arrivals::RateStages(stages), 5 * S), Some(4_500.0));
    assert_eq!(offered(Arrivals::Closed, S), None);
}

#[test]
fn an_experiment_at_every_width() {
    insta::assert_snapshot!("bench_80x24", screen(&experiment(7, 6, 112), 80, 24, &[]));
    insta::assert_snapshot!(
        "bench_120x40",
        screen(&experiment(11, 6, 112), 120, 40, &["Live page: http://127.0.0.1:40123/"])
    );
    insta::assert_snapshot!("bench_40x24", screen(&experiment(7, 6, 112), 40, 24, &[]));
    insta::assert_snapshot!("bench_40x10", screen(&experiment(7, 6, 112), 40, 10, &[]));
}

#[test]
fn an_experiment_larger_than_the_screen() {
    // Thirty candidates and blocks: counts for marks, and a window around the one that runs.
    insta::assert_snapshot!("bench_large_80x24", screen(&experiment(30, 30, 1_500), 80, 24, &[]));
    insta::assert_snapshot!("bench_begins_80x24", screen(&experiment(2, 5, 0), 80, 24, &[]));
}

#[test]
fn an_experiments_messages_are_its_finished_trials() {
    let mut bench = experiment(2, 1, 8);
    let messages: Vec<String> = bench.messages().into_iter().map(|message| message.text).collect();
    assert_eq!(messages[0], "8 trials, recorded in runs/r.jsonl");
    assert_eq!(messages[1], "   1/8  workerman · c100 · block 1: 9,000 req/s, p99 8.90 ms");
    assert!(messages[8].contains("≥ "), "{messages:?}");
    assert!(bench.messages().is_empty());
    let broken = experiment(7, 6, 21).messages();
    assert!(
        broken.last().is_some_and(|last| last.stays && last.text.ends_with("it did not listen within 30 s"))
    );
}

fn search() -> CapacityState {
    let wanted = CapacityPlan {
        load: open_plan(),
        slos: vec![prony_analysis::slo::Slo::parse("p99<50ms").unwrap()],
        probe: Duration::from_secs(3),
        resolution: 0.01,
        start: None,
    };
    let mut search = CapacityState::of(&wanted);
    let rates = [(2_000.0, true), (4_000.0, true), (8_000.0, true), (16_000.0, false), (12_000.0, true)];
    for (rate_per_s, sustained) in rates {
        search.on_event(&CapacityEvent::Begins {
            rate_per_s,
            phase: "doubling",
            left: Duration::from_secs(60),
        });
        search.on_event(&CapacityEvent::Ended(&Probe {
            rate_per_s,
            completed_per_s: rate_per_s,
            sustained,
            why: if sustained { "sustained" } else { "p99<50ms: 112 ms" }.to_owned(),
            undecided: None,
            not_judged: Vec::new(),
            phase: "doubling".to_owned(),
            duration_ns: 3 * S,
            p50_ns: Some(3_000_000),
            p99_ns: Some(if sustained { 8_900_000 } else { 112_000_000 }),
            failed_share: 0.0,
            beyond_share: None,
        }));
    }
    search.on_event(&CapacityEvent::Begins {
        rate_per_s: 14_000.0,
        phase: "bisection",
        left: Duration::from_secs(42),
    });
    let plan = Plan { arrivals: open_plan().arrivals, ..lasting(3_300) };
    for tenth in 1..=19 {
        let snapshot = Snapshot {
            elapsed_ns: tenth * S / 10,
            in_window: tenth > 3,
            completed: tenth * 1_400,
            in_flight: 61,
            busy_ns: tenth * S / 200,
            ..Snapshot::default()
        };
        search.on_event(&CapacityEvent::Load { snapshot: &snapshot, plan: &plan });
    }
    search
}

#[test]
fn a_search_at_every_width() {
    insta::assert_snapshot!("capacity_80x24", screen(&search(), 80, 24, &[]));
    insta::assert_snapshot!("capacity_120x40", screen(&search(), 120, 40, &[]));
    insta::assert_snapshot!("capacity_40x10", screen(&search(), 40, 10, &[]));
    assert_eq!(search().messages().len(), 5);
}

#[test]
fn every_terminal_size_can_be_drawn() {
    let (load, bench, search) = (overloaded(), experiment(30, 30, 700), search());
    for (width, height) in [(1, 1), (2, 30), (300, 2), (39, 9), (7, 60), (160, 50)] {
        screen(&load, width, height, &["note"]);
        screen(&bench, width, height, &["note"]);
        screen(&search, width, height, &["note"]);
    }
}

#[test]
fn the_frame_rate_is_bounded_however_often_the_thread_wakes() {
    let mut pace = Pace::default();
    let (mut drawn, mut now) = (0, Duration::ZERO);
    // A minute in which keys are typed as fast as a terminal sends them.
    while now < Duration::from_secs(60) {
        drawn += u32::from(pace.due(now, FRAME_EVERY));
        now += Duration::from_micros(313);
    }
    let most = 60_000 / FRAME_EVERY.as_millis() as u32;
    assert!(drawn <= most && drawn > most * 9 / 10, "{drawn}");
    // Whoever slept for long draws once, and not what was missed.
    assert!(pace.due(now + Duration::from_secs(600), FRAME_EVERY));
    assert!(!pace.due(now + Duration::from_secs(600), FRAME_EVERY));
    assert_eq!(pace.wait(now + Duration::from_secs(600)), FRAME_EVERY);
}

#[test]
fn a_frame_writes_only_what_changed() {
    let theme = Theme::new(true);
    let draw_load = |frames: &mut Frames, load: &LoadState, size| {
        frames.frame(size, |buffer| draw(load, Duration::ZERO, false, &[], buffer, theme)).unwrap()
    };
    for (size, first_max, next_max) in [((80, 24), 8_000, 2_500), ((160, 50), 16_000, 5_000)] {
        let mut frames = Frames::default();
        let mut load = steady();
        let first = draw_load(&mut frames, &load, size);
        assert!(first.len() <= first_max, "{size:?}: {}", first.len());
        // The same again is nothing but the frame's own brackets.
        let same = draw_load(&mut frames, &load, size);
        assert!(same.len() <= 64, "{}", same.len());
        // A second later.
        let mut later = load.now;
        later.elapsed_ns += S;
        later.completed += 13_000;
        load.take(&later);
        let next = draw_load(&mut frames, &load, size);
        assert!(next.len() <= next_max, "{size:?}: {}", next.len());
    }
    // However large the terminal, the view is not.
    let mut frames = Frames::default();
    let most = draw_load(&mut frames, &steady(), (160, 50)).len();
    assert_eq!(draw_load(&mut Frames::default(), &steady(), (1_000, 400)).len(), most);
    // Another size is drawn anew, on a screen that is erased.
    let resized = draw_load(&mut frames, &steady(), (100, 30));
    assert!(String::from_utf8_lossy(&resized).contains("\x1b[2J"));
}

#[test]
fn without_colour_no_colour_codes_are_written() {
    let bytes = |color| {
        let mut frames = Frames::default();
        let draw_it =
            |buffer: &mut _| draw(&overloaded(), Duration::ZERO, false, &[], buffer, Theme::new(color));
        String::from_utf8(frames.frame((80, 24), draw_it).unwrap()).unwrap()
    };
    let colors = |text: &str| text.matches("\x1b[38;").count();
    assert_eq!(colors(&bytes(false)), 0);
    assert!(colors(&bytes(true)) > 10, "{:?}", bytes(true));
}
