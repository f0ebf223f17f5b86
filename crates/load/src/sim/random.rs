//! Thousands of random loads in random worlds: the record is the truth, identities hold, nothing leaks or spins.

mod lists;
mod variants;

use std::collections::BTreeMap;
use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use crate::error::LoadError;
use prony_model::histogram::SparseHistogram;
use prony_model::measurement::{ErrorKind, Measurement, Tolerance};
use prony_model::plan::{Arrivals, Plan, Stop, Work};
use prony_model::rate::{Rate, Stage};
use prony_model::target::Target;

use super::answer::{BODY, Deed};
use super::chance::Chance;
use super::nature::{ConnectFate, Mischief, Nature, Service, Stamps};
use super::{Case, Played, shares};
use variants::{lives, replay};

/// Cases played where nobody asks for another number.
const CASES: u64 = 2_000;
/// Beyond these, cases that once showed a rare fault: a place came behind one that was answered, or timed out, later.
const ONCE_WRONG: [u64; 2] = [9_619, 18_513];
/// The same, found since cases have unusual responses: workers stopped before their windows, each at its own instant.
const ONCE_WRONG_SINCE: [u64; 1] = [5_069_356];
const REQUESTS: u64 = 300;
const MS: u64 = 1_000_000;
/// Lists, their origins, pipelines and stages are drawn from streams of their own.
const LISTS: u64 = 0x6c69_7374_6564;
const OWN_PARTS: u64 = 0x6f77_6e5f_7061_7274;
const ORIGINS: u64 = 0x6f72_6967_696e;
const LIVES: u64 = 0x6c_6976_6573;
const PIPELINES: u64 = 0x7069_7065;
const STAGES: u64 = 0x7374_6167_6573;
const REPLAYS: u64 = 0x7265_706c_6179;
const UNUSUAL: u64 = 0x75_6e75_7375_616c;

const DEEDS: [Deed; 20] = [
    Deed::Good,
    Deed::Chunked,
    Deed::Interim,
    Deed::LongBody,
    Deed::UntilClose,
    Deed::SaysClose,
    Deed::OldVersion,
    Deed::ClosesUnsaid,
    Deed::Status(404),
    Deed::Status(503),
    Deed::WrongBody,
    Deed::Nonsense,
    Deed::NonsenseInside,
    Deed::Chatty,
    Deed::Never,
    Deed::Slow,
    Deed::Dribble,
    Deed::ResetNow,
    Deed::ResetMid,
    Deed::CloseMid,
];

const LEASES: u64 = 0x1ea5e;

/// A quarter of the servers have one of these, too.
const UNUSUAL_DEEDS: [Deed; 7] = [
    Deed::RepeatedLength,
    Deed::OtherLengths,
    Deed::LengthBesideChunks,
    Deed::ChunkedTwice,
    Deed::BareChunks,
    Deed::Folded,
    Deed::LongHead,
];

const CONNECT_FATES: [ConnectFate; 8] = [
    ConnectFate::AtOnce,
    ConnectFate::Later,
    ConnectFate::RefusedAtOnce,
    ConnectFate::RefusedLater,
    ConnectFate::GivenUpLater,
    ConnectFate::Hangs,
    ConnectFate::NoPorts,
    ConnectFate::Unreachable,
];

