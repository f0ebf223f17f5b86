//! What connections tell of a server: those that it was slow to accept, those that it ended, those that it serves worse.

use prony_model::code::Code;
use prony_model::measurement::ByConnection;
use prony_model::trial::Reason;
use prony_stats::trend::median;

use super::facts::{Facts, share};
use crate::numbers::{real, real_len, rounded};
use crate::text::{digits, duration, list};

/// How many times the connections asked for must have been opened, because the server closed them.
const REOPENED_MIN: u64 = 2;
/// Ends that a rule is read from, and the share of them that must follow it.
const ENDS_MIN: usize = 10;
const REGULAR_MIN: f64 = 0.9;
const AGE_TOLERANCE: f64 = 0.05;
/// Where all connections carried exactly so many requests, that they were also equally old is the consequence.
const COUNT_RULES_FROM: u64 = 100;

/// Over a network some SYNs are lost: fewer retried connections than this share are no queue's doing.
const RETRIED_MIN: f64 = 0.02;

/// The fewest connections of a worker of Prony's that groups are looked for among.
const CONNECTIONS_MIN: usize = 8;
const ANSWERED_MIN: u64 = 30;
/// A mean so many times the next lower one begins another group; in each half of the window alone a little less.
const GROUP_RATIO: f64 = 1.15;
const HALF_RATIO: f64 = 1.05;
/// By how many standard deviations of a connection's mean, as its halves differ, groups must be apart.
const APART_MIN: f64 = 3.0;
/// Two groups must have so many of the connections, and three.
const GROUP_MIN: f64 = 0.1;
const GROUP_MIN_COUNT: usize = 3;
const NAMED_MAX: usize = 4;

pub(super) fn reasons(f: &Facts<'_>) -> impl Iterator<Item = Reason> {
    [connects_retried(f), connections_closed(f), connection_groups(f)].into_iter().flatten()
}

/// A SYN that finds the queue of connections to be accepted full is dropped, and sent again after 1, 3, 7 s. Over loopback
/// nothing else drops one.
fn connects_retried(f: &Facts<'_>) -> Option<Reason> {
    let (retried, opened) = (f.m.run_total.retried, f.m.run_total.connections);
    let local = f.o.host_window.as_ref().filter(|host| host.target_is_local);
    let is_said = retried > 0 && (local.is_some() || (retried > 1 && share(retried, opened) >= RETRIED_MIN));
    is_said.then(|| {
        let queue = local.and_then(|host| host.listening).map(|listening| listening.queue_max);
        let somaxconn = local.map(|_| f.host.somaxconn).filter(|most| *most > 0);
        let said: Vec<String> = (queue.iter().map(|most| format!("its queue takes {most}")))
            .chain(somaxconn.map(|most| format!("net.core.somaxconn is {most}")))
            .collect();
        let said = if said.is_empty() { String::new() } else { format!(" ({})", said.join(", ")) };
        let cause = match local {
            Some(_) => "the server's listening socket had more connections to accept than its queue takes",
            None => "the first packet of each was lost, or dropped since the server's listen queue was full",
        };
        let reason = Code::ConnectsRetried.reason(format!(
            "{retried} of {opened} connections came about only after a second or more, when the kernel had asked again: \
             {cause}{said}"
        ));
        let reason = queue.into_iter().fold(reason, |r, most| r.with("queue_max", f64::from(most)));
        let reason = somaxconn.into_iter().fold(reason, |r, most| r.with("somaxconn", f64::from(most)));
        reason.with("retried", real(retried)).with("connections", real(opened))
    })
}

