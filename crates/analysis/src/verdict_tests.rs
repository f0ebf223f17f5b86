//! Each reason is raised by one measurement and not by its neighbour.

use std::collections::BTreeMap;

use prony_model::fleet::{AgentRecord, FleetRecord, LostAgent};
use prony_model::histogram::SparseHistogram;
use prony_model::host::{CpuQuota, Host, HostWindow};
use prony_model::measurement::{ErrorTally, Http2Use};
use prony_model::observed::Observed;
use prony_model::plan::ProtocolId;
use prony_model::recorded_plan::RecordedPlan;
use prony_model::server::{SampleColumns, ServerSamples};
use prony_model::server_host::ServerHostWindow;

use super::*;
use crate::testing::{Line, closed_plan, constant_plan, healthy};
use crate::trial;

const S: u64 = 1_000_000_000;

/// What is seen beside a measurement.
#[derive(Default)]
struct Seen {
    host_window: Option<HostWindow>,
    embedded_target: bool,
    /// The share of its one CPU that the server used.
    server_share: Option<f64>,
    host: Host,
}

fn judge(m: &Measurement, plan: &RecordedPlan, seen: &Seen) -> prony_model::Trial {
    let window_ns = m.window_end_ns - m.window_start_ns;
    let server = seen.server_share.map(|share| ServerSamples {
        cpu_method: String::new(),
        memory_method: String::new(),
        cpus: vec![0],
        startup_ns: 0,
        window_cpu_ns: (share * window_ns as f64) as u64,
        peak_memory_bytes: 0,
        processes: 1,
        threads: 1,
        columns: SampleColumns::default(),
        peak_pss_bytes: None,
        host: None,
        services: Vec::new(),
    });
    let observed = Observed {
        host_window: seen.host_window.clone(),
        embedded_target: seen.embedded_target,
        server,
        ..Observed::new(m.clone(), plan.clone())
    };
    trial::judge(&observed, &seen.host)
}

fn reasons(m: &Measurement, plan: &RecordedPlan, seen: &Seen) -> Vec<Reason> {
    judge(m, plan, seen).verdict.reasons
}

fn has(m: &Measurement, plan: &RecordedPlan, code: Code) -> bool {
    reasons(m, plan, &Seen::default()).iter().any(|r| r.code == code)
}

fn fail(m: &mut Measurement, kind: ErrorKind, count: u64) {
    m.requests.failed += count;
    m.errors.insert(kind, ErrorTally { count, first: "the first message".to_owned() });
}

#[test]
fn errors_above_one_percent_come_first() {
    let mut m = healthy(10, 990);
    fail(&mut m, ErrorKind::Reset, 100);
    assert!(!has(&m, &closed_plan(), Code::Errors), "1 % is not over 1 %");
    fail(&mut m, ErrorKind::ClosedEarly, 20);
    m.workers[0].busy_ns = 10 * S;
    let seen = reasons(&m, &closed_plan(), &Seen::default());
    assert_eq!((seen[0].code, seen[0].effect), (Code::Errors, Effect::Note));
    assert!(seen[0].detail.contains("reset 100, closed_early 20"), "{}", seen[0].detail);
}

#[test]
fn what_nobody_asked_for_makes_a_load_invalid() {
    let mut m = healthy(10, 2000);
    assert!(!has(&m, &closed_plan(), Code::UnaskedResponses));
    m.run_total.unasked = 3;
    let trial = judge(&m, &closed_plan(), &Seen::default());
    assert_eq!(trial.verdict.validity, Validity::Invalid);
    assert_eq!(trial.verdict.reasons[0].code, Code::UnaskedResponses);
    assert!(trial.verdict.reasons[0].detail.contains("3 connections"));
}

