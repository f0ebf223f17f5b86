//! What a response's header block says, and whether it may say so (RFC 9113, section 8).

use crate::bytes::equal;
use crate::hpack::Decoder;
use crate::{Coding, Fault, fields};

/// A longer block is decoded each time.
const LAST_BLOCK_MAX_BYTES: usize = 2 << 10;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Head {
    /// `None` of trailers.
    pub(super) status: Option<u16>,
    pub(super) length: Option<u64>,
    pub(super) coding: Coding,
    /// Why it cannot be a response's, or its trailers.
    pub(super) malformed: Option<&'static str>,
}

/// Reads a connection's header blocks. The last one is kept: a server's responses mostly have the same block, byte for
/// byte, until its Date changes, and as long as the table did not change, the same bytes say the same.
#[derive(Debug, Default)]
pub(super) struct Heads {
    decoder: Decoder,
    last: Vec<u8>,
    /// What `last` said, and the table's changes until then.
    said: Option<(Head, u64)>,
}

/// An ordinary response as it came last, but for its stream: HEADERS and DATA, whole.
#[derive(Debug)]
pub(super) struct Ordinary {
    /// The first bytes of its HEADERS frame.
    pub(super) begins: [u8; 5],
    /// Its header block, and the first bytes of its DATA frame.
    pub(super) goes_on: Vec<u8>,
    pub(super) body_bytes: u32,
    pub(super) status: u16,
    pub(super) coding: Coding,
    /// The table's changes until then; where there was none, more than there can be.
    pub(super) changes: u64,
}

impl Ordinary {
    pub(super) fn none() -> Ordinary {
        Ordinary {
            begins: [0; 5],
            goes_on: Vec::new(),
            body_bytes: 0,
            status: 0,
            coding: Coding::default(),
            changes: u64::MAX,
        }
    }

    /// Keeps the one at the front of the input, its header block so many bytes long.
    pub(super) fn learn(
        &mut self,
        input: &[u8],
        block: usize,
        body_bytes: u32,
        head: (u16, Coding),
        changes: u64,
    ) {
        const HEADER_BYTES: usize = 9;
        let Some((begins, _)) = input.split_first_chunk() else { return };
        let Some(goes_on) = input.get(HEADER_BYTES..HEADER_BYTES + block + begins.len()) else { return };
        self.goes_on.clear();
        self.goes_on.extend_from_slice(goes_on);
        (self.begins, self.body_bytes, self.changes) = (*begins, body_bytes, changes);
        (self.status, self.coding) = head;
    }

    /// For a new connection, whose table is empty.
    pub(super) fn reset(&mut self) {
        self.changes = u64::MAX;
    }
}

impl Heads {
    #[inline]
    pub(super) fn changes(&self) -> u64 {
        self.decoder.changes()
    }

    pub(super) fn reset(&mut self) {
        (self.decoder, self.said) = (Decoder::new(), None);
    }

    pub(super) fn repeated(&self, block: &[u8]) -> Option<Head> {
        let (head, changes) = self.said?;
        (changes == self.decoder.changes() && equal(&self.last, block)).then_some(head)
    }

    pub(super) fn read(&mut self, block: &[u8]) -> Result<Head, Fault> {
        if let Some(head) = self.repeated(block) {
            return Ok(head);
        }
        let changes = self.decoder.changes();
        let (mut head, mut regular) = (Head::default(), false);
        self.decoder.decode(block, |name, value| {
            if let Err(reason) = head.field(name, value, &mut regular) {
                head.malformed = head.malformed.or(Some(reason));
            }
        })?;
        if self.decoder.changes() == changes && block.len() <= LAST_BLOCK_MAX_BYTES {
            self.last.clear();
            self.last.extend_from_slice(block);
            self.said = Some((head, changes));
        }
        Ok(head)
    }
}

impl Head {
    /// The status of a response that has a body of this length and nothing else behind its head.
    pub(super) fn status_with_body(&self, length: u64) -> Option<u16> {
        let fits = self.malformed.is_none() && self.length.is_none_or(|said| said == length);
        self.status.filter(|status| fits && *status >= 200 && *status != 204 && *status != 304)
    }

    /// Takes note of a field; `regular` says whether one without a colon came before.
    fn field(&mut self, name: &[u8], value: &[u8], regular: &mut bool) -> Result<(), &'static str> {
        if let Some(pseudo) = name.strip_prefix(b":") {
            if *regular {
                return Err("a response's pseudo-header came after a header field");
            }
            if pseudo != b"status" {
                return Err("a response has a pseudo-header other than :status");
            }
            if self.status.is_some() {
                return Err("a response has two :status");
            }
            self.status = Some(status(value).ok_or("a response's :status is not a number of three digits")?);
            return Ok(());
        }
        *regular = true;
        fields::check(name, value)?;
        if name == b"content-encoding" {
            self.coding = self.coding.and(value);
        }
        if name == b"content-length" {
            if self.length.is_some() {
                return Err("a response has two Content-Length fields");
            }
            let length =
                fields::content_length(value).ok_or("a response's Content-Length is not a number")?;
            self.length = Some(length);
        }
        Ok(())
    }
}

