//! Flags of other tools, or of another command, that mean something else here or are not there.
//!
//! wrk's and wrk2's lines work as they are. For the flags here the message says what to write instead, where the
//! parser's would not.

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::cli::Cli;

/// Flags that are not there, and what is meant by them, a line each; a tool is named where others mean something else.
const NOT_HERE: &str = include_str!("foreign_flags.txt");

/// The flags of each line of [`NOT_HERE`], and what is meant.
fn not_here() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = NOT_HERE.lines().filter_map(|line| line.split_once(": "));
    lines.flat_map(|(flags, meant)| flags.split(' ').map(move |flag| (flag, meant)))
}

/// The message for a line that would not do what its writer means.
pub(crate) fn check(arguments: &[String]) -> Option<String> {
    let command = arguments.get(1)?.as_str();
    if !matches!(command, "load" | "bench" | "capacity") {
        return None;
    }
    let rest = &arguments[2..];
    for (i, argument) in rest.iter().enumerate() {
        if argument == "--" {
            return None;
        }
        let next = rest.get(i + 1).map(String::as_str);
        let (flag, value) = match argument.split_once('=') {
            Some((flag, value)) if flag.starts_with("--") => (flag, Some(value)),
            _ => (argument.as_str(), next),
        };
        if let Some(message) = advice(command, flag, value) {
            return Some(message);
        }
    }
    None
}

/// The message for a line that the parser refused, where a flag of another tool is why.
pub(crate) fn of_refused(error: &clap::Error, arguments: &[String]) -> Option<String> {
    let (command, rest) = arguments.get(1..)?.split_first()?;
    if !matches!(command.as_str(), "load" | "bench" | "capacity") {
        return None;
    }
    let said = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let flag = said(ContextKind::InvalidArg)?;
    // Go's flags have one dash, which the parser takes for several flags of a letter.
    let cli = Cli::command();
    let own = cli.find_subcommand(command)?;
    let of_go = |word: &String| {
        let name = word.strip_prefix('-')?.split('=').next()?;
        own.get_arguments().any(|argument| argument.get_long() == Some(name)).then(|| name.to_owned())
    };
    if let Some(name) = rest.iter().find_map(of_go) {
        return Some(format!("-{name} has two dashes here: --{name}."));
    }
    if error.kind() == ErrorKind::UnknownArgument {
        let (_, meant) = not_here().find(|(known, _)| *known == flag)?;
        return Some(format!("{flag} is not a flag of Prony's: {meant}."));
    }
    let value = said(ContextKind::InvalidValue)?;
    let meant = match flag.split(' ').next()? {
        "--duration" if value.contains(['{', '[', '@', '=', '&']) => "-d is the duration here: a body is -b",
        "--threads" if value.ends_with(".jmx") => {
            "-t are threads here: Prony reads no test plans of JMeter's, and -m, -H, -b and --targets say what to request"
        }
        "--threads" if value.ends_with(['S', 'M', 'H', 's', 'm', 'h']) => "-t are threads here: a time is -d",
        "--pipeline" if value.parse::<f64>().is_err() => {
            "-p are requests in flight here: ab's file to POST is -b @FILE"
        }
        "--timeout" if value.contains('/') => {
            "-T is the timeout here: a content type is -H 'Content-Type: …'"
        }
        _ => return None,
    };
    Some(format!("{meant}."))
}

