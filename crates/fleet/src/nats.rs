//! The one file that knows NATS and an async runtime: a thread of its own, tokio's, carries messages between channels
//! and a server. Loads never wait for it; what it costs is counted as the client process's CPU time.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use async_nats::connection::State;
use async_nats::{Client, ConnectOptions, Subscriber};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use prony_host::cpus;
use prony_model::printable::harmless_within;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::server::judge;

/// Messages that wait to go out; more are dropped, and sent again by who misses their effect.
const OUT_MAX: usize = 4096;
/// The bytes of messages that have come and wait to be heard; more are dropped, and said again.
const WAITING_MAX_BYTES: usize = 128 << 20;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest version that a server may have.
const VERSION_MAX_CHARS: usize = 64;
/// The longest text of a server that refuses.
const WHY_MAX_CHARS: usize = 500;
/// How long messages may take to leave at the end.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);
/// Between attempts to connect again: a lease lasts seconds.
const RECONNECT_EVERY: Duration = Duration::from_millis(200);
/// A connection over which nothing came for so long is not waited for alone: TCP sends lost packets again after a wait that
/// doubles, from 0.2 s on, so that it may take as long again as the way was cut; a lease lasts 4 s.
pub(crate) const SILENT: Duration = Duration::from_secs(1);
/// Between the beginnings of two connections beside it; none waits for another, since on a long way each takes its time.
const RENEW_EVERY: Duration = Duration::from_millis(100);

#[derive(Debug, Clone)]
pub struct Address {
    /// `nats://HOST:PORT`, or `tls://` where TLS is a must.
    pub url: String,
    pub login: Login,
    /// The file of the authority that has signed its certificate, beside the system's.
    pub authority: Option<PathBuf>,
    /// The CPUs of the thread that carries its messages; empty: any.
    pub cpus: Vec<u32>,
}

#[derive(Clone)]
pub enum Login {
    Nobody,
    Nkey(String),
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Login::Nobody => "Nobody",
            Login::Nkey(_) => "Nkey",
        })
    }
}

pub(crate) type Message = (String, Payload);

/// What a message says. Until it is dropped it counts as waiting.
#[derive(Debug)]
pub(crate) struct Payload {
    bytes: Vec<u8>,
    waiting: Arc<AtomicUsize>,
}

impl Payload {
    /// Nothing, where too much waits already.
    pub(crate) fn within_bound(bytes: &[u8], waiting: &Arc<AtomicUsize>) -> Option<Payload> {
        let others = waiting.load(Ordering::Relaxed);
        let sum = others.checked_add(bytes.len()).filter(|sum| *sum <= WAITING_MAX_BYTES)?;
        // Only one thread adds; others only take away.
        waiting.fetch_add(sum - others, Ordering::Relaxed);
        Some(Payload { bytes: bytes.to_vec(), waiting: Arc::clone(waiting) })
    }
}

impl Deref for Payload {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Payload {
    fn drop(&mut self) {
        self.waiting.fetch_sub(self.bytes.len(), Ordering::Relaxed);
    }
}

#[derive(Debug)]
enum Ask {
    Send(String, Vec<u8>),
    Renew,
}

type Current = Arc<Mutex<Client>>;

#[derive(Debug)]
pub(crate) struct Link {
    out: Sender<Ask>,
    current: Current,
    version: String,
    renewed: Instant,
}

impl Link {
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    pub(crate) fn send(&self, subject: String, bytes: Vec<u8>) {
        let _ = self.out.try_send(Ask::Send(subject, bytes));
    }

    /// Begins a connection beside the present one, which it replaces once it stands.
    pub(crate) fn renew(&mut self) {
        if self.renewed.elapsed() >= RENEW_EVERY {
            self.renewed = Instant::now();
            let _ = self.out.try_send(Ask::Renew);
        }
    }

