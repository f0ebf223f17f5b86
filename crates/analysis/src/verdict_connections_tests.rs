//! What connections tell of a server is said where it is so, and noise is no group.

use prony_model::host::Listening;
use prony_model::measurement::ByConnection;
use prony_model::plan::ProtocolId;
use prony_model::recorded_plan::RecordedList;

use super::*;
use crate::testing::noise;

const MS: u64 = 1_000_000;

fn on_this_machine(listening: Option<Listening>) -> Seen {
    let host = Host { somaxconn: 4096, ..Host::default() };
    let window = HostWindow { target_is_local: true, listening, ..HostWindow::default() };
    Seen { host_window: Some(window), host, ..Seen::default() }
}

fn found(m: &Measurement, plan: &RecordedPlan, seen: &Seen, code: Code) -> Option<Reason> {
    reasons(m, plan, seen).into_iter().find(|reason| reason.code == code)
}

#[test]
fn retried_connects_are_the_listen_queue_s_here_and_may_be_losses() {
    let plan = closed_plan();
    let mut m = healthy(10, 1000);
    let here = on_this_machine(Some(Listening { sockets: 1, queue_max: 5 }));
    assert!(found(&m, &plan, &here, Code::ConnectsRetried).is_none());
    m.run_total.retried = 1;
    let reason = found(&m, &plan, &here, Code::ConnectsRetried).expect("one of 50, over loopback");
    assert_eq!((reason.values["queue_max"], reason.values["somaxconn"]), (5.0, 4096.0));
    assert!(reason.detail.contains("its queue takes 5, net.core.somaxconn is 4096"), "{}", reason.detail);
    // Of a network one may be lost.
    assert!(found(&m, &plan, &Seen::default(), Code::ConnectsRetried).is_none());
    m.run_total.retried = 10;
    let reason = found(&m, &plan, &Seen::default(), Code::ConnectsRetried).expect("10 of 50");
    assert!(reason.detail.contains("lost, or dropped"), "{}", reason.detail);
    m.run_total.connections = 1_000;
    assert!(found(&m, &plan, &Seen::default(), Code::ConnectsRetried).is_none());
}

/// 150 connections for 50, of which these were ended: after so many requests, and so long.
fn ended(after: &[u64], after_ns: &[u64]) -> Measurement {
    let mut m = healthy(10, 1000);
    m.run_total.connections = 150;
    (m.by_connection.ended_after, m.by_connection.ended_after_ns) = (after.to_vec(), after_ns.to_vec());
    m
}

#[test]
fn ends_have_a_rule_where_nearly_all_follow_it() {
    let rule = |m: &Measurement, plan: &RecordedPlan| {
        let reason = found(m, plan, &Seen::default(), Code::ConnectionsClosed).expect("150 for 50");
        let value = |name: &str| reason.values.get(name).map(|value| *value as u64);
        (value("closed_after"), value("closed_after_ns"))
    };
    let plan = closed_plan();
    let (spread, same) = ((10..40).map(|i| i * MS).collect::<Vec<u64>>(), vec![20 * MS; 30]);
    let counts: Vec<u64> = (300..330).collect();
    assert_eq!(rule(&ended(&[1000; 30], &spread), &plan), (Some(1000), None));
    assert_eq!(rule(&ended(&counts, &same), &plan), (None, Some(20 * MS)));
    assert_eq!(rule(&ended(&counts, &spread), &plan), (None, None));
    // After exactly so many, how long it took is no rule; of few, it may be either.
    assert_eq!(rule(&ended(&[1000; 30], &same), &plan), (Some(1000), None));
    assert_eq!(rule(&ended(&[5; 30], &same), &plan), (Some(5), Some(20 * MS)));
    // A tenth may differ; nine ends are none.
    let mut most = vec![1000; 27];
    most.extend([3, 30, 300]);
    assert_eq!(rule(&ended(&most, &spread), &plan), (Some(1000), None));
    most.truncate(9);
    assert_eq!(rule(&ended(&most, &spread[..9]), &plan), (None, None));
    // Streams that are under way at once are counted apart.
    let streams = RecordedPlan { pipeline: 8, protocol: ProtocolId::H2c, ..plan };
    let near: Vec<u64> = (0..30).map(|i| 1000 + i % 8).collect();
    assert_eq!(rule(&ended(&near, &spread), &streams).0, Some(1003));
}

