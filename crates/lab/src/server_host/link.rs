//! What goes through the pipe to an agent, as its controller has it: calls and their answers, beats, and what it says by itself.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use prony_host::monotonic_ns;
use prony_model::clock::{Clock, LOST_NS, Offset, SAMPLES};
use prony_model::printable::harmless_lines;
use prony_model::secret::redacted;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use super::message::{FromAgent, FromController, Listening, Request};
use super::{BEAT_EVERY, SERVERS_MAX, lines};
use crate::supervise::Death;

/// The longest message of an agent: the samples of a day, of 16 CPUs.
const MESSAGE_MAX_BYTES: u64 = 256 << 20;
/// The longest answer but samples: each value of it takes 32 bytes while its texts are made safe.
const ANSWER_MAX_BYTES: usize = 4 << 20;
/// The longest sentence of an agent that is shown.
const SENTENCE_MAX_CHARS: usize = 16_384;
const PROGRESS_MAX: usize = 1_000;

pub(super) struct Link {
    /// `None` once nothing more is to be said.
    to_agent: Mutex<Option<Box<dyn Write + Send>>>,
    state: Mutex<State>,
    changed: Condvar,
    /// When something was last read of the agent, be it a part of a message.
    heard_ns: AtomicU64,
}

#[derive(Default)]
struct State {
    calls: u64,
    waits_for: Option<u64>,
    answer: Option<Result<Box<RawValue>, String>>,
    listening: Option<Listening>,
    died: BTreeMap<u64, Death>,
    progress: Vec<String>,
    clock: Clock,
    /// Beats under way: when each was sent.
    beats: BTreeMap<u64, u64>,
    rtt_min_ns: Option<u64>,
    lost: Option<String>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn said(text: &str) -> String {
    redacted(&harmless_lines(text.trim_end()).chars().take(SENTENCE_MAX_CHARS).collect::<String>())
}

pub(super) fn strange() -> String {
    "its agent sent an unexpected reply: run the same version of Prony on both hosts.".to_owned()
}

/// An answer of an agent, whose texts are safe to show.
pub(super) fn read<T: DeserializeOwned>(answer: &RawValue) -> Result<T, String> {
    fn safe(value: Value) -> Value {
        match value {
            Value::String(text) => said(&text).into(),
            Value::Array(all) => all.into_iter().map(safe).collect(),
            Value::Object(all) => all.into_iter().map(|(name, value)| (name, safe(value))).collect(),
            other => other,
        }
    }
    let value = Some(answer.get()).filter(|text| text.len() <= ANSWER_MAX_BYTES);
    let value = value.and_then(|text| serde_json::from_str(text).ok());
    value.and_then(|value| serde_json::from_value(safe(value)).ok()).ok_or_else(strange)
}

struct Heard<'a> {
    from_agent: Box<dyn Read + Send>,
    at_ns: &'a AtomicU64,
}

impl Read for Heard<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.from_agent.read(buffer)?;
        self.at_ns.store(monotonic_ns(), Ordering::Relaxed);
        Ok(read)
    }
}

impl Link {
    pub(super) fn begin(
        to_agent: Box<dyn Write + Send>,
        from_agent: Box<dyn Read + Send>,
    ) -> Result<Arc<Link>, String> {
        let link = Arc::new(Link {
            to_agent: Mutex::new(Some(to_agent)),
            state: Mutex::default(),
            changed: Condvar::new(),
            heard_ns: AtomicU64::new(monotonic_ns()),
        });
        let begin = |name: &str, body: Box<dyn FnOnce() + Send>| {
            let thread = thread::Builder::new().name(name.to_owned()).spawn(body);
            thread.map(drop).map_err(|e| format!("No thread could be started: {e}."))
        };
        let (reads, beats) = (Arc::clone(&link), Arc::clone(&link));
        begin("server host", Box::new(move || reads.read(from_agent)))?;
        begin("server beats", Box::new(move || beats.beat()))?;
        Ok(link)
    }

