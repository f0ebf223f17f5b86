//! A load that agents apply: their pieces become one measurement.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use prony_host::monotonic_ns;
use prony_load::{Gathered, LoadError, Snapshot, WindowDelta};
use prony_model::fleet::{AgentRecord, FleetRecord, LiveAgent, LostAgent};
use prony_model::host::Host;
use prony_model::limits::numbers;
use prony_model::list::ORIGINS_MAX;
use prony_model::measurement::{ClientCost, Measurement};
use prony_model::plan::Plan;
use prony_model::printable::harmless_within;
use prony_model::units::nanoseconds;

use crate::controller::Event;
use crate::job::{AgentEnd, Piece};
use crate::protocol::LEASE_NS;

/// The longest reason that is taken from an agent.
const REASON_MAX_CHARS: usize = 1_000;

pub(crate) struct Trial<'a> {
    plan: &'a Plan,
    names: Vec<String>,
    gathered: Gathered<'a>,
    ends: BTreeMap<usize, AgentEnd>,
    hosts: BTreeMap<usize, Host>,
    pub(crate) start_ns: Option<u64>,
    started_at_ns: u64,
    lost: Option<(usize, String)>,
    pub(crate) is_over: bool,
}

impl<'a> Trial<'a> {
    pub(crate) fn of(plan: &'a Plan, names: Vec<String>) -> Trial<'a> {
        Trial {
            plan,
            gathered: Gathered::new(plan, names.len()),
            names,
            ends: BTreeMap::new(),
            hosts: BTreeMap::new(),
            start_ns: None,
            started_at_ns: 0,
            lost: None,
            is_over: false,
        }
    }

    pub(crate) fn take(&mut self, event: Event<Piece>) -> Result<(), LoadError> {
        match event {
            Event::Started(at_ns) => {
                let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                self.started_at_ns = nanoseconds(wall) + at_ns.saturating_sub(monotonic_ns());
                self.start_ns = Some(at_ns);
            }
            Event::Piece { agent, what: Piece::Part { share, is_last, host } } => {
                let host = host.map(|host| host.of_another());
                share
                    .check()
                    .and_then(|()| host.iter().try_for_each(Host::check))
                    .map_err(|why| cannot_be(&self.names[agent], &why))?;
                // What lies ahead of the clock cannot have been measured.
                let ran_ns = self.start_ns.map_or(0, |at| monotonic_ns().saturating_sub(at));
                if share.end_ns > ran_ns.saturating_add(LEASE_NS) {
                    return Err(LoadError::Fleet(format!(
                        "The agent {} sent figures that no load can have measured yet.",
                        self.names[agent]
                    )));
                }
                self.gathered.add(agent, *share, is_last);
                if let Some(host) = host {
                    self.hosts.insert(agent, host);
                }
            }
            Event::Piece { agent, what: Piece::End(end) } => {
                check_end(&end).map_err(|why| cannot_be(&self.names[agent], &why))?;
                self.ends.insert(agent, end);
            }
            Event::Lost { agent, why } => {
                self.lost.get_or_insert((agent, harmless_within(&why, REASON_MAX_CHARS)));
            }
            Event::Failed { agent, why, is_lost } => {
                let error = if is_lost { LoadError::AgentLost } else { LoadError::Fleet };
                return Err(error(format!(
                    "The load did not start. Agent {}: {}",
                    self.names[agent],
                    sentence(&harmless_within(&why, REASON_MAX_CHARS))
                )));
            }
            Event::Over => self.is_over = true,
        }
        Ok(())
    }

    pub(crate) fn live(&self) -> Vec<LiveAgent> {
        let of = |(agent, name): (usize, &String)| {
            let share = self.gathered.share_of(agent);
            LiveAgent {
                name: name.clone(),
                sent: share.map_or(0, |share| share.run_total.sent),
                completed: share.map_or(0, |share| share.run_total.completed),
                failed: share.map_or(0, |share| share.requests.failed),
            }
        };
        self.names.iter().enumerate().map(of).collect()
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.gathered.snapshot()
    }

    /// The measurement of all agents; `clocks` are the bounds of their clocks, in nanoseconds.
    pub(crate) fn finish(
        self,
        clocks: &[u64],
        flags: Vec<String>,
        nats_server: &str,
        stop_asked: bool,
    ) -> Result<Measurement, LoadError> {
        let agents = self.agent_records(clocks);
        let broken = self.names.iter().enumerate().flat_map(|(agent, name)| {
            self.gathered.broken_identities_of(agent).into_iter().map(move |what| format!("{name}: {what}"))
        });
        let broken: Vec<String> = broken.collect();
        let lost = self.lost.as_ref().map(|(agent, why)| LostAgent {
            agent: self.names[*agent].clone(),
            why: why.clone(),
            planned_ns: self.plan.stop.duration.map(nanoseconds),
        });
        let nats_server = Some(nats_server.to_owned());
        let fleet = FleetRecord { agents, lost: lost.clone(), flags, nats_server };
        let known = self.known(fleet, stop_asked);
        let mut measured = match (self.gathered.finish(known), lost) {
            (Some(measured), _) => measured,
            (None, Some(lost)) => {
                return Err(LoadError::AgentLost(format!(
                    "The agent {} was lost before all agents had given a second of the window: {}.",
                    lost.agent, lost.why
                )));
            }
            (None, None) if stop_asked => return Err(LoadError::Interrupted),
            (None, None) => return Err(LoadError::WarmUpTookAll),
        };
        measured.broken_identities.extend(broken);
        // A clock's bound, which comes with each beat, is in it, too.
        measured.check().map_err(|why| {
            LoadError::Fleet(format!("The agents sent figures that no load can measure: {why}."))
        })?;
        Ok(measured)
    }

    /// What is kept of each agent; `clocks` are the bounds of their clocks, in nanoseconds.
    fn agent_records(&self, clocks: &[u64]) -> Vec<AgentRecord> {
        let window_ns = self.gathered.window_ns();
        let of = |(agent, (name, bound)): (usize, (&String, &u64))| {
            let (share, end) = (self.gathered.share_of(agent), self.ends.get(&agent));
            let host = self.hosts.get(&agent).cloned();
            AgentRecord { host, ..agent_record(name, self.plan.threads, share, end, *bound, window_ns) }
        };
        self.names.iter().zip(clocks).enumerate().map(of).collect()
    }

    /// What is known of the load beside the shares, by what the agents said at their ends.
    fn known(&self, fleet: FleetRecord, stop_asked: bool) -> Measurement {
        let end = |of: fn(&AgentEnd) -> u64| self.ends.values().map(of);
        Measurement {
            started_at_ns: self.started_at_ns,
            address: self.ends.values().next().map(|end| end.address.clone()).unwrap_or_default(),
            schedule_start_ns: self.start_ns.unwrap_or(0),
            interrupted: stop_asked && self.ends.values().any(|end| end.interrupted),
            client: ClientCost {
                process_cpu_ns: end(|end| end.process_cpu_ns).sum(),
                threads: self.plan.threads * fleet.agents.len() as u32,
                max_rss_bytes: end(|end| end.max_rss_bytes).max().unwrap_or(0),
                waits: self.ends.values().map(|end| end.waits).max().unwrap_or_default(),
                ..ClientCost::default()
            },
            request_bytes: end(|end| end.request_bytes).max().unwrap_or(0),
            fleet: Some(fleet),
            ..Measurement::default()
        }
    }
}

fn cannot_be(name: &str, why: &str) -> LoadError {
    LoadError::Fleet(format!("The agent {name} sent figures that no load can measure: {why}."))
}

fn check_end(end: &AgentEnd) -> Result<(), String> {
    numbers([end.request_bytes])?;
    let mut addresses = end.address.split(", ");
    let are_valid = addresses.by_ref().take(ORIGINS_MAX).all(|address| address.parse::<SocketAddr>().is_ok());
    if !are_valid || addresses.next().is_some() {
        return Err("its target's address is not a valid one".to_owned());
    }
    agent_record("", 0, None, Some(end), 0, 0).check()
}

fn sentence(why: &str) -> String {
    if why.ends_with(['.', '?']) { why.to_owned() } else { format!("{why}.") }
}

fn agent_record(
    name: &str,
    threads: u32,
    share: Option<&WindowDelta>,
    end: Option<&AgentEnd>,
    bound_ns: u64,
    window_ns: u64,
) -> AgentRecord {
    let mut record =
        AgentRecord { name: name.to_owned(), threads, clock_bound_ns: bound_ns, ..AgentRecord::default() };
    if let Some(share) = share {
        let parts = share.latency.parts();
        let from = |least: u64, value: u64| (share.requests.completed >= least).then_some(value);
        record.run_sent = share.run_total.sent;
        record.completed = share.requests.completed;
        record.failed = share.requests.failed;
        record.cpu_ns = share.cpu_ns;
        let busy = share.workers.values().map(|worker| worker.busy_ns).max().unwrap_or(0);
        record.busiest_worker_ppm = busy.saturating_mul(1_000_000).checked_div(window_ns).unwrap_or(0);
        record.send_lag_p99_ns = from(100, parts.send_lag.value_at_quantile(0.99));
        record.lateness_p50_ns = from(1, parts.lateness.value_at_quantile(0.5));
        record.lateness_p99_ns = from(100, parts.lateness.value_at_quantile(0.99));
    }
    if let Some(end) = end {
        record.process_cpu_ns = end.process_cpu_ns;
        record.max_rss_bytes = end.max_rss_bytes;
        record.throttled_ns = end.throttled_ns;
        let bounds = [end.clock_before, end.clock_after].into_iter().flatten().map(|clock| clock.bound_ns);
        record.clock_bound_ns = bounds.max().unwrap_or(bound_ns);
        record.clock_offset_ns = end.clock_before.or(end.clock_after).map(|clock| clock.offset_ns);
        let both = end.clock_before.zip(end.clock_after);
        record.clock_moved_ns = both.map(|(before, after)| after.offset_ns.saturating_sub(before.offset_ns));
    }
    record
}

#[cfg(test)]
mod tests {
    use prony_model::clock::Offset;
    use prony_model::target::Target;