impl Case {
    fn of_seed(seed: u64) -> Case {
        let chance = &mut Chance::new(seed);
        let service_ns = chance.scale(2_000, 50 * MS);
        let mut plan = plan(chance, service_ns);
        if let Some(mut list) = lists::list(&mut Chance::new(seed ^ LISTS)) {
            lists::own_parts(&mut Chance::new(seed ^ OWN_PARTS), &mut list);
            lists::origins(&mut Chance::new(seed ^ ORIGINS), &mut list, &mut plan);
            plan.work = Work::List(list);
        }
        lives(&mut Chance::new(seed ^ LIVES), &mut plan);
        pipeline(&mut Chance::new(seed ^ PIPELINES), &mut plan);
        stages(&mut Chance::new(seed ^ STAGES), &mut plan);
        if !ONCE_WRONG.contains(&seed) && !ONCE_WRONG_SINCE.contains(&seed) {
            replay(&mut Chance::new(seed ^ REPLAYS), &mut plan);
        }
        let mut nature = nature(chance, seed, service_ns, &plan);
        let unusual = &mut Chance::new(seed ^ UNUSUAL);
        if unusual.per_mille(250) && !ONCE_WRONG.contains(&seed) {
            nature.deeds.push((unusual.pick(&UNUSUAL_DEEDS.map(|deed| (deed, 1))), 300));
        }
        let length = plan.stop.duration.unwrap_or(Duration::from_millis(300)) + plan.warmup;
        let stop_after_ns = chance
            .per_mille(250)
            .then(|| chance.between(0, u64::try_from(length.as_nanos()).unwrap() + 10 * MS));
        let closing_max = chance.size(0, 6);
        let in_parts = seed.is_multiple_of(2);
        let lease = &mut Chance::new(seed ^ LEASES);
        let length_ns = u64::try_from(length.as_nanos()).unwrap();
        let lease_ns = lease.per_mille(100).then(|| lease.between(0, length_ns + 10 * MS));
        Case { plan, nature, stop_after_ns, lease_ns, closing_max, idle: Arc::default(), in_parts }
    }
}

fn plan(chance: &mut Chance, service_ns: u64) -> Plan {
    let mut plan = Plan::closed(Target::parse("http://simulated/").unwrap());
    plan.threads = chance.pick(&[(1, 6), (2, 2), (3, 1)]);
    let each = chance.scale(1, 16) as u32;
    plan.connections = plan.threads * each;
    // Long enough for some hundred requests, each as long as a service.
    let mut length_ns = (REQUESTS * service_ns / u64::from(plan.connections)).max(MS);
    if chance.per_mille(500) {
        let carried_per_s = 1e9 / service_ns as f64 * f64::from(plan.connections);
        let rate = carried_per_s * chance.between(20, 300) as f64 / 100.0;
        plan.arrivals = Arrivals::Constant(Rate::per_s(rate.clamp(1.0, 1e6)).unwrap());
    } else {
        plan.connections += chance.between(0, 2) as u32;
        length_ns = length_ns.min(20_000 * MS);
    }
    let requests = chance.between(1, REQUESTS);
    plan.stop = match chance.between(0, 3) {
        0 => Stop { duration: None, requests: Some(requests) },
        1 => Stop { duration: Some(Duration::from_nanos(length_ns)), requests: Some(requests) },
        _ => Stop { duration: Some(Duration::from_nanos(length_ns)), requests: None },
    };
    plan.warmup = match chance.between(0, 2) {
        0 => Duration::ZERO,
        _ => Duration::from_nanos(chance.between(0, length_ns / 2)),
    };
    plan.timeout = Duration::from_nanos(chance.scale(service_ns, 500 * MS).max(MS));
    plan.keepalive = chance.per_mille(750);
    if chance.per_mille(300) {
        plan.work = Work::Request("POST".to_owned());
        plan.body = vec![b'b'; chance.size(0, 5_000)];
    }
    plan.expect.status = chance.per_mille(200).then_some(200);
    plan.expect.body = chance.per_mille(300).then(|| BODY.to_vec());
    plan.seed = chance.between(1, 1_000);
    if let Arrivals::Constant(rate) = plan.arrivals {
        plan.arrivals = arrivals(chance, rate, plan.stop.duration.map(|duration| plan.warmup + duration));
    } else if let (Some(duration), 0) = (plan.stop.duration, chance.between(0, 3)) {
        // Connections come one by one, or all at once, and stay.
        let length = plan.warmup + duration;
        let rise = length * chance.between(0, 8) as u32 / 10;
        let to = u64::from(plan.connections);
        plan.arrivals =
            Arrivals::ConnectionStages([rise, length - rise].map(|duration| Stage { duration, to }).to_vec());
    }
    plan
}

