//! What of a plan each worker has: connections, requests, lines of a list, single requests to be kept.

use std::sync::Arc;

use crate::pace::Schedule;
use crate::pace::request_order::{Lines, RequestOrder, mixed};
use crate::recorder::window_delta::Shard;
use prony_model::plan::{Arrivals, Plan};
use prony_model::rate::Rate;

/// What the first `workers` of all have of `total` together.
fn up_to(total: u64, workers: u32, of: u32) -> u64 {
    let share = u128::from(total) * u128::from(workers) / u128::from(of.max(1));
    u64::try_from(share).unwrap_or(total)
}

/// A worker's connections, and its share of `-n` in proportion, so that none is done long before the others.
pub(crate) fn shares(plan: &Plan, worker: u32, of: u32) -> (u32, u64) {
    let connections = |workers| up_to(u64::from(plan.connections), workers, of) as u32;
    let (before, after) = (connections(worker), connections(worker + 1));
    let requests = plan.stop.requests.map_or(u64::MAX, |requests| {
        up_to(requests, after, plan.connections) - up_to(requests, before, plan.connections)
    });
    (after - before, requests)
}

pub(crate) fn request_order(
    plan: &Plan,
    worker: u32,
    of: u32,
    list: Option<&Arc<Lines>>,
) -> Option<RequestOrder> {
    let connections = up_to(u64::from(plan.connections), worker, of) as u32;
    let before = plan.stop.requests.map_or(0, |requests| up_to(requests, connections, plan.connections));
    list.map(|list| RequestOrder::of(plan, worker, of, before, list))
}

/// A worker's arrivals where a Poisson process is applied from several places: a stream of its own, of its part of the
/// rate, drawn from seed and number. Independent processes add up to one of the summed rate, however far apart the
/// clocks are; every n-th arrival of one stream would be none. `None` where one place applies all of it.
pub(crate) fn poisson_of_agent(plan: &Plan, worker: u32, shard: Shard) -> Option<Schedule> {
    let Arrivals::Poisson(rate) = &plan.arrivals else { return None };
    if shard.count >= shard.of {
        return None;
    }
    let part =
        |total| up_to(total, shard.first + shard.count, shard.of) - up_to(total, shard.first, shard.of);
    let rate = Rate::per_s(part(rate.as_micro_per_s()) as f64 / 1e6)?;
    let seed = mixed(plan.seed ^ mixed(u64::from(shard.first / shard.count.max(1)) + 1));
    let limit = plan.stop.requests.map(part);
    Schedule::new(&Arrivals::Poisson(rate), worker - shard.first, shard.count, limit, seed)
}

/// How many single requests a worker keeps: of -n its requests' share, else an equal one.
pub(super) fn samples_share(plan: &Plan, worker: u32, of: u32) -> u64 {
    if plan.arrivals.are_open() {
        return plan.samples_max.div_ceil(u64::from(of.max(1)));
    }
    let connections = |workers| up_to(u64::from(plan.connections), workers, of) as u32;
    let kept_by = |workers| up_to(plan.samples_max, connections(workers), plan.connections);
    kept_by(worker + 1) - kept_by(worker)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_model::target::Target;
    use std::time::Duration;

    fn arrivals(plan: &Plan, agents: u32, until_ns: u64) -> Vec<Vec<u64>> {
        let of = agents * plan.threads;
        let of_agent = |agent: u32| {
            let shard = Shard { first: agent * plan.threads, count: plan.threads, of };
            let mut all = Vec::new();
            for worker in shard.workers() {
                let mut schedule = poisson_of_agent(plan, worker, shard).unwrap();
                while let Some(due) = schedule.next_ns().filter(|due| *due < until_ns) {
                    all.push(due);
                    schedule.take();
                }
            }
            all.sort_unstable();
            all
        };
        (0..agents).map(of_agent).collect()
    }

    fn poisson(per_s: f64) -> Plan {
        let mut plan = Plan::closed(Target::parse("http://h/").unwrap());
        plan.arrivals = Arrivals::Poisson(Rate::per_s(per_s).unwrap());
        plan
    }

    #[test]
    fn streams_of_agents_add_up_to_the_rate_and_differ() {
        let mut plan = poisson(900.0);
        plan.threads = 2;
        let streams = arrivals(&plan, 3, 100_000_000_000);
        // 90,000 arrivals, ±5 standard deviations.
        let sum: usize = streams.iter().map(Vec::len).sum();
        assert!(sum.abs_diff(90_000) < 1_500, "{sum}");
        assert!(streams[0] != streams[1] && streams[1] != streams[2]);
        // Variance equals the mean in counts per second of the superposition, whatever the clocks: ±5 standard deviations of it.
        let mut counts = vec![0f64; 100];
        for (agent, stream) in streams.iter().enumerate() {
            for due in stream {
                counts[(due + agent as u64 * 37_000_000) as usize / 1_000_000_000 % 100] += 1.0;
            }
        }
        let mean = counts.iter().sum::<f64>() / 100.0;
        let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / 99.0;
        assert!((variance / mean - 1.0).abs() < 0.71, "{variance} {mean}");
    }

    #[test]
    fn a_count_is_divided_over_agents_and_one_has_no_own_stream() {
        let mut plan = poisson(1_000.0);
        plan.stop.requests = Some(100);
        let counts: Vec<usize> = arrivals(&plan, 3, u64::MAX).iter().map(Vec::len).collect();
        assert_eq!(counts, [33, 33, 34]);
        assert!(poisson_of_agent(&plan, 0, Shard::whole(&plan)).is_none());
        plan.stop.duration = Some(Duration::from_secs(1));
        plan.arrivals = Arrivals::Closed;
        assert!(poisson_of_agent(&plan, 0, Shard { first: 0, count: 1, of: 2 }).is_none());
    }
}
