//! What an answer's head says beside its framing: for a check that looks at one answer, and not for the worker's loop.

use super::HEADERS_MAX;

/// The head of an answer, heads of interim answers (1xx) before it left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fields {
    /// Names and values in their order, spaces around values left out.
    pub fields: Vec<(String, String)>,
    /// Where the answer's body begins.
    pub end: usize,
}

impl Fields {
    /// The header fields of the answer that begins with these bytes; `None` where its head is not whole. Whether it is
    /// an answer at all is for [`super::Framer`] to say.
    pub fn of(bytes: &[u8]) -> Option<Fields> {
        let mut at = 0;
        loop {
            let mut fields = [httparse::EMPTY_HEADER; HEADERS_MAX];
            let mut head = httparse::Response::new(&mut fields);
            let Ok(httparse::Status::Complete(length)) = head.parse(&bytes[at..]) else { return None };
            at += length;
            if head.code? >= 200 {
                let text = |value| String::from_utf8_lossy(value).trim().to_owned();
                let fields = head.headers.iter().map(|h| (h.name.to_owned(), text(h.value))).collect();
                return Some(Fields { fields, end: at });
            }
        }
    }
}
