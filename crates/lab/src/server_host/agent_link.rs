//! What goes through the pipe to a controller, as its agent has it: beats are answered at once, calls are handed on.

use std::io::{BufReader, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Mutex, PoisonError};

use prony_host::{boottime_ns, monotonic_ns};
use prony_model::clock::LEASE_NS;
use serde_json::value::RawValue;

use super::lines;
use super::message::{FromAgent, FromController, Request};
use crate::provision;

/// The longest message of a controller: the names of a whole catalogue, or a command.
const MESSAGE_MAX_BYTES: u64 = 1 << 20;

pub(super) struct AgentLink {
    to_controller: Mutex<Box<dyn Write + Send>>,
    heard_ns: AtomicU64,
    has_ended: AtomicBool,
    is_deaf: AtomicBool,
    is_cancelled: AtomicBool,
    /// Since when the server that is being started answers; 0: not yet.
    ready_ns: AtomicU64,
    installs: AtomicBool,
}

impl AgentLink {
    pub(super) fn new(to_controller: impl Write + Send + 'static) -> AgentLink {
        AgentLink {
            to_controller: Mutex::new(Box::new(to_controller)),
            heard_ns: AtomicU64::new(boottime_ns()),
            has_ended: AtomicBool::new(false),
            is_deaf: AtomicBool::new(false),
            is_cancelled: AtomicBool::new(false),
            ready_ns: AtomicU64::new(0),
            installs: AtomicBool::new(false),
        }
    }

    pub(super) fn read(
        &self,
        mut from: BufReader<impl Read>,
        calls: &SyncSender<(u64, Request)>,
    ) -> Result<(), String> {
        let read = loop {
            let message = match lines::next(&mut from, MESSAGE_MAX_BYTES) {
                Ok(Some(message)) => message,
                Ok(None) => break Ok(()),
                Err(why) => {
                    break Err(format!(
                        "This agent is started by `prony bench --server-host`, which speaks to it over standard input: {why}."
                    ));
                }
            };
            self.heard_ns.store(boottime_ns(), Ordering::Relaxed);
            match message {
                FromController::Beat(number) => self.say(&FromAgent::Beat(number, monotonic_ns())),
                FromController::Ready(at_ns) => self.ready_ns.store(at_ns.max(1), Ordering::Relaxed),
                FromController::Cancel => self.is_cancelled.store(true, Ordering::Relaxed),
                FromController::Call(call, request) => {
                    self.is_cancelled.store(false, Ordering::Relaxed);
                    self.ready_ns.store(0, Ordering::Relaxed);
                    if calls.try_send((call, *request)).is_err() {
                        break Err("The controller asks for too much at once.".to_owned());
                    }
                }
            }
        };
        self.has_ended.store(true, Ordering::Relaxed);
        if self.installs.load(Ordering::Relaxed) {
            provision::end_steps();
        }
        read
    }

    pub(super) fn say(&self, message: &FromAgent) {
        let mut to = self.to_controller.lock().unwrap_or_else(PoisonError::into_inner);
        if lines::say(&mut *to, message).is_err() {
            self.is_deaf.store(true, Ordering::Relaxed);
        }
    }

    /// An answer may be long: while it is sent, nothing is heard.
    pub(super) fn answer(&self, call: u64, answer: Result<Box<RawValue>, String>) {
        self.say(&FromAgent::Answer(call, answer));
        self.heard_ns.store(boottime_ns(), Ordering::Relaxed);
    }

    pub(super) fn ready_ns(&self) -> u64 {
        self.ready_ns.load(Ordering::Relaxed)
    }

    pub(super) fn installs(&self, installs: bool) {
        self.installs.store(installs, Ordering::Relaxed);
    }

    pub(super) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed)
    }

    pub(super) fn is_over(&self) -> bool {
        let silent = boottime_ns().saturating_sub(self.heard_ns.load(Ordering::Relaxed));
        let is_gone = self.has_ended() || self.is_deaf.load(Ordering::Relaxed);
        is_gone || silent > LEASE_NS
    }

    pub(super) fn is_to_end(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed) || self.is_over()
    }
}
