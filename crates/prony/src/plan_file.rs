//! Plan files: what the flags of `prony load` say, in a file: read in the place of a URL, and written by `--save`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, CommandFactory, FromArgMatches};
use prony_lab::plan_file::{PlanFile, texts};
use prony_model::options::LoadOptions;
use serde_json::Value;

use crate::cli::{Cli, Command};
use crate::failure::{Failure, USAGE};
use crate::printer::Printer;

/// Flags that no plan file has, and why.
pub(crate) const OF_ONE_INVOCATION: [(&str, &str); 5] = [
    ("help", "it asks, and nothing is loaded"),
    ("latency", "it has no effect"),
    ("plain", "it is about the terminal in which the load is watched"),
    ("quiet", "it is about the terminal in which the load is watched"),
    ("save", "it names a plan file"),
];

/// A plan file that a command line names in the place of a URL.
pub(crate) struct Given {
    file: PlanFile,
    /// The line's command, and what the line says itself.
    command: clap::Command,
    typed: ArgMatches,
    /// The line, and in flags what the file says and it does not.
    pub(crate) words: Vec<String>,
}

fn command(name: &str) -> clap::Command {
    Cli::command().find_subcommand(name).cloned().unwrap_or_default()
}

/// What a flag is called in a file, and whether it is an option of a load.
fn key(argument: &Arg) -> Option<(String, bool)> {
    let id = argument.get_id().as_str();
    if OF_ONE_INVOCATION.iter().any(|(name, _)| *name == id) {
        return None;
    }
    let options = <LoadOptions as clap::Args>::augment_args(clap::Command::new("prony"));
    if options.get_arguments().any(|option| option.get_id() == id) {
        return Some((id.to_owned(), true));
    }
    let name = argument.get_long().or(Some(id).filter(|id| *id == "url"))?;
    Some((name.replace('-', "_"), false))
}

/// Reads a plan file.
pub(crate) fn read(path: &str) -> Result<PlanFile, Failure> {
    let commands = ["load", "capacity"].map(command);
    let keys: BTreeSet<_> = commands.iter().flat_map(clap::Command::get_arguments).filter_map(key).collect();
    let names =
        |of_load| keys.iter().filter(|key| key.1 == of_load).map(|key| key.0.clone()).collect::<Vec<_>>();
    PlanFile::read(path, &names(true), &names(false)).map_err(Failure::usage)
}

/// A value of a file in the words of a command line.
fn words(argument: &Arg, value: &Value) -> Option<Vec<String>> {
    let long = argument.get_long()?;
    let one = |value: &Value| match value {
        Value::String(text) => Some(format!("--{long}={text}")),
        Value::Number(number) => Some(format!("--{long}={number}")),
        _ => None,
    };
    let is_switch = !argument.get_action().takes_values() || argument.get_num_args() == Some(0.into());
    match value {
        Value::Bool(is_so) if is_switch => {
            let is_given = *is_so != long.starts_with("no-");
            Some(is_given.then(|| format!("--{long}")).into_iter().collect())
        }
        Value::Array(items) if matches!(argument.get_action(), ArgAction::Append) => {
            items.iter().map(one).collect()
        }
        // Headers.
        Value::Object(table) => {
            table.iter().map(|(name, value)| Some(format!("--{long}={name}: {}", value.as_str()?))).collect()
        }
        value if !is_switch => one(value).map(|word| vec![word]),
        _ => None,
    }
}

/// Options of a load in the words of a command line.
pub(crate) fn option_words(options: &LoadOptions) -> Vec<String> {
    let given = serde_json::to_value(options).unwrap_or_default();
    let flags = <LoadOptions as clap::Args>::augment_args(clap::Command::new("prony"));
    let said = |flag: &Arg| words(flag, given.get(flag.get_id().as_str())?);
    flags.get_arguments().filter_map(said).flatten().collect()
}

