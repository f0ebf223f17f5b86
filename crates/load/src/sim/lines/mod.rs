//! The worker over a protocol whose answers come in any order, and whose server says how many requests it takes.

mod codec;
mod server;

use std::time::Duration;

use prony_model::histogram::SparseHistogram;
use prony_model::measurement::{ErrorKind, Measurement};
use prony_model::plan::Arrivals;
use prony_model::rate::Rate;

use super::any_order::{Network, failures, sound_for_all_seeds};
use super::chance::Chance;
use super::nature::Nature;
use super::{Case, Played, shares as random_shares};
use codec::LineProtocol;
use server::{Habits, LineServers, Truth};

const MS: u64 = 1_000_000;
/// Random cases played where nobody asks for another number.
const CASES: u64 = 2_000;
/// Beyond these, cases that once showed a fault which is too rare to be met otherwise: what a server said of itself
/// after the last answer of a count was counted, though the window had ended; the comparison took a worker's window to
/// last as long as that of all; and what came at the very instant of the last answer was not counted.
const ONCE_WRONG: [u64; 3] = [40_140, 317_003, 333_931];

#[derive(Debug)]
struct LineCase {
    case: Case,
    habits: Habits,
}

impl LineCase {
    /// A closed load of one connection that carries so many requests at once, for 100 ms.
    fn closed(requests: u32, habits: Habits) -> LineCase {
        let mut case = Case::closed(Nature::ideal(habits.seed));
        case.plan.pipeline = requests;
        case.plan.stop.duration = Some(Duration::from_millis(100));
        LineCase { case, habits }
    }

    fn of_seed(seed: u64) -> LineCase {
        let chance = &mut Chance::new(seed);
        let service_ns = chance.scale(2_000, 5 * MS);
        let mut habits = Habits::ideal(service_ns);
        habits.service_ns.1 = service_ns * chance.between(1, 20);
        (habits.seed, habits.permits) = (seed, chance.size(1, 10));
        habits.repermits_per_mille = chance.pick(&[(0, 1), (20, 1), (300, 1)]);
        habits.gives_up_per_mille = chance.pick(&[(0, 1), (50, 1)]);
        habits.closes_per_mille = chance.pick(&[(0, 2), (10, 1)]);
        habits.silent_per_mille = chance.pick(&[(0, 2), (30, 1)]);
        habits.conditions.parts_per_mille = chance.pick(&[(0, 1), (200, 1)]);
        habits.conditions.refused_per_mille = chance.pick(&[(0, 2), (100, 1)]);
        habits.conditions.connect_ns = chance.pick(&[(0, 1), (MS, 1)]);
        habits.conditions.call_ns = chance.pick(&[(0, 1), (500, 1)]);
        let requests = chance.between(1, 12) as u32;
        let mut line = LineCase::closed(requests, habits);
        let plan = &mut line.case.plan;
        plan.threads = chance.between(1, 3) as u32;
        plan.connections = plan.threads * chance.between(1, 4) as u32;
        let is_silent = line.habits.silent_per_mille > 0;
        line.case.load_at_random(chance, service_ns, is_silent);
        line
    }

    fn play(&self) -> (Played, Vec<Truth>) {
        let network = |number: u32, slots: u32| {
            let seed = self.habits.seed ^ u64::from(number) << 32;
            Network::new(seed, LineServers::new(Habits { seed, ..self.habits.clone() }, slots as usize))
        };
        let (played, networks) = self.case.play_over(network, || LineProtocol::new(self.habits.permits));
        let truths = networks.iter().map(|network| network.take(|servers| &mut servers.truth)).collect();
        (played, truths)
    }

    /// What of its measurement is not what the networks saw, when it is played.
    fn faults(&self) -> Vec<String> {
        let (played, truths) = self.play();
        self.differences(&played, &truths)
    }

    /// What of its measurement is not what the networks saw.
    fn differences(&self, played: &Played, truths: &[Truth]) -> Vec<String> {
        let m = played.measurement.as_ref().unwrap();
        let mut faults = random_shares::faults(&self.case, played);
        faults.extend(m.broken_identities.iter().cloned());
        let mut same = |what: &str, recorder: u64, truth: u64| {
            if recorder != truth {
                faults.push(format!("{what}: {recorder} recorded, {truth} true"));
            }
        };
        let ends = played.window_ends(m);
        let within = |all: &dyn Fn(&Truth) -> Vec<(u64, u64)>| -> Vec<u64> {
            let counted = truths.iter().zip(&ends).flat_map(|(truth, end_ns)| {
                all(truth).into_iter().filter(|(at_ns, _)| (m.window_start_ns..*end_ns).contains(at_ns))
            });
            counted.map(|(_, n)| n).collect()
        };
        let count = |all: fn(&Truth) -> Vec<(u64, u64)>| within(&all).iter().sum::<u64>();
        same("sent", m.requests.sent, count(|t| t.sent.iter().map(|at| (*at, 1)).collect()));
        same("written bytes", m.sent_bytes, count(|t| bytes(&t.writes)));
        same("read bytes", m.read_bytes, count(|t| bytes(&t.reads)));
        if self.habits.silent_per_mille == 0 {
            same(
                "completed",
                m.requests.completed,
                count(|t| t.answered.iter().map(|(at, _)| (*at, 1)).collect()),
            );
            same("failed", m.requests.failed, count(|t| t.failed.iter().map(|at| (*at, 1)).collect()));
            let services = SparseHistogram::of_values(within(&|truth| truth.answered.clone()));
            if m.latency.parts().service.completed != services {
                faults.push("the service times are not the network's".to_owned());
            }
        }
        faults
    }

