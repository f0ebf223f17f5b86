//! Plan files: what the flags of `prony load` say, in a file: read in the place of a URL, and written by `--save`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, CommandFactory, FromArgMatches};
use prony_lab::plan_file::PlanFile;
use prony_lab::service::Service;
use prony_model::options::LoadOptions;
use prony_model::units::show_duration;
use serde_json::Value;

use crate::cli::{Cli, Command};
use crate::failure::Failure;
use crate::printer::Printer;

/// Flags of no plan file: `--latency` has no effect, others ask, name a plan file, or are about the terminal.
const OF_ONE_INVOCATION: [&str; 5] = ["help", "latency", "plain", "quiet", "save"];

pub(crate) struct Given {
    file: PlanFile,
    command: clap::Command,
    typed: ArgMatches,
    /// The line, and in flags what the file says and it does not.
    pub(crate) words: Vec<String>,
}

fn command(name: &str) -> clap::Command {
    Cli::command().find_subcommand(name).cloned().unwrap_or_default()
}

fn is_option(flag: &Arg) -> bool {
    static OPTIONS: LazyLock<clap::Command> =
        LazyLock::new(|| <LoadOptions as clap::Args>::augment_args(clap::Command::new("prony")));
    OPTIONS.get_arguments().any(|option| option.get_id() == flag.get_id())
}

fn key(flag: &Arg) -> Option<String> {
    let id = flag.get_id().as_str();
    let name = if id == "url" || is_option(flag) { id } else { flag.get_long()? };
    (!OF_ONE_INVOCATION.contains(&id)).then(|| name.replace('-', "_"))
}

fn is_typed(line: &ArgMatches, flag: &Arg) -> bool {
    line.value_source(flag.get_id().as_str()) == Some(ValueSource::CommandLine)
}

/// A line as it is, whatever is wrong with it: that, its parser will say, and a flag may lack another that a file gives.
fn lenient(line: &[String]) -> Option<(String, ArgMatches)> {
    Cli::command().ignore_errors(true).try_get_matches_from(line).ok()?.remove_subcommand()
}

fn read(path: &str) -> Result<PlanFile, Failure> {
    let commands = ["load", "capacity"].map(command);
    let keys: BTreeSet<_> = commands.iter().flat_map(clap::Command::get_arguments).filter_map(key).collect();
    let known: Vec<_> = keys.into_iter().chain(["name", "protocol"].map(str::to_owned)).collect();
    PlanFile::read(path, &known).map_err(Failure::usage)
}

fn is_switch(flag: &Arg) -> bool {
    !flag.get_action().takes_values() || flag.get_num_args() == Some(0_usize.into())
}

/// A value of a file in the words of a command line; `None`: it is none of this flag.
fn words(flag: &Arg, value: &Value) -> Option<Vec<String>> {
    let long = flag.get_long()?;
    let word = |value: &Value| match value {
        Value::String(text) => Some(format!("--{long}={text}")),
        Value::Number(number) => Some(format!("--{long}={number}")),
        _ => None,
    };
    let is_switch = is_switch(flag);
    match value {
        Value::Bool(is_so) if is_switch => {
            let is_given = *is_so != long.starts_with("no-");
            Some(is_given.then(|| format!("--{long}")).into_iter().collect())
        }
        // A flag that may stand without its value.
        Value::Bool(true) if flag.get_num_args().is_some_and(|count| count.min_values() == 0) => {
            Some(vec![format!("--{long}")])
        }
        Value::Object(headers) if long == "header" => headers
            .iter()
            .map(|(name, value)| {
                word(&format!("{name}: {}", value.as_str().filter(|_| !name.contains(':'))?).into())
            })
            .collect(),
        Value::Array(items) if matches!(flag.get_action(), ArgAction::Append) => {
            items.iter().map(word).collect()
        }
        one => word(one).filter(|_| !is_switch && long != "header").map(|word| vec![word]),
    }
}