/// Half of the loads that can be are pipelined.
fn pipeline(chance: &mut Chance, plan: &mut Plan) {
    if plan.life().is_some()
        || matches!(plan.arrivals, Arrivals::ConnectionStages(_))
        || chance.per_mille(500)
    {
        return;
    }
    plan.pipeline = chance.between(1, 16) as u32;
    if plan.arrivals == Arrivals::Closed {
        // So many times the requests, in so much less time.
        plan.warmup /= plan.pipeline;
        plan.stop.duration = plan.stop.duration.map(|d| (d / plan.pipeline).max(Duration::from_millis(1)));
    }
}

/// Half of the loads in stages have up to five, of any lengths and levels: they rise, jump, stay, fall, cease.
fn stages(chance: &mut Chance, plan: &mut Plan) {
    let (Arrivals::RateStages(stages) | Arrivals::ConnectionStages(stages)) = &mut plan.arrivals else {
        return;
    };
    if chance.per_mille(500) {
        return;
    }
    let highest = stages.iter().map(|stage| stage.to).max().unwrap_or(0);
    let length: Duration = stages.iter().map(|stage| stage.duration).sum();
    let count = chance.size(1, 5);
    let mut cuts: Vec<Duration> =
        (1..count).map(|_| length * chance.between(0, 10) as u32 / 10).chain([length]).collect();
    cuts.sort();
    let mut from = Duration::ZERO;
    *stages = cuts
        .into_iter()
        .map(|cut| {
            let to = highest * chance.pick(&[(0, 2), (1, 1), (2, 1), (3, 2), (4, 1)]) / 4;
            let stage = Stage { duration: cut - from, to };
            from = cut;
            stage
        })
        .collect();
    // One at least reaches it.
    stages[chance.size(0, count - 1)].to = highest;
}

/// Arrivals at about this rate; stages only where their length is known.
fn arrivals(chance: &mut Chance, rate: Rate, length: Option<Duration>) -> Arrivals {
    match (chance.between(0, 2), length) {
        (0, _) => Arrivals::Poisson(rate),
        (1, Some(length)) => {
            // A ramp up or a jump, and one to any level from there, to none perhaps.
            let first = length * chance.between(0, 8) as u32 / 10;
            let mut level = || rate.as_micro_per_s() * chance.between(0, 20) / 10;
            let stages = [(first, level().max(1_000_000)), (length - first, level())];
            Arrivals::RateStages(stages.map(|(duration, to)| Stage { duration, to }).to_vec())
        }
        _ => Arrivals::Constant(rate),
    }
}

fn nature(chance: &mut Chance, seed: u64, service_ns: u64, plan: &Plan) -> Nature {
    let mut nature = Nature { seed, ..Nature::ideal(service_ns) };
    nature.service = match chance.between(0, 2) {
        0 => Service::Parallel { low_ns: service_ns, high_ns: service_ns },
        1 => Service::Parallel { low_ns: 1 + service_ns / 4, high_ns: 2 * service_ns },
        _ => Service::Queue { low_ns: 1 + service_ns / 4, high_ns: service_ns },
    };
    if chance.per_mille(600) {
        nature.clock_cost_ns = chance.between(0, 300);
        nature.call_cost_ns = chance.scale(1, 20_000);
    }
    if chance.per_mille(300) {
        nature.oversleep_per_mille = chance.between(1, 200) as u32;
        nature.oversleep_ns = chance.scale(1_000, 400 * MS);
    }
    nature.early_wake_per_mille = chance.pick(&[(0, 2), (50, 1), (400, 1)]);
    nature.spurious_per_mille = chance.pick(&[(0, 3), (20, 1), (300, 1)]);
    nature.short_write_per_mille = chance.pick(&[(0, 2), (50, 1), (500, 1)]);
    if chance.per_mille(300) {
        nature.room = chance.size(1, 300);
        nature.drain_ns = chance.scale(1_000, service_ns);
        nature.early_per_mille = chance.pick(&[(0, 1), (100, 1)]);
    }
    nature.pieces_per_mille = chance.pick(&[(0, 1), (500, 1), (1000, 1)]);
    nature.piece_gap_ns = chance.between(0, service_ns);
    nature.half_closed = seed.is_multiple_of(3);
    faults(chance, &mut nature, plan);
    nature
}

