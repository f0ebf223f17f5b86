//! Whether a list of requests is taken into memory, or stays in its file; and the file of who applies another's plan.

use std::io::Read;
use std::path::Path;

use super::meaning::{FILE_MAX_BYTES, file, said_of_list};
use super::{LoadOptions, ReadFile};
use crate::error::{PlanError, wrong};
use crate::foreign_file;
use crate::list::{Format, LINES_MAX, Order, TargetList};
use crate::plan::Plan;
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

impl Plan {
    /// Reads the list that the plan [awaits](Plan::awaits_list) from this file, which must be the one that it was made of.
    pub fn read_list(&mut self, path: &Path) -> Result<(), PlanError> {
        let Some((list, file)) = self.work.list().and_then(|list| Some((list, list.file.as_ref()?))) else {
            return wrong("The plan has a list of no file.");
        };
        let name = path.display().to_string();
        let options = LoadOptions {
            targets: Some(name.clone()),
            targets_format: Some(list.format.to_string()),
            shuffle: Some(list.order == Order::Shuffled),
            method: Some(list.method.clone()),
            ..LoadOptions::default()
        };
        let read = |of: &str, most: u64| {
            if of != name {
                return Err("a list that each agent reads has its bodies in its lines".to_owned());
            }
            let mut bytes = Vec::new();
            let read = foreign_file::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes));
            read.map(|_| bytes).map_err(|e| e.to_string())
        };
        let server = list.origins.is_empty().then(|| self.target.clone());
        let (target, work) = options.work(server, &read)?;
        let is_same = |own: &TargetList| {
            own.origins == list.origins && own.file.as_ref().is_some_and(|own| own.sha256 == file.sha256)
        };
        if !work.list().is_some_and(is_same)
            || target != (Target { path: "/".to_owned(), ..self.target.clone() })
        {
            return wrong(format!(
                "{name} is not the controller's {}, which has {} bytes and another SHA-256: copy that one there.",
                file.path.display(),
                file.bytes
            ));
        }
        self.work = work;
        self.check()
    }
}