/// The words of a command for what a file says and a line of it does not say itself, or otherwise.
fn missing(
    file: &PlanFile,
    command: &clap::Command,
    typed: &ArgMatches,
    takes: impl Fn(&Arg) -> bool,
    printer: &Printer,
) -> Result<Vec<String>, Failure> {
    let replaced =
        LoadOptions::from_arg_matches(typed).map_or_else(|_| Vec::new(), |options| options.replaces());
    let mut all = Vec::new();
    let is_flag = |(own, value): &(&String, &Value)| *own != "name" && (*own != "url" || !value.is_string());
    for (own, value) in file.values.iter().filter(is_flag) {
        let refused = || Failure::usage(file.error(own, format!("{own:?} cannot be {value}.")));
        if own == "url" {
            return Err(refused());
        }
        let mut flags = command.get_arguments();
        match flags.find(|flag| key(flag).as_ref() == Some(own) && takes(flag)) {
            None => printer.note(&file.error(own, format!("{own:?} is not used here.")).to_string()),
            Some(flag) if is_typed(typed, flag) || replaced.contains(&own.as_str()) => {}
            Some(flag) => all.extend(words(flag, value).ok_or_else(refused)?),
        }
    }
    Ok(all)
}

impl Given {
    pub(crate) fn of(line: &[String], printer: &Printer) -> Result<Option<Given>, Failure> {
        let is_load = |(name, _): &(String, ArgMatches)| matches!(name.as_str(), "load" | "capacity");
        let Some((name, typed)) = lenient(line).filter(is_load) else { return Ok(None) };
        let url = typed.get_one::<String>("url");
        let Some(path) = url.filter(|url| url.ends_with(".toml") && !url.contains("://")) else {
            return Ok(None);
        };
        let (file, command) = (read(path)?, command(&name));
        if !file.services.is_empty() || file.reset.is_some() {
            printer.note(&format!(
                "{path}: services and resets are for prony ci compare, which starts the server; here they are not used."
            ));
        }
        // A search hides what it has no use for.
        let own = missing(&file, &command, &typed, |flag| !flag.is_hide_set(), printer)?;
        let words = [&line[..2], &own, &line[2..]].concat();
        Ok(Some(Given { file, command, typed, words }))
    }

    /// What is wrong, with the line of the file that it is about: whose flag, or whose text, it names.
    pub(crate) fn located(&self, why: &str) -> Option<String> {
        let words: Vec<_> = why.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').collect();
        let place = |flag: &Arg| {
            let names =
                [flag.get_long().map(|long| format!("--{long}")), flag.get_short().map(|c| format!("-{c}"))];
            words.iter().position(|word| names.iter().flatten().any(|name| name == word))
        };
        let has_text =
            |key: &str| self.file.texts(key).iter().any(|text| text.len() > 1 && why.contains(text));
        let flags = self
            .command
            .get_arguments()
            .filter(|flag| !is_typed(&self.typed, flag) || flag.get_id() == "url");
        let own = flags.filter_map(|flag| Some((flag, key(flag)?)));
        let own = own.filter(|(_, key)| self.file.values.contains_key(key));
        let by_text = |key: &str| has_text(key).then_some(usize::MAX);
        let (_, key) =
            own.filter_map(|(flag, key)| Some((place(flag).or_else(|| by_text(&key))?, key))).min()?;
        Some(self.file.error(&key, why).to_string())
    }
}