fn faults(chance: &mut Chance, nature: &mut Nature, plan: &Plan) {
    let timeout_ns = u64::try_from(plan.timeout.as_nanos()).unwrap();
    // A few kinds of trouble at a time, from rare to nearly always; and some worlds without any.
    let weight = |chance: &mut Chance| chance.scale(1, 300) as u32;
    for _ in 0..chance.pick(&[(0u32, 2), (2, 2), (6, 1)]) {
        let deed = chance.pick(&DEEDS.map(|deed| (deed, 1)));
        nature.deeds.push((deed, weight(chance)));
    }
    nature.deeds.push((Deed::CloseNow, u32::from(chance.per_mille(100))));
    nature.deeds[0].1 = chance.scale(1, 1000) as u32;
    for _ in 0..chance.pick(&[(0u32, 2), (1, 2), (4, 1)]) {
        let fate = chance.pick(&CONNECT_FATES.map(|fate| (fate, 1)));
        nature.connects.push((fate, weight(chance)));
    }
    nature.connects[0].1 = chance.scale(1, 1000) as u32;
    // Some connects take longer than the timeout.
    nature.connect_ns = chance.scale(1_000, 2 * timeout_ns);
    if chance.per_mille(300) {
        nature.mischief = vec![
            (Mischief::None, chance.between(1, 100) as u32),
            (Mischief::Close, chance.between(0, 10) as u32),
            (Mischief::Reset, chance.between(0, 10) as u32),
            (Mischief::Talk, chance.between(0, 10) as u32),
        ];
        nature.mischief_ns = chance.scale(1_000, 50 * MS);
    }
    nature.stamps = chance.per_mille(600).then(|| Stamps {
        missing_per_mille: chance.pick(&[(0, 2), (10, 1), (500, 1)]),
        absurd_per_mille: chance.pick(&[(0, 2), (10, 1), (500, 1)]),
        offset_ns: [0, 0, -3_000, 3_000, -5_000_000][chance.size(0, 4)],
    });
}

fn fingerprint(m: &Measurement) -> String {
    let l = m.latency.parts();
    let histograms = [
        &l.response.completed,
        &l.response.failed,
        &l.response.waiting,
        &l.service.completed,
        &l.first_byte,
        &l.connect_wait,
        &l.send_lag,
        &m.latency.client_delay,
    ];
    let histograms =
        histograms.map(|h| (h.len(), h.min(), h.max(), h.mean().to_bits(), h.moments().1.to_bits()));
    format!(
        "{:?}",
        (
            (&m.requests, &m.run_total, m.read_bytes, m.sent_bytes, &m.status, &m.errors, &m.bins),
            (&m.series, histograms, &m.workers, &m.client, m.window_end_ns, m.interrupted, &m.tolerated),
        )
    )
}