#[test]
fn where_nothing_completed_the_advice_names_what_is_spoken() {
    let advice = |url: &str, protocol: ProtocolId, failed: Option<(ErrorKind, Option<u16>)>| {
        let mut m = healthy(10, 0);
        m.status.clear();
        m.requests.in_flight = 5;
        if let Some((kind, status)) = failed {
            fail(&mut m, kind, 20);
            m.status.extend(status.map(|status| (status, 20)));
        }
        let plan = RecordedPlan { url: url.to_owned(), protocol, ..closed_plan() };
        let seen = reasons(&m, &plan, &Seen::default());
        let errors = seen.into_iter().find(|r| r.code == Code::Errors).unwrap();
        format!("{}: {}", errors.detail, errors.advice)
    };
    let closed = Some((ErrorKind::ClosedEarly, None));
    for failed in [closed, Some((ErrorKind::Reset, None)), None] {
        let said = advice("http://h/", ProtocolId::Http1, failed);
        assert!(said.contains("https://") && said.contains("--http2"), "{said}");
    }
    assert!(advice("http://h/", ProtocolId::Http1, None).contains("none of 5 requests had a response"));
    let said = advice("https://h/", ProtocolId::Http1, closed);
    assert!(!said.contains("https://") && said.contains("give --http2"), "{said}");
    assert!(advice("http://h/", ProtocolId::H2c, closed).contains("leave --http2 out"));
    let said = advice("http://h/", ProtocolId::Http1, Some((ErrorKind::UnexpectedStatus, Some(400))));
    assert!(said.contains("https://") && said.contains("400"), "{said}");
    for other in [(ErrorKind::UnexpectedStatus, Some(404)), (ErrorKind::Tls, None)] {
        assert!(!advice("http://h/", ProtocolId::Http1, Some(other)).contains("https://"));
    }
}

#[test]
fn a_broken_identity_is_invalid() {
    let mut m = healthy(10, 2000);
    assert!(!has(&m, &closed_plan(), Code::Arithmetic));
    m.broken_identities.push("1 + 1 = 3".to_owned());
    let trial = judge(&m, &closed_plan(), &Seen::default());
    assert_eq!(trial.verdict.validity, Validity::Invalid);
    assert_eq!(trial.verdict.reasons[0].detail, "1 + 1 = 3");
}

#[test]
fn wrong_answers_are_invalid_only_where_right_ones_were_given() {
    let mut m = healthy(10, 2000);
    fail(&mut m, ErrorKind::BodyMismatch, 1);
    assert!(!has(&m, &closed_plan(), Code::WrongAnswer));
    assert!(has(&m, &RecordedPlan { expect_body: true, ..closed_plan() }, Code::WrongAnswer));
    let mut m = healthy(10, 2000);
    fail(&mut m, ErrorKind::UnexpectedStatus, 1);
    assert!(!has(&m, &closed_plan(), Code::WrongAnswer));
    let plan = RecordedPlan { expect_status: Some(200), ..closed_plan() };
    assert!(has(&m, &plan, Code::WrongAnswer));
    assert_eq!(judge(&m, &plan, &Seen::default()).verdict.validity, Validity::Invalid);
}

#[test]
fn one_connect_without_a_port_makes_the_throughput_invalid() {
    let mut m = healthy(10, 2000);
    fail(&mut m, ErrorKind::ConnectRefused, 1);
    assert!(!has(&m, &closed_plan(), Code::PortsExhausted));
    fail(&mut m, ErrorKind::NoPorts, 1);
    assert!(has(&m, &closed_plan(), Code::PortsExhausted));
}

#[test]
fn a_busy_worker_is_saturated_unless_the_server_is_the_limit() {
    let mut m = healthy(10, 2000);
    m.workers[0].busy_ns = 9 * S - 1;
    assert!(!has(&m, &closed_plan(), Code::ClientSaturated));
    m.workers[0].busy_ns = 9 * S;
    let seen =
        |beside: &Seen| reasons(&m, &closed_plan(), beside).iter().any(|r| r.code == Code::ClientSaturated);
    assert!(seen(&Seen::default()));
    assert!(seen(&Seen { server_share: Some(0.94), ..Default::default() }));
    assert!(!seen(&Seen { server_share: Some(0.96), ..Default::default() }));
    assert!(!seen(&Seen { embedded_target: true, ..Default::default() }));
}

#[test]
fn waits_beside_others_free_connections_are_uneven_workers() {
    let mut m = healthy(10, 2000);
    m.workers[0].waited_beside_free = 200;
    m.workers[0].waited_beside_free_ns = 200 * 3_000_000;
    let plan = constant_plan(2000.0);
    assert!(!has(&m, &plan, Code::UnevenWorkers), "1 % is not over 1 %");
    m.workers[0].waited_beside_free = 202;
    assert!(has(&m, &plan, Code::UnevenWorkers));
}

