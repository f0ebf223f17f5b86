//! An agent that nobody starts for a run: it waits in a pool for the controller that it knows, and serves one run at a time.

use std::sync::mpsc::sync_channel;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::agent_process::{AgentSession, Ended, serve};
use crate::allow::Bounds;
use crate::keys::Keys;
use crate::nats::{Message, connect};
use crate::pool::{Calls, NatsLogin, Pool, Unanswered};
use crate::server::random_name;

/// Calls that wait to be looked at; more are not answered.
const CALLS_MAX: usize = 64;
const NAME_MAX: usize = 64;

pub struct PoolAgent {
    pub pool: Pool,
    pub login: NatsLogin,
    pub keys: Keys,
    pub bounds: Bounds,
    pub name: String,
    pub once: bool,
}

/// Seconds since 1970, by this machine's clock.
pub(crate) fn wall_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Serves controllers until the process ends, or once. `say` is given what an operator wants to read, as sentences.
pub fn wait_in_pool(agent: &PoolAgent, say: &dyn Fn(&str)) -> Result<(), String> {
    let is_plain = |c: char| c.is_alphanumeric() || "._-".contains(c);
    if agent.name.is_empty() || agent.name.len() > NAME_MAX || !agent.name.chars().all(is_plain) {
        return Err(format!(
            "{:?} cannot be an agent's name: give one of letters, digits, . - and _, {NAME_MAX} at most, \
             --name.",
            agent.name
        ));
    }
    let address = agent.pool.address(&agent.login)?;
    let (inputs, taken) = sync_channel(CALLS_MAX);
    let calls_subject = agent.pool.calls();
    let _link = connect(&address, &calls_subject, |(_, bytes): Message| bytes, inputs)?;
    say(&format!("The agent {} waits in the pool {} at {}.", agent.name, agent.pool.name, agent.pool.url));
    let mut calls = Calls::default();
    while let Ok(bytes) = taken.recv() {
        let run = match calls.take(&bytes, &agent.pool, &agent.keys.peer, wall_s()) {
            Ok(run) => run,
            Err(Unanswered::NotForIt) => continue,
            Err(Unanswered::Stale(why)) => {
                say(&why);
                continue;
            }
        };
        let session = AgentSession {
            run,
            // Of this answer alone: one that has lost its controller may come again, as another.
            id: random_name()?,
            address: address.clone(),
            controller_key: agent.keys.peer.clone(),
            agent_key: agent.keys.private.clone(),
            name: agent.name.clone(),
            bounds: agent.bounds.clone(),
            waits_in_pool: true,
        };
        match serve(&session, None, say) {
            Ok(Ended::NotNeeded) => {}
            Ok(Ended::Served) if agent.once => return Ok(()),
            Ok(Ended::Served) => say("A run is over; the agent waits again."),
            Err(why) => say(&format!("A controller's load was not applied: {why}.")),
        }
    }
    Err("The connection to the NATS server has ended.".to_owned())
}
