//! Random frames for our reader and for hyperframe's, the frame layer of Python's h2: the same payloads, or both refuse.
//! What is known to differ is named in [`Compared::of`].
//!
//! hyperframe is not ours to ship: the test runs where a Python is named that has it.
//!
//!     python3 -m venv other && other/bin/pip install hyperframe==6.1.0
//!     PRONY_HYPERFRAME=other/bin/python cargo test -p prony-http2 --test hyperframe -- --nocapture
#![allow(clippy::expect_used, clippy::print_stdout, reason = "a test")]

use std::fmt::Write as _;
use std::process::{Command, Stdio};

use prony_http2::frame::{Piece, Reader, Settings, flag, kind};

const FRAMES: u64 = 200_000;

/// For each line, a frame in hexadecimal digits: the payload as hyperframe reads it, without padding and priority, or
/// "refused".
const PYTHON: &str = r#"
import sys
from hyperframe.exceptions import HyperframeError
from hyperframe.frame import Frame
for line in sys.stdin:
    wire = bytes.fromhex(line)
    try:
        frame, length = Frame.parse_frame_header(memoryview(wire[:9]))
        frame.parse_body(memoryview(wire[9:]))
        print((frame.data if frame.type in (0, 1) else wire[9:]).hex())
    except HyperframeError as error:
        print("refused")
"#;

/// Pseudo-random numbers (SplitMix64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }

    /// A frame of a type that a server may send, right or wrong in its length, stream, flags and padding.
    fn frame(&mut self) -> Vec<u8> {
        let kinds = [
            kind::DATA,
            kind::HEADERS,
            kind::PRIORITY,
            kind::RST_STREAM,
            kind::SETTINGS,
            kind::PING,
            kind::GOAWAY,
        ];
        let kind = kinds[self.below(kinds.len() as u64) as usize];
        let usual = [0, 1, 4, 5, 6, 8, 12, 30];
        let length = usual[self.below(usual.len() as u64) as usize];
        let mut flags = if self.below(2) == 0 { 0 } else { self.below(256) as u8 };
        if kind == kind::HEADERS {
            flags |= flag::END_HEADERS;
        }
        let mut frame = vec![0, 0, length as u8, kind, flags, 0, 0, 0, self.below(3) as u8];
        frame.extend((0..length).map(|_| self.below(256) as u8));
        if length > 0 && self.below(2) == 0 {
            // Often a length of padding that is about that of the payload.
            frame[9] = self.below(length + 2) as u8;
        }
        frame
    }
}

/// How a frame is read; `None`: it is refused.
type Payload = Option<Vec<u8>>;

fn ours(frame: &[u8]) -> Payload {
    let mut reader = Reader::default();
    let mut first: &[u8] = &[0, 0, 0, kind::SETTINGS, 0, 0, 0, 0, 0];
    reader.next(&mut first).expect("a connection's first frame");
    let (mut input, mut data) = (frame, Vec::new());
    loop {
        match reader.next(&mut input).ok()? {
            Piece::Whole(header, payload) => {
                if header.kind == kind::SETTINGS && Settings::of(payload).is_err() {
                    return None;
                }
                return Some(payload.to_vec());
            }
            Piece::Data { bytes, last, .. } => {
                data.extend_from_slice(bytes);
                if last {
                    return Some(data);
                }
            }
            Piece::More | Piece::Part(_) => assert!(!input.is_empty(), "{frame:02x?} is whole, and not read"),
        }
    }
}

/// What came of a frame on both sides.
#[derive(Debug, PartialEq, Eq)]
enum Compared {
    Same,
    /// Differs for a reason that is known.
    Known,
    Differs,
}

impl Compared {
    fn of(frame: &[u8], ours: &Payload, theirs: &Payload) -> Compared {
        if ours == theirs {
            return Compared::Same;
        }
        let (kind, flags, payload) = (frame[3], frame[4], &frame[9..]);
        let padding =
            payload.first().filter(|_| flags & flag::PADDED != 0).map(|length| usize::from(*length));
        let known = match kind {
            // Padding may leave nothing of a block; they refuse that. Padding into the priority is let pass by them.
            kind::HEADERS => padding.is_some_and(|padding| {
                let priority = if flags & flag::PRIORITY != 0 { 5 } else { 0 };
                let left = payload.len() - 1;
                (ours.as_ref().is_some_and(Vec::is_empty) && left == padding + priority)
                    || (ours.is_none() && padding < left && padding + priority > left)
            }),
            // They leave a setting's range to the connection.
            kind::SETTINGS => ours.is_none() && payload.chunks(6).all(|one| one.len() == 6),
            _ => false,
        };
        if known { Compared::Known } else { Compared::Differs }
    }
}

#[test]
fn random_frames_are_what_hyperframe_reads_in_them() {
    let Some(python) = std::env::var_os("PRONY_HYPERFRAME") else {
        println!("skipped: PRONY_HYPERFRAME names no Python that has hyperframe");
        return;
    };
    let mut chance = Chance(1);
    let frames: Vec<Vec<u8>> = (0..FRAMES).map(|_| chance.frame()).collect();
    let mut lines = String::new();
    for frame in &frames {
        for byte in frame {
            let _ = write!(lines, "{byte:02x}"); // a String takes all
        }
        lines.push('\n');
    }
    let file = std::env::temp_dir().join(format!("prony-frames-{}", std::process::id()));
    std::fs::write(&file, lines).expect("a temporary file");
    let input = std::fs::File::open(&file).expect("the temporary file");
    let out =
        Command::new(python).args(["-c", PYTHON]).stdin(Stdio::from(input)).output().expect("Python runs");
    std::fs::remove_file(&file).expect("the temporary file is removed");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let said = String::from_utf8(out.stdout).expect("hexadecimal digits");
    let byte =
        |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("digits"), 16).expect("digits");
    let (mut read, mut refused, mut known) = (0, 0, 0);
    assert_eq!(said.lines().count(), frames.len());
    for (frame, line) in frames.iter().zip(said.lines()) {
        let theirs = (line != "refused").then(|| line.as_bytes().chunks(2).map(byte).collect::<Vec<u8>>());
        let ours = ours(frame);
        match Compared::of(frame, &ours, &theirs) {
            Compared::Same if ours.is_some() => read += 1,
            Compared::Same => refused += 1,
            Compared::Known => known += 1,
            Compared::Differs => panic!("{frame:02x?}: we read {ours:02x?}, hyperframe {theirs:02x?}"),
        }
    }
    println!(
        "{read} frames read as hyperframe reads them, {refused} refused by both, {known} known to differ"
    );
    assert!(read > 0 && refused > 0);
}