fn status(value: &[u8]) -> Option<u16> {
    let [a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] = value else { return None };
    let digit = |byte: &u8| u16::from(byte - b'0');
    Some(digit(a) * 100 + digit(b) * 10 + digit(c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hpack::{Field, Indexing, write_field};

    fn block(fields: &[(&str, &str)]) -> Vec<u8> {
        let mut out = Vec::new();
        for (name, value) in fields {
            write_field(&mut out, &Field { name, value: value.as_bytes(), indexing: Indexing::Once });
        }
        out
    }

    fn read(fields: &[(&str, &str)]) -> Head {
        Heads::default().read(&block(fields)).unwrap()
    }

    #[test]
    fn a_head_has_a_status_and_perhaps_a_length() {
        let head = read(&[(":status", "200"), ("content-type", "text/plain"), ("content-length", "13")]);
        assert_eq!(head, Head { status: Some(200), length: Some(13), ..Head::default() });
        assert_eq!(read(&[(":status", "799")]), Head { status: Some(799), ..Head::default() });
        assert_eq!(read(&[("grpc-status", "0")]), Head::default(), "trailers");
        assert_eq!(read(&[]), Head::default());
    }

    #[test]
    fn a_malformed_head_is_one_by_name() {
        let ok = (":status", "200");
        let cases: &[(&[(&str, &str)], &str)] = &[
            (&[("date", ""), ok], "after a header field"),
            (&[ok, (":path", "/")], "other than"),
            (&[ok, ok], "two :status"),
            (&[(":status", "20")], "three digits"),
            (&[(":status", "2000")], "three digits"),
            (&[(":status", "012")], "three digits"),
            (&[(":status", "2x0")], "three digits"),
            (&[ok, ("Date", "x")], "a name"),
            (&[ok, ("", "x")], "a name"),
            (&[ok, ("a b", "x")], "a name"),
            (&[ok, ("a:b", "x")], "a name"),
            (&[ok, ("\u{e9}", "x")], "a name"),
            (&[ok, ("a", " x")], "a value"),
            (&[ok, ("a", "x\t")], "a value"),
            (&[ok, ("a", "x\ny")], "a value"),
            (&[ok, ("a", "x\ry")], "a value"),
            (&[ok, ("a", "x\0y")], "a value"),
            (&[ok, ("connection", "close")], "HTTP/1"),
            (&[ok, ("keep-alive", "5")], "HTTP/1"),
            (&[ok, ("proxy-connection", "close")], "HTTP/1"),
            (&[ok, ("transfer-encoding", "chunked")], "HTTP/1"),
            (&[ok, ("upgrade", "h2c")], "HTTP/1"),
            (&[ok, ("content-length", "1"), ("content-length", "1")], "two Content-Length"),
            (&[ok, ("content-length", "")], "not a number"),
            (&[ok, ("content-length", "-1")], "not a number"),
            (&[ok, ("content-length", "1234567890123456789")], "not a number"),
        ];
        for (fields, said) in cases {
            let reason = read(fields).malformed;
            assert!(reason.is_some_and(|reason| reason.contains(said)), "{fields:?}: {reason:?}");
        }
    }

    #[test]
    fn the_same_bytes_mean_another_thing_once_the_table_changed() {
        let mut heads = Heads::default();
        // Literals with indexing: `:status: 201`, then `:status: 202`.
        let enters = |status: &[u8]| [&[0x48, 3][..], status].concat();
        assert_eq!(heads.read(&enters(b"201")).unwrap().status, Some(201));
        for _ in 0..3 {
            assert_eq!(heads.read(&[0xbe]).unwrap().status, Some(201));
        }
        assert_eq!(heads.read(&enters(b"202")).unwrap().status, Some(202));
        for _ in 0..3 {
            assert_eq!(heads.read(&[0xbe]).unwrap().status, Some(202));
            assert_eq!(heads.read(&[0xbf]).unwrap().status, Some(201));
        }
        // A block that enters the table does so each time.
        for index in [0xbe, 0xbf, 0xc0] {
            assert_eq!(heads.read(&enters(b"203")).unwrap().status, Some(203));
            assert_eq!(heads.read(&[index]).unwrap().status, Some(203));
        }
        // A table that was emptied has nothing to name.
        assert_eq!(heads.read(&[0x20, 0x88]).unwrap().status, Some(200));
        assert!(heads.read(&[0xbe]).is_err());
    }

    #[test]
    fn a_new_connection_remembers_nothing_of_the_last() {
        let mut heads = Heads::default();
        heads.read(&[0x48, 3, b'2', b'0', b'1']).unwrap();
        assert_eq!(heads.read(&[0xbe]).unwrap().status, Some(201));
        heads.reset();
        assert!(heads.read(&[0xbe]).is_err());
        assert_eq!(heads.read(&[0x88]).unwrap().status, Some(200));
    }
}