fn connections_closed(f: &Facts<'_>) -> Option<Reason> {
    let (opened, asked) = (f.m.run_total.connections, u64::from(f.plan.connections));
    let failed = f.m.run_total.sent.saturating_sub(f.m.run_total.completed) + f.m.run_total.unasked;
    let asks_to_close = |(name, value): &(String, String)| {
        name.eq_ignore_ascii_case("connection") && value.to_ascii_lowercase().contains("close")
    };
    let kept = f.plan.keepalive
        && f.plan.requests_per_connection.is_none()
        && !f.plan.headers.iter().any(asks_to_close)
        && !f.plan.stages.iter().any(|stage| stage.to_connections.is_some());
    // What failed, or was unanswered at the end, and bytes that nobody asked for may each have cost a connection, over the
    // whole run as the connections are: that is no habit of the server's.
    let closed = opened.saturating_sub(asked).saturating_sub(failed);
    (kept && closed >= REOPENED_MIN.saturating_mul(asked)).then(|| {
        let each = real(f.m.run_total.sent) / real(opened);
        let waits = &f.parts.connect_wait;
        let mean_wait_ns = waits.mean();
        let (after, after_ns) = regular_end(f);
        let requests = |n: &u64| if *n == 1 { "one request".to_owned() } else { format!("{n} requests") };
        let rule: Vec<String> = (after.iter().map(requests))
            .chain(after_ns.map(duration))
            .collect();
        let rule = if rule.is_empty() { String::new() } else { format!(", each after {}", rule.join(" and ")) };
        let reason = Code::ConnectionsClosed.reason(format!(
            "the server closed connections that were to be kept{rule}: {opened} were opened for {asked} at a time, one for \
             {} requests; a request waited {} on average for a new one",
            digits(each),
            duration(rounded(mean_wait_ns))
        ));
        let reason = after.map(real).into_iter().fold(reason, |r, value| r.with("closed_after", value));
        let reason = after_ns.map(real).into_iter().fold(reason, |r, ns| r.with("closed_after_ns", ns));
        reason
            .with("opened", real(opened))
            .with("requests_per_connection", each)
            .with("mean_connect_wait_ns", mean_wait_ns)
    })
}

/// After how many requests, and after how long, the server ended nearly all connections that it ended: as far as there is
/// such a number. Both, where it cannot be told which of them is the rule.
fn regular_end(f: &Facts<'_>) -> (Option<u64>, Option<u64>) {
    let ByConnection { ended_after, ended_after_ns, .. } = &f.m.by_connection;
    if ended_after.len() < ENDS_MIN {
        return (None, None);
    }
    // Of requests that a connection carries at once, some are begun when the server counts its last.
    let slack = u64::from(f.plan.pipeline.saturating_sub(1));
    let after = usual(ended_after, |median| real(slack).min(median / 2.0));
    let after_ns = usual(ended_after_ns, |median| AGE_TOLERANCE * median);
    let is_count = slack == 0 && after.is_some_and(|after| after >= COUNT_RULES_FROM);
    (after, after_ns.filter(|_| !is_count))
}

fn usual(values: &[u64], tolerated: impl Fn(f64) -> f64) -> Option<u64> {
    let values: Vec<f64> = values.iter().copied().map(real).collect();
    let median = median(&values)?;
    let near = values.iter().filter(|value| (*value - median).abs() <= tolerated(median)).count();
    (real_len(near) >= REGULAR_MIN * real_len(values.len()) && median >= 1.0).then(|| rounded(median))
}