#[test]
fn times_by_the_user_clock_of_a_busy_client_are_suspect() {
    let mut m = healthy(10, 2000);
    m.workers[0].busy_ns = 9 * S;
    for (clock, queued) in [(ReceiveClock::User, true), (ReceiveClock::Kernel, false)] {
        m.clock = clock;
        let found = reasons(&m, &closed_plan(), &Seen::default());
        let reason = found.iter().find(|r| r.code == Code::ClientQueue);
        assert_eq!(reason.is_some(), queued);
        if let Some(reason) = reason {
            assert_eq!(
                (reason.effect, reason.affects.join(" ").as_str()),
                (Effect::Suspect, "response service")
            );
        }
    }
    m.clock = ReceiveClock::User;
    m.workers[0].busy_ns = 9 * S - 1;
    assert!(!has(&m, &closed_plan(), Code::ClientQueue));
}

#[test]
fn late_sends_are_suspect() {
    let lag = |ns: u64, wait: u64| {
        let mut m = healthy(10, 2000);
        (m.latency.rest, m.latency.plain) = (m.latency.parts(), SparseHistogram::default());
        m.latency.rest.send_lag = SparseHistogram::of_values([ns + wait; 20_000]);
        m.latency.rest.lateness = SparseHistogram::of_values([ns; 20_000]);
        has(&m, &constant_plan(2000.0), Code::LateSends)
    };
    // The response's p50 is 1 ms: 100 µs is the limit either way.
    assert!(lag(120_000, 0));
    assert!(!lag(90_000, 0));
    assert!(!lag(90_000, 40_000_000), "waits for a connection are not the client's lateness");
    assert!(lag(400_000, 40_000_000));
}

#[test]
fn waits_for_a_connection_are_no_late_sends() {
    let m = Line { rate_per_s: 2000, served_per_s: 1500, ..Line::default() }.measure();
    assert!(!has(&m, &constant_plan(2000.0), Code::LateSends));
}

#[test]
fn unsent_requests_with_free_connections_are_rate_not_reached() {
    let mut m = healthy(10, 1980);
    m.requests.scheduled = 20_000;
    let plan = constant_plan(2000.0);
    assert!(!has(&m, &plan, Code::RateNotReached), "1 % is not over 1 %");
    m.requests.sent = 19_700;
    assert!(has(&m, &plan, Code::RateNotReached));
    let mut refused = m.clone();
    refused.errors.insert(ErrorKind::ConnectRefused, ErrorTally { count: 300, first: String::new() });
    assert!(!has(&refused, &plan, Code::RateNotReached), "they were tried in time");
    assert!(!has(&m, &closed_plan(), Code::RateNotReached));
    m.workers[0].in_flight_integral_ns = 49 * 10 * S;
    assert!(!has(&m, &plan, Code::RateNotReached), "all connections were taken");
}

#[test]
fn gaps_over_one_percent_of_the_window_are_host_noise() {
    let mut m = healthy(10, 2000);
    m.workers[0].gaps_over_1ms_sum_ns = S / 10;
    assert!(!has(&m, &closed_plan(), Code::HostNoisy));
    m.workers[0].gaps_over_1ms_sum_ns = S / 10 + 1;
    assert!(has(&m, &closed_plan(), Code::HostNoisy));
    assert_eq!(judge(&m, &closed_plan(), &Seen::default()).verdict.validity, Validity::Suspect);
    m.window_end_ns = m.window_start_ns + host::NOISE_WINDOW_MIN_NS - 1;
    assert!(!has(&m, &closed_plan(), Code::HostNoisy), "too short to tell");
}

#[test]
fn long_turns_of_the_clients_own_work_are_no_host_noise() {
    let mut m = healthy(10, 2000);
    m.workers[0].gaps_over_1ms_sum_ns = 9 * S;
    m.workers[0].busy_ns = 9 * S;
    m.client.cpu_ns = 9 * S;
    assert!(!has(&m, &closed_plan(), Code::HostNoisy), "it was on its CPU all the time");
    m.client.cpu_ns = 8 * S;
    assert!(has(&m, &closed_plan(), Code::HostNoisy), "for a second it was not");
}

/// The reasons of a healthy measurement on a host that did this.
fn on_host(host_window: HostWindow, embedded_target: bool, cpus: &[u32]) -> Vec<Code> {
    let seen = Seen { host_window: Some(host_window), embedded_target, ..Seen::default() };
    let plan = RecordedPlan { cpus: cpus.to_vec(), ..closed_plan() };
    reasons(&healthy(10, 2000), &plan, &seen).into_iter().map(|r| r.code).collect()
}

