//! `xtask floor`: what the socket alone costs a client: epoll, one read, one write and one reading of the clock per
//! answer. An answer has come when as many bytes have as the first had. Over HTTP/2 it may also do what measuring each
//! request takes (`measuring`). With a rate it never sleeps: no client's wake-up is in what a request takes.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use clap::Parser;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::socket::{MsgFlags, recv, send};

use prony_model::histogram::Histogram;

use super::canned;
use super::measuring::Measuring;
use crate::median::Estimate;

/// Bytes asked of one read that copies.
const READ_BYTES: usize = 64 << 10;
/// Bytes asked of one read that drops: with MSG_TRUNC the kernel advances past them.
const DROP_BYTES: usize = 4 << 20;
/// A server that answers nothing for so long hangs.
const SILENT_MAX: Duration = Duration::from_secs(120);

#[derive(Debug, Parser)]
pub(crate) struct Asked {
    /// http://HOST:PORT/
    url: String,
    /// Connections
    #[arg(short, long, default_value_t = 100)]
    connections: usize,
    /// Seconds
    #[arg(short, long, default_value_t = 2)]
    duration: u64,
    /// Requests in flight on each connection
    #[arg(short, long, default_value_t = 1)]
    pipeline: usize,
    /// Requests per second, one at a time, by a client that never sleeps
    #[arg(short = 'R', long)]
    rate: Option<u32>,
    /// HTTP/2 by prior knowledge, closed loop
    #[arg(long, conflicts_with = "rate")]
    http2: bool,
    /// Over HTTP/2: decode each answer's header block, find its stream, and time it
    #[arg(long, requires = "http2")]
    measuring: bool,
    /// Let the kernel drop the answers (MSG_TRUNC) instead of copying them
    #[arg(long)]
    drop_bodies: bool,
}

struct Slot {
    stream: TcpStream,
    partial: usize,
    next_stream: u32,
    measuring: Option<Measuring>,
}

impl Slot {
    /// In HTTP/2, each request has a stream of its own.
    fn number(&mut self, batch: &mut Vec<u8>, request: &[u8], count: usize, http2: bool) {
        if http2 {
            batch.clear();
            canned::requests(batch, request, count, &mut self.next_stream);
        }
    }

    /// How many answers have ended by bytes that were just read, if any, and when that was.
    fn answers(
        &mut self,
        read: &[u8],
        answer_bytes: usize,
        durations: &mut Histogram,
    ) -> Result<Option<(usize, Instant)>, String> {
        let Some(measuring) = &mut self.measuring else {
            let had = self.partial + read.len();
            self.partial = had % answer_bytes;
            return Ok((had >= answer_bytes).then(|| (had / answer_bytes, Instant::now())));
        };
        let now = Instant::now();
        let ended = measuring.take(read, now, durations)?;
        measuring.begin(self.next_stream, ended, now);
        Ok((ended > 0).then_some((ended, now)))
    }
}

/// By two requests on every connection: gives how long a later answer is, since the first one's header block fills the
/// server's table.
fn begin_http2(slots: &mut [Slot], request: &[u8]) -> Result<usize, String> {
    let mut answer_bytes = 0;
    for slot in slots {
        slot.stream.set_nonblocking(false).map_err(|e| e.to_string())?;
        slot.stream.set_read_timeout(Some(SILENT_MAX)).map_err(|e| e.to_string())?;
        let mut bytes = Vec::new();
        canned::beginning(&mut bytes);
        for _ in 0..2 {
            let stream = slot.next_stream;
            canned::requests(&mut bytes, request, 1, &mut slot.next_stream);
            slot.stream.write_all(&bytes).map_err(|e| format!("a connection's beginning: {e}"))?;
            bytes.clear();
            answer_bytes = canned::answer_length(&mut slot.stream, stream)
                .map_err(|e| format!("the first answers: {e}"))?;
        }
        slot.stream.set_nonblocking(true).map_err(|e| e.to_string())?;
    }
    Ok(answer_bytes)
}

/// Loads the server and prints `{"requests": N}`, with a rate also the median time of a request, `p50_ns`.
pub(crate) fn run(arguments: &Asked) -> Result<(), String> {
    let address = arguments.url.trim_start_matches("http://").trim_end_matches('/');
    let request = format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(|e| e.to_string())?;
    let mut slots = connect(arguments.connections, address, &epoll)?;
    if arguments.http2 {
        let request = canned::request(address);
        let answer_bytes = begin_http2(&mut slots, &request)?;
        return closed(slots, &epoll, &request, answer_bytes, arguments);
    }
    let answer_bytes = learn(address, &request)?;
    match arguments.rate {
        Some(rate) => paced(&slots, request.as_bytes(), answer_bytes, rate, arguments.duration),
        None => closed(slots, &epoll, request.as_bytes(), answer_bytes, arguments),
    }
}