fn faults_of(case: &Case, played: &Played) -> Vec<String> {
    let mut faults = played.differences.clone();
    faults.extend(shares::faults(case, played));
    if let Ok(m) = &played.measurement {
        faults.extend(m.broken_identities.iter().cloned());
        if m.series.iter().map(|s| s.failed).sum::<u64>() != m.requests.failed {
            faults.push("the series' failed do not add up".to_owned());
        }
    }
    for world in &played.worlds {
        let world = world.borrow();
        let lease_ends = case.lease_ns.map_or(u64::MAX, |ns| world.truth.start_ns + ns);
        if world.truth.writes.iter().any(|(at_ns, _)| *at_ns >= lease_ends) {
            faults.push("something was sent after the lease's end".to_owned());
        }
        let most = world.truth.slots() + case.closing_max.max(1);
        if world.open_most > most {
            faults.push(format!("{} connections were open at once, more than {most}", world.open_most));
        }
        // A wait ends with nothing for a reason: a tick or a long wait's first step, a deadline, a due
        // request, a pause, a linger's end, a wake-up that this world made for nothing.
        let length_s = (world.now_ns - super::world::EPOCH_NS) / 1_000_000_000 + 1;
        let reasons = 60 * length_s + 6 * world.truth.begun + 4 * world.connects + 50;
        let for_nothing = u64::from(case.nature.early_wake_per_mille > 0) * world.waits;
        if world.idle_waits > reasons + for_nothing {
            faults.push(format!("{} waits ended with nothing, for {reasons} reasons", world.idle_waits));
        }
    }
    faults
}

fn play(seed: u64, seen: &mut Seen) {
    let case = Case::of_seed(seed);
    let played = case.play();
    let faults = faults_of(&case, &played);
    assert!(faults.is_empty(), "PRONY_SIM_SEED={seed}:\n{}\n{case:#?}", faults.join("\n"));
    seen.add(&played);
    seen.add_worlds(&case, &played);
    if let Ok(m) = &played.measurement {
        let arrivals = match &case.plan.arrivals {
            Arrivals::ConnectionStages(_) => "stages of connections",
            other => other.kind().into(),
        };
        *seen.0.entry(arrivals).or_default() += m.requests.completed;
    }
}

fn is_cut(played: &Played) -> bool {
    played.measurement.as_ref().map_or(true, |m| m.interrupted)
}

