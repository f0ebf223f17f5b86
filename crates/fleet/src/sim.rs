//! Controller and agents in a simulated network: messages are lost, doubled, late, out of order; ways are cut; agents
//! stop, go on, or die, as may the controller; each clock has its own offset and drift.
//!
//! `PRONY_FLEET_SEEDS=100000 cargo test -p prony-fleet sim` plays more than the usual number of seeds, and
//! `PRONY_FLEET_SEED=N` one alone.

mod fate;

use std::collections::BTreeMap;
use std::env;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::agent::{Act, Agent};
use crate::controller::{Controller, Event};
use crate::protocol::{Answer, LEASE_NS, LOST_NS, Phase, Up};
use fate::{Chance, Fate};

const SEEDS: u64 = 2_000;
const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;
/// A simulated agent looks at its lease and sends a request so often.
const STEP_NS: u64 = 10 * MS;
/// Whatever happens, all is over by then.
const END_NS: u64 = 90 * S;
const DRIFT_PPM_MAX: i64 = 50;

type Piece = Vec<u64>;

#[derive(Debug, Clone)]
enum Message {
    Up(Up<Piece>),
    Down(Answer<u32>),
}

#[derive(Debug, Clone, Copy)]
struct OwnClock {
    ahead_ns: i64,
    drift_ppm: i64,
}

impl OwnClock {
    fn reads(self, true_ns: u64) -> u64 {
        let t = i128::from(true_ns);
        u64::try_from(t + i128::from(self.ahead_ns) + t * i128::from(self.drift_ppm) / 1_000_000).unwrap()
    }
}

#[derive(Debug)]
struct Process {
    core: Agent<Piece>,
    clock: OwnClock,
    ready_at_ns: Option<u64>,
    start_own_ns: u64,
    lent_own_ns: u64,
    stop_own_ns: u64,
    is_loading: bool,
    /// Requests sent in the present second, and seconds given.
    second: Piece,
    seconds: u64,
    is_closing: bool,
    sent: Vec<u64>,
    given: Vec<Piece>,
    was_armed: bool,
    last_sent_true_ns: u64,
    has_left: bool,
}

struct World {
    chance: Chance,
    fate: Fate,
    now_ns: u64,
    sequence: u64,
    mail: BTreeMap<(u64, u64), (usize, Message)>,
    controller: Controller<u32>,
    controller_clock: OwnClock,
    processes: Vec<Process>,
    received: Vec<Vec<Piece>>,
    events: Vec<&'static str>,
    lost: Vec<(usize, u64)>,
    /// Answers that had expired when they came.
    stale: u64,
    faults: Vec<String>,
    is_over: bool,
}

impl World {
    fn of_seed(seed: u64) -> World {
        let mut chance = Chance(ChaCha8Rng::seed_from_u64(seed));
        let fate = Fate::of_seed(&mut chance);
        let mut clock = || OwnClock {
            ahead_ns: chance.between(10 * S, 100_000 * S) as i64,
            drift_ppm: chance.between(0, 2 * DRIFT_PPM_MAX as u64) as i64 - DRIFT_PPM_MAX,
        };
        let controller_clock = clock();
        let process = |clock| Process {
            core: Agent::default(),
            clock,
            ready_at_ns: None,
            start_own_ns: u64::MAX,
            lent_own_ns: 0,
            stop_own_ns: u64::MAX,
            is_loading: false,
            second: Vec::new(),
            seconds: 0,
            is_closing: false,
            sent: Vec::new(),
            given: Vec::new(),
            was_armed: false,
            last_sent_true_ns: 0,
            has_left: false,
        };
        let processes: Vec<Process> = (0..fate.agents).map(|_| process(clock())).collect();
        let mut controller = Controller::of(fate.agents, controller_clock.reads(0));
        controller.begin(controller_clock.reads(0), (0..fate.agents as u32).collect(), 15 * S);
        World {
            received: vec![Vec::new(); fate.agents],
            chance,
            fate,
            now_ns: 0,
            sequence: 0,
            mail: BTreeMap::new(),
            controller,
            controller_clock,
            processes,
            events: Vec::new(),
            lost: Vec::new(),
            stale: 0,
            faults: Vec::new(),
            is_over: false,
        }
    }

