//! Whether a list of requests is taken into memory, or stays in its file.

use super::meaning::{FILE_MAX_BYTES, file, said_of_list};
use super::{LoadOptions, ReadFile};
use crate::error::PlanError;
use crate::list::{Format, LINES_MAX, TargetList};
use crate::target::Target;

impl LoadOptions {
    /// A list that is longer than what fits in memory, or else the text of its file.
    pub(super) fn list_or_text(
        &self,
        path: &str,
        format: Option<Format>,
        server: Option<&Target>,
        read: ReadFile<'_>,
    ) -> Result<Result<(Target, TargetList), Vec<u8>>, PlanError> {
        let read_whole = || file("--targets", path, FILE_MAX_BYTES, read);
        if path == "-" || self.shuffle == Some(true) {
            return Ok(Err(read_whole()?));
        }
        let is_larger = std::fs::metadata(path).is_ok_and(|file| file.len() > FILE_MAX_BYTES);
        let text = if is_larger { Vec::new() } else { read_whole()? };
        // A command may have several lines: whether they are too many requests is known when all are read.
        if !is_larger && text.iter().filter(|byte| **byte == b'\n').count() < LINES_MAX {
            return Ok(Err(text));
        }
        let passed = TargetList::pass(path.as_ref(), format, server, self.method());
        let (server, list) = passed.map_err(|errors| said_of_list("--targets", path, &errors))?;
        let is_longer = is_larger || list.count() > LINES_MAX as u64;
        Ok(if is_longer { Ok((server, list)) } else { Err(text) })
    }
}
