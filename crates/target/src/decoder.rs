//! From a connection's bytes to its requests: heads, bodies with a length, chunked bodies. Pure, and bounded.

use crate::request::{self, BodyEnd, Head, Refusal};

/// Longest line of a chunk's size with its extensions, and of all trailers together, in bytes.
const CHUNK_LINE_BYTES_MAX: usize = 4 << 10;

/// A request whose last byte has come.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) head: Head,
    /// Where the answer needs it; else bodies are dropped as they come.
    pub(crate) body: Vec<u8>,
    /// How long the body was.
    pub(crate) came: usize,
}

/// What the bytes given so far amount to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    More,
    /// The client waits for `100 Continue`.
    Continue,
    Request(Request),
    Refused(Refusal),
}

#[derive(Default)]
pub(crate) struct Decoder {
    /// The request whose body is coming in; `None` in a head.
    current: Option<Box<Incoming>>,
}

struct Incoming {
    head: Head,
    body: Vec<u8>,
    came: usize,
    /// Sum of the chunks announced so far, in bytes.
    announced: usize,
    state: BodyState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyState {
    /// In a body with a length: this many bytes are left.
    Length { left: usize },
    /// In a chunk's size, or its extensions.
    Size { value: usize, digits: usize, line_bytes: usize, in_extension: bool },
    /// In a chunk: this many bytes are left.
    Chunk { left: usize },
    /// In the line end after a chunk.
    ChunkEnd,
    /// In a trailer, or in the empty line that ends the body.
    Trailer { line_bytes: usize, total_bytes: usize },
}

const SIZE: BodyState = BodyState::Size { value: 0, digits: 0, line_bytes: 0, in_extension: false };

impl Decoder {
    /// Takes at most one request, and says how many bytes. An incomplete head takes none: it is to be offered again,
    /// with more.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> (usize, Step) {
        let Some(mut incoming) = self.current.take() else {
            return self.take_head(bytes);
        };
        match incoming.take(bytes) {
            Err(refusal) => (bytes.len(), Step::Refused(refusal)),
            Ok((taken, true)) => (taken, Step::Request(incoming.whole())),
            Ok((taken, false)) => {
                self.current = Some(incoming);
                (taken, Step::More)
            }
        }
    }

    fn take_head(&mut self, bytes: &[u8]) -> (usize, Step) {
        if bytes.is_empty() {
            return (0, Step::More);
        }
        let head = match request::parse(bytes) {
            Ok(Some(head)) => head,
            Ok(None) => return (0, Step::More),
            Err(refusal) => return (bytes.len(), Step::Refused(refusal)),
        };
        let state = match head.body_end {
            BodyEnd::Length(0) => {
                return (head.bytes, Step::Request(Request { head, body: Vec::new(), came: 0 }));
            }
            BodyEnd::Length(left) => BodyState::Length { left },
            BodyEnd::Chunked => SIZE,
        };
        self.current = Some(Box::new(Incoming { head, body: Vec::new(), came: 0, announced: 0, state }));
        if head.expects_continue && head.bytes == bytes.len() {
            return (head.bytes, Step::Continue);
        }
        let (taken, step) = self.take(&bytes[head.bytes..]);
        (head.bytes + taken, step)
    }
}

impl Incoming {
    fn whole(self) -> Request {
        Request { head: self.head, body: self.body, came: self.came }
    }

    /// How many of `bytes` belong to this body, and whether it is complete.
    fn take(&mut self, bytes: &[u8]) -> Result<(usize, bool), Refusal> {
        let mut taken = 0;
        while taken < bytes.len() {
            let rest = &bytes[taken..];
            match &mut self.state {
                BodyState::Length { left } | BodyState::Chunk { left } => {
                    let now = rest.len().min(*left);
                    *left -= now;
                    taken += now;
                    self.came += now;
                    if self.head.route.keeps_body() {
                        self.body.extend_from_slice(&rest[..now]);
                    }
                }
                _ => {
                    taken += 1;
                    if self.framing_byte(rest[0])? {
                        return Ok((taken, true));
                    }
                }
            }
            match self.state {
                BodyState::Length { left: 0 } => return Ok((taken, true)),
                BodyState::Chunk { left: 0 } => self.state = BodyState::ChunkEnd,
                _ => {}
            }
        }
        Ok((taken, false))
    }

