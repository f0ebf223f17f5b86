//! A blocking client that believes nothing.

pub(crate) mod http2;

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use prony_target::{Config, Target};

/// Longer than any machine needs; only a test that fails waits this long.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) fn start(config: &Config) -> Target {
    Target::start(config).unwrap()
}

pub(crate) fn get(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n")
}

/// Waits for what becomes true by itself.
pub(crate) fn eventually(mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "in {PATIENCE:?} it did not come true");
        thread::sleep(Duration::from_millis(1));
    }
}

pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    inbox: Vec<u8>,
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Length of head and body.
    pub(crate) bytes: usize,
    headers: Vec<(String, String)>,
    body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub(crate) fn body(&self) -> &str {
        &self.body
    }
}

impl Client {
    pub(crate) fn connect(target: &Target) -> Client {
        Client::connect_to(target.address())
    }

    pub(crate) fn connect_to(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Client { stream, inbox: Vec::new() }
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).unwrap();
    }

    pub(crate) fn ask(&mut self, request: &str) -> Answer {
        self.send(request);
        self.answer()
    }

    /// Asks for what has no body.
    pub(crate) fn ask_head(&mut self, request: &str) -> Answer {
        self.send(request);
        self.take(false)
    }

    pub(crate) fn answer(&mut self) -> Answer {
        self.take(true)
    }

    /// Whether the server has ended its side, with nothing more said.
    pub(crate) fn is_at_end(&mut self) -> bool {
        self.inbox.is_empty() && self.read(&mut [0]) == 0
    }

    /// A process that was stopped and goes on finds its read interrupted where that has a limit.
    fn read(&mut self, buffer: &mut [u8]) -> usize {
        loop {
            match self.stream.read(buffer) {
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                read => return read.unwrap(),
            }
        }
    }

    fn take(&mut self, has_body: bool) -> Answer {
        let head_bytes =
            self.read_until(|inbox| inbox.windows(4).position(|w| w == b"\r\n\r\n").map(|at| at + 4));
        let head = String::from_utf8(self.inbox[..head_bytes].to_vec()).unwrap();
        let mut lines = head.trim_end().split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers: Vec<(String, String)> = lines
            .map(|line| line.split_once(": ").unwrap())
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let mut answer = Answer { status, bytes: 0, headers, body: String::new() };
        let length = if has_body && status != 100 { answer.header("content-length").unwrap() } else { "0" };
        answer.bytes = head_bytes + length.parse::<usize>().unwrap();
        let bytes = answer.bytes;
        self.read_until(|inbox| (inbox.len() >= bytes).then_some(bytes));
        answer.body = String::from_utf8(self.inbox[head_bytes..bytes].to_vec()).unwrap();
        self.inbox.drain(..bytes);
        answer
    }

    fn read_until(&mut self, mut complete: impl FnMut(&[u8]) -> Option<usize>) -> usize {
        let mut buffer = vec![0; 1 << 20];
        loop {
            if let Some(length) = complete(&self.inbox) {
                return length;
            }
            let count = self.read(&mut buffer);
            assert!(count > 0, "the server closed within an answer");
            self.inbox.extend_from_slice(&buffer[..count]);
        }
    }
}
