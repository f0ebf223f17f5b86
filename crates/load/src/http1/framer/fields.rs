//! What an answer's head says beside its framing: for a check that looks at one answer, and not for the worker's loop.

use super::head::{FIELDS_MAX, lenient};

/// The head of an answer, heads of interim responses (1xx) before it left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fields {
    /// Names and values in their order, spaces around values left out; the lines of a value with a space between them.
    pub fields: Vec<(String, String)>,
    pub end: usize,
}

impl Fields {
    /// The fields of the answer that begins with these bytes; `None`: no whole head. [`super::Framer`] judges the rest.
    pub fn of(bytes: &[u8]) -> Option<Fields> {
        let mut at = 0;
        loop {
            let mut memory: Vec<httparse::Header<'_>> = Vec::with_capacity(FIELDS_MAX);
            let room = &mut memory.spare_capacity_mut()[..FIELDS_MAX];
            let mut head = httparse::Response::new(&mut []);
            let parsed = lenient().parse_response_with_uninit_headers(&mut head, &bytes[at..], room);
            let Ok(httparse::Status::Complete(length)) = parsed else { return None };
            at += length;
            if head.code? >= 200 {
                let text = |value| {
                    let text = String::from_utf8_lossy(value);
                    text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
                };
                let fields = head.headers.iter().map(|h| (h.name.to_owned(), text(h.value))).collect();
                return Some(Fields { fields, end: at });
            }
        }
    }
}