fn connection_groups(f: &Facts<'_>) -> Option<Reason> {
    // A list in turn may give each connection the same requests again and again; under stages load and time go together.
    let is_one_request = f.plan.targets.as_ref().is_none_or(|list| list.requests == 1);
    if !is_one_request || f.plan.varies() {
        return None;
    }
    let all = mean_responses(f)?;
    let groups = groups(&all)?;
    // A worker of Prony's may itself be slower than another: groups must be seen by each that has enough connections.
    let mut rest = all.as_slice();
    let mut seen = Vec::new();
    for count in &f.m.by_connection.per_worker {
        let (own, others) = rest.split_at_checked(*count as usize)?;
        seen.extend((own.len() >= CONNECTIONS_MIN).then(|| self::groups(own).is_some()));
        rest = others;
    }
    let (fastest, slowest) = (groups.first()?, groups.last()?);
    (seen.iter().all(|seen| *seen) && !seen.is_empty()).then(|| {
        let named = groups.iter().take(NAMED_MAX);
        let named: Vec<String> =
            named.map(|group| format!("{} at {}", group.len, duration(rounded(group.mean_ns)))).collect();
        let more = groups.len().saturating_sub(NAMED_MAX);
        let more = if more > 0 { format!(" and {more} more groups") } else { String::new() };
        let sockets = f.o.host_window.as_ref().and_then(|host| host.listening).map(|seen| seen.sockets);
        let divided = match sockets {
            Some(1) => "; one socket listens, from which whoever comes first accepts".to_owned(),
            Some(several) => format!(
                "; {several} sockets listen on the port (SO_REUSEPORT), between which the kernel divides connections by a \
                 hash and not evenly"
            ),
            None => String::new(),
        };
        let reason = Code::ConnectionGroups.reason(format!(
            "connections are in groups, the same in both halves of the window, by their mean response: {}{more}. Some of \
             the server's workers have more connections than others, or less CPU{divided}",
            list(&named)
        ));
        let reason = sockets.into_iter().fold(reason, |r, sockets| r.with("listening_sockets", f64::from(sockets)));
        reason
            .with("slowest_mean_ns", slowest.mean_ns)
            .with("fastest_mean_ns", fastest.mean_ns)
            .with("slowest", real_len(slowest.len))
            .with("fastest", real_len(fastest.len))
            .with("groups", real_len(groups.len()))
    })
}

/// The mean response of each connection in each half of the window. Over HTTP/2 only in a closed loop, where as many
/// requests are always under way: a mean is their number times the time, over the requests.
fn mean_responses(f: &Facts<'_>) -> Option<Vec<[f64; 2]>> {
    let ByConnection { answered, mean_response_ns, .. } = &f.m.by_connection;
    let at_once = f.m.http2.map_or(u64::from(f.plan.pipeline), |used| used.streams);
    let is_counted = mean_response_ns[0].len() == answered[0].len();
    if (f.plan.is_open() && !is_counted) || answered.iter().flatten().any(|count| *count < ANSWERED_MIN) {
        return None;
    }
    let mean = |half: usize, i: usize| match is_counted {
        true => real(mean_response_ns[half][i]),
        false => real(at_once) * real(f.window_ns) / 2.0 / real(answered[half][i]),
    };
    Some((0..answered[0].len()).map(|i| [mean(0, i), mean(1, i)]).collect())
}

struct Group {
    len: usize,
    mean_ns: f64,
}

/// The groups that these connections are in, the fastest first, by the means of both halves; `None` where there is one.
fn groups(connections: &[[f64; 2]]) -> Option<Vec<Group>> {
    let mut sorted = connections.to_vec();
    let whole = |halves: &[f64; 2]| f64::midpoint(halves[0], halves[1]);
    sorted.sort_by(|a, b| whole(a).total_cmp(&whole(b)));
    let noise = sorted.iter().map(|halves| (halves[0] / halves[1]).ln().powi(2)).sum::<f64>();
    let noise = (noise / real_len(sorted.len())).sqrt() / 2.0;
    let ratio = GROUP_RATIO.max((APART_MIN * noise).exp());
    let groups: Vec<&[[f64; 2]]> = sorted.chunk_by(|a, b| whole(b) < ratio * whole(a)).collect();
    let least = rounded(GROUP_MIN * real_len(sorted.len())).max(GROUP_MIN_COUNT as u64);
    let large = groups.iter().filter(|group| group.len() as u64 >= least).count();
    // One long stall that some connections met makes groups, of one half alone.
    let holds = |pair: &[&[[f64; 2]]]| {
        (0..2).all(|half| {
            let most = pair[0].iter().map(|halves| halves[half]).fold(0.0, f64::max);
            let fewest = pair[1].iter().map(|halves| halves[half]).fold(f64::INFINITY, f64::min);
            fewest >= HALF_RATIO * most
        })
    };
    (sorted.len() >= CONNECTIONS_MIN && large >= 2 && groups.windows(2).all(holds)).then(|| {
        let of = |group: &&[[f64; 2]]| Group {
            len: group.len(),
            mean_ns: group.iter().map(whole).sum::<f64>() / real_len(group.len()),
        };
        groups.iter().map(of).collect()
    })
}
