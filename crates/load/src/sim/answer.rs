//! Answers as bytes, right ones and wrong ones, and what a client must make of each.

use super::chance::Chance;
use prony_model::measurement::Tolerance;

/// The body of a right answer.
pub(super) const BODY: &[u8] = b"Hello, World!\n";
/// A head longer than one read of a worker.
const LONG_HEAD_BYTES: usize = 70_000;
/// So much of a head that 300 of them are more than a worker has room for.
const STALLED_HEAD_BYTES: usize = 250_000;
/// A body longer than one read of a worker.
const LONG_BODY_BYTES: usize = 150_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deed {
    Good,
    /// Answers in chunks, with extensions and trailers at times.
    Chunked,
    Interim,
    LongBody,
    RepeatedLength,
    OtherLengths,
    /// Chunks, and a Content-Length that is none of theirs.
    LengthBesideChunks,
    ChunkedTwice,
    /// Chunks whose lines end in a line feed alone.
    BareChunks,
    Folded,
    /// A head over 64 KiB.
    LongHead,
    /// The larger part of a head of 256 KiB, and no more.
    StalledHead,
    UntilClose,
    /// Says `Connection: close`, and does.
    SaysClose,
    /// HTTP/1.0 without keep-alive: the client must not use the connection again.
    OldVersion,
    /// Closes after an answer that said nothing of it.
    ClosesUnsaid,
    Status(u16),
    /// A body of the right length that is not the right one.
    WrongBody,
    Nonsense,
    NonsenseInside,
    /// A right answer with a byte behind it that belongs to none.
    Chatty,
    /// No answer, ever.
    Never,
    /// A right answer after the client's timeout.
    Slow,
    /// A right answer, a byte at a time.
    Dribble,
    ResetNow,
    ResetMid,
    CloseNow,
    CloseMid,
}

/// What a client must make of the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// An answer that is whole once so many bytes are read.
    Whole { at: usize, status: u16 },
    /// An answer that is whole when the stream ends after its head of so many bytes.
    WholeAtEnd { head: usize, status: u16 },
    /// No answer, which is certain once so many bytes are read.
    Nonsense { at: usize },
    /// The beginning of an answer that never gets whole.
    Cut,
}

impl Meaning {
    /// After how many bytes it is whole, where they tell.
    pub(super) fn whole_at(self) -> Option<usize> {
        if let Meaning::Whole { at, .. } = self { Some(at) } else { None }
    }

    /// Whether the stream's end after so many bytes is its end.
    pub(super) fn is_whole_at_end(self, read: usize) -> bool {
        matches!(self, Meaning::WholeAtEnd { head, .. } if read >= head)
    }

    /// Whether so many bytes are certainly none.
    pub(super) fn is_nonsense_at(self, read: usize) -> bool {
        matches!(self, Meaning::Nonsense { at } if read >= at)
    }

    pub(super) fn status(self) -> Option<u16> {
        match self {
            Meaning::Whole { status, .. } | Meaning::WholeAtEnd { status, .. } => Some(status),
            Meaning::Nonsense { .. } | Meaning::Cut => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    Open,
    Close,
    Reset,
}

#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) bytes: Vec<u8>,
    pub(super) meaning: Meaning,
    pub(super) body_right: bool,
    pub(super) then: Then,
    /// Whether, by what it says, the connection may carry another.
    pub(super) keeps: bool,
    /// Where it is only tolerated: after how many bytes that is certain, and why.
    pub(super) tolerated: Option<(usize, Tolerance)>,
}

impl Answer {
    fn whole(status: u16, bytes: Vec<u8>) -> Answer {
        let meaning = Meaning::Whole { at: bytes.len(), status };
        Answer { bytes, meaning, body_right: true, then: Then::Open, keeps: true, tolerated: None }
    }

    fn then(mut self, then: Then) -> Answer {
        self.then = then;
        self
    }

    /// Its head is only tolerated.
    fn tolerated(mut self, why: Tolerance) -> Answer {
        let end = self.bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
        self.tolerated = Some((end + 4, why));
        self
    }

    /// It says that it is the connection's last.
    fn last(mut self) -> Answer {
        self.keeps = false;
        self
    }

    /// Its first so many bytes, if it has more.
    pub(super) fn cut_at(mut self, bytes: usize) -> Answer {
        if bytes < self.bytes.len() {
            self.bytes.truncate(bytes);
            self.meaning = Meaning::Cut;
        }
        self
    }

    /// The bytes' first part, never the whole.
    fn cut(self, chance: &mut Chance, then: Then) -> Answer {
        let kept = chance.size(0, self.bytes.len() - 1);
        self.cut_at(kept).then(then)
    }

    pub(super) fn junk() -> Answer {
        Answer {
            bytes: b"!".to_vec(),
            meaning: Meaning::Nonsense { at: 1 },
            body_right: false,
            then: Then::Open,
            keeps: true,
            tolerated: None,
        }
    }

    /// An answer to a request that has not been read to its end.
    pub(super) fn early() -> Answer {
        fixed("HTTP/1.1 413 Content Too Large", "Connection: close\r\n", b"no", 413).then(Then::Close).last()
    }