    /// Waits until clocks are compared as often as they are before a run: the shortest round trip.
    pub(super) fn compare_clocks(&self) -> u64 {
        let mut state = locked(&self.state);
        while state.clock.samples() < SAMPLES && state.lost.is_none() {
            state = self.changed.wait_timeout(state, BEAT_EVERY).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.rtt_min_ns.unwrap_or(0)
    }

    pub(super) fn lost(&self) -> Option<String> {
        locked(&self.state).lost.clone()
    }

    pub(super) fn died(&self, server: u64) -> Option<Death> {
        locked(&self.state).died.get(&server).cloned()
    }

    pub(super) fn offset(&self, now_ns: u64) -> Option<Offset> {
        locked(&self.state).clock.offset(now_ns)
    }

    pub(super) fn progress(&self) -> Vec<String> {
        std::mem::take(&mut locked(&self.state).progress)
    }

    pub(super) fn call<T: DeserializeOwned>(&self, request: Request) -> Result<T, String> {
        read(&self.call_raw(request)?)
    }

    /// The same, for an answer whose texts the caller makes safe to show.
    pub(super) fn call_raw(&self, request: Request) -> Result<Box<RawValue>, String> {
        let call = self.begin_call(request)?;
        self.answer_within(call, Duration::MAX)
    }

    /// The answer to the call that was begun; without one the agent is lost.
    pub(super) fn answer_within(&self, call: u64, patience: Duration) -> Result<Box<RawValue>, String> {
        let begun = Instant::now();
        loop {
            if let Some(answer) = self.answer(call, BEAT_EVERY) {
                return answer;
            }
            if begun.elapsed() > patience {
                self.lose(&format!("its agent did not answer within {} s", patience.as_secs()));
            }
        }
    }

    /// Asks; one call at a time.
    pub(super) fn begin_call(&self, request: Request) -> Result<u64, String> {
        let mut state = locked(&self.state);
        while state.waits_for.is_some() && state.lost.is_none() {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(lost) = &state.lost {
            return Err(lost.clone());
        }
        state.calls += 1;
        let call = state.calls;
        (state.waits_for, state.answer, state.listening) = (Some(call), None, None);
        drop(state);
        self.say(&FromController::Call(call, Box::new(request)));
        Ok(call)
    }

    pub(super) fn answer(&self, call: u64, patience: Duration) -> Option<Result<Box<RawValue>, String>> {
        let mut state = locked(&self.state);
        if state.answer.is_none() && state.lost.is_none() {
            state = self.changed.wait_timeout(state, patience).unwrap_or_else(PoisonError::into_inner).0;
        }
        let answer = state.answer.take().filter(|_| state.waits_for == Some(call));
        let answer = match (answer, &state.lost) {
            (Some(answer), _) => answer.map_err(|why| said(&why)),
            (None, Some(lost)) => Err(lost.clone()),
            (None, None) => return None,
        };
        state.waits_for = None;
        drop(state);
        self.changed.notify_all();
        Some(answer)
    }

    pub(super) fn listening(&self) -> Option<Listening> {
        locked(&self.state).listening.clone()
    }

    pub(super) fn say(&self, message: &FromController) {
        let mut to_agent = locked(&self.to_agent);
        let Some(pipe) = to_agent.as_mut() else { return };
        if let Err(why) = lines::say(pipe, message) {
            *to_agent = None;
            drop(to_agent);
            self.lose(&format!("the connection to its agent broke ({why})"));
        }
    }

    fn lose(&self, why: &str) {
        let lost = format!("it is out of reach: {why}.");
        locked(&self.state).lost.get_or_insert(lost);
        self.changed.notify_all();
    }

    pub(super) fn close(&self) {
        *locked(&self.to_agent) = None;
        self.lose("the run has ended");
    }

    fn read(&self, from_agent: Box<dyn Read + Send>) {
        let mut from_agent = BufReader::new(Heard { from_agent, at_ns: &self.heard_ns });
        loop {
            match lines::next(&mut from_agent, MESSAGE_MAX_BYTES) {
                Ok(Some(message)) => self.hear(message),
                Ok(None) => return self.lose("its agent, or the ssh to it, has ended"),
                Err(why) => {
                    *locked(&self.to_agent) = None;
                    return self.lose(&why);
                }
            }
        }
    }

    fn hear(&self, message: FromAgent) {
        let now_ns = monotonic_ns();
        let mut state = locked(&self.state);
        match message {
            FromAgent::Beat(number, theirs_ns) => {
                if let Some(asked_ns) = state.beats.remove(&number) {
                    state.clock.add(asked_ns, theirs_ns, now_ns);
                    let rtt = now_ns.saturating_sub(asked_ns);
                    state.rtt_min_ns = Some(state.rtt_min_ns.map_or(rtt, |least| least.min(rtt)));
                }
            }
            FromAgent::Listening(listening) => state.listening = Some(listening),
            FromAgent::Died(server, death) => {
                // Of servers that were stopped nothing is asked any more.
                while state.died.len() >= SERVERS_MAX {
                    state.died.pop_first();
                }
                let log_tail = death.log_tail.iter().take(100).map(|line| said(line)).collect();
                state.died.insert(server, Death { how: said(&death.how), log_tail });
            }
            FromAgent::Progress(text) => {
                if state.progress.len() < PROGRESS_MAX {
                    state.progress.push(said(&text));
                }
            }
            FromAgent::Answer(call, answer) => {
                if state.waits_for == Some(call) {
                    state.answer = Some(answer);
                }
            }
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Says that this end lives, until the other one does not.
    fn beat(&self) {
        for number in 1.. {
            let now_ns = monotonic_ns();
            let mut state = locked(&self.state);
            let silent = now_ns.saturating_sub(self.heard_ns.load(Ordering::Relaxed));
            if state.lost.is_some() {
                return;
            }
            if silent > LOST_NS {
                drop(state);
                // Should it hear of us again, it is to end.
                *locked(&self.to_agent) = None;
                return self.lose(&format!("nothing was received from it for {} s", LOST_NS / 1_000_000_000));
            }
            state.beats.insert(number, now_ns);
            drop(state);
            self.say(&FromController::Beat(number));
            thread::sleep(if number <= u64::from(SAMPLES) { Duration::from_millis(2) } else { BEAT_EVERY });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::doctor::Finding;

    #[test]
    fn every_text_of_an_answer_is_safe_to_show_and_bounded() {
        let answer = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        let finding = r#"[{"code":"a\u001b[2J","what":"b\u0007","value":"postgres://me:s3cret@h/d","state":"good","why":"c"}]"#;
        let found: Vec<Finding> = read(&answer(finding)).unwrap();
        assert_eq!((&*found[0].code, &*found[0].what), ("a\u{fffd}[2J", "b\u{fffd}"));
        assert!(!found[0].value.contains("s3cret"), "{found:?}");
        assert!(read::<u16>(&answer("\"port\"")).unwrap_err().contains("unexpected reply"));
        let long = format!("[{}0]", "0,".repeat(ANSWER_MAX_BYTES / 2));
        assert!(read::<Vec<u8>>(&answer(&long)).unwrap_err().contains("unexpected reply"));
    }

    #[test]
    fn an_unanswered_call_loses_the_agent_and_blocks_no_other() {
        let (ours, silent) = UnixStream::pair().unwrap();
        let link = Link::begin(Box::new(ours.try_clone().unwrap()), Box::new(ours)).unwrap();
        let call = link.begin_call(Request::Echo).unwrap();
        let why = link.answer_within(call, Duration::ZERO).unwrap_err();
        assert!(why.contains("its agent did not answer within 0 s"), "{why}");
        assert_eq!(link.begin_call(Request::Echo), Err(why));
        drop(silent);
    }
}
