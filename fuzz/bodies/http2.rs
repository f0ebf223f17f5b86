//! Any bytes, in any pieces, read as what an HTTP/2 server sends: no panic, no more
//! answers than there is to answer, each request ends once, and what the bytes are does
//! not depend on where the network cut them.

use prony_http2::Fault;
use prony_http2::client::{Connection, Requests, Step};
use prony_http2::hpack::{Field, Indexing};

/// Requests that are outstanding when the bytes come, on the streams 1, 3, 5, 7.
const STREAMS: u16 = 4;
/// The server's first frame, without which there are no requests.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
/// Longer inputs are not played byte by byte: it would cost the fuzzer its speed.
const BYTEWISE_MAX_BYTES: usize = 4096;

/// What a server's bytes came to.
#[derive(Debug, PartialEq, Eq)]
struct Came {
    /// Each step that brings something; of bodies the place, and their bytes in one piece.
    steps: Vec<(String, Vec<u8>)>,
    fault: Option<Fault>,
    /// What was sent then.
    sent: Vec<u8>,
}

/// The first byte says how large the requests' bodies are, the next four where to cut, the rest is the server's.
pub fn check(input: &[u8]) {
    let Some((head, wire)) = input.split_at_checked(5) else { return };
    let body = vec![b'x'; usize::from(head[0]) * 300];
    let seed = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
    let shared = [Field { name: ":authority", value: b"h", indexing: Indexing::Shared }];
    let mut requests = Requests::new(&shared, body);
    for (method, is_head) in [(b"GET".as_slice(), false), (b"HEAD".as_slice(), true)] {
        requests.push(
            &[Field { name: ":method", value: method, indexing: Indexing::Once }],
            &[],
            is_head,
            None,
        );
    }
    let whole = play(&requests, std::iter::once(wire));
    assert_eq!(whole, play(&requests, pieces(wire, seed).into_iter()));
    if wire.len() <= BYTEWISE_MAX_BYTES {
        assert_eq!(whole, play(&requests, wire.chunks(1)));
    }
}

/// Pieces of sizes that follow from a seed, small ones and large ones, and empty ones.
fn pieces(mut wire: &[u8], mut seed: u32) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    while !wire.is_empty() {
        // Numerical Recipes' quick generator: any will do.
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let size = (seed as usize >> 8) % (2usize << (seed >> 28));
        let (piece, rest) = wire.split_at(size.min(wire.len()));
        pieces.push(piece);
        wire = rest;
    }
    pieces
}

/// Reads a server's bytes to their end, and then ends the connection.
fn play<'a>(requests: &Requests, pieces: impl Iterator<Item = &'a [u8]>) -> Came {
    let mut connection = Connection::new(STREAMS);
    let mut input = SETTINGS;
    while connection.take(&mut input).expect("these are settings") != Step::More {}
    for place in 0..STREAMS {
        connection.submit(place, u32::from(place % 2));
    }
    drop(sent(&mut connection, requests));
    let mut came = Came { steps: Vec::new(), fault: None, sent: Vec::new() };
    let mut ends = [0; STREAMS as usize];
    let mut read = 0;
    'pieces: for piece in pieces {
        read += piece.len();
        let mut input = piece;
        loop {
            match connection.take(&mut input) {
                Ok(Step::More) => break,
                Ok(step) => note(step, &mut came.steps, &mut ends),
                Err(fault) => {
                    assert!(!fault.reason.is_empty());
                    assert_eq!(connection.take(&mut input), Err(fault), "a fault is final");
                    came.fault = Some(fault);
                    break 'pieces;
                }
            }
        }
        assert!(input.is_empty());
    }
    assert!(connection.permits() <= i32::from(STREAMS));
    came.sent = sent(&mut connection, requests);
    assert!(came.sent.len() <= 2 * read + 400_000, "bodies and an answer for each frame");
    loop {
        match connection.ended() {
            Step::More => break,
            step => note(step, &mut came.steps, &mut ends),
        }
    }
    assert_eq!(ends, [1; STREAMS as usize], "each request ends once");
    came
}

/// Keeps a step, and counts the request that it ends.
fn note(step: Step<'_>, steps: &mut Vec<(String, Vec<u8>)>, ends: &mut [u32; STREAMS as usize]) {
    match step {
        // The same in steps of its own, as other pieces of the input give it.
        Step::End { place, status, bytes } if status.is_some() || !bytes.is_empty() => {
            if let Some(status) = status {
                note(Step::Head { place, status }, steps, ends);
            }
            if !bytes.is_empty() {
                note(Step::Body { place, bytes }, steps, ends);
            }
            return note(Step::End { place, status: None, bytes: &[] }, steps, ends);
        }
        Step::Wire(_) => return,
        Step::Body { place, bytes } => {
            assert!(!bytes.is_empty());
            let name = format!("Body {place}");
            match steps.last_mut() {
                Some((last, body)) if *last == name => body.extend_from_slice(bytes),
                _ => steps.push((name, bytes.to_vec())),
            }
            return;
        }
        Step::Head { status, .. } => assert!((200..1000).contains(&status)),
        Step::End { place, .. } | Step::Failed { place, .. } | Step::Moved(place) => {
            ends[usize::from(place)] += 1;
        }
        Step::More | Step::Ready | Step::Draining(_) => {}
    }
    steps.push((format!("{step:?}"), Vec::new()));
}

/// Writes all that is outgoing, and gives it.
fn sent(connection: &mut Connection, requests: &Requests) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        let bytes = connection.outgoing(requests).1;
        let count = bytes.len();
        if count == 0 {
            return all;
        }
        all.extend_from_slice(bytes);
        connection.wrote(count, |_| {});
    }
}