impl Given {
    /// The plan file in the place of a line's URL.
    pub(crate) fn of(line: &[String], printer: &Printer) -> Result<Option<Given>, Failure> {
        // What is wrong with the line its parser will say; here a flag may lack another that the file gives.
        let parsed = Cli::command().ignore_errors(true).try_get_matches_from(line).ok();
        let Some((name, typed)) = parsed.and_then(|mut matches| matches.remove_subcommand()) else {
            return Ok(None);
        };
        if !matches!(name.as_str(), "load" | "capacity") {
            return Ok(None);
        }
        let path =
            typed.get_one::<String>("url").filter(|url| url.ends_with(".toml") && !url.contains("://"));
        let Some(file) = path.map(|path| read(path)).transpose()? else { return Ok(None) };
        let mut given = Given { file, command: command(&name), typed, words: line[..2].to_vec() };
        for (key, value) in &given.file.flags {
            let Some(flag) = given.flag(key) else {
                printer.note(&unused(&given.file, key, &name));
                continue;
            };
            if flag.get_long().is_none() || given.is_typed(flag) {
                continue;
            }
            let refused =
                |why: &str| Failure::usage(given.file.error(key, why.trim_start_matches("error: ")));
            let said = words(flag, value).ok_or_else(|| refused(&format!("{key:?} cannot be {value}.")))?;
            // Alone: what it needs beside it is seen when all is there.
            let alone = Cli::try_parse_from([&line[..2], &said[..]].concat())
                .map_err(|why| (why.kind(), why.to_string()));
            if let Err((kind, why)) = alone
                && kind != clap::error::ErrorKind::MissingRequiredArgument
            {
                return Err(refused(why.lines().next().unwrap_or_default()));
            }
            given.words.extend(said);
        }
        given.words.extend_from_slice(&line[2..]);
        Ok(Some(given))
    }

    fn flag(&self, key_of_file: &str) -> Option<&Arg> {
        self.command.get_arguments().find(|flag| key(flag).is_some_and(|(name, _)| name == key_of_file))
    }

    fn is_typed(&self, flag: &Arg) -> bool {
        self.typed.value_source(flag.get_id().as_str()) == Some(ValueSource::CommandLine)
    }

    /// A failure with the line of the file that it is about: whose flag, or whose text, it names.
    pub(crate) fn located(&self, failure: Failure) -> Failure {
        if failure.code != USAGE || failure.message.is_empty() {
            return failure;
        }
        let options = serde_json::to_value(&self.file.load).unwrap_or_default();
        let values = options.as_object().into_iter().flatten().chain(&self.file.flags);
        let own: Vec<_> = values
            .filter(|(key, value)| !value.is_null() && self.flag(key).is_none_or(|flag| !self.is_typed(flag)))
            .collect();
        let is = |word: &str, flag: &Arg| {
            flag.get_long().is_some_and(|long| word == format!("--{long}"))
                || flag.get_short().is_some_and(|short| word == format!("-{short}"))
        };
        let mut named = failure
            .message
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '-')
            .filter(|word| word.starts_with('-'));
        let by_flag = named
            .find_map(|word| own.iter().find(|(key, _)| self.flag(key).is_some_and(|flag| is(word, flag))));
        let has_text = |value: &Value| {
            value.as_str().is_some_and(|text| text.len() > 1 && failure.message.contains(text))
        };
        match by_flag.or_else(|| own.iter().find(|(_, value)| has_text(value))) {
            Some((key, _)) => Failure::usage(self.file.error(key, failure.message.as_str())),
            None => failure,
        }
    }
}

