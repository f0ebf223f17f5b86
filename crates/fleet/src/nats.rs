//! The one file that knows NATS and an async runtime: a thread of its own carries messages between channels and a server.
//!
//! The runtime is tokio's, on that one thread. Loads run on threads of their own, which never wait for it; what it costs is
//! the client process's CPU time, and counted as that.

use std::sync::mpsc::{SyncSender, TrySendError};
use std::thread;
use std::time::Duration;

use async_nats::{ConnectOptions, Event};
use futures_util::StreamExt;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Messages that wait to go out; more are dropped, and sent again by who misses their effect.
const OUT_MAX: usize = 4096;
/// How long a first connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Between attempts to connect again: a lease lasts seconds.
const RECONNECT_EVERY: Duration = Duration::from_millis(200);

/// Where a NATS server is, and as whom to speak with it.
#[derive(Debug, Clone)]
pub struct Address {
    /// `nats://HOST:PORT`.
    pub url: String,
    /// Its user.
    pub user: String,
    /// That user's password.
    pub password: String,
}

/// A message: its subject and what it says.
pub type Message = (String, Vec<u8>);

/// A connection to a NATS server. It ends when this is dropped.
#[derive(Debug)]
pub struct Link {
    out: Sender<Message>,
}

impl Link {
    /// Sends a message, or drops it where too many wait.
    pub fn send(&self, subject: String, bytes: Vec<u8>) {
        let _ = self.out.try_send((subject, bytes));
    }
}

/// Connects, and gives every message of a subject to `take`, which wraps it.
///
/// # Errors
/// A sentence, where nobody answers or the server refuses.
pub fn connect<T: Send + 'static>(
    address: &Address,
    subject: &str,
    take: fn(Message) -> T,
    to: SyncSender<T>,
) -> Result<Link, String> {
    let (out, messages) = channel(OUT_MAX);
    let (ready, is_ready) = std::sync::mpsc::channel();
    let (address, subject) = (address.clone(), subject.to_owned());
    let url = address.url.clone();
    thread::Builder::new()
        .name("prony-nats".to_owned())
        .spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let connected = |why: Result<(), String>| drop(ready.send(why));
            match runtime {
                Ok(runtime) => runtime.block_on(carry(&address, subject, take, &to, messages, &connected)),
                Err(e) => connected(Err(e.to_string())),
            }
        })
        .map_err(|e| format!("no thread for the connection to NATS could be started: {e}"))?;
    let said = is_ready.recv_timeout(2 * CONNECT_TIMEOUT);
    said.unwrap_or_else(|_| Err("it did not answer in time".to_owned()))
        .map_err(|why| format!("the NATS server at {url} could not be reached: {why}"))?;
    Ok(Link { out })
}

async fn carry<T>(
    address: &Address,
    subject: String,
    take: fn(Message) -> T,
    to: &SyncSender<T>,
    mut messages: Receiver<Message>,
    connected: &(impl Fn(Result<(), String>) + Sync),
) {
    let options = ConnectOptions::with_user_and_password(address.user.clone(), address.password.clone())
        .connection_timeout(CONNECT_TIMEOUT)
        .reconnect_delay_callback(|_| RECONNECT_EVERY)
        .ignore_discovered_servers()
        // What happens to a connection shows by what comes over it; nothing is printed.
        .event_callback(|_: Event| async {});
    let client = match options.connect(&address.url).await {
        Ok(client) => client,
        Err(e) => return connected(Err(e.to_string())),
    };
    let mut incoming = match client.subscribe(subject).await {
        Ok(incoming) => incoming,
        Err(e) => return connected(Err(e.to_string())),
    };
    // Known to the server before anybody answers.
    if let Err(e) = client.flush().await {
        return connected(Err(e.to_string()));
    }
    connected(Ok(()));
    loop {
        tokio::select! {
            message = messages.recv() => match message {
                Some((subject, bytes)) => drop(client.publish(subject, bytes.into()).await),
                None => break,
            },
            message = incoming.next() => match message {
                Some(message) => {
                    let message = (message.subject.to_string(), message.payload.to_vec());
                    // Whoever is not there any more needs nothing; one who is behind hears it again.
                    if let Err(TrySendError::Disconnected(_)) = to.try_send(take(message)) {
                        break;
                    }
                }
                None => break,
            },
        }
    }
    let _ = client.flush().await;
}