    use super::*;
    use crate::controller::Controller;
    use crate::protocol::{Beat, LOST_NS, Phase, Up};

    fn taken(event: Event<Piece>) -> Result<(), LoadError> {
        let plan = Plan::closed(Target::parse("http://10.0.0.1/").unwrap());
        Trial::of(&plan, vec!["red".to_owned()]).take(event)
    }

    #[test]
    fn impossible_figures_of_an_agent_are_refused_with_its_name() {
        let of = |change: fn(&mut AgentEnd)| {
            let mut end = AgentEnd { address: "10.0.0.1:80".to_owned(), ..AgentEnd::default() };
            change(&mut end);
            taken(Event::Piece { agent: 0, what: Piece::End(end) }).map_err(|why| why.to_string())
        };
        assert_eq!(of(|end| end.process_cpu_ns = 1), Ok(()));
        assert_eq!(of(|end| end.address = "10.0.0.1:80, 10.0.0.2:80".to_owned()), Ok(()));
        let hostile: [fn(&mut AgentEnd); 9] = [
            |end| end.address = vec!["10.0.0.1:80"; ORIGINS_MAX + 1].join(", "),
            |end| end.address = "10.0.0.1:80\u{1b}[2J".to_owned(),
            |end| end.address = "x".repeat(1 << 20),
            |end| end.address.clear(),
            |end| end.process_cpu_ns = u64::MAX,
            |end| end.max_rss_bytes = u64::MAX,
            |end| end.request_bytes = u64::MAX,
            |end| end.throttled_ns = Some(u64::MAX),
            |end| end.clock_before = Some(Offset { offset_ns: 0, bound_ns: u64::MAX }),
        ];
        for change in hostile {
            let why = of(change).unwrap_err();
            assert!(
                why.starts_with("The agent red sent figures that no load can measure: ") && why.len() < 200,
                "{why}"
            );
        }
        let host = Some(Box::new(Host { memory_bytes: u64::MAX, ..Host::default() }));
        let what = Piece::Part { share: Box::default(), is_last: true, host };
        let why = taken(Event::Piece { agent: 0, what }).unwrap_err().to_string();
        assert!(why.starts_with("The agent red sent"), "{why}");
    }

