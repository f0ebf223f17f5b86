//! The controller's part of the protocol, pure: what it hears from agents becomes answers and events.

use prony_model::clock::Offset;

use crate::protocol::{AGAIN_NS, Answer, LEASE_NS, LOST_NS, Order, Phase, Up};

/// All agents hear of a start at least so long before it.
const START_AHEAD_NS: u64 = 400_000_000;
/// Or so many times the worst bound of a clock, which is half a round trip.
const START_AHEAD_BOUNDS: u64 = 40;
/// A stop that is asked for comes so much later, so that all agents hear of it before and end at the same instant.
const STOP_AHEAD_NS: u64 = 700_000_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event<P> {
    /// The next piece of this agent's result.
    Piece { agent: usize, what: P },
    /// All agents start at this instant of the controller's clock.
    Started(u64),
    /// This agent will give no more; the others were told to end. The load goes on to be over soon.
    Lost { agent: usize, why: String },
    /// The load is over: every agent that was not lost has given all of its result.
    Over,
    /// The load did not come about.
    Failed {
        agent: usize,
        why: String,
        /// Whether that agent is lost: the next load may have another in its place.
        is_lost: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Idle,
    Preparing,
    Arming {
        at_ns: u64,
    },
    /// All are armed, and were told so.
    Started {
        at_ns: u64,
    },
    Over,
}

#[derive(Debug, Clone)]
struct AgentState {
    heard_ns: u64,
    beat: u64,
    phase: Phase,
    trial: u32,
    clock: Option<Offset>,
    pieces: u64,
    is_done: bool,
    is_lost: bool,
    job_sent_ns: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct Controller<J> {
    states: Vec<AgentState>,
    jobs: Vec<J>,
    trial: u32,
    stage: Stage,
    stop: Option<u64>,
    gives_up_ns: u64,
    leaves: bool,
}

impl<J: Clone> Controller<J> {
    pub(crate) fn of(agents: usize, now_ns: u64) -> Controller<J> {
        let state = AgentState {
            heard_ns: now_ns,
            beat: 0,
            phase: Phase::Idle,
            trial: 0,
            clock: None,
            pieces: 0,
            is_done: false,
            is_lost: false,
            job_sent_ns: None,
        };
        Controller {
            states: vec![state; agents],
            jobs: Vec::new(),
            trial: 0,
            stage: Stage::Idle,
            stop: None,
            gives_up_ns: u64::MAX,
            leaves: false,
        }
    }

    /// Begins a load, of one job for each of the first agents; others have no part in it. It fails where it has not started after `patience_ns`.
    pub(crate) fn begin(&mut self, now_ns: u64, jobs: Vec<J>, patience_ns: u64) {
        (self.jobs, self.stage, self.stop) = (jobs, Stage::Preparing, None);
        self.trial += 1;
        self.gives_up_ns = now_ns.saturating_add(patience_ns);
        for state in &mut self.states {
            // Nobody listened since the load before.
            state.heard_ns = now_ns;
            (state.pieces, state.is_done, state.job_sent_ns) = (0, false, None);
        }
    }

    pub(crate) fn stop(&mut self, now_ns: u64) {
        match self.stage {
            Stage::Started { at_ns } if self.stop.is_none() => {
                self.stop = Some((now_ns + STOP_AHEAD_NS).saturating_sub(at_ns));
            }
            Stage::Preparing | Stage::Arming { .. } => self.stage = Stage::Over,
            _ => {}
        }
    }

    pub(crate) fn leave(&mut self) {
        self.leaves = true;
    }

    /// An agent that was lost is there again, as one that is new.
    pub(crate) fn restore(&mut self, agent: usize, now_ns: u64) {
        if let Some(state) = self.states.get_mut(agent) {
            (state.is_lost, state.heard_ns, state.beat) = (false, now_ns, 0);
            (state.trial, state.phase, state.clock) = (0, Phase::Idle, None);
        }
    }

    pub(crate) fn lost(&self) -> Vec<usize> {
        (0..self.states.len()).filter(|agent| self.states[*agent].is_lost).collect()
    }

    pub(crate) fn clock(&self, agent: usize) -> Option<Offset> {
        self.states.get(agent)?.clock
    }

    pub(crate) fn hear<P>(
        &mut self,
        now_ns: u64,
        agent: usize,
        up: Up<P>,
    ) -> (Option<Answer<J>>, Vec<Event<P>>) {
        let mut events = Vec::new();
        let Some(state) = self.states.get_mut(agent) else { return (None, events) };
        if state.is_lost {
            // Nothing of it counts any more: it is free.
            let Up::Beat(beat) = up else { return (None, events) };
            let confirmed = state.pieces;
            return (Some(self.say(now_ns, beat.number, Order::Leave, confirmed)), events);
        }
        match up {
            Up::Beat(beat) => {
                // What was said before something newer says nothing now, and is no sign of life.
                if beat.number <= state.beat {
                    return (None, events);
                }
                (state.beat, state.heard_ns) = (beat.number, now_ns);
                (state.phase, state.trial) = (beat.phase, beat.trial);
                state.clock = beat.clock.or(state.clock);
                if let Some(why) = beat.failure.filter(|_| beat.trial == self.trial && !state.is_done) {
                    self.failed(agent, why, &mut events);
                }
                self.proceed(now_ns, &mut events);
                (Some(self.answer(now_ns, agent, beat.number)), events)
            }
            Up::Piece { trial, sequence, is_last, what } => {
                // An agent without a part of the load has nothing to say of it.
                let loads = agent < self.jobs.len();
                if loads && trial == self.trial && sequence == state.pieces && !state.is_done {
                    state.pieces += 1;
                    state.is_done = is_last;
                    events.push(Event::Piece { agent, what });
                    self.proceed(now_ns, &mut events);
                }
                (None, events)
            }
        }
    }

    pub(crate) fn look<P>(&mut self, now_ns: u64) -> Vec<Event<P>> {
        let mut events = Vec::new();
        for agent in 0..self.states.len() {
            let state = &self.states[agent];
            if !state.is_lost && now_ns.saturating_sub(state.heard_ns) > LOST_NS {
                let seconds = LOST_NS / 1_000_000_000;
                self.states[agent].is_lost = true;
                if !self.states[agent].is_done {
                    self.failed(agent, format!("nothing was received from it for {seconds} s"), &mut events);
                }
            }
        }
        let waits = matches!(self.stage, Stage::Preparing | Stage::Arming { .. });
        if waits && now_ns > self.gives_up_ns {
            let late = self.members().position(|state| !self.is_at_least(state, Phase::Ready));
            let why = "it was not ready in time".to_owned();
            events.push(Event::Failed { agent: late.unwrap_or(0), why, is_lost: false });
            self.stage = Stage::Over;
        }
        self.proceed(now_ns, &mut events);
        events
    }

    /// Nobody will be heard of any more, for this reason: the load is over with what all agents had given.
    pub(crate) fn cut_off<P>(&mut self, why: &str) -> Vec<Event<P>> {
        let mut events = Vec::new();
        for agent in 0..self.states.len() {
            if !self.states[agent].is_done && self.stage != Stage::Over {
                self.failed(agent, why.to_owned(), &mut events);
            }
        }
        self.proceed(0, &mut events);
        events
    }

    fn failed<P>(&mut self, agent: usize, why: String, events: &mut Vec<Event<P>>) {
        match self.stage {
            _ if agent >= self.jobs.len() => {}
            Stage::Preparing | Stage::Arming { .. } => {
                events.push(Event::Failed { agent, why, is_lost: self.states[agent].is_lost });
                self.stage = Stage::Over;
            }
            Stage::Started { .. } => {
                self.states[agent].is_done = true;
                self.stop = Some(0);
                events.push(Event::Lost { agent, why });
            }
            Stage::Idle | Stage::Over => {}
        }
    }

    fn members(&self) -> impl Iterator<Item = &AgentState> {
        self.states.iter().take(self.jobs.len())
    }

    fn is_at_least(&self, state: &AgentState, phase: Phase) -> bool {
        state.trial == self.trial && state.phase >= phase && state.phase != Phase::Ended
    }

    fn proceed<P>(&mut self, now_ns: u64, events: &mut Vec<Event<P>>) {
        let all = |phase| self.members().all(|state| self.is_at_least(state, phase));
        match self.stage {
            Stage::Preparing if all(Phase::Ready) => {
                let bounds = self.members().filter_map(|state| Some(state.clock?.bound_ns));
                let ahead = START_AHEAD_NS.max(bounds.max().unwrap_or(0).saturating_mul(START_AHEAD_BOUNDS));
                self.stage = Stage::Arming { at_ns: now_ns.saturating_add(ahead) };
            }
            Stage::Arming { at_ns } if now_ns < at_ns && all(Phase::Armed) => {
                self.stage = Stage::Started { at_ns };
                events.push(Event::Started(at_ns));
            }
            Stage::Arming { at_ns } if now_ns >= at_ns => {
                let late = self.members().position(|state| !self.is_at_least(state, Phase::Armed));
                let why = "the start message did not reach it in time".to_owned();
                events.push(Event::Failed { agent: late.unwrap_or(0), why, is_lost: false });
                self.stage = Stage::Over;
            }
            Stage::Started { .. } if self.members().all(|state| state.is_done) => {
                self.stage = Stage::Over;
                events.push(Event::Over);
            }
            _ => {}
        }
    }

    fn answer(&mut self, now_ns: u64, agent: usize, number: u64) -> Answer<J> {
        let state = &mut self.states[agent];
        let order = match self.stage {
            _ if self.leaves => Order::Leave,
            Stage::Idle => Order::Wait,
            Stage::Over => Order::Abort,
            // Until it has it; a large one takes its time.
            Stage::Preparing | Stage::Arming { .. } if state.trial < self.trial => {
                let due = state.job_sent_ns.is_none_or(|at| now_ns >= at + AGAIN_NS);
                if due {
                    state.job_sent_ns = Some(now_ns);
                }
                Order::Prepare(self.jobs.get(agent).filter(|_| due).cloned().map(Box::new))
            }
            Stage::Preparing => Order::Prepare(None),
            Stage::Arming { at_ns } => Order::Arm(at_ns),
            Stage::Started { .. } => match (self.stop, state.phase) {
                // One that has not heard that all are armed must not start any more.
                (Some(_), Phase::Armed) => Order::Abort,
                (Some(since_start_ns), _) => Order::Stop(since_start_ns),
                (None, _) => Order::Go,
            },
        };
        let confirmed = state.pieces;
        self.say(now_ns, number, order, confirmed)
    }

    fn say(&self, now_ns: u64, number: u64, order: Order<J>, confirmed: u64) -> Answer<J> {
        let expires_ns = now_ns.saturating_add(LEASE_NS);
        Answer { number, clock_ns: now_ns, expires_ns, trial: self.trial, order, confirmed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_without_a_part_of_the_load_has_no_piece() {
        let mut controller = Controller::of(2, 0);
        controller.begin(0, vec![()], 1_000_000_000);
        let piece = || Up::Piece { trial: 1, sequence: 0, is_last: true, what: 7 };
        let [strange, theirs] = [1, 0].map(|agent| controller.hear(1, agent, piece()).1);
        assert!(theirs.iter().any(|event| matches!(event, Event::Piece { agent: 0, what: 7 })));
        assert!(!strange.iter().any(|event| matches!(event, Event::Piece { .. })));
    }
}
