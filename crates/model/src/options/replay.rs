//! What `--replay` means, and what does not go with it.

use super::meaning::{FILE_MAX_BYTES, file, said_of_list};
use super::{LoadOptions, ReadFile};
use crate::error::{PlanError, wrong};
use crate::list::TargetList;
use crate::plan::SEED;
use crate::replay::{Asked, METHODS_MAX, Replay, SPEEDS, read as read_log};
use crate::request::check_method;
use crate::target::Target;

impl LoadOptions {
    /// The server, the requests of a log and their instants, where one is to be replayed.
    pub(super) fn replayed(
        &self,
        target: Option<&Target>,
        read: ReadFile<'_>,
    ) -> Result<Option<(Target, TargetList, Replay)>, PlanError> {
        let Some(path) = self.replay.as_deref() else {
            let of_logs = [
                ("--speed", self.speed.is_some()),
                ("--loop", self.looped == Some(true)),
                ("--methods", self.methods.is_some()),
            ];
            return match of_logs.into_iter().find(|(_, given)| *given) {
                Some((flag, _)) => {
                    wrong(format!("{flag} is for the requests of a log: give --replay FILE with it."))
                }
                None => Ok(None),
            };
        };
        let beside = [
            ("-R", self.rate.is_some()),
            ("--stage", self.stages.is_some()),
            ("--arrivals", self.arrivals.is_some()),
            ("--targets", self.targets.is_some()),
            ("--targets-format", self.targets_format.is_some()),
            ("--shuffle", self.shuffle == Some(true)),
            ("-m", self.method.is_some()),
            ("-b", self.body.is_some()),
            ("-F", self.form.is_some()),
            ("--form-urlencoded", self.form_urlencoded.is_some()),
            ("--body-file", self.body_file.is_some()),
        ];
        if let Some((flag, _)) = beside.into_iter().find(|(_, given)| *given) {
            return wrong(format!(
                "{flag} cannot be used with --replay: the log says what is requested, and when. Leave one of them out."
            ));
        }
        let speed = self.speed.unwrap_or(1.0);
        if !SPEEDS.contains(&speed) {
            return wrong(format!(
                "--speed {speed} is out of range: give {} to {}, 2 for twice as fast as logged.",
                SPEEDS.start(),
                SPEEDS.end()
            ));
        }
        let Some(server) = target else {
            return wrong("A log does not say which server is asked: give its URL with --replay.");
        };
        if server.path != "/" {
            let server = Target { path: String::new(), ..server.clone() }.display_url();
            return wrong(format!(
                "With --replay the URL says only which server, and the log says what is asked of it: write {server}."
            ));
        }
        let asked = Asked {
            server,
            methods: methods(self.methods.as_deref().unwrap_or("GET,HEAD"))?,
            speed,
            looped: self.looped == Some(true),
            seed: self.seed.unwrap_or(SEED),
        };
        let text = file("--replay", path, FILE_MAX_BYTES, read)?;
        let (list, replay) =
            read_log(&text, &asked).map_err(|errors| said_of_list("--replay", path, &errors))?;
        Ok(Some((server.clone(), list, replay)))
    }
}

/// Methods separated by commas.
fn methods(text: &str) -> Result<Vec<String>, PlanError> {
    let mut all: Vec<String> = text.split(',').map(|method| method.trim().to_owned()).collect();
    all.dedup();
    if all.len() > METHODS_MAX {
        return wrong(format!("--methods: give at most {METHODS_MAX}."));
    }
    let checked =
        |method: &String| check_method(method).map_err(|why| PlanError(format!("--methods: {why}")));
    all.iter().try_for_each(checked)?;
    Ok(all)
}
