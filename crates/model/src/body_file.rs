//! A request's body that is read from its file while it is sent.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::PlanError;
use crate::fnv::{folded, hash_of};
use crate::foreign_file;

/// The longest body that is sent from a file.
const BODY_FILE_MAX_BYTES: u64 = 1 << 40;

/// So much of either end tells files of one length apart: 1 MiB.
const END_BYTES: u64 = 1 << 20;

/// A body that stays in its file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BodyFile {
    pub path: PathBuf,
    /// Its length when the plan was made; it must keep it.
    pub bytes: u64,
}

impl BodyFile {
    /// It, and its fingerprint: FNV-1a of both ends and of its length, folded as bodies' are.
    pub(crate) fn at(path: &str) -> Result<(BodyFile, u32), PlanError> {
        let refused = |why: String| PlanError(format!("--body-file {path} cannot be sent: {why}."));
        let file = foreign_file::open(path.as_ref()).map_err(|e| refused(e.to_string()))?;
        let about = file.metadata().map_err(|e| refused(e.to_string()))?;
        match about.len() {
            _ if !about.is_file() => Err(refused("it is no file with a length".to_owned())),
            bytes @ 1..=BODY_FILE_MAX_BYTES => {
                let of = |from| part(&file, from).map_err(|e| refused(e.to_string()));
                let ends = [of(0)?, of(bytes.saturating_sub(END_BYTES))?, bytes.to_le_bytes().to_vec()];
                Ok((BodyFile { path: path.into(), bytes }, folded(hash_of(ends.iter().map(Vec::as_slice)))))
            }
            0 => Err(refused("it is empty".to_owned())),
            _ => Err(refused(format!("it is larger than {} TiB", BODY_FILE_MAX_BYTES >> 40))),
        }
    }

    /// Its first MiB, at most.
    pub fn beginning(&self) -> io::Result<Vec<u8>> {
        part(&foreign_file::open(&self.path)?, 0)
    }
}

fn part(mut file: &File, from: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(io::SeekFrom::Start(from))?;
    file.take(END_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_one_length_are_told_apart_by_their_ends() {
        let path = std::env::temp_dir().join(format!("prony-body-file-{}", std::process::id()));
        let of = |change: &[usize]| {
            let mut bytes = vec![b'a'; 3 << 20];
            change.iter().for_each(|at| bytes[*at] = b'b');
            std::fs::write(&path, bytes).unwrap();
            BodyFile::at(path.to_str().unwrap()).unwrap().1
        };
        let [none, first, last, both] = [&[][..], &[0], &[(3 << 20) - 1], &[0, (3 << 20) - 1]].map(of);
        assert!(none != first && none != last && first != last && both != first && both != last);
        assert_eq!(none, of(&[]));
        std::fs::remove_file(&path).unwrap();
    }
}