    pub(super) fn of(deed: Deed, chance: &mut Chance) -> Option<Answer> {
        let good = || fixed("HTTP/1.1 200 OK", "", BODY, 200);
        let wrong_body = |mut answer: Answer| {
            answer.body_right = false;
            answer
        };
        Some(match deed {
            Deed::Never => return None,
            Deed::Good | Deed::Slow | Deed::Dribble | Deed::Chatty => good(),
            Deed::ClosesUnsaid => good().then(Then::Close),
            Deed::Chunked => chunked(chance, ""),
            Deed::Interim => interim(chance),
            Deed::LongBody => wrong_body(fixed("HTTP/1.1 200 OK", "", &[b'x'; LONG_BODY_BYTES], 200)),
            Deed::RepeatedLength => {
                let list = if chance.per_mille(500) { "14" } else { "14,14 , 14" };
                let more = format!("Content-Length: {list}\r\n");
                fixed("HTTP/1.1 200 OK", &more, BODY, 200).tolerated(Tolerance::RepeatedLength)
            }
            Deed::OtherLengths => {
                let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 14, 15\r\n\r\n".to_vec();
                Answer { meaning: Meaning::Nonsense { at: bytes.len() }, bytes, ..Answer::junk() }
            }
            Deed::LengthBesideChunks => {
                chunked(chance, "Content-Length: 3\r\n").tolerated(Tolerance::LengthBesideCoding)
            }
            Deed::ChunkedTwice => {
                chunked(chance, "Transfer-Encoding: chunked\r\n").tolerated(Tolerance::RepeatedChunked)
            }
            Deed::BareChunks => {
                let mut answer = chunked(chance, "").tolerated(Tolerance::BareLineFeed);
                let head = answer.bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
                let mut bytes = answer.bytes[..head].to_vec();
                bytes.extend(answer.bytes[head..].iter().filter(|byte| **byte != b'\r'));
                let line = bytes[head..].iter().position(|byte| *byte == b'\n').unwrap();
                answer.tolerated = Some((head + line + 1, Tolerance::BareLineFeed));
                Answer { meaning: Meaning::Whole { at: bytes.len(), status: 200 }, bytes, ..answer }
            }
            Deed::Folded => {
                let more = "X-Long: one\r\n two\r\n\tthree\r\n";
                fixed("HTTP/1.1 200 OK", more, BODY, 200).tolerated(Tolerance::Folded)
            }
            Deed::LongHead => {
                let more = format!("X-Long: {}\r\n", "y".repeat(LONG_HEAD_BYTES));
                fixed("HTTP/1.1 200 OK", &more, BODY, 200).tolerated(Tolerance::Long)
            }
            Deed::StalledHead => {
                let field = format!("X-Long: {}", "y".repeat(STALLED_HEAD_BYTES));
                let bytes = format!("HTTP/1.1 200 OK\r\n{field}").into_bytes();
                Answer { bytes, meaning: Meaning::Cut, ..Answer::junk() }
            }
            Deed::UntilClose => {
                let head = b"HTTP/1.1 200 OK\r\n\r\n";
                let meaning = Meaning::WholeAtEnd { head: head.len(), status: 200 };
                let bytes = [head, BODY].concat();
                Answer { meaning, ..Answer::whole(200, bytes) }.then(Then::Close).last()
            }
            Deed::SaysClose => {
                fixed("HTTP/1.1 200 OK", "Connection: close\r\n", BODY, 200).then(Then::Close).last()
            }
            Deed::OldVersion => fixed("HTTP/1.0 200 OK", "", BODY, 200).then(Then::Close).last(),
            Deed::Status(status) => {
                fixed(&format!("HTTP/1.1 {status} Something"), "Retry-After: 1\r\n", BODY, status)
            }
            Deed::WrongBody => wrong_body(fixed("HTTP/1.1 200 OK", "", b"Hello, Werld!\n", 200)),
            Deed::Nonsense => Answer { bytes: b"!GARBAGE\r\n\r\n".to_vec(), ..Answer::junk() },
            Deed::NonsenseInside => {
                let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";
                let bytes = format!("{head}xyz\r\n").into_bytes();
                Answer { bytes, meaning: Meaning::Nonsense { at: head.len() + 1 }, ..Answer::junk() }
            }
            Deed::ResetNow | Deed::CloseNow => {
                let then = if deed == Deed::ResetNow { Then::Reset } else { Then::Close };
                Answer { bytes: Vec::new(), meaning: Meaning::Cut, then, ..Answer::junk() }
            }
            Deed::ResetMid => chunked(chance, "").cut(chance, Then::Reset),
            Deed::CloseMid => chunked(chance, "").cut(chance, Then::Close),
        })
    }
}

fn fixed(status_line: &str, more: &str, body: &[u8], status: u16) -> Answer {
    let head = format!("{status_line}\r\nServer: simulated\r\n{more}Content-Length: {}\r\n\r\n", body.len());
    Answer::whole(status, [head.as_bytes(), body].concat())
}

fn interim(chance: &mut Chance) -> Answer {
    let mut bytes = Vec::new();
    for _ in 0..chance.between(1, 16) {
        bytes.extend_from_slice(b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n");
    }
    bytes.extend_from_slice(&fixed("HTTP/1.1 200 OK", "", BODY, 200).bytes);
    Answer::whole(200, bytes)
}

fn chunked(chance: &mut Chance, more: &str) -> Answer {
    let mut bytes = format!("HTTP/1.1 200 OK\r\n{more}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
    let mut rest = BODY;
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at(chance.size(1, rest.len()));
        let extension = if chance.per_mille(300) { ";name=\"a value\"" } else { "" };
        bytes.extend_from_slice(format!("{:x}{extension}\r\n", chunk.len()).as_bytes());
        bytes.extend_from_slice(chunk);
        bytes.extend_from_slice(b"\r\n");
        rest = after;
    }
    bytes.extend_from_slice(b"0\r\n");
    if chance.per_mille(300) {
        bytes.extend_from_slice(b"X-Sum: 1\r\n");
    }
    bytes.extend_from_slice(b"\r\n");
    Answer::whole(200, bytes)
}