    fn controller_lives(&self) -> bool {
        self.fate.controller_dies_ns.is_none_or(|at| self.now_ns < at)
    }

    fn lives(&self, agent: usize) -> bool {
        !self.fate.deaths.iter().any(|(who, at)| *who == agent && self.now_ns >= *at)
    }

    fn runs(&self, agent: usize) -> bool {
        let stopped =
            |(who, from, until): &(usize, u64, u64)| *who == agent && (*from..*until).contains(&self.now_ns);
        self.lives(agent) && !self.processes[agent].has_left && !self.fate.stops.iter().any(stopped)
    }

    fn post(&mut self, agent: usize, message: &Message) {
        let cut =
            |(who, from, until): &(usize, u64, u64)| *who == agent && (*from..*until).contains(&self.now_ns);
        if self.fate.cuts.iter().any(cut) || self.chance.per_mille(self.fate.lost_per_mille) {
            return;
        }
        let copies = 1 + u64::from(self.chance.per_mille(self.fate.doubled_per_mille));
        for _ in 0..copies {
            self.sequence += 1;
            let is_held = self.chance.per_mille(self.fate.held_per_mille);
            let held_ns = if is_held { self.chance.between(S, 9 * S) } else { 0 };
            let at_ns =
                self.now_ns + held_ns + self.chance.between(self.fate.delay_ns / 4, self.fate.delay_ns);
            self.mail.insert((at_ns, self.sequence), (agent, message.clone()));
        }
    }

    fn deliver(&mut self) {
        while let Some(entry) = self.mail.first_entry() {
            if entry.key().0 > self.now_ns {
                break;
            }
            let (agent, message) = entry.remove();
            match message {
                Message::Up(up) if self.controller_lives() => {
                    let now = self.controller_clock.reads(self.now_ns);
                    let (answer, events) = self.controller.hear(now, agent, up);
                    self.on_events(events);
                    if let Some(answer) = answer {
                        self.post(agent, &Message::Down(answer));
                    }
                }
                Message::Down(answer) if self.runs(agent) => {
                    let process = &mut self.processes[agent];
                    let own = process.clock.reads(self.now_ns);
                    let age_ns = self.controller_clock.reads(self.now_ns).saturating_sub(answer.clock_ns);
                    let acts = process.core.hear(own, answer);
                    // Before clocks are compared, they may differ by their drift.
                    if age_ns > LEASE_NS + MS {
                        self.stale += 1;
                        if !acts.is_empty() {
                            self.faults.push(format!("agent {agent} obeyed an answer of {age_ns} ns before"));
                        }
                    }
                    acts.iter().for_each(|act| self.act(agent, act));
                }
                // What comes to a process that is stopped waits in its socket; to a dead one, nowhere.
                Message::Down(answer) if self.lives(agent) && !self.processes[agent].has_left => {
                    self.sequence += 1;
                    self.mail.insert((self.now_ns + MS, self.sequence), (agent, Message::Down(answer)));
                    break;
                }
                Message::Up(_) | Message::Down(_) => {}
            }
        }
    }

    fn act(&mut self, agent: usize, act: &Act<u32>) {
        let delay = self.chance.between(0, 300 * MS);
        let is_unable = self.fate.unable == Some(agent);
        let process = &mut self.processes[agent];
        match act {
            Act::Prepare(job) => {
                assert_eq!(**job as usize, agent);
                process.ready_at_ns = Some(self.now_ns + delay);
                if is_unable {
                    process.core.ended(Some("nobody listens".to_owned()));
                    process.ready_at_ns = None;
                }
            }
            Act::StartAt(at) => (process.start_own_ns, process.was_armed) = (*at, true),
            Act::Lend(until) => process.lent_own_ns = *until,
            Act::StopAt(at) => process.stop_own_ns = process.stop_own_ns.min(*at),
            Act::Abandon => {
                (process.is_loading, process.start_own_ns, process.ready_at_ns) = (false, u64::MAX, None);
            }
            // A load that is under way goes with its process.
            Act::Leave => (process.has_left, process.is_loading) = (true, false),
        }
    }