#[test]
fn stolen_time_and_waits_for_a_cpu_are_host_noise() {
    let stolen = |steal: f64, steal_ns: u64| {
        on_host(HostWindow { steal: Some(steal), steal_ns: Some(steal_ns), ..Default::default() }, false, &[])
    };
    assert_eq!(stolen(0.011, 110_000_000), [Code::HostNoisy]);
    assert_eq!(stolen(0.01, 100_000_000), []);
    assert_eq!(stolen(0.04, 40_000_000), [], "four steps of the kernel's count");
    let waited = |wait: f64, embedded, target_is_local, cpus: &[u32]| {
        let host = HostWindow { run_queue_wait: Some(wait), target_is_local, ..Default::default() };
        on_host(host, embedded, cpus)
    };
    assert_eq!(waited(0.021, false, false, &[]), [Code::HostNoisy]);
    assert_eq!(waited(0.021, false, true, &[1]), [Code::HostNoisy]);
    assert_eq!(waited(0.02, false, true, &[1]), []);
    assert_eq!(waited(0.5, false, true, &[]), [], "it shares the server's CPUs");
    assert_eq!(waited(0.5, true, true, &[1]), [], "Prony's own target");
    assert_eq!(on_host(HostWindow::default(), false, &[]), [], "what cannot be told is no finding");
}

#[test]
fn a_cpu_quota_is_named_in_place_of_the_gaps_that_it_makes() {
    let quota = CpuQuota {
        group: "/sys/fs/cgroup/pod".to_owned(),
        quota_us: 50_000,
        period_us: 100_000,
        periods: 36,
        throttled_periods: 34,
        throttled_ns: S,
    };
    let mut m = healthy(10, 2000);
    m.workers[0].gaps_over_1ms_sum_ns = 5 * S;
    let seen = |throttled_ns| Seen {
        host_window: Some(HostWindow {
            cpu_quota: Some(CpuQuota { throttled_ns, ..quota.clone() }),
            run_queue_wait: Some(0.5),
            ..HostWindow::default()
        }),
        ..Seen::default()
    };
    let found = reasons(&m, &closed_plan(), &seen(S));
    assert_eq!(found.iter().map(|r| r.code).collect::<Vec<_>>(), [Code::Throttled]);
    assert!(found[0].detail.contains("(0.5 CPUs) was used up in 34 of 36 periods"), "{}", found[0].detail);
    assert_eq!(found[0].effect, Effect::Suspect);
    // A hundredth of a second of ten: 0.1 % exactly, which is let pass.
    let found = reasons(&m, &closed_plan(), &seen(S / 100));
    assert_eq!(found.iter().map(|r| r.code).collect::<Vec<_>>(), [Code::HostNoisy]);
    // Agents say it of themselves.
    let fleet = of_fleet(healthy(10, 2000), vec![agent("one")], None, Code::Throttled);
    assert!(fleet.is_none());
}

#[test]
fn listen_overflows_are_noted_where_the_target_is_local() {
    let overflown = |overflows, drops, target_is_local| {
        let (listen_overflows, listen_drops) = (Some(overflows), Some(drops));
        let host = HostWindow { listen_overflows, listen_drops, target_is_local, ..Default::default() };
        on_host(host, false, &[])
    };
    assert_eq!(overflown(1, 1, true), [Code::ListenOverflow]);
    assert_eq!(overflown(0, 1, true), [Code::ListenOverflow]);
    assert_eq!(overflown(0, 0, true), []);
    assert_eq!(overflown(9, 9, false), [], "it was another server's");
}

#[test]
fn what_the_servers_host_lost_or_turned_away_is_noted() {
    let noted = |host: ServerHostWindow| {
        let mut observed = Observed::new(healthy(10, 2000), closed_plan());
        observed.server = Some(ServerSamples { host: Some(host), ..ServerSamples::default() });
        let trial = trial::judge(&observed, &Host::default());
        trial.verdict.reasons.into_iter().map(|reason| reason.code).collect::<Vec<_>>()
    };
    let quiet = ServerHostWindow { packets_sent: Some(10_000), ..ServerHostWindow::default() };
    let again = |segments| ServerHostWindow { tcp_retransmits: Some(segments), ..quiet.clone() };
    assert_eq!(noted(again(10)), []);
    assert_eq!(noted(again(11)), [Code::PacketsLost]);
    assert_eq!(noted(ServerHostWindow { packets_dropped: Some(1), ..quiet.clone() }), [Code::PacketsLost]);
    assert_eq!(noted(ServerHostWindow { listen_drops: Some(1), ..quiet }), [Code::ListenOverflow]);
}

