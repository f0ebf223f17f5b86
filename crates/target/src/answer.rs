//! Answers, as bytes. No `Date` and no `Server`: the same question has the same bytes for an answer.

use std::borrow::Cow;
use std::io::Write;

use crate::board::Written;
use crate::request::{Persistence, Refusal, Route};

#[derive(Debug)]
pub(crate) enum Content {
    /// What is at a route, and the request's body where it is sent back.
    Of(Route, Vec<u8>),
    Refused(Refusal),
    Ledger(Vec<u8>),
    /// Not an answer yet: `100 Continue`.
    Continue,
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: &'static str,
    pub(crate) kind: &'static str,
    /// How the body is compressed, where it is.
    pub(crate) encoding: &'static str,
    /// The methods that there are, where another was asked for.
    pub(crate) allow: &'static str,
    pub(crate) body: Body,
}

#[derive(Debug)]
pub(crate) enum Body {
    /// That of `GET /`, which the [`Writer`] holds.
    Text,
    Fixed(&'static [u8]),
    Own(Vec<u8>),
}

impl Body {
    pub(crate) fn bytes<'a>(&'a self, writer: &'a Writer) -> &'a [u8] {
        match self {
            Body::Text => &writer.text,
            Body::Fixed(bytes) => bytes,
            Body::Own(bytes) => bytes,
        }
    }
}

impl Content {
    /// What it says. A `/work` is done now, so that the event loop does nothing else meanwhile.
    pub(crate) fn reply(self, rows: &Written) -> Reply {
        let (status, kind, body) = match self {
            Content::Of(Route::Text, _) => (OK, PLAIN, Body::Text),
            Content::Of(Route::Sleep { .. }, _) => (OK, PLAIN, Body::Fixed(HELLO)),
            Content::Of(Route::Json, _) => (OK, JSON, Body::Fixed(br#"{"message":"Hello, World!"}"#)),
            Content::Of(Route::Echo, body) => (OK, "application/octet-stream", Body::Own(body)),
            Content::Of(Route::Work { steps }, _) => {
                (OK, PLAIN, Body::Own(format!("{:016x}", work(steps)).into_bytes()))
            }
            Content::Of(Route::Unknown, _) => {
                ("404 Not Found", PLAIN, Body::Fixed(b"There is nothing at this path."))
            }
            Content::Of(Route::NotAllowed(allow), _) => {
                let (status, body) = ("405 Method Not Allowed", Body::Fixed(allow.as_bytes()));
                return Reply { status, kind: PLAIN, encoding: "", allow, body };
            }
            Content::Of(Route::BadQuery(advice), _) => {
                ("400 Bad Request", PLAIN, Body::Fixed(advice.as_bytes()))
            }
            Content::Of(Route::Board(ask), body) => {
                let said = ask.answer(&body, rows);
                let encoding = if said.is_packed { "gzip" } else { "" };
                let body = match said.body {
                    Cow::Borrowed(bytes) => Body::Fixed(bytes),
                    Cow::Owned(bytes) => Body::Own(bytes),
                };
                return Reply { status: said.status, kind: said.kind, encoding, allow: "", body };
            }
            Content::Refused(refusal) => {
                let (status, sentence) = refused(refusal);
                (status, PLAIN, Body::Fixed(sentence.as_bytes()))
            }
            Content::Ledger(json) => (OK, JSON, Body::Own(json)),
            Content::Of(Route::Ledger, _) | Content::Continue => (OK, JSON, Body::Fixed(b"")),
        };
        Reply { status, kind, encoding: "", allow: "", body }
    }
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) content: Content,
    pub(crate) is_head: bool,
    pub(crate) persistence: Persistence,
}

impl Answer {
    pub(crate) fn held_bytes(&self) -> usize {
        match &self.content {
            Content::Of(_, body) => body.len(),
            Content::Refused(_) | Content::Ledger(_) | Content::Continue => 0,
        }
    }
}

const HELLO: &[u8] = b"Hello, World!";
const OK: &str = "200 OK";
const PLAIN: &str = "text/plain";
const JSON: &str = "application/json";

pub(crate) struct Writer {
    text: Vec<u8>,
    pub(crate) rows: Written,
}

impl Writer {
    pub(crate) fn new(body_bytes: Option<usize>, rows: Written) -> Writer {
        Writer { text: body_bytes.map_or_else(|| HELLO.to_vec(), |bytes| vec![b'x'; bytes]), rows }
    }

