//! `xtask counting-server`: a server that only counts. A closed loop keeps its slower side busy: with `prony target`
//! (about 1 µs a request on top of the socket) the cheapest clients would wait, and their CPU time would be that of an
//! idle client. This one counts empty lines, each of which ends a request, of HTTP/2 HEADERS frames.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use prony_target::{LEDGER_SCHEMA, Ledger};
use serde_json::Value;

use super::canned::Client;

const BODY: &str = "Hello, World!";
/// Answers written at once; deeper pipelines take several writes.
const BATCH_MAX: usize = 64;
/// Bytes asked of one read.
const READ_BYTES: usize = 64 << 10;
const LISTENER: u64 = u64::MAX;

struct Connection {
    stream: TcpStream,
    /// The first request as far as it has come; empty once it is complete.
    head: Vec<u8>,
    ends: Ends,
    http2: Option<Box<Client>>,
    /// Whether the client is HTTP/1.0 and wants to be told that the connection stays.
    says_keep_alive: bool,
}

#[derive(Default)]
struct Server {
    /// In the order in which they came; those that have ended leave their place empty.
    connections: Vec<Option<Connection>>,
    answered: u64,
    bytes_read: u64,
    bytes_written: u64,
    reads: u64,
    /// Answers of HTTP/2, before they are written.
    out: Vec<u8>,
    buffer: Vec<u8>,
    /// [`BATCH_MAX`] answers to HTTP/1.1, and to HTTP/1.0.
    batches: [(Vec<u8>, usize); 2],
}

pub(crate) fn run() -> Result<(), String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|e| e.to_string())?;
    listener.set_nonblocking(true).map_err(|e| e.to_string())?;
    println!("http://{}/", listener.local_addr().map_err(|e| e.to_string())?);
    std::thread::spawn(|| {
        let mut byte = [0];
        while matches!(std::io::stdin().read(&mut byte), Ok(1)) {}
        std::process::exit(0);
    });
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(|e| e.to_string())?;
    epoll.add(&listener, EpollEvent::new(EpollFlags::EPOLLIN, LISTENER)).map_err(|e| e.to_string())?;
    let batch = |extra: &str| {
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n{extra}\r\n{BODY}",
            BODY.len()
        );
        (answer.repeat(BATCH_MAX).into_bytes(), answer.len())
    };
    let mut server = Server {
        out: Vec::with_capacity(READ_BYTES),
        buffer: vec![0; READ_BYTES],
        batches: [batch(""), batch("Connection: keep-alive\r\n")],
        ..Server::default()
    };
    let mut events = vec![EpollEvent::empty(); 1024];
    loop {
        let count = match epoll.wait(&mut events, EpollTimeout::NONE) {
            Ok(count) => count,
            Err(nix::errno::Errno::EINTR) => continue,
            Err(e) => return Err(e.to_string()),
        };
        for event in &events[..count] {
            if event.data() == LISTENER {
                server.accept(&listener, &epoll)?;
            } else if let Ok(index) = usize::try_from(event.data()) {
                server.serve(index);
            }
        }
    }
}

impl Server {
    fn accept(&mut self, listener: &TcpListener, epoll: &Epoll) -> Result<(), String> {
        while let Ok((stream, _)) = listener.accept() {
            let _ = stream.set_nonblocking(true);
            let _ = stream.set_nodelay(true);
            let event = EpollEvent::new(EpollFlags::EPOLLIN, self.connections.len() as u64);
            epoll.add(&stream, event).map_err(|e| e.to_string())?;
            let (head, ends) = (Vec::new(), Ends::default());
            let connection = Connection { stream, head, ends, http2: None, says_keep_alive: false };
            self.connections.push(Some(connection));
        }
        Ok(())
    }

    fn serve(&mut self, index: usize) {
        let Some(mut connection) = self.connections.get_mut(index).and_then(Option::take) else { return };
        // Closing it takes it out of the epoll instance.
        self.connections[index] = self.turn(&mut connection).map(|()| connection);
    }

    /// One read, and the answers that it calls for; `None` where the connection ends.
    fn turn(&mut self, connection: &mut Connection) -> Option<()> {
        let read = match connection.stream.read(&mut self.buffer) {
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Some(()),
            read => read.ok().filter(|read| *read > 0)?,
        };
        self.bytes_read += read as u64;
        self.reads += 1;
        if let Some(client) = &mut connection.http2 {
            let answered = client.take(&self.buffer[..read], BODY.as_bytes(), &mut self.out)?;
            return self.send(connection, answered);
        }
        let requests = if connection.ends.usual_bytes > 0 {
            connection.ends.count(&self.buffer[..read])
        } else {
            connection.head.extend_from_slice(&self.buffer[..read]);
            if connection.head.starts_with(b"GET /-/ledger") {
                self.bytes_read -= connection.head.len() as u64;
                self.tell(connection);
                return None;
            }
            if connection.head.starts_with(b"PRI * HTTP/2.0\r\n") {
                let client = connection.http2.insert(Box::default());
                let head = std::mem::take(&mut connection.head);
                let answered = client.take(&head, BODY.as_bytes(), &mut self.out)?;
                return self.send(connection, answered);
            }
            let Some(length) = first_request(&connection.head) else { return Some(()) };
            connection.ends.usual_bytes = length;
            connection.says_keep_alive = connection.head[..length].windows(8).any(|w| w == b"HTTP/1.0");
            connection.ends.count(&std::mem::take(&mut connection.head))
        };
        self.answer(connection, requests)
    }