    #[track_caller]
    fn sound(&self) -> Measurement {
        let faults = self.faults();
        assert!(faults.is_empty(), "{}\n{self:#?}", faults.join("\n"));
        self.play().0.measurement.unwrap()
    }
}

fn bytes(counted: &[(u64, usize)]) -> Vec<(u64, u64)> {
    counted.iter().map(|(at_ns, count)| (*at_ns, *count as u64)).collect()
}

#[test]
fn random_line_servers_are_measured_as_simulated() {
    sound_for_all_seeds(CASES, &ONCE_WRONG, |seed| LineCase::of_seed(seed).faults());
}

#[test]
fn a_record_that_is_not_the_truth_is_a_difference() {
    type Change = fn(&mut Truth, u64);
    let line = LineCase::closed(2, Habits::ideal(MS));
    let (played, truths) = line.play();
    assert_eq!(line.differences(&played, &truths), Vec::<String>::new());
    let at_ns = played.measurement.as_ref().unwrap().window_start_ns;
    let changes: [(&str, Change); 6] = [
        ("sent", |truth, at_ns| truth.sent.push(at_ns)),
        ("completed", |truth, at_ns| truth.answered.push((at_ns, MS))),
        ("failed", |truth, at_ns| truth.failed.push(at_ns)),
        ("written bytes", |truth, at_ns| truth.writes.push((at_ns, 1))),
        ("read bytes", |truth, at_ns| truth.reads.push((at_ns, 1))),
        ("service times", |truth, _| truth.answered.first_mut().unwrap().1 += 1_000),
    ];
    for (what, change) in changes {
        let mut other = vec![truths[0].clone()];
        change(&mut other[0], at_ns);
        let said = line.differences(&played, &other).join("\n");
        assert!(said.contains(what), "{what}: {said:?}");
    }
}

#[test]
fn an_answer_that_overtakes_others_is_its_own_requests() {
    let mut habits = Habits::ideal(0);
    // The first takes all of the time but the last millisecond, the others a millisecond each.
    habits.durations_ns = vec![99 * MS, MS];
    let m = LineCase::closed(2, habits).sound();
    let services = (0..99).map(|_| MS).chain([99 * MS]);
    assert_eq!(m.latency.parts().service.completed, SparseHistogram::of_values(services));
}

#[test]
fn one_request_whose_time_is_over_takes_no_other_with_it() {
    let mut habits = Habits::ideal(0);
    habits.durations_ns = vec![1_000 * MS, MS];
    let mut line = LineCase::closed(2, habits);
    line.case.plan.timeout = Duration::from_millis(50);
    let (played, truths) = line.play();
    let m = played.measurement.unwrap();
    assert_eq!(m.broken_identities, Vec::<String>::new());
    assert_eq!((m.requests.failed, failures(&m, ErrorKind::RequestTimeout)), (1, 1));
    let waited = SparseHistogram::of_values([50 * MS]);
    assert_eq!(m.latency.parts().response.failed, waited, "given up when its time was over");
    assert_eq!((truths[0].taken_back, truths[0].connects, m.run_total.connections), (1, 1, 1));
}

#[test]
fn a_server_s_permits_bound_what_it_is_asked_at_once() {
    let mut habits = Habits::ideal(10 * MS);
    habits.permits = 3;
    let mut line = LineCase::closed(8, habits);
    let m = line.sound();
    let most = line.play().1[0].most_active;
    // In 100 ms each of three places carries nine whole requests; the tenth's answer comes with the end.
    assert_eq!((most, m.requests.completed, m.requests.in_flight), (3, 27, 3));
    // At a rate, what waits for a permit waits for a connection, and is charged to it.
    line.case.plan.arrivals = Arrivals::Constant(Rate::per_s(1_000.0).unwrap());
    let m = line.sound();
    assert!(m.latency.parts().connection_wait.max() > 0);
    assert_eq!(line.play().1[0].most_active, 3);
}

#[test]
fn a_line_on_an_idle_connection_does_not_end_it() {
    let mut habits = Habits::ideal(MS);
    (habits.repermits_per_mille, habits.permits) = (1_000, 2);
    let mut line = LineCase::closed(1, habits);
    line.case.plan.arrivals = Arrivals::Constant(Rate::per_s(100.0).unwrap());
    let m = line.sound();
    let share = &line.play().0.parts[0][0];
    assert!(share.protocol_bytes > 0 && m.requests.completed > 0);
    assert_eq!((m.run_total.connections, m.requests.failed), (1, 0));
}
