//! What a head says of its answer's framing.

use prony_http2::Coding;
use std::mem::MaybeUninit;

use httparse::{Error, Header, ParserConfig, Response, Status};
use prony_model::measurement::Tolerance;

use super::{HEAD_MAX_BYTES, HEAD_TOO_LONG, ProtocolError};

/// The most header fields of one answer, as of curl.
pub(super) const FIELDS_MAX: usize = 5000;
/// As many as honest servers send: read without a memory of their own.
const FIELDS_USUAL: usize = 128;
/// A longer head is counted: nginx and Apache stop at 8 KiB a line.
const USUAL_BYTES: usize = 64 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    Fixed(u64),
    Chunked,
    UntilClose,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub(super) length: usize,
    pub(super) status: u16,
    pub(super) keep_alive: bool,
    pub(super) body: Body,
    pub(super) coding: Coding,
    /// What of it a strict reading refuses, as [`bit`]s.
    pub(super) tolerated: u8,
}

pub(super) fn bit(tolerance: Tolerance) -> u8 {
    1 << tolerance as u8
}

/// Reads a head from the start of `bytes`; `None` while it is not whole.
pub(super) fn parse_head(bytes: &[u8], is_head_request: bool) -> Result<Option<Head>, ProtocolError> {
    let mut fields = [MaybeUninit::uninit(); FIELDS_USUAL];
    let mut response = Response::new(&mut []);
    let parsed =
        ParserConfig::default().parse_response_with_uninit_headers(&mut response, bytes, &mut fields);
    match parsed {
        Ok(Status::Complete(length)) => head_of(&response, length, is_head_request).map(Some),
        Ok(Status::Partial) => Ok(None),
        // The second line of a field begins as no name does.
        Err(Error::HeaderName | Error::TooManyHeaders) => parse_unusual(bytes, is_head_request),
        Err(e) => Err(another_protocol(bytes).unwrap_or_else(|| fault(e))),
    }
}

/// What else a server speaks, as far as can be told: HTTP/2's SETTINGS or GOAWAY without a stream, or a TLS alert.
#[cold]
fn another_protocol(bytes: &[u8]) -> Option<ProtocolError> {
    match bytes {
        [0, _, _, 4 | 7, _, 0, 0, 0, 0, ..] => {
            Some(ProtocolError("the server speaks HTTP/2 here, and not HTTP/1.1: give --http2"))
        }
        [21, 3, ..] => Some(ProtocolError("the server speaks TLS here: write https://")),
        _ => None,
    }
}

#[cold]
#[inline(never)]
fn parse_unusual(bytes: &[u8], is_head_request: bool) -> Result<Option<Head>, ProtocolError> {
    let mut fields: Vec<Header<'_>> = Vec::with_capacity(FIELDS_MAX);
    let room = &mut fields.spare_capacity_mut()[..FIELDS_MAX];
    let mut response = Response::new(&mut []);
    let parsed = lenient().parse_response_with_uninit_headers(&mut response, bytes, room);
    let Status::Complete(length) = parsed.map_err(fault)? else { return Ok(None) };
    let mut head = head_of(&response, length, is_head_request)?;
    if bytes[..length].windows(2).any(|two| two == b"\n " || two == b"\n\t") {
        head.tolerated |= bit(Tolerance::Folded);
    }
    Ok(Some(head))
}

/// Takes fields on several lines, whose ends of lines stay in the value.
pub(super) fn lenient() -> ParserConfig {
    let mut config = ParserConfig::default();
    config.allow_obsolete_multiline_headers_in_responses(true);
    config
}

fn fault(error: Error) -> ProtocolError {
    match error {
        Error::TooManyHeaders => ProtocolError("the response has more than 5000 header fields"),
        Error::Version => ProtocolError("the response is not HTTP/1.0 or HTTP/1.1"),
        Error::Status => ProtocolError("the response's status line is malformed"),
        _ => ProtocolError("the response's head is malformed"),
    }
}

fn head_of(response: &Response<'_, '_>, length: usize, is_head_request: bool) -> Result<Head, ProtocolError> {
    let (Some(status), Some(minor)) = (response.code, response.version) else {
        return Err(ProtocolError("the response's status line is malformed"));
    };
    let mut content_length: Option<u64> = None;
    let (mut has_codings, mut chunked) = (false, false);
    let mut close = false;
    let mut keep_alive_said = false;
    let mut tolerated = 0;
    let mut coding = Coding::Identity;
    for field in response.headers.iter() {
        if field.name.eq_ignore_ascii_case("content-length") {
            match (content_length, parse_length(field.value)) {
                (None, Some(length)) => content_length = Some(length),
                (before, _) => {
                    content_length = Some(same_length(before, field.value)?);
                    tolerated |= bit(Tolerance::RepeatedLength);
                }
            }
        } else if field.name.eq_ignore_ascii_case("transfer-encoding") {
            has_codings = true;
            for coding in field.value.split(|b| *b == b',') {
                let is_chunked = coding.trim_ascii().eq_ignore_ascii_case(b"chunked");
                if chunked {
                    if !is_chunked {
                        return Err(ProtocolError(
                            "the response's Transfer-Encoding has chunked before another coding",
                        ));
                    }
                    tolerated |= bit(Tolerance::RepeatedChunked);
                }
                chunked = is_chunked;
            }
        } else if field.name.eq_ignore_ascii_case("content-encoding") {
            coding = coding.and(field.value);
        } else if field.name.eq_ignore_ascii_case("connection") {
            for token in field.value.split(|b| *b == b',') {
                let token = token.trim_ascii();
                close |= token.eq_ignore_ascii_case(b"close");
                keep_alive_said |= token.eq_ignore_ascii_case(b"keep-alive");
            }
        }
    }
    if has_codings && content_length.is_some() {
        tolerated |= bit(Tolerance::LengthBesideCoding);
    }
    if length > USUAL_BYTES {
        if length > HEAD_MAX_BYTES {
            return Err(HEAD_TOO_LONG);
        }
        tolerated |= bit(Tolerance::Long);
    }
    let body = if status < 200 || status == 204 || status == 304 || is_head_request {
        Body::Fixed(0)
    } else if chunked {
        // Whatever a Content-Length says (RFC 9112, section 6.3).
        Body::Chunked
    } else {
        // Other codings are left as they are, and end with the connection (the same section). Where there is a length
        // all the same, browsers go by it, and so does curl beside `identity`.
        content_length.map_or(Body::UntilClose, Body::Fixed)
    };
    let keep_alive = !close && (minor == 1 || keep_alive_said);
    Ok(Head { length, status, keep_alive, body, coding, tolerated })
}

/// One number. 18 digits stay below 10^18 and within u64.
fn parse_length(value: &[u8]) -> Option<u64> {
    let digits = value.trim_ascii();
    let fine = !digits.is_empty() && digits.len() <= 18 && digits.iter().all(u8::is_ascii_digit);
    fine.then(|| digits.iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0')))
}

/// The one number of a list, which is also that of a field before (RFC 9110, section 8.6).
#[cold]
fn same_length(before: Option<u64>, value: &[u8]) -> Result<u64, ProtocolError> {
    const NO_NUMBER: ProtocolError = ProtocolError("the response's Content-Length is not a number");
    let mut same = before;
    for number in value.split(|b| *b == b',') {
        let length = parse_length(number).ok_or(NO_NUMBER)?;
        if same.is_some_and(|same| same != length) {
            return Err(ProtocolError(
                "the response has two Content-Length fields, or numbers of one, that differ",
            ));
        }
        same = Some(length);
    }
    same.ok_or(NO_NUMBER)
}