    fn on_events(&mut self, events: Vec<Event<Piece>>) {
        for event in events {
            match event {
                Event::Piece { agent, what } => self.received[agent].push(what),
                Event::Started(_) => {
                    self.events.push("started");
                    if let Some(agent) = self.processes.iter().position(|process| !process.was_armed) {
                        self.faults.push(format!("started although agent {agent} was not armed"));
                    }
                }
                Event::Lost { agent, .. } => {
                    self.events.push("lost");
                    self.lost.push((agent, self.now_ns));
                }
                Event::Over => {
                    self.events.push("over");
                    self.is_over = true;
                }
                Event::Failed { .. } => {
                    self.events.push("failed");
                    self.is_over = true;
                }
            }
        }
    }

    /// The agent's engine: a request every [`STEP_NS`] where it may, a piece for every second.
    fn load(&mut self, agent: usize) {
        let (now_ns, duration_ns) = (self.now_ns, self.fate.duration_ns);
        let process = &mut self.processes[agent];
        let own = process.clock.reads(now_ns);
        if process.ready_at_ns.is_some_and(|at| now_ns >= at) {
            process.core.prepared();
            process.ready_at_ns = None;
        }
        if !process.is_loading && own >= process.start_own_ns {
            process.start_own_ns = process.start_own_ns.min(own);
            // What was not lent by the start is not begun.
            process.is_loading = own < process.lent_own_ns;
            if !process.is_loading {
                process.start_own_ns = u64::MAX;
                process.core.ended(Some("it heard too late that all would start".to_owned()));
            }
        }
        if process.is_loading {
            let since = own - process.start_own_ns;
            let ends = own >= process.lent_own_ns || own >= process.stop_own_ns || since >= duration_ns;
            while process.seconds < since / S || (ends && !process.second.is_empty()) {
                let second = std::mem::take(&mut process.second);
                process.given.push(second.clone());
                process.core.measured(second, false);
                process.seconds += 1;
            }
            if ends {
                (process.is_loading, process.is_closing, process.start_own_ns) = (false, true, u64::MAX);
                process.core.ended(None);
            } else {
                process.second.push(own);
                process.sent.push(now_ns);
                process.last_sent_true_ns = now_ns;
                if !process.was_armed {
                    self.faults.push(format!("agent {agent} sent before it was armed"));
                }
            }
        }
        let process = &mut self.processes[agent];
        if process.is_closing && process.core.knows_clock() {
            process.is_closing = false;
            process.given.push(vec![u64::MAX]);
            process.core.measured(vec![u64::MAX], true);
        }
    }

    fn check_clocks(&mut self) {
        for (agent, process) in self.processes.iter().enumerate() {
            let own = process.clock.reads(self.now_ns);
            if let Some(offset) = process.core.offset(own) {
                let truth = self.controller_clock.reads(self.now_ns) as i64 - own as i64;
                if truth.abs_diff(offset.offset_ns) > offset.bound_ns {
                    self.faults
                        .push(format!("agent {agent}: the clock is {truth} ahead, said was {offset:?}"));
                }
            }
        }
    }

    fn play(&mut self) {
        while self.now_ns < END_NS {
            self.now_ns += MS;
            self.deliver();
            if self.controller_lives() {
                let now = self.controller_clock.reads(self.now_ns);
                if self.fate.stop_asked_ns.is_some_and(|at| self.now_ns >= at) {
                    self.controller.stop(now);
                }
                let events = self.controller.look(now);
                self.on_events(events);
            }
            for agent in 0..self.fate.agents {
                if !self.lives(agent) {
                    self.processes[agent].is_loading = false;
                }
                if !self.runs(agent) {
                    continue;
                }
                if self.now_ns.is_multiple_of(STEP_NS) {
                    self.load(agent);
                }
                let process = &mut self.processes[agent];
                let own = process.clock.reads(self.now_ns);
                if own >= process.core.next_ns() {
                    for up in process.core.say(own) {
                        self.post(agent, &Message::Up(up));
                    }
                }
            }
            if self.now_ns.is_multiple_of(100 * MS) {
                self.check_clocks();
            }
            let quiet = self.processes.iter().all(|process| !process.is_loading);
            if self.is_over && quiet && self.now_ns > 20 * S {
                return;
            }
        }
    }