/// Gives a load or a search what its plan file says besides its flags, and the text of the file that it is to save.
pub(crate) fn complete(
    cli: &mut Cli,
    line: &ArgMatches,
    given: Option<&Given>,
    printer: &Printer,
) -> Result<(), Failure> {
    let (common, is_search) = match &mut cli.command {
        Command::Load(arguments) => (&mut arguments.common, false),
        Command::Capacity(arguments) => (&mut arguments.common, true),
        _ => return Ok(()),
    };
    if let Some(Given { file, .. }) = given {
        common.url = file.flags.get("url").and_then(Value::as_str).map(str::to_owned);
        let (own, mut load) = (common.plan.given(), file.load.clone());
        while is_search
            && let Some((option, why)) = common.plan.or(&load)?.unfit_for_search()
            && !own.iter().any(|own| own == option)
        {
            printer.note(&file.error(option, format!("not used here, for {option} {why}")).to_string());
            load = load.without(option)?;
        }
        common.plan = common.plan.or(&load)?;
    }
    let (Some(path), Some((name, line))) = (&common.save, line.subcommand()) else { return Ok(()) };
    let mut flags = BTreeMap::new();
    flags.extend(common.url.clone().map(|url| ("url".to_owned(), Value::String(url))));
    for flag in command(name).get_arguments() {
        let id = flag.get_id().as_str();
        if let Some((key, false)) = key(flag)
            && id != "url"
            && line.value_source(id) == Some(ValueSource::CommandLine)
            && let Some(value) = value(flag, line)
        {
            flags.insert(key, value);
        }
    }
    let text = PlanFile::of(common.plan.clone(), flags).to_text();
    common.saved = Some(text.map_err(|why| Failure::usage(format!("--save {path}: {why}")))?);
    Ok(())
}

/// What a plan file says to a comparison of two builds, in flags of `prony bench` where `typed` has none: the load, and the
/// path of its URL unless another is given; and its thresholds.
pub(crate) fn for_bench(
    path: &str,
    typed: &[String],
    has_path: bool,
    printer: &Printer,
) -> Result<(Vec<String>, Vec<String>), Failure> {
    let file = read(path)?;
    let line = ["prony", "bench"].map(str::to_owned).into_iter().chain(typed.iter().cloned());
    // What is wrong with it, the bench will say.
    let line = Cli::command().ignore_errors(true).try_get_matches_from(line).ok();
    let Some(Command::Bench(own)) =
        line.and_then(|line| Cli::from_arg_matches(&line).ok()).map(|cli| cli.command)
    else {
        return Ok(Default::default());
    };
    let merged = own.plan.or(&file.load)?;
    let load = own.plan.given().iter().try_fold(merged, |load, option| load.without(option))?;
    let (mut words, mut slos) = (option_words(&load), Vec::new());
    for (key, value) in &file.flags {
        match (key.as_str(), value) {
            ("url", Value::String(url)) => {
                let behind = url.split_once("://").map_or("", |(_, behind)| behind);
                words.extend((url.starts_with("https://") && !own.https).then(|| "--https".to_owned()));
                let path = behind.find('/').map(|at| format!("--path={}", &behind[at..]));
                words.extend(path.filter(|path| path != "--path=/" && !has_path && own.path.is_none()));
            }
            ("slo", value) => slos = texts(value),
            ("redact", value) => words.extend(texts(value).iter().map(|name| format!("--redact={name}"))),
            ("strict", Value::Bool(true)) if !own.strict => words.push("--strict".to_owned()),
            _ => printer.note(&unused(&file, key, "ci compare")),
        }
    }
    Ok((words, slos))
}

fn unused(file: &PlanFile, key: &str, command: &str) -> String {
    file.error(key, format!("`prony {command}` does not use {key:?}.")).to_string()
}

/// What a line says of a flag, as a file says it.
fn value(flag: &Arg, line: &ArgMatches) -> Option<Value> {
    if !flag.get_action().takes_values() {
        return Some(Value::Bool(true));
    }
    let given =
        line.get_raw(flag.get_id().as_str())?.map(|text| Value::String(text.to_string_lossy().into_owned()));
    match flag.get_action() {
        ArgAction::Append => Some(Value::Array(given.collect())),
        _ => given.last(),
    }
}

/// Writes the text of a plan file where there is none yet.
pub(crate) fn save(path: &str, text: &str, printer: &Printer) -> Result<(), Failure> {
    let written = OpenOptions::new().write(true).create_new(true).open(path);
    written.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|why| {
        let why = match why.kind() {
            ErrorKind::AlreadyExists => "it exists: remove it, or name another file".to_owned(),
            _ => why.to_string(),
        };
        Failure::usage(format!("--save {path}: the file cannot be written: {why}."))
    })?;
    printer.note(&format!("plan: {path}"));
    Ok(())
}

#[cfg(test)]
#[path = "plan_file_tests.rs"]
mod tests;