    /// A byte of a chunked body that is not data; true when it was the body's last. Lines may end without their CR.
    fn framing_byte(&mut self, byte: u8) -> Result<bool, Refusal> {
        const BAD: Refusal = Refusal::Malformed("the chunked body is not well-formed");
        self.state = match self.state {
            BodyState::Size { digits: 0, .. } if !byte.is_ascii_hexdigit() => return Err(BAD),
            BodyState::Size { value: 0, .. } if byte == b'\n' => {
                BodyState::Trailer { line_bytes: 0, total_bytes: 0 }
            }
            BodyState::Size { value, .. } if byte == b'\n' => {
                self.announced += value;
                BodyState::Chunk { left: value }
            }
            BodyState::Size { line_bytes, .. } if line_bytes >= CHUNK_LINE_BYTES_MAX => return Err(BAD),
            BodyState::Size { value, digits, line_bytes, in_extension } => {
                let line_bytes = line_bytes + 1;
                match (byte as char).to_digit(16) {
                    Some(digit) if !in_extension => {
                        // At most 16 times the limit, so it cannot overflow.
                        let value = value * 16 + digit as usize;
                        if value + self.announced > self.head.route.body_bytes_max() {
                            return Err(Refusal::BodyTooLarge);
                        }
                        BodyState::Size { value, digits: digits + 1, line_bytes, in_extension }
                    }
                    None if !in_extension && !matches!(byte, b';' | b' ' | b'\t' | b'\r') => return Err(BAD),
                    _ => BodyState::Size { value, digits, line_bytes, in_extension: true },
                }
            }
            BodyState::ChunkEnd => match byte {
                b'\r' => BodyState::ChunkEnd,
                b'\n' => SIZE,
                _ => return Err(BAD),
            },
            BodyState::Trailer { line_bytes: 0, .. } if byte == b'\n' => return Ok(true),
            BodyState::Trailer { total_bytes, .. } if total_bytes >= CHUNK_LINE_BYTES_MAX => return Err(BAD),
            BodyState::Trailer { line_bytes, total_bytes } => {
                let line_bytes = match byte {
                    b'\n' => 0,
                    b'\r' => line_bytes,
                    _ => line_bytes + 1,
                };
                BodyState::Trailer { line_bytes, total_bytes: total_bytes + 1 }
            }
            data @ (BodyState::Length { .. } | BodyState::Chunk { .. }) => data,
        };
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Route;

    const CHUNKED: &str = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";

    /// All requests of `bytes`, offered in pieces of `piece` bytes as a connection would.
    fn requests(bytes: &[u8], piece: usize) -> Result<Vec<Request>, Refusal> {
        let (mut decoder, mut inbox, mut requests) = (Decoder::default(), Vec::new(), Vec::new());
        for piece in bytes.chunks(piece) {
            inbox.extend_from_slice(piece);
            loop {
                let (taken, step) = decoder.take(&inbox);
                inbox.drain(..taken);
                match step {
                    Step::More => break,
                    Step::Continue => {}
                    Step::Request(request) => requests.push(request),
                    Step::Refused(refusal) => return Err(refusal),
                }
            }
        }
        Ok(requests)
    }

    #[test]
    fn pieces_of_any_size_give_the_same_requests() {
        let text = format!(
            "GET / HTTP/1.1\r\nHost: a\r\n\r\n\
             POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello\
             {CHUNKED}3\r\nabc\r\n0A;x=\"y\"\r\n0123456789\r\n0\r\nX-Sum: 1\r\nY: 2\r\n\r\n\
             POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nxyzGET /json HTTP/1.1\r\nHost: a\r\n\r\n"
        );
        let whole = requests(text.as_bytes(), text.len()).unwrap();
        let bodies: Vec<&[u8]> = whole.iter().map(|r| &r.body[..]).collect();
        assert_eq!(bodies, [&b""[..], b"hello", b"abc0123456789", b"", b""]);
        assert_eq!(whole[3].head.route, Route::NotAllowed("GET, HEAD"));
        assert_eq!(whole[4].head.route, Route::Json);
        for piece in 1..text.len() {
            assert_eq!(requests(text.as_bytes(), piece).unwrap(), whole, "in pieces of {piece}");
        }
    }

    #[test]
    fn chunked_bodies_that_are_wrong_are_refused() {
        let refusal = |body: &str| requests(format!("{CHUNKED}{body}").as_bytes(), 7).unwrap_err();
        for body in ["\r\n", "x\r\n", "-1\r\n", "3\r\nabcd\r\n", "3z\r\n", ";x\r\n"] {
            assert!(matches!(refusal(body), Refusal::Malformed(_)), "{body:?}");
        }
        assert_eq!(refusal("1000001\r\n"), Refusal::BodyTooLarge);
        assert_eq!(refusal("ffffffffffffffffffff\r\n"), Refusal::BodyTooLarge);
        assert!(matches!(refusal(&format!("3;{}", "x".repeat(5000))), Refusal::Malformed(_)));
        assert!(matches!(refusal(&format!("0\r\n{}", "x: y\r\n".repeat(1000))), Refusal::Malformed(_)));
        assert!(matches!(refusal(&format!("{}1\r\n", "0".repeat(5000))), Refusal::Malformed(_)));
    }

    #[test]
    fn only_a_client_that_waits_is_told_to_continue() {
        let head = "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
        let mut decoder = Decoder::default();
        assert_eq!(decoder.take(head.as_bytes()), (head.len(), Step::Continue));
        assert!(matches!(decoder.take(b"ok"), (2, Step::Request(_))));
        let hasty = format!("{head}ok");
        assert!(matches!(decoder.take(hasty.as_bytes()), (_, Step::Request(_))));
    }

    #[test]
    fn bodies_that_nobody_reads_are_not_kept() {
        let text = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n";
        let mut decoder = Decoder::default();
        decoder.take(text.as_bytes());
        decoder.take(&[b'x'; 999_999]);
        assert_eq!(decoder.current.as_ref().unwrap().body.capacity(), 0);
        assert!(matches!(decoder.take(b"xG"), (1, Step::Request(_))));
    }

    #[test]
    fn arbitrary_bytes_do_not_panic() {
        use rand_chacha::rand_core::{Rng, SeedableRng};
        let seed = format!("{CHUNKED}3\r\nabc\r\n0A;x=\"y\"\r\n0123456789\r\n0\r\nX: 1\r\n\r\n").repeat(2);
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(2);
        for _ in 0..5000 {
            let mut bytes = seed.clone().into_bytes();
            for _ in 0..random.next_u32() % 4 {
                let at = CHUNKED.len() + random.next_u32() as usize % (bytes.len() - CHUNKED.len());
                bytes[at] = random.next_u32() as u8;
            }
            let piece = 1 + random.next_u32() as usize % bytes.len();
            assert_eq!(
                requests(&bytes, piece),
                requests(&bytes, bytes.len()),
                "pieces of {piece} change nothing"
            );
        }
    }
}