    fn check(&mut self) {
        let fate = self.fate.clone();
        for (agent, process) in self.processes.iter().enumerate() {
            let received = &self.received[agent];
            if received.len() > process.given.len() || received[..] != process.given[..received.len()] {
                self.faults.push(format!("agent {agent}'s pieces came otherwise than they were given"));
            }
            // A lost agent had ended before it was called lost; and with the controller, all do.
            let drift = LOST_NS / 1_000_000 * 2 * DRIFT_PPM_MAX as u64;
            for (lost, at_ns) in &self.lost {
                let reported = process.last_sent_true_ns > at_ns + drift + STEP_NS;
                if *lost == agent && reported && fate.unable.is_none() {
                    self.faults.push(format!("agent {agent} sent after it was lost"));
                }
            }
            if let Some(died_ns) = fate.controller_dies_ns
                && process.last_sent_true_ns > died_ns + LEASE_NS + fate.delay_ns + drift
            {
                self.faults.push(format!("agent {agent} outlived its lease"));
            }
        }
        if self.controller_lives() && !self.is_over && fate.stop_asked_ns.is_none() {
            self.faults.push("the load is never over".to_owned());
        }
        if fate.is_mild() && fate.stop_asked_ns.is_none() {
            if self.events != ["started", "over"] {
                self.faults.push(format!("nothing grave happened, and the events were {:?}", self.events));
            }
            let all = self.processes.iter().zip(&self.received);
            if all.into_iter().any(|(process, received)| received != &process.given) {
                self.faults.push("not all was delivered".to_owned());
            }
            let least = fate.duration_ns / STEP_NS - 2;
            if fate.stops.is_empty() && self.processes.iter().any(|p| (p.sent.len() as u64) < least) {
                self.faults.push("an agent did not load for as long as asked".to_owned());
            }
        }
        if !self.events.contains(&"started") && self.processes.iter().any(|process| !process.sent.is_empty())
        {
            self.faults.push("somebody sent although the load was not started".to_owned());
        }
        if self.processes.iter().any(|process| process.core.phase() == Phase::Running && process.is_loading) {
            self.faults.push("an agent never ended".to_owned());
        }
    }
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().and_then(|text| text.parse().ok())
}

#[test]
fn in_any_network_nothing_is_sent_unasked_or_counted_twice() {
    let mut seen: BTreeMap<&'static str, u64> = BTreeMap::new();
    let (first, count) = match number("PRONY_FLEET_SEED") {
        Some(seed) => (seed, 1),
        None => (0, number("PRONY_FLEET_SEEDS").unwrap_or(SEEDS)),
    };
    for seed in first..first + count {
        let mut world = World::of_seed(seed);
        world.play();
        world.check();
        let faults = &world.faults[..world.faults.len().min(10)];
        assert!(
            faults.is_empty(),
            "PRONY_FLEET_SEED={seed}: {faults:#?}\n{:#?}\n{:?}",
            world.fate,
            world.events
        );
        for event in &world.events {
            *seen.entry(event).or_default() += 1;
        }
        if world.fate.is_mild() {
            *seen.entry("mild").or_default() += 1;
        }
        if world.stale > 0 {
            *seen.entry("expired").or_default() += 1;
        }
        if world.lost.iter().any(|(lost, _)| !world.received[*lost].is_empty()) {
            *seen.entry("lost with something delivered").or_default() += 1;
        }
    }
    println!("{seen:?}");
    if count >= SEEDS {
        let kinds = ["started", "over", "lost", "failed", "mild", "expired", "lost with something delivered"];
        assert!(kinds.iter().all(|kind| seen.get(kind).is_some_and(|count| *count > 20)), "{seen:?}");
    }
}
