//! One connection: requests in, answers out when they are due; in HTTP/1 in the order of their requests.

use std::collections::VecDeque;
use std::io;
use std::mem;
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;

use prony_http2::frame::write::PREFACE;
use rustls::ServerConfig;

use crate::answer::{Answer, Content};
use crate::decoder::{Decoder, Request, Step};
use crate::http2::{Event, Http2};
use crate::outbox::{Account, Arrival, Outbox};
use crate::request::{Persistence, Route};
use crate::service::Service;
use crate::sys::{self, EventFlags};
use crate::tls::{Sealing, Session};

/// Answers that may wait on a connection, and bytes of theirs; then it isn't read until some have left.
const WAITING_MAX: usize = 1024;
const WAITING_BYTES_MAX: usize = 16 << 20;
/// Bytes that may wait for a client that doesn't read, beyond one answer; then it isn't read either.
const UNSENT_BYTES_MAX: usize = 256 << 10;
/// The client's end of a closed connection is awaited so long: closing with bytes unread would reset it, and could
/// destroy the answer on its way.
const LINGER_NS: u64 = 1_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    Keep,
    Close,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// The last request is taken; its answer is still to be sent. What follows it is dropped.
    Ending,
    /// All is sent and our side ended; the client's end is awaited until then.
    Lingering {
        until_ns: u64,
    },
    Broken,
}

struct Waiting {
    due_ns: u64,
    answer: Answer,
    account: Account,
    stream: u32,
}

enum Protocol {
    Unknown,
    Http1(Decoder),
    Http2(Box<Http2>),
}

