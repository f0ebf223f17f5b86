//! What a request's header block asks for, and whether it may (RFC 9113, section 8).

use prony_http2::hpack::Decoder;
use prony_http2::{Fault, fields};

use crate::board::Heard;
use crate::request::{self, Route};

const METHOD: u8 = 1;
const SCHEME: u8 = 2;
const PATH: u8 = 4;
const AUTHORITY: u8 = 8;
const HOST: u8 = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) route: Route,
    pub(super) is_head: bool,
    pub(super) length: Option<u64>,
    pub(super) expects_continue: bool,
    /// Every field may stand where it does.
    well_formed: bool,
    /// The pseudo-headers, and `host`.
    seen: u8,
}

impl Said {
    pub(super) fn is_request(&self) -> bool {
        let needed = METHOD | SCHEME | PATH;
        self.well_formed && self.seen & needed == needed && self.seen & (AUTHORITY | HOST) != 0
    }

    /// Whether it can stand behind a request's body.
    pub(super) fn is_trailers(&self) -> bool {
        self.well_formed && self.seen & !HOST == 0
    }
}

#[derive(Default)]
pub(super) struct Heads {
    decoder: Decoder,
    method: Vec<u8>,
    path: Vec<u8>,
}

impl Heads {
    pub(super) fn read(&mut self, block: &[u8]) -> Result<Said, Fault> {
        let Heads { decoder, method, path } = self;
        method.clear();
        path.clear();
        let mut found = Fields::default();
        let mut well_formed = true;
        decoder.decode(block, |name, value| {
            well_formed = well_formed && found.take(name, value, method, path).is_some();
        })?;
        let method = text(method);
        let mut route = request::route(method, text(path));
        if let Route::Board(ask) = &mut route {
            ask.heard = found.heard;
        }
        Ok(Said {
            route,
            is_head: method == "HEAD",
            length: found.length,
            expects_continue: found.expects_continue,
            well_formed,
            seen: found.seen,
        })
    }
}

/// What is no text is no path, either.
fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

#[derive(Default)]
struct Fields {
    seen: u8,
    is_regular: bool,
    length: Option<u64>,
    expects_continue: bool,
    heard: Heard,
}

impl Fields {
    /// Takes the next one; `None` where it may not stand here.
    fn take(&mut self, name: &[u8], value: &[u8], method: &mut Vec<u8>, path: &mut Vec<u8>) -> Option<()> {
        if let Some(pseudo) = name.strip_prefix(b":") {
            let bit = match pseudo {
                b"method" => METHOD,
                b"scheme" => SCHEME,
                b"path" => PATH,
                b"authority" => AUTHORITY,
                _ => return None,
            };
            match bit {
                METHOD => method.extend_from_slice(value),
                PATH => path.extend_from_slice(value),
                _ => {}
            }
            let twice = self.seen & bit != 0;
            self.seen |= bit;
            return (!twice && !self.is_regular && !value.is_empty()).then_some(());
        }
        self.is_regular = true;
        fields::check(name, value).ok()?;
        match name {
            b"host" => self.seen |= HOST,
            b"te" if value != b"trailers" => return None,
            b"content-length" if self.length.is_some() => return None,
            b"content-length" => self.length = Some(fields::content_length(value)?),
            b"expect" => self.expects_continue = value.eq_ignore_ascii_case(b"100-continue"),
            _ => self.heard.hear(name, value),
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_http2::hpack::{Field, Indexing, write_field};

    fn read(fields: &[(&str, &str)]) -> Said {
        let mut block = Vec::new();
        for (name, value) in fields {
            write_field(&mut block, &Field { name, value: value.as_bytes(), indexing: Indexing::Once });
        }
        Heads::default().read(&block).unwrap()
    }

    const GET: [(&str, &str); 4] =
        [(":method", "GET"), (":scheme", "http"), (":path", "/json?x"), (":authority", "a")];

    #[test]
    fn a_request_names_its_method_scheme_path_and_authority() {
        let said = read(&GET);
        assert!(said.is_request() && !said.is_trailers() && !said.is_head);
        assert_eq!((said.route, said.length), (Route::Json, None));
        for left_out in 0..4 {
            let fields: Vec<_> = (0..4).filter(|at| *at != left_out).map(|at| GET[at]).collect();
            assert!(!read(&fields).is_request(), "{left_out}");
        }
        assert!(read(&[GET[0], GET[1], GET[2], ("host", "a")]).is_request());
        assert!(read(&[(":method", "HEAD"), GET[1], GET[2], GET[3]]).is_head);
        assert!(read(&[("x-sum", "1")]).is_trailers());
    }

    #[test]
    fn header_fields_that_requests_may_not_have_are_refused() {
        for extra in [
            (":method", "GET"),
            (":status", "200"),
            ("Accept", "x"),
            ("connection", "close"),
            ("te", "gzip"),
            ("content-length", "+1"),
            ("a", "b\n"),
        ] {
            let said = read(&[GET[0], GET[1], GET[2], GET[3], extra]);
            assert!(!said.is_request() && !said.is_trailers(), "{extra:?}");
        }
        assert!(!read(&[GET[0], GET[1], ("a", "b"), GET[2], GET[3]]).is_request(), "behind a field");
        assert!(!read(&[GET[0], GET[1], (":path", ""), GET[3]]).is_request());
        let length = ("content-length", "5");
        assert_eq!(read(&[GET[0], GET[1], GET[2], GET[3], length]).length, Some(5));
        assert!(!read(&[GET[0], GET[1], GET[2], GET[3], length, length]).is_request());
    }
}
