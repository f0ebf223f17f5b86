//! What both say. Whatever the other one sends is checked where it is taken.

use std::net::Ipv4Addr;

use prony_model::host::Host;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::provision::Missing;
use crate::service::{Reset, Service};
use crate::supervise::{Death, NotUp};

pub(super) type Started = Result<(u64, u64), NotUp>;
pub(super) type ServiceStarted = Result<(u64, u16), NotUp>;
pub type Installed = Vec<(String, Option<String>)>;

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum FromController {
    /// It lives; the answer tells the agent's clock.
    Beat(u64),
    /// Something to be done; one at a time.
    Call(u64, Box<Request>),
    /// The server that is being started gives the right answer, since this instant of the agent's clock.
    Ready(u64),
    Cancel,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    /// To say who it is, [`Greeted`], and to run servers so.
    Greet(Greeting),
    /// To get ready for a run: to clean up, of which it says what was done (`Vec<String>`), and to let no other run begin.
    Begin {
        experiment: String,
        /// The CPUs of all servers.
        server_cpus: Vec<u32>,
    },
    /// To say whether a candidate can be started: [`Found`].
    Find(Named),
    /// [`Started`].
    Start {
        candidate: Named,
        workers: u32,
        /// Its CPUs; empty: any.
        cpus: Vec<u32>,
        services: Vec<(String, u16)>,
    },
    /// To start a service, which those before it are up for, on these CPUs (empty: any): [`ServiceStarted`].
    StartService {
        service: Service,
        /// The candidate whose recipe it is of.
        of: Option<Named>,
        told: Vec<(String, u16)>,
        cpus: Vec<u32>,
    },
    /// To run a reset on these CPUs: `Result<(), NotUp>`.
    Reset { reset: Reset, services: Vec<(String, u16)>, cpus: Vec<u32> },
    /// To find a server that somebody else started, by its process or its port, to sample it: its number.
    Watch(String),
    /// To begin to sample a server.
    Sample(u64),
    /// To end that, and to say what it saw in a window of the agent's clock, if there was one: [`Seen`](super::Seen).
    Measure(u64, Option<(u64, u64)>),
    /// [`StopReport`](crate::supervise::StopReport).
    Stop(u64),
    /// To say what an installation would do, and whether that is nothing: `(String, bool)`.
    PlanInstall(Vec<Named>),
    /// [`Installed`].
    Install(Vec<Named>),
    /// To say what on its machine distorts results: `Vec<Finding>`.
    Examine,
    /// To send back what is sent to a port of its own: the port.
    Echo,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Greeting {
    pub(super) version: String,
    pub(super) address: Option<Ipv4Addr>,
    pub(super) runtime: String,
    pub(super) memory: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Named {
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
    Listening(Listening),
    Died(u64, Death),
    Progress(String),
    /// A call's answer, of the type that its [`Request`] names, or why there is none, in a sentence.
    Answer(u64, Result<Box<RawValue>, String>),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Greeted {
    pub(super) host: Host,
    pub(super) address: Ipv4Addr,
    pub(super) interface: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Found {
    pub(crate) missing: Vec<Missing>,
    pub(crate) version: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Listening {
    pub(crate) port: u16,
    /// The certificate that was made for it, PEM.
    pub(crate) certificate: Option<String>,
}