pub(crate) struct Connection {
    pub(crate) stream: TcpStream,
    tls: Option<Box<Session>>,
    phase: Phase,
    /// The client has ended its side: what it asked is still answered.
    input_ended: bool,
    /// Taking requests was paused for want of room, with some left in the inbox.
    paused: bool,
    /// When the bytes of the inbox came, the last of them.
    arrival: Arrival,
    /// Due instant of the last answer: in HTTP/1, no later answer of this connection is due earlier.
    last_due_ns: u64,
    protocol: Protocol,
    /// Bytes read that are no complete head yet, or that wait for room.
    inbox: Vec<u8>,
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
    outbox: Outbox,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream, tls: Option<&Arc<ServerConfig>>) -> Connection {
        let session = tls.map(Session::new).transpose();
        // A session that cannot be set up, for want of random numbers, say, is a connection that is closed.
        let phase = if session.is_ok() { Phase::Open } else { Phase::Broken };
        Connection {
            stream,
            tls: session.ok().flatten().map(Box::new),
            phase,
            input_ended: false,
            paused: false,
            arrival: Arrival::new(0, 0, None),
            last_due_ns: 0,
            protocol: Protocol::Unknown,
            inbox: Vec::new(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            outbox: Outbox::default(),
        }
    }

    pub(crate) fn interest(&self) -> EventFlags {
        let reads = match self.phase {
            Phase::Open => !self.input_ended && !self.paused && self.has_room(),
            Phase::Lingering { .. } => true,
            Phase::Ending | Phase::Broken => false,
        };
        let mut interest = EventFlags::empty();
        interest.set(EventFlags::IN, reads);
        interest.set(EventFlags::OUT, !self.outbox.is_empty() || self.has_records());
        interest
    }

    /// When [`Connection::proceed`] has to be called at the latest.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        match self.phase {
            Phase::Lingering { until_ns } => Some(until_ns),
            // With a full outbox it is the client's reading that lets it go on.
            _ if self.outbox.unsent_bytes() > UNSENT_BYTES_MAX => None,
            _ => self.waiting.front().map(|waiting| waiting.due_ns),
        }
    }

    fn has_room(&self) -> bool {
        self.waiting.len() < WAITING_MAX
            && self.waiting_bytes <= WAITING_BYTES_MAX
            && self.outbox.unsent_bytes() <= UNSENT_BYTES_MAX
    }

    /// There are bytes to read, or the end of them: one read, and everything that follows from it.
    pub(crate) fn read(&mut self, service: &mut Service) -> After {
        let mut buffer = mem::take(&mut service.buffer);
        let read = sys::recv(self.stream.as_fd(), &mut buffer);
        service.stamp();
        let after = match read {
            Ok((0, _)) => self.end_input(service),
            Ok(_) if matches!(self.phase, Phase::Lingering { .. }) => After::Keep,
            Ok((count, stamp_ns)) => {
                let stamp_ns = service.stamps.as_ref().and_then(|stamps| stamps.monotonic_ns(stamp_ns?));
                // Nothing arrives before what is in front of it.
                self.arrival = Arrival::new(service.now_ns, self.arrival.arrived_ns, stamp_ns);
                self.take_bytes(&buffer[..count], service);
                self.proceed(service)
            }
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                After::Keep
            }
            Err(_) => After::Close,
        };
        service.buffer = buffer;
        after
    }

    fn take_bytes(&mut self, bytes: &[u8], service: &mut Service) {
        let Some(session) = &mut self.tls else {
            service.tally.bytes_read += bytes.len() as u64;
            return self.take_in(bytes, service);
        };
        let mut plain = mem::take(&mut service.plain);
        let opened = session.open(bytes, &mut plain);
        service.tally.bytes_read += plain.len() as u64;
        self.take_in(&plain, service);
        plain.clear();
        service.plain = plain;
        match opened {
            Ok(ended) => self.input_ended |= ended,
            Err(_) => {
                // As far as it fits, the client is told.
                self.flush_records();
                self.phase = Phase::Broken;
            }
        }
    }

    fn has_records(&self) -> bool {
        self.tls.as_ref().is_some_and(|session| session.is_unsent())
    }

    fn flush_records(&mut self) {
        if let Some(session) = &mut self.tls
            && session.flush(&self.stream).is_err()
        {
            self.phase = Phase::Broken;
        }
    }

    fn end_input(&mut self, service: &mut Service) -> After {
        if matches!(self.phase, Phase::Lingering { .. }) {
            return After::Close;
        }
        self.input_ended = true;
        self.proceed(service)
    }

    /// Does all that can be done now: answers that are due, the rest of the inbox, the end.
    pub(crate) fn proceed(&mut self, service: &mut Service) -> After {
        if let Phase::Lingering { until_ns } = self.phase {
            return if until_ns <= service.now_ns { After::Close } else { After::Keep };
        }
        loop {
            self.release(service);
            let more = self.pump(service);
            self.flush(service);
            if more && self.outbox.is_empty() {
                continue;
            }
            if !(self.paused && self.phase == Phase::Open && self.has_room()) {
                break;
            }
            let inbox = mem::take(&mut self.inbox);
            self.take_in(&inbox, service);
        }
        self.flush_records();
        service.enter_tally();
        if self.phase == Phase::Broken {
            return After::Close;
        }
        if !self.waiting.is_empty() || !self.outbox.is_empty() || self.has_records() {
            return After::Keep;
        }
        if matches!(&self.protocol, Protocol::Http2(http2) if http2.is_drained()) {
            self.phase = Phase::Ending;
        }
        let ended = self.phase == Phase::Ending && self.end_output();
        match self.phase {
            Phase::Ending if ended && !self.input_ended => {
                self.phase = Phase::Lingering { until_ns: service.now_ns + LINGER_NS };
                After::Keep
            }
            Phase::Open if !self.input_ended => After::Keep,
            _ => After::Close,
        }
    }

    /// Ends our side, TLS's first; false where that cannot be.
    fn end_output(&mut self) -> bool {
        if let Some(session) = &mut self.tls {
            session.close();
            // What does not fit any more is only the courtesy.
            let _ = session.flush(&self.stream);
        }
        self.stream.shutdown(Shutdown::Write).is_ok()
    }

    /// Takes requests from `bytes`, behind what the inbox holds.
    fn take_in(&mut self, bytes: &[u8], service: &mut Service) {
        self.paused = false;
        if self.inbox.is_empty() {
            let taken = self.take_requests(bytes, service);
            self.inbox.extend_from_slice(&bytes[taken..]);
        } else {
            let mut inbox = mem::take(&mut self.inbox);
            inbox.extend_from_slice(bytes);
            let taken = self.take_requests(&inbox, service);
            inbox.drain(..taken);
            // An empty one is dropped: idle connections hold no buffer.
            self.inbox = if inbox.is_empty() { Vec::new() } else { inbox };
        }
    }

    /// How many of `bytes` it took.
    fn take_requests(&mut self, bytes: &[u8], service: &mut Service) -> usize {
        let mut taken = 0;
        if let Protocol::Unknown = self.protocol {
            if bytes.starts_with(PREFACE) {
                taken = PREFACE.len();
                service.tally.http2_connections += 1;
                self.protocol = Protocol::Http2(Box::new(Http2::new(service.http2)));
            } else if PREFACE.starts_with(bytes) {
                return 0;
            } else {
                self.protocol = Protocol::Http1(Decoder::default());
            }
        }
        while self.phase == Phase::Open {
            if !self.has_room() {
                self.paused = taken < bytes.len();
                return taken;
            }
            let Protocol::Http1(decoder) = &mut self.protocol else {
                self.take_frames(&bytes[taken..], service);
                break;
            };
            let (count, step) = decoder.take(&bytes[taken..]);
            taken += count;
            match step {
                Step::More => return taken,
                Step::Continue => self.answer_uncounted(Content::Continue, service),
                Step::Request(request) => self.admit(0, request, service),
                Step::Refused(refusal) => {
                    service.tally.requests_refused += 1;
                    self.answer_uncounted(Content::Refused(refusal), service);
                    self.phase = Phase::Ending;
                }
            }
        }
        bytes.len()
    }

    /// What does not fit into HTTP/2's limits is refused or reset: only a client that does not read is not read either.
    fn take_frames(&mut self, mut bytes: &[u8], service: &mut Service) {
        while self.phase == Phase::Open
            && let Protocol::Http2(http2) = &mut self.protocol
        {
            match http2.take(&mut bytes, &mut service.tally) {
                Ok(Event::More) => return,
                Ok(Event::Nothing) => {}
                Ok(Event::Request(stream, request)) => self.admit(stream, request, service),
                Ok(Event::Gone(stream)) => self.drop_waiting(|waiting| waiting.stream == stream),
                Err(fault) => {
                    http2.end(fault);
                    service.tally.requests_refused += 1;
                    self.drop_waiting(|_| true);
                    self.phase = Phase::Ending;
                }
            }
        }
    }

    fn drop_waiting(&mut self, drops: impl Fn(&Waiting) -> bool) {
        let bytes = &mut self.waiting_bytes;
        self.waiting.retain(|waiting| {
            let drops = drops(waiting);
            *bytes -= if drops { waiting.answer.held_bytes() } else { 0 };
            !drops
        });
    }

    fn admit(&mut self, stream: u32, request: Request, service: &mut Service) {
        let mut head = request.head;
        head.route = head.route.checked(&request.body, request.came, &service.books.rows);
        let in_order = stream == 0;
        let persistence = if service.close && in_order { Persistence::Close } else { head.persistence };
        let (account, due_ns) = if head.route == Route::Ledger {
            service.tally.ledger_bytes_read += head.bytes as u64;
            (Account::Ledger, self.arrival.read_ns)
        } else {
            service.tally.received(head.route);
            let wait_ns = if let Route::Sleep { wait_ns } = head.route { wait_ns } else { 0 };
            let due_ns = service.truth.due_ns(self.arrival.read_ns).saturating_add(wait_ns);
            (Account::Request(self.arrival), due_ns)
        };
        let content = Content::Of(head.route, request.body);
        let answer = Answer { content, is_head: head.is_head, persistence };
        self.schedule(Waiting { due_ns, answer, account, stream }, service);
        if persistence == Persistence::Close && self.phase == Phase::Open {
            self.phase = Phase::Ending;
        }
    }

    /// What is no answer to a request: neither delayed nor counted, but in its turn.
    fn answer_uncounted(&mut self, content: Content, service: &mut Service) {
        let persistence = match content {
            Content::Refused(_) => Persistence::Close,
            _ => Persistence::Keep,
        };
        let answer = Answer { content, is_head: false, persistence };
        let (due_ns, account) = (self.arrival.read_ns, Account::Uncounted);
        self.schedule(Waiting { due_ns, answer, account, stream: 0 }, service);
    }

    fn schedule(&mut self, mut waiting: Waiting, service: &mut Service) {
        if waiting.stream == 0 {
            waiting.due_ns = waiting.due_ns.max(self.last_due_ns);
            self.last_due_ns = waiting.due_ns;
        }
        let at = self.waiting.partition_point(|earlier| earlier.due_ns <= waiting.due_ns);
        if at == 0 && waiting.due_ns <= service.now_ns {
            self.write(waiting, service);
        } else {
            self.waiting_bytes += waiting.answer.held_bytes();
            self.waiting.insert(at, waiting);
        }
    }

    fn release(&mut self, service: &mut Service) {
        while self.outbox.unsent_bytes() <= UNSENT_BYTES_MAX
            && self.waiting.front().is_some_and(|waiting| waiting.due_ns <= service.now_ns)
            && let Some(waiting) = self.waiting.pop_front()
        {
            self.waiting_bytes -= waiting.answer.held_bytes();
            self.write(waiting, service);
        }
        if self.waiting.is_empty() && self.waiting.capacity() > 64 {
            self.waiting = VecDeque::new();
        }
    }

    /// Puts an answer into the loop's outbox; it leaves with the next flush.
    fn write(&mut self, waiting: Waiting, service: &mut Service) {
        let Waiting { mut answer, account, stream, .. } = waiting;
        if account == Account::Ledger {
            // What was answered before it on this connection has to be in it.
            self.pump(service);
            self.flush(service);
            service.enter_tally();
            answer.content = Content::Ledger(service.books.ledger_json());
        }
        let Service { outbox, writer, tally, .. } = service;
        match &mut self.protocol {
            Protocol::Http2(http2) => http2.respond(stream, answer, account, writer, outbox, tally),
            _ => outbox.push(account, |out| writer.write(answer, out)),
        }
        if service.outbox.unsent_bytes() > UNSENT_BYTES_MAX {
            self.flush(service);
        }
    }

    /// In HTTP/2, puts more of the answers' bodies into the loop's outbox; true where it was full before their end.
    fn pump(&mut self, service: &mut Service) -> bool {
        let Protocol::Http2(http2) = &mut self.protocol else { return false };
        let room = UNSENT_BYTES_MAX.saturating_sub(self.outbox.unsent_bytes());
        http2.pump(&service.writer, &mut service.outbox, room)
    }

    /// One `send` of what there is, if there is anything.
    fn flush(&mut self, service: &mut Service) {
        let borrowed = self.outbox.is_empty();
        if borrowed {
            if service.outbox.is_empty() {
                return;
            }
            // The loop's outbox is lent, and comes back below if the kernel takes everything, as it nearly always does.
            mem::swap(&mut self.outbox, &mut service.outbox);
        } else {
            self.outbox.append(&mut service.outbox);
        }
        let Connection { tls, stream, outbox, .. } = self;
        let sent = match tls {
            _ if self.phase == Phase::Broken => Ok(false),
            None => service.send(outbox, &*stream),
            Some(session) => service.send(outbox, Sealing { session, stream }),
        };
        if sent.is_err() {
            self.phase = Phase::Broken;
        }
        if self.outbox.is_empty() {
            if borrowed {
                mem::swap(&mut self.outbox, &mut service.outbox);
            } else {
                self.outbox = Outbox::default();
            }
        }
    }
}