/// A load whose connections have these means in the two halves, over so many workers of Prony's.
fn by_connection(means_ms: &[[f64; 2]], workers: u32) -> Measurement {
    let column = |half: usize| means_ms.iter().map(|means| (means[half] * 1e6) as u64).collect::<Vec<u64>>();
    let mut m = healthy(10, 1000);
    m.by_connection = ByConnection {
        per_worker: vec![means_ms.len() as u32 / workers; workers as usize],
        answered: [0, 1].map(|half| column(half).iter().map(|ns| 5_000_000_000 / ns.max(&1)).collect()),
        mean_response_ns: [column(0), column(1)],
        ..ByConnection::default()
    };
    m
}

fn thirteen_and_37() -> Vec<[f64; 2]> {
    let wobble = |i: u32| 1.0 + 0.01 * f64::from(i % 5);
    (0..50).map(|i| if i % 4 == 1 { [0.9 * wobble(i); 2] } else { [2.1 * wobble(i), 2.1] }).collect()
}

#[test]
fn groups_of_connections_are_named_with_their_sizes() {
    let (m, plan) = (by_connection(&thirteen_and_37(), 1), closed_plan());
    let reason = found(&m, &plan, &Seen::default(), Code::ConnectionGroups).expect("13 and 37");
    assert_eq!(
        (reason.values["fastest"], reason.values["slowest"], reason.values["groups"]),
        (13.0, 37.0, 2.0)
    );
    let shared = on_this_machine(Some(Listening { sockets: 1, queue_max: 5 }));
    let several = on_this_machine(Some(Listening { sockets: 4, queue_max: 5 }));
    let said = |seen| found(&m, &plan, seen, Code::ConnectionGroups).unwrap().detail;
    assert!(said(&shared).contains("whoever comes first accepts") && said(&several).contains("SO_REUSEPORT"));
    // Over HTTP/2 streams are counted, and of a closed loop that says as much.
    let mut streams = m.clone();
    streams.by_connection.mean_response_ns = Default::default();
    let http2 = RecordedPlan { protocol: ProtocolId::H2c, ..plan.clone() };
    let reason = found(&streams, &http2, &Seen::default(), Code::ConnectionGroups).expect("by counts");
    assert!((reason.values["fastest_mean_ns"] / 0.92e6 - 1.0).abs() < 0.03, "{:?}", reason.values);
    assert!(found(&streams, &constant_plan(1000.0), &Seen::default(), Code::ConnectionGroups).is_none());
}

#[test]
fn what_is_the_client_s_the_list_s_or_one_half_s_is_no_group() {
    let none = |means: &[[f64; 2]], workers, plan: &RecordedPlan| {
        let m = by_connection(means, workers);
        assert!(found(&m, plan, &Seen::default(), Code::ConnectionGroups).is_none(), "{means:?}");
    };
    let plan = closed_plan();
    // One of two workers of Prony's is slower.
    let by_worker: Vec<[f64; 2]> = (0..50).map(|i| [if i < 25 { 0.9 } else { 2.1 }; 2]).collect();
    none(&by_worker, 2, &plan);
    // A list gives each connection the same of its requests.
    let targets = RecordedList {
        format: prony_model::list::Format::Plain,
        lines: 2,
        requests: 2,
        order: prony_model::list::Order::InTurn,
        fingerprint: String::new(),
        expecting: 0,
        servers: Vec::new(),
    };
    none(&thirteen_and_37(), 1, &RecordedPlan { targets: Some(targets), ..plan.clone() });
    // A stall that some met, in one half.
    let stalled: Vec<[f64; 2]> = (0..50).map(|i| if i % 4 == 1 { [3.0, 1.0] } else { [1.0, 1.0] }).collect();
    none(&stalled, 1, &plan);
    // Two that differ, and too few connections.
    let two: Vec<[f64; 2]> = (0..50).map(|i| [if i < 2 { 2.0 } else { 1.0 }; 2]).collect();
    none(&two, 1, &plan);
    none(&thirteen_and_37()[..7], 1, &plan);
    // Too few responses of one for its mean to say much.
    let mut few = by_connection(&thirteen_and_37(), 1);
    few.by_connection.answered[1][7] = 29;
    assert!(found(&few, &plan, &Seen::default(), Code::ConnectionGroups).is_none());
}