fn closed(
    mut slots: Vec<Slot>,
    epoll: &Epoll,
    request: &[u8],
    answer_bytes: usize,
    arguments: &Asked,
) -> Result<(), String> {
    let mut batch = request.repeat(arguments.pipeline);
    for slot in &mut slots {
        slot.measuring = arguments.measuring.then(|| Measuring::new(arguments.pipeline)).transpose()?;
        slot.number(&mut batch, request, arguments.pipeline, arguments.http2);
        slot.stream.write_all(&batch).map_err(|e| format!("a first request: {e}"))?;
    }
    let (flags, read_bytes) = if arguments.drop_bodies {
        (MsgFlags::MSG_TRUNC, DROP_BYTES)
    } else {
        (MsgFlags::empty(), READ_BYTES)
    };
    let mut buffer = vec![0; read_bytes];
    let mut events = vec![EpollEvent::empty(); 1024];
    let (mut requests, mut durations) = (0_u64, Histogram::default());
    let mut now = Instant::now();
    let end = now + Duration::from_secs(arguments.duration);
    while now < end {
        // A server that falls silent must not keep the floor for ever.
        let count = match epoll.wait(&mut events, EpollTimeout::from(100_u8)) {
            Ok(0) | Err(Errno::EINTR) => {
                now = Instant::now();
                continue;
            }
            Ok(count) => count,
            Err(e) => return Err(e.to_string()),
        };
        for event in &events[..count] {
            // The token is an index that `connect` gave.
            let slot = &mut slots[event.data() as usize];
            let fd = slot.stream.as_raw_fd();
            let read = recv(fd, &mut buffer, flags).map_err(|e| format!("recv: {e}"))?;
            if read == 0 {
                return Err("the server closed a connection".to_owned());
            }
            let ended = slot.answers(&buffer[..read], answer_bytes, &mut durations)?;
            let Some((answers, at)) = ended else { continue };
            now = at;
            requests += answers as u64;
            slot.number(&mut batch, request, answers, arguments.http2);
            let bytes = &batch[..answers * request.len()];
            let sent = send(fd, bytes, MsgFlags::MSG_NOSIGNAL).map_err(|e| format!("send: {e}"))?;
            if sent < bytes.len() {
                return Err("the server does not read".to_owned());
            }
        }
    }
    println!("{{\"requests\": {requests}}}");
    Ok(())
}

/// One request at a time at a constant rate, over all connections in turn.
fn paced(slots: &[Slot], request: &[u8], answer_bytes: usize, rate: u32, seconds: u64) -> Result<(), String> {
    let mut took_ns = Vec::new();
    let mut buffer = vec![0; READ_BYTES];
    let start = Instant::now();
    for k in 0..u64::from(rate) * seconds {
        let due = start + Duration::from_nanos(k * 1_000_000_000 / u64::from(rate));
        while Instant::now() < due {
            std::hint::spin_loop();
        }
        let fd = slots[k as usize % slots.len()].stream.as_raw_fd();
        let sent = Instant::now();
        send(fd, request, MsgFlags::MSG_NOSIGNAL).map_err(|e| format!("send: {e}"))?;
        let mut had = 0;
        while had < answer_bytes {
            match recv(fd, &mut buffer, MsgFlags::empty()) {
                Ok(0) => return Err("the server closed a connection".to_owned()),
                Ok(read) => had += read,
                Err(Errno::EAGAIN) if sent.elapsed() < SILENT_MAX => std::hint::spin_loop(),
                Err(e) => return Err(format!("recv: {e}")),
            }
        }
        took_ns.push(sent.elapsed().as_nanos() as f64);
    }
    let p50_ns = Estimate::of(took_ns).map_or(0.0, |e| e.median);
    println!("{{\"requests\": {}, \"p50_ns\": {p50_ns}}}", u64::from(rate) * seconds);
    Ok(())
}

fn connect(connections: usize, address: &str, epoll: &Epoll) -> Result<Vec<Slot>, String> {
    let mut slots = Vec::with_capacity(connections);
    for index in 0..connections {
        let stream = TcpStream::connect(address).map_err(|e| format!("{address}: {e}"))?;
        stream.set_nodelay(true).map_err(|e| e.to_string())?;
        stream.set_nonblocking(true).map_err(|e| e.to_string())?;
        epoll.add(&stream, EpollEvent::new(EpollFlags::EPOLLIN, index as u64)).map_err(|e| e.to_string())?;
        slots.push(Slot { stream, partial: 0, next_stream: 1, measuring: None });
    }
    Ok(slots)
}

fn learn(address: &str, request: &str) -> Result<usize, String> {
    let mut stream = TcpStream::connect(address).map_err(|e| format!("{address}: {e}"))?;
    stream.set_read_timeout(Some(SILENT_MAX)).map_err(|e| e.to_string())?;
    stream.write_all(request.as_bytes()).map_err(|e| e.to_string())?;
    let (mut head, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let read = stream.read(&mut buffer).map_err(|e| format!("the first answer: {e}"))?;
        if read == 0 {
            return Err("the first answer has no end".to_owned());
        }
        head.extend_from_slice(&buffer[..read]);
        if let Some(length) = answer_bytes(&head) {
            return Ok(length);
        }
    }
}

/// The length of an answer whose head is complete and has a Content-Length.
fn answer_bytes(bytes: &[u8]) -> Option<usize> {
    let end = bytes.windows(4).position(|w| w == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..end]).ok()?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    })?;
    Some(end + 4 + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_its_head_and_its_body() {
        let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\ncontent-length: 13\r\n\r\nHel";
        assert_eq!(answer_bytes(head), Some(head.len() - 3 + 13));
        assert_eq!(
            answer_bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n"),
            None,
            "the head has no end yet"
        );
        assert_eq!(answer_bytes(b"HTTP/1.1 200 OK\r\n\r\n"), None, "no length");
    }
}
