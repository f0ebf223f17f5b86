//! A body as it came, coded, until it is whole.

use std::io::{self, Read};

use flate2::read::MultiGzDecoder;
use prony_http2::Coding;

/// The longest coded body that is kept, by each connection or stream, and the longest that one is decoded to.
const CODED_MAX_BYTES: usize = 1 << 20;
const DECODED_MAX_BYTES: u64 = 64 << 20;
/// What a connection or stream keeps room for between two bodies.
const KEPT_BYTES: usize = 64 << 10;
/// What is decoded at once.
const PIECE_BYTES: usize = 16 << 10;

#[derive(Debug, Default)]
pub(super) struct CodedBody {
    bytes: Vec<u8>,
    too_long: bool,
}

impl CodedBody {
    pub(super) fn take(&mut self, bytes: &[u8]) {
        self.too_long |= self.bytes.len() + bytes.len() > CODED_MAX_BYTES;
        if !self.too_long {
            self.bytes.extend_from_slice(bytes);
        }
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BYTES);
        self.too_long = false;
    }

    /// Gives the body piece by piece, decoded; or why it cannot be.
    pub(super) fn read(&self, coding: Coding, mut take: impl FnMut(&[u8])) -> Result<(), String> {
        if self.too_long {
            return Err(format!("a body of over {} MiB, which is not decoded", CODED_MAX_BYTES >> 20));
        }
        // An answer without a body (HEAD, 304) has none to decode, whatever its head says.
        let mut decoder: Box<dyn Read + '_> = match coding {
            _ if self.bytes.is_empty() => return Ok(()),
            Coding::Identity => {
                take(&self.bytes);
                return Ok(());
            }
            Coding::Gzip => Box::new(MultiGzDecoder::new(&self.bytes[..])),
            Coding::Brotli => Box::new(brotli_decompressor::Decompressor::new(&self.bytes[..], PIECE_BYTES)),
            Coding::Other => return Err("a body whose Content-Encoding is neither gzip nor br".to_owned()),
        };
        let (mut piece, mut decoded) = ([0; PIECE_BYTES], 0);
        loop {
            match decoder.read(&mut piece) {
                Ok(0) => return Ok(()),
                Ok(count) => {
                    decoded += count as u64;
                    if decoded > DECODED_MAX_BYTES {
                        return Err(format!("a body that decodes to over {} MiB", DECODED_MAX_BYTES >> 20));
                    }
                    take(&piece[..count]);
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(format!("a body that cannot be decoded: {e}")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn read(bytes: &[u8], coding: Coding) -> Result<Vec<u8>, String> {
        let mut body = CodedBody::default();
        bytes.chunks(7).for_each(|piece| body.take(piece));
        let mut all = Vec::new();
        body.read(coding, |piece| all.extend_from_slice(piece)).map(|()| all)
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn bodies_are_decoded_by_their_coding() {
        let text = b"Hello, World! ".repeat(3_000);
        assert_eq!(read(&gzip(&text), Coding::Gzip).unwrap(), text);
        assert_eq!(read(&text, Coding::Identity).unwrap(), text);
        // `echo -n hello | brotli`, by brotli 1.0.9.
        let brotli = [0x0b, 0x02, 0x80, b'h', b'e', b'l', b'l', b'o', 0x03];
        assert_eq!(read(&brotli, Coding::Brotli).unwrap(), b"hello");
        assert_eq!(read(b"", Coding::Gzip).unwrap(), b"");
    }

    #[test]
    fn what_cannot_be_decoded_says_why() {
        let whole = gzip(b"Hello");
        assert!(read(&whole[..whole.len() - 3], Coding::Gzip).unwrap_err().contains("cannot be decoded"));
        assert!(read(b"plain", Coding::Gzip).unwrap_err().contains("cannot be decoded"));
        assert!(read(b"plain", Coding::Brotli).is_err());
        assert!(read(b"x", Coding::Other).unwrap_err().contains("neither gzip nor br"));
        let bomb = gzip(&vec![0; DECODED_MAX_BYTES as usize + 1]);
        assert!(
            bomb.len() < CODED_MAX_BYTES && read(&bomb, Coding::Gzip).unwrap_err().contains("over 64 MiB")
        );
        assert!(read(&vec![0; CODED_MAX_BYTES + 1], Coding::Identity).unwrap_err().contains("over 1 MiB"));
    }
}