#[test]
fn merely_tolerated_responses_are_noted_and_change_no_figure() {
    let mut m = healthy(10, 2000);
    assert!(!has(&m, &closed_plan(), Code::ToleratedResponses));
    let before = judge(&m, &closed_plan(), &Seen::default());
    m.tolerated = BTreeMap::from([(Tolerance::Folded, 12), (Tolerance::Long, 1)]);
    let mut trial = judge(&m, &closed_plan(), &Seen::default());
    let reason = trial.verdict.reasons.pop().unwrap();
    assert_eq!((reason.code, reason.effect), (Code::ToleratedResponses, Effect::Note));
    assert!(reason.affects.is_empty());
    let said = "12 with a header folded over several lines, 1 with a header section over 64 KiB";
    assert!(reason.detail.ends_with(said), "{}", reason.detail);
    assert_eq!((reason.values["folded"], reason.values["long"], reason.values.len()), (12.0, 1.0, 2));
    assert_eq!(trial, before);
    m.tolerated = BTreeMap::from([(Tolerance::RepeatedLength, 3), (Tolerance::LengthBesideCoding, 4)]);
    let reason = reasons(&m, &closed_plan(), &Seen::default()).pop().unwrap();
    let said = "3 with one Content-Length several times, 4 with Content-Length beside Transfer-Encoding";
    assert!(reason.detail.ends_with(said), "{}", reason.detail);
}

#[test]
fn fewer_streams_than_asked_for_are_noted() {
    let (mut m, mut plan) = (healthy(10, 2000), closed_plan());
    plan.pipeline = 32;
    for (streams, noted) in [(32, false), (31, true)] {
        m.http2 = Some(Http2Use { streams, ..Http2Use::default() });
        assert_eq!(has(&m, &plan, Code::FewerStreams), noted, "{streams}");
    }
    let reason = reasons(&m, &plan, &Seen::default()).pop().unwrap();
    assert_eq!((reason.values["streams"], reason.values["streams_asked"]), (31.0, 32.0));
}

#[test]
fn bodies_that_wait_for_the_servers_windows_are_noted() {
    let (mut m, plan) = (healthy(10, 2000), closed_plan());
    let in_flight_ns: u64 = m.workers.iter().map(|worker| worker.in_flight_integral_ns).sum();
    assert!(in_flight_ns > 0);
    for (held_ns, noted) in [(in_flight_ns / 20, false), (in_flight_ns / 10, true)] {
        m.http2 = Some(Http2Use { streams: 1, held_ns, ..Http2Use::default() });
        assert_eq!(has(&m, &plan, Code::StalledByWindow), noted, "{held_ns}");
    }
    let reason = reasons(&m, &plan, &Seen::default()).pop().unwrap();
    assert!((reason.values["held_share"] - 0.1).abs() < 0.001, "{reason:?}");
}

#[test]
fn a_drift_is_not_steady() {
    let mut m = healthy(10, 2000);
    assert!(!has(&m, &closed_plan(), Code::NotSteady));
    for (i, bin) in m.bins.each.iter_mut().enumerate() {
        bin.completed = 150 + i as u64;
        bin.response_sum_ns = bin.completed * 1_000_000;
    }
    let seen = reasons(&m, &closed_plan(), &Seen::default());
    let reason = seen.iter().find(|r| r.code == Code::NotSteady).unwrap();
    assert_eq!(reason.affects, ["throughput"]);
}

#[test]
fn overload_is_noted() {
    let m = Line { rate_per_s: 2000, served_per_s: 1900, ..Line::default() }.measure();
    let seen = reasons(&m, &constant_plan(2000.0), &Seen::default());
    let reason = seen.iter().find(|r| r.code == Code::Overload).unwrap();
    // Of each second's 2,000 there are 100 too many: 50 ms of the line's work.
    assert!((reason.values["growth_per_s_ns"] / 50e6 - 1.0).abs() < 0.02, "{reason:?}");
    let m = Line::default().measure();
    assert!(!has(&m, &constant_plan(2000.0), Code::Overload));
}

