//! A request's body that is read from its file while it is sent.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::PlanError;

/// The longest body that is sent from a file.
const BODY_FILE_MAX_BYTES: u64 = 1 << 40;

/// A body that stays in its file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BodyFile {
    pub path: PathBuf,
    /// Its length when the plan was made; it must keep it.
    pub bytes: u64,
}

impl BodyFile {
    pub(crate) fn at(path: &str) -> Result<BodyFile, PlanError> {
        let refused = |why: String| PlanError(format!("--body-file {path} cannot be sent: {why}."));
        let file = std::fs::metadata(path).map_err(|e| refused(e.to_string()))?;
        match file.len() {
            _ if !file.is_file() => Err(refused("it is no file with a length".to_owned())),
            bytes @ 1..=BODY_FILE_MAX_BYTES => Ok(BodyFile { path: path.into(), bytes }),
            0 => Err(refused("it is empty".to_owned())),
            _ => Err(refused(format!("it is larger than {} TiB", BODY_FILE_MAX_BYTES >> 40))),
        }
    }
}