fn advice(command: &str, flag: &str, value: Option<&str>) -> Option<String> {
    let looks_like_url = |text: &str| text.contains("://");
    match flag {
        "--repeat" if command == "bench" => Some(
            "--repeat is for `prony load`: here --blocks says how often each candidate is loaded.".to_owned(),
        ),
        "--duet" if command == "load" => Some(
            "--duet runs two candidates at once: prony bench --duet --candidate A=… --candidate B=… -R RATE"
                .to_owned(),
        ),
        "-H" | "--header" if value.is_some_and(|v| v.starts_with("http://") || v.starts_with("https://")) => {
            let url = match command {
                "bench" => "give the URL as --candidate NAME=URL".to_owned(),
                _ => format!("the URL stands without a flag, prony {command} URL"),
            };
            Some(format!("{flag} is a header here (Locust's -H is the server): {url}."))
        }
        "-m" if value.is_some_and(|v| v.parse::<f64>().is_ok()) => Some(
            "-m is the method: curl's -m, a time, is --timeout, and h2load's -m, streams, is -p with --http2.".to_owned(),
        ),
        "-q" if value.is_some_and(|v| v.parse::<f64>().is_ok()) => Some(
            "-q N is the rate of each worker in hey: here a rate is for the whole load, use -R N. (-q alone is --quiet.)"
                .to_owned(),
        ),
        "--json" | "-o" | "--output" if value.is_some_and(looks_like_url) => Some(format!(
            "{flag} needs a file and {:?} is a URL: write {flag} FILE before it{}.",
            value.unwrap_or_default(),
            if flag == "--json" { ", or --json -" } else { "" }
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn message(line: &str) -> Option<String> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        check(&words).or_else(|| of_refused(&Cli::try_parse_from(&words).err()?, &words))
    }

    #[test]
    fn no_flag_of_the_table_is_one_of_ours_and_none_is_there_twice() {
        let all: Vec<&str> = not_here().map(|(flag, _)| flag).collect();
        assert!(all.len() > 80 && all.iter().all(|flag| flag.starts_with('-')), "{all:?}");
        for (i, flag) in all.iter().enumerate() {
            assert!(!all[..i].contains(flag), "{flag} twice");
            for command in ["load", "bench", "capacity"] {
                let said = message(&format!("prony {command} {flag} x http://h/"));
                assert!(
                    said.is_some_and(|said| said.contains("is not a flag of Prony's")),
                    "{command} {flag}"
                );
            }
        }
    }

    #[test]
    fn lines_of_wrk_and_wrk2_are_accepted() {
        assert_eq!(message("prony load -t4 -c100 -d30s --timeout 2s --latency http://h/"), None);
        assert_eq!(message("prony load -t2 -c100 -d30 -R2000 -L http://h/"), None);
        assert_eq!(message("prony load -q http://h/"), None);
    }

    #[test]
    fn flags_of_other_tools_get_advice() {
        for (line, says) in [
            ("prony load -z 10s http://h/", "-d 10s"),
            ("prony load -X POST http://h/", "-m PUT"),
            ("prony load -XPOST http://h/", "-m PUT"),
            ("prony load -u me:pw http://h/", "USER:PASSWORD@HOST"),
            ("prony load --user=me:pw http://h/", "USER:PASSWORD@HOST"),
            ("prony load -x http://p:3128 http://h/", "no proxies"),
            ("prony load --form-string a=b http://h/", "-F name=value"),
            ("prony capacity --data-binary {} http://h/", "-b TEXT"),
            ("prony load --data-raw a=b http://h/", "-b TEXT"),
            ("prony load -d {\"a\":1} http://h/", "a body is -b"),
            ("prony load -m 10 http://h/", "--timeout"),
            ("prony load -T text/plain http://h/", "Content-Type"),
            ("prony load -p body.json http://h/", "-b @FILE"),
            ("prony load -t 30S http://h/", "a time is -d"),
            ("prony load -rate=50 http://h/", "--rate."),
            ("prony load -duration=5s http://h/", "--duration."),
            ("prony load --vus 10 http://h/", "-c"),
            ("prony load --users 10 --spawn-rate 5 http://h/", "-c"),
            ("prony load --spawn-rate 5 http://h/", "--stage"),
            ("prony load --run-time 5m http://h/", "-d"),
            ("prony load --headless http://h/", "leave it out"),
            ("prony load -H http://h/", "is a header"),
            ("prony load --iterations 10 http://h/", "-n"),
            ("prony load -Jthreads=10 http://h/", "no test plans"),
            ("prony load -t plan.jmx http://h/", "no test plans"),
            ("prony load --insecure-skip-tls-verify https://h/", "-k"),
            ("prony load --csv out http://h/", "--export csv=FILE"),
            ("prony load --out json=x http://h/", "--json"),
            ("prony load --worker --master-host h http://h/", "--fleet"),
            ("prony load -n 100 -q 50 http://h/", "-R"),
            ("prony load -s post.lua http://h/", "Lua"),
            ("prony load --json http://h/", "is a URL"),
            ("prony load -o http://h/", "is a URL"),
            ("prony load --json=http://h/", "is a URL"),
            ("prony load --duet http://h/", "prony bench --duet"),
            ("prony bench --repeat 5 quickstart", "--blocks"),
        ] {
            assert!(message(line).is_some_and(|m| m.contains(says)), "{line}: {:?}", message(line));
        }
    }

    #[test]
    fn other_commands_and_words_after_a_double_dash_are_ignored() {
        assert_eq!(message("prony report -z"), None);
        assert_eq!(message("prony load -- -z"), None);
        assert_eq!(message("prony report -X POST"), None);
    }
}