    /// Appends the answer to `out`, in HTTP/1.
    pub(crate) fn write(&self, answer: Answer, out: &mut Vec<u8>) {
        let Answer { content, is_head, persistence } = answer;
        if matches!(content, Content::Continue) {
            return out.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
        let reply = content.reply(&self.rows);
        let body = reply.body.bytes(self);
        out.extend_from_slice(b"HTTP/1.1 ");
        out.extend_from_slice(reply.status.as_bytes());
        out.extend_from_slice(b"\r\nContent-Type: ");
        out.extend_from_slice(reply.kind.as_bytes());
        out.extend_from_slice(b"\r\nContent-Length: ");
        // Writing to a Vec cannot fail.
        let _ = write!(out, "{}", body.len());
        out.extend_from_slice(match persistence {
            Persistence::Keep => b"\r\n",
            Persistence::KeepSaid => b"\r\nConnection: keep-alive\r\n",
            Persistence::Close => b"\r\nConnection: close\r\n",
        });
        if !reply.encoding.is_empty() {
            let _ = write!(out, "Content-Encoding: {}\r\n", reply.encoding);
        }
        if !reply.allow.is_empty() {
            let _ = write!(out, "Allow: {}\r\n", reply.allow);
        }
        out.extend_from_slice(b"\r\n");
        if !is_head {
            out.extend_from_slice(body);
        }
    }
}

fn refused(refusal: Refusal) -> (&'static str, &'static str) {
    match refusal {
        Refusal::Malformed(why) => ("400 Bad Request", why),
        Refusal::BodyTooLarge => ("413 Content Too Large", "the body is over 16 MiB, or 1 GiB at /upload"),
        Refusal::HeadTooLarge => {
            ("431 Request Header Fields Too Large", "the head is over 16 KiB or 64 headers")
        }
        Refusal::TransferCoding => ("501 Not Implemented", "chunked is the one transfer coding"),
        Refusal::Version => ("505 HTTP Version Not Supported", "HTTP/1.0 and HTTP/1.1 are the versions"),
    }
}

/// Each step of xorshift64* needs the last: neither compiler nor processor can do them at once (about 3 ns each).
fn work(steps: u64) -> u64 {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..steps {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        state = state.wrapping_mul(0x2545_f491_4f6c_dd1d);
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(route: Route, is_head: bool, persistence: Persistence) -> String {
        let (content, mut out) = (Content::Of(route, Vec::new()), Vec::new());
        Writer::new(None, Written::default()).write(Answer { content, is_head, persistence }, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn answers_say_their_type_length_and_the_connections_fate() {
        assert_eq!(
            written(Route::Text, false, Persistence::Keep),
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!"
        );
        assert_eq!(
            written(Route::Json, true, Persistence::KeepSaid),
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 27\r\nConnection: keep-alive\r\n\r\n"
        );
        let not_allowed = written(Route::NotAllowed("POST"), false, Persistence::Close);
        assert!(not_allowed.starts_with("HTTP/1.1 405 "), "{not_allowed}");
        assert!(not_allowed.contains("\r\nConnection: close\r\nAllow: POST\r\n\r\n"), "{not_allowed}");
    }

    #[test]
    fn work_is_the_same_each_time_and_different_for_each_n() {
        assert_eq!(work(1000), work(1000));
        assert_ne!(work(1000), work(1001));
    }
}