/// How often things were met, over all cases: what never happens is not tested.
#[derive(Debug, Default)]
struct Seen(BTreeMap<&'static str, u64>);

impl Seen {
    fn add(&mut self, played: &Played) {
        let m = match &played.measurement {
            Ok(m) => m,
            Err(e) => {
                let warm_up = matches!(e, LoadError::WarmUpTookAll);
                let name = if warm_up { "warm-up took all" } else { "interrupted before the window" };
                *self.0.entry(name).or_default() += 1;
                return;
            }
        };
        let r = &m.requests;
        let parts = m.latency.parts();
        let many =
            |h: &SparseHistogram| h.buckets().filter(|(bucket, _)| *bucket > 0).map(|(_, n)| n).sum::<u64>();
        for (what, count) in [
            ("completed", r.completed),
            ("carried in", r.carried_in),
            ("in flight", r.in_flight),
            ("never sent", r.never_sent),
            ("requests of a list", m.by_request.iter().map(|f| f.completed).sum()),
            ("ended by count", m.ended_by_count.into()),
            ("interrupted", m.interrupted.into()),
            ("ended by duration", (!m.ended_by_count && !m.interrupted).into()),
            ("stamps rejected", m.client.stamps_rejected),
            ("connect waits", many(&parts.connect_wait)),
            ("connection waits", many(&parts.connection_wait)),
            ("lateness", many(&parts.lateness)),
            ("client delays", many(&m.latency.client_delay)),
            ("several seconds", (m.series.len() > 1).into()),
            ("several parts", played.parts.iter().filter(|parts| parts.len() > 1).count() as u64),
            ("late requests at the end", parts.response.waiting.len() - r.in_flight),
        ] {
            *self.0.entry(what).or_default() += count;
        }
        for (kind, tally) in &m.errors {
            *self.0.entry(kind.name()).or_default() += tally.count;
        }
        for (tolerance, count) in &m.tolerated {
            *self.0.entry(tolerance.name()).or_default() += count;
        }
        for (status, name) in [(200, "200"), (404, "404"), (413, "413"), (503, "503")] {
            *self.0.entry(name).or_default() += m.status.get(&status).copied().unwrap_or(0);
        }
    }

    /// What only pipelines and stages have.
    fn add_worlds(&mut self, case: &Case, played: &Played) {
        let together = played.worlds.iter().map(|world| world.borrow().answers_together).sum();
        let falls = case.plan.arrivals.stages().unwrap_or_default().windows(2).any(|s| s[1].to < s[0].to);
        let connections = matches!(case.plan.arrivals, Arrivals::ConnectionStages(_));
        for (what, count) in [
            ("pipelined", u64::from(case.plan.pipeline > 1)),
            ("answers read together", together),
            ("ended by their lease", u64::from(case.lease_ns.is_some() && is_cut(played))),
            ("rates that fall", u64::from(falls && !connections)),
            ("connections that fall", u64::from(falls && connections)),
        ] {
            *self.0.entry(what).or_default() += count;
        }
    }

    /// All that there is to meet was met.
    fn assert_all(&self) {
        // TLS is below the simulated network, many long heads are a test of their own, and two kinds are of HTTP/2 alone.
        use ErrorKind::{PartialHeads, Refused, StreamReset, Tls};
        let elsewhere = [Tls, PartialHeads, Refused, StreamReset];
        let simulated = ErrorKind::ALL.iter().filter(|kind| !elsewhere.contains(kind));
        let tolerances = Tolerance::ALL.iter().filter(|tolerance| !self.0.contains_key(tolerance.name()));
        assert_eq!(tolerances.count(), 0, "never met: {self:?}");
        let kinds = simulated.filter(|kind| !self.0.contains_key(kind.name()));
        assert_eq!(kinds.collect::<Vec<_>>(), Vec::<&ErrorKind>::new(), "never met: {self:?}");
        let rare: Vec<_> = self.0.iter().filter(|(_, count)| **count < 5).collect();
        assert!(rare.is_empty() && self.0.len() >= 40, "hardly met: {rare:?} of {self:?}");
    }
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().and_then(|text| text.parse().ok())
}

#[test]
fn random_servers_and_networks_are_measured_as_simulated() {
    let mut seen = Seen::default();
    if let Some(seed) = number("PRONY_SIM_SEED") {
        return play(seed, &mut seen);
    }
    let first = number("PRONY_SIM_FIRST").unwrap_or(0);
    let end = first + number("PRONY_SIM_SEEDS").unwrap_or(CASES);
    for seed in (first..end).chain(ONCE_WRONG).chain(ONCE_WRONG_SINCE) {
        // A panic of the worker's own must name the case too.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| play(seed, &mut seen))) {
            println!("the case above is PRONY_SIM_SEED={seed}");
            resume_unwind(panic);
        }
    }
    println!("{seen:?}");
    seen.assert_all();
}

#[test]
fn the_same_seed_is_the_same_measurement() {
    let mut measured = 0;
    for seed in 0..CASES / 40 {
        let (one, two) = (Case::of_seed(seed).play(), Case::of_seed(seed).play());
        match (&one.measurement, &two.measurement) {
            (Ok(one), Ok(two)) => {
                assert_eq!(fingerprint(one), fingerprint(two), "seed {seed}");
                measured += 1;
            }
            (Err(one), Err(two)) => assert_eq!(one.to_string(), two.to_string(), "seed {seed}"),
            _ => panic!("seed {seed}: one has a measurement and the other has none"),
        }
    }
    assert!(measured > 10, "{measured}");
    let (one, two) = (Case::of_seed(1).play(), Case::of_seed(2).play());
    let prints = [one, two].map(|p| p.measurement.map(|m| fingerprint(&m)).unwrap_or_default());
    assert_ne!(prints[0], prints[1], "another seed is another case");
}
