//! A body that stays in its file: what of it, whole or in chunks, stands at which place on the wire.

use std::fs::{File, Metadata};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::atomic::{AtomicBool, Ordering};

use prony_model::PlanError;
use prony_model::plan::BodyFile;

use super::request::CHUNK_BYTES;

/// What is read for one write.
const PIECE_BYTES: u64 = 256 << 10;
/// A piece, and a chunk more around it.
pub(super) const PIECE_MAX_BYTES: usize = (PIECE_BYTES + 2 * FRAMED_BYTES) as usize;
/// A whole chunk with its length before it: `4000`, and two line ends.
const FRAMED_BYTES: u64 = CHUNK_BYTES as u64 + 8;
const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

#[derive(Debug)]
pub(super) struct FileBody {
    file: File,
    path: String,
    bytes: u64,
    chunked: bool,
    /// When it was last changed, before the load.
    changed: (i64, i64),
    /// A read of it failed.
    failed: AtomicBool,
}

impl FileBody {
    pub(super) fn open(body: &BodyFile, chunked: bool) -> Result<FileBody, PlanError> {
        let path = body.path.display().to_string();
        let opened = File::open(&body.path).and_then(|file| Ok((file.metadata()?, file)));
        let (about, file) =
            opened.map_err(|e| PlanError(format!("--body-file {path} cannot be read: {e}.")))?;
        let body = FileBody {
            file,
            path,
            bytes: body.bytes,
            chunked,
            changed: when_changed(&about),
            failed: AtomicBool::new(false),
        };
        if about.len() == body.bytes { Ok(body) } else { Err(body.has_changed()) }
    }

    /// That it is still what it was.
    pub(super) fn check(&self) -> Result<(), PlanError> {
        let about = self.file.metadata();
        let is_same = about.is_ok_and(|now| now.len() == self.bytes && when_changed(&now) == self.changed);
        if is_same && !self.failed.load(Ordering::Relaxed) { Ok(()) } else { Err(self.has_changed()) }
    }

    fn has_changed(&self) -> PlanError {
        PlanError(format!(
            "--body-file {} has changed while it was used, or could not be read to its end: give one that stays as it is.",
            self.path
        ))
    }

    /// How much it takes on the wire.
    pub(super) fn length(&self) -> u64 {
        if !self.chunked {
            return self.bytes;
        }
        let (whole, rest) = (self.bytes / CHUNK_BYTES as u64, self.bytes % CHUNK_BYTES as u64);
        let rest = if rest > 0 { head(rest).len() as u64 + rest + 2 } else { 0 };
        whole * FRAMED_BYTES + rest + LAST_CHUNK.len() as u64
    }

    /// Adds a piece of what stands on the wire from this place on. What cannot be read is filled up: `check` tells of it.
    pub(super) fn piece(&self, at: u64, room: &mut Vec<u8>) {
        if !self.chunked {
            self.read(at, PIECE_BYTES.min(self.bytes - at.min(self.bytes)), room);
            return;
        }
        let mut chunk = at / FRAMED_BYTES;
        let begins = room.len();
        while room.len() - begins < PIECE_BYTES as usize {
            let from = chunk * CHUNK_BYTES as u64;
            let length = self.bytes.saturating_sub(from).min(CHUNK_BYTES as u64);
            if length == 0 {
                room.extend_from_slice(LAST_CHUNK);
                break;
            }
            room.extend_from_slice(head(length).as_bytes());
            self.read(from, length, room);
            room.extend_from_slice(b"\r\n");
            chunk += 1;
        }
        room.drain(begins..begins + (at % FRAMED_BYTES) as usize);
    }

    fn read(&self, at: u64, length: u64, room: &mut Vec<u8>) {
        let begins = room.len();
        room.resize(begins + length as usize, 0);
        if self.file.read_exact_at(&mut room[begins..], at).is_err() {
            self.failed.store(true, Ordering::Relaxed);
        }
    }
}

fn head(length: u64) -> String {
    format!("{length:x}\r\n")
}

fn when_changed(about: &Metadata) -> (i64, i64) {
    (about.mtime(), about.mtime_nsec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn body(length: usize, chunked: bool) -> (tempfile::NamedTempFile, FileBody, Vec<u8>) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let bytes: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
        file.write_all(&bytes).unwrap();
        let about = BodyFile { path: file.path().into(), bytes: length as u64 };
        let opened = FileBody::open(&about, chunked).unwrap();
        (file, opened, bytes)
    }

    #[test]
    fn pieces_from_any_place_are_the_whole() {
        for length in [1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 40 * CHUNK_BYTES + 7] {
            for chunked in [false, true] {
                let (_file, body, bytes) = body(length, chunked);
                let mut want = Vec::new();
                for chunk in bytes.chunks(if chunked { CHUNK_BYTES } else { usize::MAX }) {
                    let framed = |text: String| if chunked { text.into_bytes() } else { Vec::new() };
                    want.extend(framed(format!("{:x}\r\n", chunk.len())));
                    want.extend_from_slice(chunk);
                    want.extend(framed("\r\n".to_owned()));
                }
                want.extend_from_slice(if chunked { LAST_CHUNK } else { b"" });
                assert_eq!(body.length(), want.len() as u64, "{length} {chunked}");
                // In steps that fall on every kind of place.
                let (mut at, mut step) = (0, 1);
                while at < want.len() {
                    let mut room = b"before".to_vec();
                    body.piece(at as u64, &mut room);
                    let piece = &room[6..];
                    assert!(!piece.is_empty() && want[at..].starts_with(piece), "{length} {chunked} at {at}");
                    at += step.min(piece.len());
                    step = step * 3 + 1;
                }
            }
        }
    }

    #[test]
    fn a_file_that_changes_is_told() {
        let (mut file, body, _) = body(10, false);
        body.check().unwrap();
        file.write_all(b"more").unwrap();
        assert!(body.check().unwrap_err().to_string().contains("has changed"));
        let about = BodyFile { path: file.path().into(), bytes: 10 };
        assert!(FileBody::open(&about, false).is_err());
    }
}
