//! Verdicts about the agents of a fleet.

use super::*;

#[test]
fn an_agent_that_its_quota_kept_from_running_is_named() {
    let throttled = |throttled_ns: Option<u64>| {
        let agents = vec![agent("one"), AgentRecord { throttled_ns, ..agent("two") }];
        of_fleet(healthy(10, 2000), agents, None, Code::ThrottledAgents).map(|reason| reason.detail)
    };
    // Of 10 s.
    assert_eq!(throttled(Some(S / 50)).unwrap(), "a CPU quota kept agents from running: two (20.0 ms)");
    assert_eq!((throttled(Some(S / 100)), throttled(Some(0)), throttled(None)), (None, None, None));
}

#[test]
fn an_agent_that_sends_late_is_named_though_the_sum_is_on_time() {
    let late = |lateness_p50_ns, lateness_p99_ns| {
        let agents = vec![agent("one"), AgentRecord { lateness_p50_ns, lateness_p99_ns, ..agent("two") }];
        of_fleet(healthy(10, 2000), agents, None, Code::LateAgents).map(|reason| reason.detail)
    };
    let says = |name: &str| format!("50.0 % of the agents sent late by their own doing: two ({name} 1.00 s)");
    assert_eq!(late(Some(S), Some(S)).unwrap(), says("p50"));
    assert_eq!(late(Some(0), Some(S)).unwrap(), says("p99"));
    assert_eq!((late(Some(0), Some(0)), late(None, None)), (None, None));
    // One alone is the whole load, whose lateness is judged as on one machine.
    let alone = vec![AgentRecord { lateness_p50_ns: Some(S), ..agent("one") }];
    assert_eq!(of_fleet(healthy(10, 2000), alone, None, Code::LateAgents), None);
}

#[test]
fn a_window_cut_by_a_lost_agent_is_suspect_or_if_short_invalid() {
    let lost = |seconds: u64, planned_ns: Option<u64>| {
        let lost = LostAgent { agent: "two".to_owned(), why: "it was gone".to_owned(), planned_ns };
        let found =
            of_fleet(healthy(seconds, 2000), vec![agent("one"), agent("two")], Some(lost), Code::AgentLost);
        let reason = found.unwrap();
        assert!(
            reason.detail.starts_with("the agent two was lost: it was gone; the window ends at "),
            "{reason:?}"
        );
        assert_eq!(reason.detail.ends_with("too short"), reason.effect == Effect::Invalid, "{reason:?}");
        reason.effect
    };
    // Half of what was asked for, and a second, are enough.
    assert_eq!(
        (lost(10, Some(20 * S)), lost(10, None), lost(1, Some(2 * S))),
        (Effect::Suspect, Effect::Suspect, Effect::Suspect)
    );
    assert_eq!(lost(10, Some(20 * S + 1)), Effect::Invalid);
    let mut less = healthy(1, 2000);
    less.window_end_ns -= 1;
    let gone = LostAgent { agent: "two".to_owned(), why: "it was gone".to_owned(), planned_ns: None };
    let reason = of_fleet(less, vec![agent("one")], Some(gone), Code::AgentLost).unwrap();
    assert_eq!(reason.effect, Effect::Invalid);
    assert_eq!(of_fleet(healthy(10, 2000), vec![agent("one")], None, Code::AgentLost), None);
}
