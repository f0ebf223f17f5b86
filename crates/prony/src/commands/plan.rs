//! From flags to a plan: what the model's options need of this process, files and the environment.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use clap::{Args, Command};
use prony_lab::watch::WatchedServer;
use prony_model::options::LoadOptions;
use prony_model::{Plan, Target};

use super::logs::Log;
use super::server_host::watched;
use super::{fleet, reproduce};
use crate::cli::OneTargetOptions;
use crate::failure::Failure;
use crate::printer::Printer;

/// Stands in for a target whose address is known only when its server runs.
pub(crate) fn placeholder() -> Target {
    Target { host: "127.0.0.1".to_owned(), port: 80, path: "/".to_owned(), userinfo: None, tls: false }
}

/// The plan that the flags mean, for this target or the one that a list names; headers named in `redact` are secret.
pub(crate) fn plan(
    options: &LoadOptions,
    redact: &[String],
    target: Option<Target>,
) -> Result<Plan, Failure> {
    let mut plan = options.plan(target, &read).map_err(Failure::usage)?;
    plan.hide_headers(redact);
    Ok(plan)
}

impl OneTargetOptions {
    /// The target's URL, where one is given, once what else is wrong without asking anybody has been found.
    pub(crate) fn checked_target(&self) -> Result<Option<Target>, Failure> {
        reproduce::check_own()?;
        let watches_another = self.watch.as_deref().is_some_and(|named| named.starts_with("ssh:"));
        fleet::check_agent_binary(&self.fleet, watches_another)?;
        self.url.as_deref().map(Target::given).transpose().map_err(Failure::usage)
    }

    pub(crate) fn is_embedded(&self) -> bool {
        self.url.is_none() && self.plan.targets.is_none() && self.plan.replay.is_none()
    }

    /// The plan that these options mean; where a fleet applies it, its agents read the client's certificate and key.
    pub(crate) fn plan_of(&self, options: &LoadOptions, target: Option<Target>) -> Result<Plan, Failure> {
        let plan = match &self.fleet.fleet {
            None => options.plan(target, &read),
            Some(_) => options.plan_for_agents(target, &read),
        };
        let mut plan = plan.map_err(Failure::usage)?;
        plan.hide_headers(&self.redact);
        if let Some(cpus) = &self.pin {
            plan.cpus = super::parse_cpus(cpus)?;
        }
        Ok(plan)
    }

    pub(crate) fn save(&self, printer: &Printer) -> Result<(), Failure> {
        let (Some(path), Some(text)) = (&self.save, &self.saved) else { return Ok(()) };
        if Path::new(path).exists() {
            let why = "there is such a file: remove it, or name another.";
            return Err(Failure::usage(format!("--save {path}: {why}")));
        }
        super::write_output(text, Some(path), "plan", printer)
    }

    /// The run log to append to, where one is named; `command` is who asks.
    pub(crate) fn log(&self, command: &str, printer: &Printer) -> Result<Option<Log>, Failure> {
        self.output.as_deref().map(|path| Log::open(path, command, printer)).transpose()
    }

    pub(crate) fn watched(&self) -> Result<Option<WatchedServer>, Failure> {
        self.watch.as_deref().map(|named| watched(named, &self.fleet.agent_binary)).transpose()
    }
}

pub(crate) fn read(path: &str, most: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = match path {
        "-" => io::stdin().lock().take(most).read_to_end(&mut bytes),
        path => File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes)),
    };
    read.map(|_| bytes).map_err(|e| e.to_string())
}

pub(crate) fn flag(option: &str) -> String {
    let command = LoadOptions::augment_args(Command::new("prony"));
    let argument = command.get_arguments().find(|argument| argument.get_id() == option);
    match argument.map(|argument| (argument.get_short(), argument.get_long())) {
        Some((Some(short), _)) => format!("-{short}"),
        Some((None, Some(long))) => format!("--{long}"),
        _ => option.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_named_by_their_flags() {
        let flags = ["connections", "keepalive", "stages", "user_clock"].map(flag);
        assert_eq!(flags, ["-c", "--no-keepalive", "--stage", "--user-clock"]);
    }

    #[test]
    fn a_header_from_an_unset_variable_is_refused_by_its_name() {
        let options = LoadOptions {
            headers: Some(vec!["A: @env:PRONY_NO_SUCH_VARIABLE".parse().unwrap()]),
            ..Default::default()
        };
        let refused = plan(&options, &[], Some(Target::parse("http://h/").unwrap())).unwrap_err();
        assert!(refused.message.contains("PRONY_NO_SUCH_VARIABLE"));
    }

    #[test]
    fn reading_reports_errors_and_stops_at_the_limit() {
        assert!(read("/no/such/file", 10).unwrap_err().contains("No such file"));
        assert_eq!(read("/dev/zero", 10), Ok(vec![0; 10]));
    }
}