#[test]
fn a_withheld_p99_is_a_reason_with_the_duration_it_needs() {
    assert!(!has(&healthy(10, 1000), &closed_plan(), Code::TooFewSamples));
    let seen = reasons(&healthy(10, 500), &closed_plan(), &Seen::default());
    let reason = seen.iter().find(|r| r.code == Code::TooFewSamples).unwrap();
    assert_eq!(reason.effect, Effect::Withheld);
    assert!(reason.detail.ends_with("50 samples beyond it, 100 are needed: -d 20s"), "{}", reason.detail);
    assert_eq!(validity(&seen), Validity::Valid);
}

#[test]
fn a_window_too_short_for_throughput_says_how_long_would_do() {
    let noted = |m: &Measurement| {
        reasons(m, &closed_plan(), &Seen::default()).into_iter().find(|r| r.code == Code::WideInterval)
    };
    assert_eq!(noted(&healthy(10, 1000)), None);
    let mut m = healthy(1, 1000);
    for (at, bin) in m.bins.each.iter_mut().enumerate() {
        bin.completed = if at < 4 { bin.completed * 3 / 2 } else { bin.completed * 2 / 3 };
    }
    let reason = noted(&m).unwrap();
    let half = reason.values["half_width_share"];
    assert!(half > 0.3 && reason.effect == Effect::Note, "{reason:?}");
    let needed_s = (half * half * 100.0).ceil();
    assert_eq!(reason.values["needed_ns"], needed_s * 1e9);
    assert!(reason.detail.contains(&format!("about -d {needed_s}s would give ±10.0 %")), "{reason:?}");
    assert_eq!(validity(&[reason]), Validity::Valid);
}

#[test]
fn a_censored_p99_is_not_a_lack_of_samples() {
    let mut m = healthy(10, 1000);
    m.latency.rest.response.waiting = SparseHistogram::of_values([30 * S; 500]);
    assert!(!has(&m, &closed_plan(), Code::TooFewSamples));
}

#[test]
fn a_container_between_client_and_server_is_mentioned() {
    let (m, plan) = (healthy(10, 1_000), closed_plan());
    let said = |host: Host, embedded_target| {
        let seen = Seen { host, embedded_target, ..Seen::default() };
        reasons(&m, &plan, &seen).into_iter().find(|r| r.code == Code::Container).map(|r| r.detail)
    };
    let of = |virtualisation: Option<&str>, container_network, kernel: &str| Host {
        virtualisation: virtualisation.map(str::to_owned),
        container_network,
        kernel: kernel.to_owned(),
        ..Host::default()
    };
    let linux = "Linux 6.12.1";
    assert_eq!(said(of(Some("docker"), false, linux), false), None, "--network host");
    assert!(said(of(Some("docker"), true, linux), false).unwrap().contains("bridge"));
    assert_eq!(said(of(Some("docker"), true, linux), true), None, "no packet leaves the container");
    let desktop = said(of(Some("docker"), true, "Linux 6.10.14-linuxkit"), false).unwrap();
    assert!(desktop.contains("bridge") && desktop.contains("Docker Desktop"), "{desktop}");
    assert!(said(of(Some("hyper-v"), false, "Linux 5.15.0-microsoft-standard-WSL2"), false).is_some());
    assert_eq!(said(of(Some("kvm"), false, linux), false), None);
}

/// What is said of a load, carried as planned, by a fleet that did this.
fn of_fleet(m: Measurement, agents: Vec<AgentRecord>, lost: Option<LostAgent>, code: Code) -> Option<Reason> {
    let m = Measurement { fleet: Some(FleetRecord { agents, lost, ..FleetRecord::default() }), ..m };
    reasons(&m, &constant_plan(2000.0), &Seen::default()).into_iter().find(|reason| reason.code == code)
}

fn agent(name: &str) -> AgentRecord {
    AgentRecord { name: name.to_owned(), ..AgentRecord::default() }
}

#[path = "verdict_causes_tests.rs"]
mod causes;

#[path = "verdict_connections_tests.rs"]
mod connections;
#[path = "verdict_fleet_tests.rs"]
mod fleet;