    fn answer(&mut self, connection: &mut Connection, mut requests: usize) -> Option<()> {
        let (batch, length) = &self.batches[usize::from(connection.says_keep_alive)];
        while requests > 0 {
            let now = requests.min(BATCH_MAX);
            let bytes = &batch[..now * length];
            // A client that doesn't take 7 KB of small answers is none of ours: its connection is closed.
            connection.stream.write(bytes).ok().filter(|written| *written == bytes.len())?;
            self.answered += now as u64;
            self.bytes_written += bytes.len() as u64;
            requests -= now;
        }
        Some(())
    }

    fn send(&mut self, connection: &mut Connection, answered: u64) -> Option<()> {
        let mut sent = 0;
        // As above, but a client of many streams may take its time: it is waited for.
        while sent < self.out.len() {
            match connection.stream.write(&self.out[sent..]) {
                Err(e) if e.kind() == ErrorKind::WouldBlock => std::thread::yield_now(),
                written => sent += written.ok()?,
            }
        }
        self.answered += answered;
        self.bytes_written += sent as u64;
        self.out.clear();
        Some(())
    }

    /// The ledger, in the target's format, without latencies and with its reads; the connection ends with it.
    fn tell(&self, connection: &mut Connection) {
        let ledger = Ledger {
            schema: LEDGER_SCHEMA.to_owned(),
            requests_received: self.answered,
            requests_answered: self.answered,
            connections_accepted: self.connections.len() as u64,
            // The one that asks is taken out meanwhile.
            connections_open: 1 + self.connections.iter().flatten().count() as u64,
            bytes_read: self.bytes_read,
            bytes_written: self.bytes_written,
            residence_clock: "user".to_owned(),
            ..Ledger::default()
        };
        let mut ledger = serde_json::to_value(&ledger).unwrap_or_default();
        ledger["reads"] = Value::from(self.reads);
        let body = ledger.to_string();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
        let _ = connection.stream.write_all((head + &body).as_bytes());
    }
}

fn first_request(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|w| w == b"\r\n\r\n").map(|at| at + 4)
}

/// Where in a request the next byte falls, as far as its end needs it. Requests may differ in length: vegeta numbers them.
#[derive(Default)]
struct Ends {
    /// Length of the first request, which most others have too.
    usual_bytes: usize,
    /// How much of the empty line, with the line end before it, the last bytes were.
    matched: u8,
    /// Whether the last byte was within a request.
    within: bool,
}

impl Ends {
    fn count(&mut self, bytes: &[u8]) -> usize {
        // One request, whole, as long as the first: nearly every read where nothing is pipelined.
        if !self.within && bytes.len() == self.usual_bytes && bytes.ends_with(b"\r\n\r\n") {
            return 1;
        }
        let mut requests = 0;
        for byte in bytes {
            self.matched = match (byte, self.matched) {
                (b'\r', 2) => 3,
                (b'\r', _) => 1,
                (b'\n', 1) => 2,
                (b'\n', 3) => {
                    requests += 1;
                    4
                }
                _ => 0,
            };
        }
        self.within = self.matched != 4;
        requests
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_any_length_are_counted_in_pieces_of_any_size() {
        let first = b"GET / HTTP/1.1\r\nHost: a\r\nSeq: 10\r\n\r\n";
        assert_eq!(first_request(first), Some(first.len()));
        assert_eq!(first_request(&first[..first.len() - 1]), None);
        let shorter = b"GET / HTTP/1.1\r\nHost: a\r\nSeq: 9\r\n\r\n".as_slice();
        let longer = b"GET / HTTP/1.1\r\nHost: a\r\nSeq: 100\r\n\r\n".as_slice();
        let stream = [first, shorter, longer, first, shorter, shorter, longer].concat();
        for piece in 1..=stream.len() {
            let mut ends = Ends { usual_bytes: first.len(), ..Ends::default() };
            let requests: usize = stream.chunks(piece).map(|bytes| ends.count(bytes)).sum();
            assert_eq!((requests, ends.within), (7, false), "pieces of {piece}");
        }
    }
}
