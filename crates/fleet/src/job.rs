//! What crosses: the load that an agent is given, and what it gives back.

use std::net::SocketAddr;

use prony_load::{Shard, WindowDelta};
use prony_model::clock::Offset;
use prony_model::host::Host;
use prony_model::measurement::Waits;
use serde::{Deserialize, Serialize};

use crate::protocol::Up;
use crate::session::Greeting;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The plan as [`prony_model::Plan::to_wire`] writes it.
    pub plan: String,
    pub shard: Shard,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Piece {
    Part { share: Box<WindowDelta>, is_last: bool, host: Option<Box<Host>> },
    End(AgentEnd),
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct AgentEnd {
    pub address: String,
    pub process_cpu_ns: u64,
    pub max_rss_bytes: u64,
    pub waits: Waits,
    /// The length of one request; 0 with a list.
    pub request_bytes: u64,
    /// How long its control group's CPU quota kept it from running; `None` without a quota.
    pub throttled_ns: Option<u64>,
    pub clock_before: Option<Offset>,
    pub clock_after: Option<Offset>,
    pub interrupted: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bootstrap {
    pub run: String,
    pub agent: String,
    pub url: String,
    pub nkey: String,
    /// The CPUs of what carries its messages: those of its load; empty: any.
    pub cpus: Vec<u32>,
    pub controller_key: Vec<u8>,
    /// The agent's own signing key, PKCS#8.
    pub agent_key: Vec<u8>,
    /// What it may load; port 0 stands for every port.
    pub allowed: Vec<SocketAddr>,
}

impl Bootstrap {
    pub(crate) fn line(&self) -> std::io::Result<String> {
        Ok(serde_json::to_string(self)? + "\n")
    }
}

/// What begins a message that is a greeting, as JSON: its length is protocol 2's, so that each version hears of the other.
const GREETING: [u8; 17] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];
const SEALED: u8 = 1;

#[derive(Debug)]
pub enum Frame {
    Greeting(Greeting),
    /// A sealed piece of a [`FromAgent`], or an [`Answer`](crate::protocol::Answer): a stranger's are not kept.
    Sealed(Vec<u8>),
}

impl Frame {
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Frame::Greeting(greeting) => {
                [&GREETING, serde_json::to_vec(greeting).unwrap_or_default().as_slice()].concat()
            }
            Frame::Sealed(bytes) => [&[SEALED], bytes.as_slice()].concat(),
        }
    }

    /// The frame of such bytes; `None` of anything else.
    pub fn of(bytes: &[u8]) -> Option<Frame> {
        match bytes.strip_prefix(&GREETING) {
            Some(json) => serde_json::from_slice(json).ok().map(Frame::Greeting),
            None => bytes.strip_prefix(&[SEALED]).map(|sealed| Frame::Sealed(sealed.to_vec())),
        }
    }
}

pub type FromAgent = Up<Piece>;

pub fn up(run: &str, agent: &str) -> String {
    format!("prony.{run}.up.{agent}")
}

pub fn down(run: &str, agent: &str) -> String {
    format!("prony.{run}.down.{agent}")
}

pub fn channel(run: &str, agent: &str) -> String {
    format!("{run}/{agent}")
}