/// Gives a load or a search its plan file's URL and name, and the text of the file that it is to save.
pub(crate) fn complete(cli: &mut Cli, line: &ArgMatches, given: Option<&Given>) -> Result<(), Failure> {
    let common = match &mut cli.command {
        Command::Load(arguments) => &mut arguments.common,
        Command::Capacity(arguments) => &mut arguments.common,
        _ => return Ok(()),
    };
    if let Some(Given { file, .. }) = given {
        common.url = file.texts("url").pop().map(str::to_owned);
        common.plan.name = file.texts("name").pop().map(str::to_owned);
    }
    let (Some(path), Some((name, line))) = (&common.save, line.subcommand()) else { return Ok(()) };
    // The plan refuses it.
    if common.plan.headers.iter().flatten().any(|header| header.value.is_none()) {
        return Ok(());
    }
    let refused = |why: String| Failure::usage(format!("--save {path}: {why}"));
    let mut values = BTreeMap::new();
    for flag in command(name).get_arguments().filter(|flag| is_typed(line, flag) && !is_option(flag)) {
        let raw = line.get_raw(flag.get_id().as_str()).into_iter().flatten();
        let mut raw = raw.map(|text| Value::from(text.to_string_lossy()));
        let value = match flag.get_action() {
            ArgAction::Append => raw.collect(),
            ArgAction::SetTrue => Value::Bool(true),
            _ => raw.next().unwrap_or_default(),
        };
        values.extend(key(flag).map(|key| (key, value)));
    }
    values.insert("url".to_owned(), common.url.as_deref().into());
    values.extend(common.plan.table());
    values.retain(|_, value| !value.is_null());
    let headers = values.get("headers").and_then(Value::as_object).map_or(0, serde_json::Map::len);
    if headers != common.plan.headers.iter().flatten().count() {
        return Err(refused("a header is given twice, and a file holds each once.".to_owned()));
    }
    common.saved = Some(PlanFile::to_text(values).map_err(refused)?);
    Ok(())
}

pub(crate) fn options_of(line: &[String]) -> Vec<String> {
    let Some((name, typed)) = lenient(line) else { return Vec::new() };
    let command = command(&name);
    let flags = command.get_arguments().filter(|flag| is_option(flag) && is_typed(&typed, flag));
    let words = |flag: &Arg| -> Vec<String> {
        let long = flag.get_long().unwrap_or_default();
        let raw = typed.get_raw(flag.get_id().as_str()).into_iter().flatten();
        match is_switch(flag) {
            true => vec![format!("--{long}")],
            false => raw.map(|value| format!("--{long}={}", value.to_string_lossy())).collect(),
        }
    };
    flags.flat_map(words).collect()
}

/// A plan file's load, thresholds and URL path for a comparison: flags of `prony bench` that are not in `typed`.
pub(crate) fn for_bench(
    path: &str,
    typed: &[String],
    services: &[&str],
    printer: &Printer,
) -> Result<Vec<String>, Failure> {
    let file = read(path)?;
    let line = [&["prony", "bench"].map(str::to_owned)[..], typed].concat();
    let Some((name, typed)) = lenient(&line) else { return Ok(Vec::new()) };
    let takes = |flag: &Arg| is_option(flag) || flag.get_id() == "slo";
    let mut words = missing(&file, &command(&name), &typed, takes, printer)?;
    // In the place of the file's: others may name it.
    let named = |text: &str, own: &Service| text.split_once('=').is_some_and(|(name, _)| name == own.name);
    let flag = |text: &&str| format!("--service={text}");
    for own in &file.services {
        let given: Vec<&&str> = services.iter().filter(|text| named(text, own)).collect();
        words.extend(if given.is_empty() { own.flags() } else { given.into_iter().map(flag).collect() });
    }
    let besides = services.iter().filter(|text| !file.services.iter().any(|own| named(text, own)));
    words.extend(besides.map(flag));
    let reset = file.reset.as_ref().filter(|_| !typed.contains_id("reset"));
    words.extend(reset.into_iter().flat_map(|reset| {
        [format!("--reset={}", reset.command), format!("--reset-timeout={}", show_duration(reset.timeout))]
    }));
    let url = file.texts("url").pop().and_then(|url| url.split_once("://"));
    if let Some((scheme, behind)) = url {
        let authority = behind.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            let why = "the user and password of a URL are not used here: write headers = { Authorization = \"@env:NAME\" }.";
            return Err(Failure::usage(file.error("url", why)));
        }
        if scheme == "https" && !typed.contains_id("https") {
            let why = "https:// is not used here: give --https in --load if the server speaks TLS.";
            printer.note(&file.error("url", why).to_string());
        }
    }
    let path = url.and_then(|(_, behind)| Some(&behind[behind.find('/')?..]));
    let path = path.filter(|path| *path != "/" && !typed.contains_id("path"));
    words.extend(path.map(|path| format!("--path={path}")));
    Ok(words)
}

#[cfg(test)]
#[path = "plan_file_tests.rs"]
mod tests;
