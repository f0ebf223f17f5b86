//! Interpreters that servers run in: debuggers and debug builds make them several times slower.

use std::path::Path;
use std::time::Duration;

use super::Finding;
use crate::programs::{capture, find_command};

const TIMEOUT: Duration = Duration::from_secs(5);

struct Program {
    name: &'static str,
    code: &'static str,
    arguments: &'static [&'static str],
    judge: fn(&str) -> Option<Finding>,
}

const PROGRAMS: [Program; 3] = [
    Program {
        name: "php",
        code: "php",
        arguments: &[
            "-r",
            "echo PHP_VERSION, '|', PHP_DEBUG, '|', extension_loaded('xdebug') ? (getenv('XDEBUG_MODE') ?: \
             ini_get('xdebug.mode')) : 'none';",
        ],
        judge: php,
    },
    Program {
        name: "python3",
        code: "python",
        arguments: &[
            "-c",
            "import sys; print(sys.version.split()[0], hasattr(sys, 'gettotalrefcount'), sep='|')",
        ],
        judge: python,
    },
    Program {
        name: "node",
        code: "node",
        arguments: &[
            "-p",
            "process.version + '|' + process.features.debug + '|' + (process.env.NODE_OPTIONS || '')",
        ],
        judge: node,
    },
];

pub(super) fn programs() -> Vec<Finding> {
    PROGRAMS.iter().filter_map(|program| ask(program, TIMEOUT)).collect()
}

/// What a program says of itself; `None` where it is not installed, or says nothing in time.
fn ask(program: &Program, timeout: Duration) -> Option<Finding> {
    let path = find_command(program.name)?.to_string_lossy().into_owned();
    let argv: Vec<String> =
        std::iter::once(path).chain(program.arguments.iter().map(|a| (*a).to_owned())).collect();
    let said = capture(&argv, Path::new("/"), &[], timeout).filter(|said| said.success)?;
    let text: String = String::from_utf8_lossy(&said.stdout).chars().filter(|c| !c.is_control()).collect();
    let found = (program.judge)(&text)?;
    debug_assert_eq!(found.code, program.code);
    Some(found)
}

fn php(said: &str) -> Option<Finding> {
    let [version, debug, xdebug] = said.split('|').collect::<Vec<_>>()[..] else { return None };
    let why = "A debug build checks every allocation; Xdebug hooks into every call, unless its mode is off.";
    let loaded = if xdebug == "none" { String::new() } else { format!(", xdebug.mode {xdebug}") };
    let build = if debug == "1" { ", debug build" } else { "" };
    let found = Finding::new("php", "PHP", format!("{version}{build}{loaded}"), why);
    Some(match (debug, xdebug) {
        ("1", _) => found.distorts("install a build without --enable-debug"),
        (_, "none" | "off") => found,
        _ => found.distorts("phpdismod xdebug, or XDEBUG_MODE=off in the environment"),
    })
}

fn python(said: &str) -> Option<Finding> {
    let (version, debug) = said.split_once('|')?;
    let why = "A debug build (--with-pydebug) counts every reference and is several times slower.";
    let build = if debug == "True" { ", debug build" } else { "" };
    let found = Finding::new("python", "Python", format!("{version}{build}"), why);
    Some(found.distorts_if(debug == "True", "install a build without --with-pydebug"))
}

fn node(said: &str) -> Option<Finding> {
    let [version, debug, options] = said.split('|').collect::<Vec<_>>()[..] else { return None };
    let why = "A debug build, an inspector or a profiler in NODE_OPTIONS slows every call.";
    let listed = if options.is_empty() { String::new() } else { format!(", NODE_OPTIONS={options}") };
    let found = Finding::new("node", "Node.js", format!("{version}{listed}"), why);
    let watched = ["--inspect", "--prof", "--cpu-prof"].iter().any(|option| options.contains(option));
    Some(found.distorts_if(debug == "true" || watched, "unset NODE_OPTIONS; install a release build"))
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn debuggers_and_debug_builds_are_found() {
        let state = |found: Option<Finding>| found.map(|f| f.state);
        assert_eq!(state(php("8.2.7|0|none")), Some(State::Good));
        assert_eq!(state(php("8.2.7|0|off")), Some(State::Good));
        assert_eq!(state(php("8.2.7|0|develop")), Some(State::Distorts));
        assert_eq!(state(php("8.2.7|0|")), Some(State::Distorts));
        assert_eq!(state(php("8.2.7|1|none")), Some(State::Distorts));
        assert_eq!(state(php("Warning: x")), None);
        assert_eq!(state(python("3.11.2|False")), Some(State::Good));
        assert_eq!(state(python("3.11.2|True")), Some(State::Distorts));
        assert_eq!(state(node("v20.1.0|false|")), Some(State::Good));
        assert_eq!(state(node("v20.1.0|false|--inspect=0")), Some(State::Distorts));
        assert!(php("8.2.7|0|develop").unwrap().mend.unwrap().contains("XDEBUG_MODE=off"));
    }

    #[test]
    fn a_program_is_found_if_its_command_is_installed_here() {
        let python = PROGRAMS.iter().find(|program| program.code == "python").unwrap();
        let found = ask(python, prony_host::testing::PATIENCE);
        assert_eq!(found.is_some(), find_command("python3").is_some(), "{found:?}");
    }
}