    /// Waits a moment until what was sent has left, for a process that is about to end.
    pub(crate) fn flush(&self) {
        let began = Instant::now();
        while self.out.capacity() < self.out.max_capacity() && began.elapsed() < FLUSH_TIMEOUT {
            thread::sleep(Duration::from_millis(1));
        }
        // What the client has taken it writes when its runtime next runs.
        thread::sleep(Duration::from_millis(20));
    }

    pub(crate) fn is_connected(&self) -> bool {
        let client = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        client.connection_state() == State::Connected
    }
}

/// Connects, and gives every message of a subject to `take`, which wraps it.
pub(crate) fn connect<T: Send + 'static>(
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
            // Refused only for CPUs that are gone, of which the load itself speaks.
            let _ = cpus::set_affinity(0, &address.cpus);
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let connected = |client: Result<Current, String>| drop(ready.send(client));
            match runtime {
                Ok(runtime) => {
                    let ends = Ends { subject, take, to };
                    runtime.block_on(carry(&address, &ends, messages, &connected));
                }
                Err(e) => connected(Err(e.to_string())),
            }
        })
        .map_err(|e| format!("no thread for the connection to NATS could be started: {e}"))?;
    let said = is_ready.recv_timeout(2 * CONNECT_TIMEOUT);
    let current = said.unwrap_or_else(|_| Err("it did not answer in time".to_owned())).map_err(|why| {
        format!("The NATS server at {url} could not be reached: {}.", harmless_within(&why, WHY_MAX_CHARS))
    })?;
    let version = current.lock().unwrap_or_else(PoisonError::into_inner).server_info().version;
    let version = harmless_within(&version, VERSION_MAX_CHARS);
    judge(&format!("The NATS server at {url}"), &version)?;
    Ok(Link { out, current, version, renewed: Instant::now() })
}

struct Ends<T> {
    subject: String,
    take: fn(Message) -> T,
    to: SyncSender<T>,
}

struct Connection {
    client: Client,
    incoming: Subscriber,
    since: Instant,
}

async fn open(address: &Address, subject: &str) -> Result<Connection, String> {
    let options = match &address.login {
        Login::Nobody => ConnectOptions::new(),
        Login::Nkey(seed) => ConnectOptions::with_nkey(seed.clone()),
    };
    let options = match &address.authority {
        Some(path) => options.add_root_certificates(path.clone()).require_tls(true),
        None => options,
    };
    let options = options
        .connection_timeout(CONNECT_TIMEOUT)
        .reconnect_delay_callback(|_| RECONNECT_EVERY)
        .ignore_discovered_servers();
    let client = options.connect(&address.url).await.map_err(|e| e.to_string())?;
    let incoming = client.subscribe(subject.to_owned()).await.map_err(|e| e.to_string())?;
    // Known to the server before anybody answers.
    client.flush().await.map_err(|e| e.to_string())?;
    Ok(Connection { client, incoming, since: Instant::now() })
}