/// Servers whose responses are alike by connection, however they vary by request: none of 3,000 has groups.
#[test]
fn responses_that_vary_by_request_make_no_groups() {
    let plan = closed_plan();
    for seed in 0..3_000 {
        let mut values = noise(seed);
        let connections = [8, 20, 50][seed as usize % 3];
        let requests = [30, 100][seed as usize % 2];
        let means: Vec<[f64; 2]> = (0..connections)
            .map(|_| {
                [0, 1].map(|_| {
                    let response = |value: f64| match seed % 4 {
                        // Two kinds of requests; a heavy tail; stalls that a few meet; nearly equal ones.
                        0 => {
                            if value > 0.5 {
                                23.0
                            } else {
                                3.0
                            }
                        }
                        1 => value.exp(),
                        2 => {
                            if value > 3.0 {
                                200.0
                            } else {
                                1.0
                            }
                        }
                        _ => 1.0 + 0.05 * value,
                    };
                    let all = values.by_ref().take(requests);
                    all.map(response).sum::<f64>() / requests as f64
                })
            })
            .collect();
        let mut m = by_connection(&means, 1);
        m.by_connection.answered = [vec![requests as u64; means.len()], vec![requests as u64; means.len()]];
        assert!(found(&m, &plan, &Seen::default(), Code::ConnectionGroups).is_none(), "{seed}: {means:?}");
    }
}

#[test]
fn what_the_server_used_in_periodic_stalls_is_said() {
    let plan = closed_plan();
    let mut m = healthy(60, 1000);
    for bin in [50, 152, 254, 356, 458, 560] {
        m.bins.each[bin].completed = 0;
    }
    // Samples at the bins' edges: the CPU used in each of them.
    let said = |used_ns: &dyn Fn(usize) -> u64, last: usize| {
        let at_ns = (0..=last as i64).map(|i| i * 100_000_000).collect();
        let used = (0..last).scan(0, |sum, i| {
            *sum += used_ns(i);
            Some(*sum)
        });
        let cpu_ns = std::iter::once(0).chain(used).collect();
        let columns = SampleColumns { at_ns, cpu_ns, ..SampleColumns::default() };
        let server = ServerSamples { cpus: vec![0], columns, ..ServerSamples::default() };
        let observed = Observed { server: Some(server), ..Observed::new(m.clone(), plan.clone()) };
        let reasons = trial::judge(&observed, &Host::default()).verdict.reasons;
        reasons.into_iter().find(|reason| reason.code == Code::PeriodicStalls).expect("six stalls")
    };
    let is_stall = |i: usize| i >= 50 && (i - 50).is_multiple_of(102);
    let waits = said(&|i| if is_stall(i) { 1_000_000 } else { 40_000_000 }, 600);
    assert!((waits.values["cpu_in_stalls_share"] - 0.01).abs() < 1e-9, "{:?}", waits.values);
    assert!((waits.values["cpu_between_share"] - 0.4).abs() < 1e-9, "{:?}", waits.values);
    assert!(waits.detail.contains("it waited"), "{}", waits.detail);
    let computes = said(&|i| if is_stall(i) { 100_000_000 } else { 40_000_000 }, 600);
    assert!(computes.detail.contains("it computed something else"), "{}", computes.detail);
    // Samples that end before the window say nothing.
    assert!(!said(&|_| 40_000_000, 500).detail.contains("CPU"));
}