    #[test]
    fn an_agents_fault_before_the_start_is_not_anothers_loss() {
        // The second agent has no part in the load, and is lost.
        let mut controller = Controller::of(2, 0);
        controller.begin(0, vec![()], u64::MAX);
        let mut number = 0;
        let mut beat = |controller: &mut Controller<()>, at_ns, failure: Option<&str>| {
            number += 1;
            let phase = if failure.is_some() { Phase::Ended } else { Phase::Preparing };
            let failure = failure.map(str::to_owned);
            let said: Up<Piece> = Up::Beat(Beat { number, trial: 1, phase, failure, clock: None });
            controller.hear(at_ns, 0, said).1
        };
        assert!(beat(&mut controller, LOST_NS, None).is_empty());
        assert!(controller.look::<Piece>(LOST_NS + 1).is_empty());
        assert_eq!(controller.lost(), [1]);
        let failed = beat(&mut controller, LOST_NS + 2, Some("its --key is not there")).remove(0);
        let why = taken(failed).unwrap_err();
        assert!(
            matches!(&why, LoadError::Fleet(why) if why.contains("red: its --key is not there")),
            "{why}"
        );
        // It is lost itself.
        controller.begin(LOST_NS + 3, vec![()], u64::MAX);
        let lost = controller.look(2 * LOST_NS + 4).remove(0);
        let why = taken(lost).unwrap_err();
        assert!(
            matches!(&why, LoadError::AgentLost(why) if why.contains("red: nothing was received from it")),
            "{why}"
        );
    }
}
