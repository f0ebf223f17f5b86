//! What both say. Whatever the other one sends is checked where it is taken.

use std::net::Ipv4Addr;

use prony_model::host::Host;
use serde::{Deserialize, Serialize};

use super::Seen;
use crate::doctor::Finding;
use crate::provision::Missing;
use crate::supervise::{Death, StopReport};

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum FromController {
    /// It lives; the answer tells the agent's clock.
    Beat(u64),
    /// Something to be done; one at a time.
    Call(u64, Request),
    /// The server that is being started gives the right answer, since this instant of the agent's clock.
    Ready(u64),
    /// What is being done is to be given up.
    Cancel,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    /// To say who it is, and to run servers so.
    Greet(Greeting),
    /// To get ready for a run: to clean up, and to let no other run begin.
    Begin {
        experiment: String,
        /// The CPUs of all servers.
        server_cpus: Vec<u32>,
    },
    /// To say whether a candidate can be started.
    Find(Named),
    Start {
        candidate: Named,
        workers: u32,
        /// Its CPUs; empty: any.
        cpus: Vec<u32>,
    },
    /// To find a server that somebody else started, by its process or its port, to sample it.
    Watch(String),
    /// To begin to sample a server.
    Sample(u64),
    /// To end that, and to say what it saw in a window of the agent's clock, if there was one.
    Measure(u64, Option<(u64, u64)>),
    Stop(u64),
    /// To say what an installation would do.
    PlanInstall(Vec<Named>),
    Install(Vec<Named>),
    /// To say what on its machine distorts results.
    Examine,
    /// To send back what is sent to a port of its own.
    Echo,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Greeting {
    pub(super) version: String,
    /// The address that servers are to listen on, if not the one that ssh reached.
    pub(super) address: Option<Ipv4Addr>,
    /// `native`, or the engine of their containers.
    pub(super) runtime: String,
    /// The memory limit of each server.
    pub(super) memory: Option<String>,
}

/// A candidate by what it is on both machines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Named {
    /// A server of the catalogue.
    Recipe {
        label: String,
        /// The hash of its files, which must be the same there.
        recipe: String,
    },
    Command {
        name: String,
        command: String,
        tls: bool,
    },
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum FromAgent {
    /// The answer to a beat: its number, and the agent's clock.
    Beat(u64, u64),
    /// All processes of the server that is being started run.
    Listening(Listening),
    /// A server has ended by itself.
    Died(u64, Death),
    /// How an installation goes on.
    Progress(String),
    /// A call's answer, or why there is none, in a sentence.
    Answer(u64, Result<Box<Answer>, String>),
}

/// A call's answer, by the call.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    /// To [`Request::Greet`].
    Greeted(Box<Greeted>),
    /// To [`Request::Begin`]: what was cleaned up.
    Begun(Vec<String>),
    /// To [`Request::Find`].
    Found(Found),
    /// To [`Request::Start`] and [`Request::Watch`]: its number and how long it took to start.
    Started(Result<(u64, u64), NotUp>),
    /// To [`Request::Sample`].
    Sampling,
    /// To [`Request::Measure`].
    Measured(Box<Seen>),
    /// To [`Request::Stop`].
    Stopped(StopReport),
    /// To [`Request::PlanInstall`]: what would be done, and whether that is nothing.
    Planned(String, bool),
    /// To [`Request::Install`]: each label, and why it is not installed.
    Installed(Vec<(String, Option<String>)>),
    /// To [`Request::Examine`].
    Examined(Vec<Finding>),
    /// To [`Request::Echo`]: the port.
    Echoes(u16),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Greeted {
    pub(super) host: Host,
    /// The address that servers listen on.
    pub(super) address: Ipv4Addr,
    pub(super) interface: Option<String>,
}

/// A candidate on its host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Found {
    pub(crate) missing: Vec<Missing>,
    /// Its own word for its version.
    pub(crate) version: Option<String>,
}

/// Where a server that is being started is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Listening {
    pub(crate) port: u16,
    /// The certificate that was made for it, PEM.
    pub(crate) certificate: Option<String>,
}

/// Why a server is not up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum NotUp {
    /// It did not start, or did not answer, in a sentence.
    NotStarted(String),
    /// It did not give a right answer in time.
    Late(String),
    /// Somebody else answers on its port, in a sentence; and the processes that outlived its stop.
    Stranger(String, Vec<String>),
    /// Its start was given up.
    Cancelled(String),
}
