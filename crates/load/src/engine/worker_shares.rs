//! What of a plan each worker has: an origin, connections, requests, lines of a list, single requests to be kept.

use std::sync::Arc;

use crate::pace::Schedule;
use crate::pace::request_order::{Lines, Places, RequestOrder, mixed};
use crate::recorder::window_delta::Shard;
use prony_model::plan::{Arrivals, Plan};
use prony_model::rate::Rate;

/// What the first `part` of `of` have of `total` together.
fn up_to(total: u64, part: u64, of: u64) -> u64 {
    let share = u128::from(total) * u128::from(part) / u128::from(of.max(1));
    u64::try_from(share).unwrap_or(total)
}

/// A load divided over its workers. Of O origins worker w has number w mod O: each group of O workers loads all of them,
/// and groups are alike, whichever process they are in.
#[derive(Debug)]
pub(crate) struct Division<'p> {
    pub(crate) plan: &'p Plan,
    groups: u64,
    /// The list's lines of the first so many origins, from none to all.
    lines: Vec<u64>,
    /// Each origin's; empty without a list.
    lists: Vec<Arc<Lines>>,
}

impl Division<'_> {
    pub(crate) fn of(plan: &Plan, workers: u32) -> Division<'_> {
        let origins = plan.origins().len();
        let each = plan.work.list().map_or(vec![1; origins], |list| list.lines_of_origins(origins));
        let sum = |sum: &mut u64, lines: u64| {
            *sum += lines;
            Some(*sum)
        };
        Division {
            plan,
            groups: u64::from(workers) / origins as u64,
            lines: std::iter::once(0).chain(each.into_iter().scan(0, sum)).collect(),
            lists: Lines::of_each(plan).into_iter().map(Arc::new).collect(),
        }
    }

    fn origins(&self) -> u32 {
        self.plan.origins().len() as u32
    }

    pub(crate) fn origin_of(&self, worker: u32) -> usize {
        (worker % self.origins()) as usize
    }

    pub(crate) fn of_origin(&self, workers: u32) -> u32 {
        workers / self.origins()
    }

    fn group_of(&self, worker: u32) -> u64 {
        self.of_origin(worker).into()
    }

    fn places(&self, worker: u32) -> Option<&Arc<Places>> {
        self.lists.get(self.origin_of(worker))?.places.as_ref()
    }

    /// How many of the load's first `count` requests are the origin's of this worker.
    fn own(&self, worker: u32, count: u64) -> u64 {
        self.places(worker).map_or(count, |places| places.among(count))
    }

    fn connections_before(&self, group: u64) -> u64 {
        up_to(self.plan.connections.into(), group, self.groups)
    }

    /// One for each worker of its group, and of the group's others a part by its origin's lines.
    pub(crate) fn connections(&self, worker: u32) -> u32 {
        let (group, at) = (self.group_of(worker), self.origin_of(worker));
        let all = self.connections_before(group + 1) - self.connections_before(group);
        let others = all.saturating_sub(self.origins().into());
        let before = |origin: usize| up_to(others, self.lines[origin], self.lines[self.lines.len() - 1]);
        (u64::from(all > at as u64) + before(at + 1) - before(at)) as u32
    }

    /// The number of its first connection among all.
    pub(crate) fn first_place(&self, worker: u32) -> u32 {
        (0..worker).map(|worker| self.connections(worker)).sum()
    }

    /// How many requests its connections take at first, where they take a number.
    pub(crate) fn first_lives(&self, worker: u32) -> Vec<u64> {
        let first = self.first_place(worker);
        (0..self.connections(worker)).filter_map(|at| self.plan.first_life(first + at)).collect()
    }

    /// What earlier workers of its origin have of `total` together, and with it: in proportion to connections, so that none
    /// is done long before the others.
    fn range(&self, worker: u32, total: u64) -> (u64, u64) {
        let group = self.group_of(worker);
        let before = |group| up_to(total, self.connections_before(group), self.plan.connections.into());
        (before(group), before(group + 1))
    }

    /// Its share of `-n`, in closed arrivals.
    pub(crate) fn requests(&self, worker: u32) -> u64 {
        self.plan.stop.requests.map_or(u64::MAX, |requests| {
            let (before, after) = self.range(worker, self.own(worker, requests));
            after - before
        })
    }

    pub(crate) fn request_order(&self, worker: u32) -> Option<RequestOrder> {
        let list = self.lists.get(self.origin_of(worker))?;
        let requests = self.plan.stop.requests.map_or(0, |requests| self.own(worker, requests));
        let before = self.range(worker, requests).0;
        Some(RequestOrder::of(self.plan, self.group_of(worker), self.groups, before, list))
    }

    /// Its arrivals; `None` where those are closed.
    pub(crate) fn schedule(&self, worker: u32, shard: Shard) -> Option<Schedule> {
        let Plan { arrivals, stop, seed, .. } = self.plan;
        let (place, of) = (self.of_origin(worker), self.of_origin(shard.of));
        self.poisson_of_agent(worker, shard)
            .or_else(|| Schedule::of_origin(arrivals, place, of, stop.requests, *seed, self.places(worker)))
    }

    /// A worker's arrivals where a Poisson process is applied from several places: a stream of its own, of its part of the
    /// rate, drawn from seed and number. Independent processes add up to one of the summed rate, however far apart the
    /// clocks are; every n-th arrival of one stream would be none. `None` where one place applies all of it.
    fn poisson_of_agent(&self, worker: u32, shard: Shard) -> Option<Schedule> {
        let Arrivals::Poisson(rate) = &self.plan.arrivals else { return None };
        if shard.count >= shard.of {
            return None;
        }
        let up_to = |total, workers: u32| up_to(total, workers.into(), shard.of.into());
        let part = |total| up_to(total, shard.first + shard.count) - up_to(total, shard.first);
        let rate = Arrivals::Poisson(Rate::per_s(part(rate.as_micro_per_s()) as f64 / 1e6)?);
        let seed = mixed(self.plan.seed ^ mixed(u64::from(shard.first / shard.count.max(1)) + 1));
        let (place, of) = (self.of_origin(worker - shard.first), self.of_origin(shard.count));
        let limit = self.plan.stop.requests.map(part);
        Schedule::of_origin(&rate, place, of, limit, seed, self.places(worker))
    }

    /// How many single requests it keeps: of -n its requests' share, else an equal one.
    pub(super) fn samples(&self, worker: u32) -> u64 {
        let kept = self.own(worker, self.plan.samples_max);
        if self.plan.arrivals.are_open() {
            return kept.div_ceil(self.groups.max(1));
        }
        let (before, after) = self.range(worker, kept);
        after - before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_model::list::{Order, TargetList};
    use prony_model::plan::Work;
    use prony_model::rate::Stage;
    use prony_model::target::Target;
    use proptest::prelude::*;
    use std::time::Duration;

    fn arrivals(plan: &Plan, agents: u32, until_ns: u64) -> Vec<Vec<u64>> {
        let of = agents * plan.threads;
        let division = Division::of(plan, of);
        let of_agent = |agent: u32| {
            let shard = Shard { first: agent * plan.threads, count: plan.threads, of };
            let mut all = Vec::new();
            for worker in shard.workers() {
                let mut schedule = division.poisson_of_agent(worker, shard).unwrap();
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
        let none = |plan: &Plan, shard| Division::of(plan, 2).poisson_of_agent(0, shard).is_none();
        assert!(none(&plan, Shard::whole(&plan)));
        plan.stop.duration = Some(Duration::from_secs(1));
        plan.arrivals = Arrivals::Closed;
        assert!(none(&plan, Shard { first: 0, count: 1, of: 2 }));
    }

    fn listed(origins: &[u32], order: Order, groups: u32) -> Plan {
        let text: String = origins.iter().map(|origin| format!("http://h:{}/\n", 80 + origin)).collect();
        let (target, list) = TargetList::parse(text.as_bytes(), None, "GET", order).unwrap();
        let mut plan = Plan::closed(target);
        plan.work = Work::List(list);
        plan.threads = groups * plan.origins().len() as u32;
        plan.connections = plan.threads;
        plan
    }

    fn list(plan: &Plan) -> &TargetList {
        plan.work.list().unwrap()
    }

    fn course() -> impl Strategy<Value = Arrivals> {
        let rate = |per_s: u64| Rate::per_s(per_s as f64).unwrap();
        let stage = |to| Stage { duration: Duration::from_secs(1), to };
        prop_oneof![
            (1u64..1_000_000).prop_map(move |per_s| Arrivals::Constant(rate(per_s))),
            (1u64..1_000_000).prop_map(move |per_s| Arrivals::Poisson(rate(per_s))),
            (1u64..500_000_000).prop_map(move |to| Arrivals::RateStages(vec![stage(to), stage(to / 2)])),
            (prop::collection::vec(0u64..1_000_000_000, 1..40), any::<bool>()).prop_map(
                |(mut due, looped)| {
                    due.push(0);
                    due.sort_unstable();
                    Arrivals::Replay(prony_model::replay::Replay::new(due, looped, Default::default()))
                }
            ),
        ]
    }

    fn orders() -> impl Strategy<Value = Order> {
        prop_oneof![Just(Order::InTurn), Just(Order::Shuffled)]
    }

    /// All requests of these workers at a rate, each with its instant, in the order in which they are due.
    fn due(plan: &Plan) -> Vec<(u64, u32)> {
        let (division, whole) = (Division::of(plan, plan.threads), Shard::whole(plan));
        let mut all = Vec::new();
        for worker in whole.workers() {
            let mut schedule = division.schedule(worker, whole).unwrap();
            let mut order = division.request_order(worker).unwrap();
            let mut taken = 0;
            while let Some(due) = schedule.next_ns() {
                assert_eq!(schedule.due_by(due), taken.max(schedule.due_before(due)));
                let request = order.take();
                let origin = list(plan).requests[request as usize].origin as usize;
                assert_eq!(origin, division.origin_of(worker), "a worker loads its own origin alone");
                all.push((due, request));
                (taken, _) = (taken + 1, schedule.take());
            }
            assert_eq!(schedule.due_before(u64::MAX), taken, "of worker {worker}");
        }
        all.sort_unstable();
        all
    }

    proptest! {
        #[test]
        fn each_arrival_is_of_one_worker_and_its_line(
            origins in prop::collection::vec(0u32..4, 1..12), groups in 1u32..4, seed: u64,
            arrivals in course(), order in orders(), requests in 0u64..60,
        ) {
            let mut plan = listed(&origins, order, groups);
            (plan.arrivals, plan.seed, plan.stop.requests) = (arrivals, seed, Some(requests));
            let mut whole = Schedule::new(&plan.arrivals, 0, 1, Some(requests), seed).unwrap();
            let mut expected = Vec::new();
            while let Some(due) = whole.next_ns() {
                expected.push((due, list(&plan).lines[expected.len() % origins.len()]));
                whole.take();
            }
            let found = due(&plan);
            let instants = |all: &[(u64, u32)]| all.iter().map(|(due, _)| *due).collect::<Vec<_>>();
            prop_assert_eq!(instants(&found), instants(&expected));
            if order == Order::InTurn {
                expected.sort_unstable();
                prop_assert_eq!(&found, &expected);
            }
            // Each whole round has every line once, in whatever order.
            let rounds = found.len() / origins.len();
            let count = |request| found.iter().filter(|(_, of)| *of == request).count();
            for (request, lines) in (0u32..).zip(list(&plan).lines_of_each()) {
                let lines = lines as usize;
                prop_assert!((rounds * lines..=(rounds + 1) * lines).contains(&count(request)));
            }
        }

        #[test]
        fn a_closed_count_is_exact_line_by_line(
            origins in prop::collection::vec(0u32..4, 1..12), groups in 1u32..4, seed: u64,
            order in orders(), requests in 1u64..200, more in 0u32..100,
        ) {
            let mut plan = listed(&origins, order, groups);
            plan.connections += more;
            (plan.seed, plan.stop.requests, plan.samples_max) = (seed, Some(requests), requests);
            let division = Division::of(&plan, plan.threads);
            let each = || 0..plan.threads;
            prop_assert_eq!(each().map(|worker| division.connections(worker)).sum::<u32>(), plan.connections);
            prop_assert!(each().all(|worker| division.connections(worker) > 0));
            prop_assert!(each().all(|worker| division.samples(worker) == division.requests(worker)));
            let mut sent = vec![0; list(&plan).requests.len()];
            for worker in each() {
                let mut order = division.request_order(worker).unwrap();
                (0..division.requests(worker)).for_each(|_| sent[order.take() as usize] += 1);
            }
            prop_assert_eq!(sent.iter().sum::<u64>(), requests);
            let round = origins.len() as u64;
            for (request, lines) in (0u32..).zip(list(&plan).lines_of_each()) {
                let rest = list(&plan).lines.iter().take((requests % round) as usize);
                let in_turn = requests / round * lines + rest.filter(|line| **line == request).count() as u64;
                let least = requests / round * lines;
                let sent = sent[request as usize];
                let fits = if order == Order::InTurn { in_turn..=in_turn } else { least..=least + lines };
                prop_assert!(fits.contains(&sent), "{} of {:?}", sent, fits);
            }
        }
    }

    #[test]
    fn connections_are_by_lines_and_one_for_each_worker() {
        let of = |origins: &[u32], groups, connections| {
            let mut plan = listed(origins, Order::InTurn, groups);
            plan.connections = connections;
            let division = Division::of(&plan, plan.threads);
            (0..plan.threads).map(|worker| division.connections(worker)).collect::<Vec<_>>()
        };
        assert_eq!(of(&[0, 1], 1, 100), [50, 50]);
        assert_eq!(of(&[0, 1, 1, 1], 1, 10), [3, 7]);
        assert_eq!(of(&[0, 1, 1, 1], 2, 20), [3, 7, 3, 7], "groups are alike");
        assert_eq!(of(&[0, 1, 2], 1, 3), [1, 1, 1]);
        assert_eq!(of(&[0, 0], 3, 10), [3, 3, 4]);
    }

    #[test]
    fn an_agent_has_its_own_stream_of_each_origin() {
        let mut plan = listed(&[0, 1, 1], Order::Shuffled, 1);
        plan.arrivals = Arrivals::Poisson(Rate::per_s(900.0).unwrap());
        plan.stop.requests = Some(90);
        let streams = arrivals(&plan, 3, u64::MAX);
        assert_eq!(streams.iter().map(Vec::len).collect::<Vec<_>>(), [30, 30, 30]);
    }
}