async fn carry<T>(
    address: &Address,
    ends: &Ends<T>,
    mut asked: Receiver<Ask>,
    connected: &(impl Fn(Result<Current, String>) + Sync),
) {
    let mut connection = match open(address, &ends.subject).await {
        Ok(opened) => opened,
        Err(why) => return connected(Err(why)),
    };
    let current = Arc::new(Mutex::new(connection.client.clone()));
    connected(Ok(Arc::clone(&current)));
    let mut newer = FuturesUnordered::new();
    let waiting = Arc::default();
    loop {
        tokio::select! {
            ask = asked.recv() => match ask {
                Some(Ask::Send(subject, bytes)) => drop(connection.client.publish(subject, bytes.into()).await),
                // Where a new one is as silent, the other end says nothing.
                Some(Ask::Renew) if connection.since.elapsed() > SILENT => newer.push(open(address, &ends.subject)),
                Some(Ask::Renew) => {}
                None => break,
            },
            Some(Ok(opened)) = newer.next() => {
                connection = opened;
                newer.clear();
                *current.lock().unwrap_or_else(PoisonError::into_inner) = connection.client.clone();
            }
            message = connection.incoming.next() => match message {
                Some(message) => {
                    let Some(payload) = Payload::within_bound(&message.payload, &waiting) else { continue };
                    let message = (message.subject.to_string(), payload);
                    // Whoever is not there any more needs nothing; one who is behind hears it again.
                    if let Err(TrySendError::Disconnected(_)) = ends.to.try_send((ends.take)(message)) {
                        break;
                    }
                }
                None => break,
            },
        }
    }
    let _ = connection.client.flush().await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::mpsc::sync_channel;

    const INFO: &str =
        "INFO {\"server_id\":\"a\",\"version\":\"2.10.0\",\"proto\":1,\"max_payload\":1024}\r\n";

    /// A NATS server's part of a connection, up to the first flush behind a subscription: what it was subscribed to.
    fn greet(stream: &mut TcpStream) -> String {
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        stream.write_all(INFO.as_bytes()).unwrap();
        let mut subscribed = None;
        loop {
            let line = lines.next().unwrap().unwrap();
            if let Some(id) = line.strip_prefix("SUB news ") {
                subscribed = Some(id.trim().to_owned());
            } else if line == "PING" {
                stream.write_all(b"PONG\r\n").unwrap();
                if let Some(id) = subscribed {
                    return id;
                }
            }
        }
    }

    #[test]
    fn a_second_connection_brings_what_a_silent_one_does_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("nats://{}", listener.local_addr().unwrap());
        let server = thread::spawn(move || {
            let (mut silent, _) = listener.accept().unwrap();
            greet(&mut silent);
            let (mut newer, _) = listener.accept().unwrap();
            let id = greet(&mut newer);
            newer.write_all(format!("MSG news {id} 2\r\nhi\r\n").as_bytes()).unwrap();
            // Further ones, which were begun meanwhile, get no answer; all stand until the client ends.
            (silent, newer, listener)
        });
        let address = Address { url, login: Login::Nobody, authority: None, cpus: Vec::new() };
        let (to, came) = sync_channel(1);
        let mut link = connect(&address, "news", |message| message, to).unwrap();
        assert!(link.is_connected());
        let began = Instant::now();
        let heard = loop {
            assert!(began.elapsed() < Duration::from_secs(60), "no other connection was begun");
            link.renew();
            if let Ok(message) = came.recv_timeout(RENEW_EVERY) {
                break message;
            }
        };
        assert_eq!((heard.0.as_str(), &*heard.1), ("news", b"hi".as_slice()));
        drop(server.join().unwrap());
    }

    #[test]
    fn messages_that_nobody_hears_wait_within_a_bound() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("nats://{}", listener.local_addr().unwrap());
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let id = greet(&mut stream);
            let long = vec![b'x'; 1 << 20];
            for _ in 0..WAITING_MAX_BYTES / long.len() + 8 {
                stream.write_all(format!("MSG news {id} {}\r\n", long.len()).as_bytes()).unwrap();
                stream.write_all(&[&long, b"\r\n".as_slice()].concat()).unwrap();
            }
            // The client answers once it has read all of it.
            stream.write_all(b"PING\r\n").unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while lines.next().unwrap().unwrap() != "PONG" {}
            (stream, id)
        });
        let address = Address { url, login: Login::Nobody, authority: None, cpus: Vec::new() };
        let (to, came) = sync_channel(4096);
        let _link = connect(&address, "news", |message| message, to).unwrap();
        let (mut stream, id) = server.join().unwrap();
        let mut held: Vec<Message> = came.iter().take(WAITING_MAX_BYTES >> 20).collect();
        held.extend(came.try_iter());
        assert_eq!(held.len(), WAITING_MAX_BYTES >> 20);
        held.clear();
        // What was heard makes room, and whatever of it was still on its way.
        stream.write_all(format!("MSG news {id} 2\r\nhi\r\n").as_bytes()).unwrap();
        assert!(came.iter().any(|(_, payload)| *payload == *b"hi"));
    }
}
