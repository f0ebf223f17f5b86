//! How help is arranged: commands in groups; all flags, under headings, in `--help`; those used most in `-h`.

use clap::builder::{Resettable, Str};
use clap::{Arg, Command, CommandFactory};

use super::Cli;

const EXIT_CODES: &str = "Exit codes: 0 success; 1 a threshold was missed (--slo, --fail-if); 2 the command line or a \
file is wrong; 3 the target could not be loaded, or nothing valid was measured; 4 not judged: a figure that --fail-if, --slo or \
--precision names was withheld or missing; 130 interrupted.";

const FIRST_STEPS: &str = "\
Load one server         prony load http://127.0.0.1:8080/
Find the highest rate   prony capacity http://127.0.0.1:8080/
Compare two builds      prony bench --candidate a=COMMAND --candidate b=COMMAND
";

/// Commands in groups; the last is for `--help` alone.
const COMMANDS: [(&str, &str); 5] = [
    ("Load", "load capacity"),
    ("Compare", "bench compare ci bisect"),
    ("Results", "report history serve publish"),
    ("Servers and machines", "servers target doctor fleet"),
    ("For programs and shells", "agent schema completions man"),
];

/// A row each: commands, a heading of their `--help`, and the flags under it, by the names of their fields and in their
/// order. The heading `-h` is for the flags used most; a command without it shows all in `-h`, too.
const HEADINGS: &str = include_str!("help.txt");
/// More than the flags of a row. `-h` itself is the 999th.
const WIDEST: usize = 20;

fn rows() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let cells = HEADINGS.lines().filter_map(|row| row.split_once(": "));
    cells.filter_map(|(commands, rest)| {
        rest.split_once(": ").map(|(heading, flags)| (commands, heading, flags))
    })
}

fn arranged(root: Command) -> Command {
    let header = *root.get_styles().get_header();
    let group = |(heading, names): &(&str, &str)| {
        let line = |name: &str| {
            let about = root.find_subcommand(name).and_then(Command::get_about);
            format!("  {name:<12} {}\n", about.cloned().unwrap_or_default())
        };
        format!("\n{header}{heading}:{header:#}\n{}", names.split(' ').map(line).collect::<String>())
    };
    let groups = |of: &[(&str, &str)]| of.iter().map(group).collect::<String>();
    let short = format!(
        "{FIRST_STEPS}{}\nFlags of a command: prony COMMAND -h. All commands and exit codes: prony --help",
        groups(&COMMANDS[..COMMANDS.len() - 1])
    );
    let long = format!(
        "{FIRST_STEPS}{}\n{header}Options:{header:#}\n  -h, --help     Print help ('-h' is shorter)\n  -V, --version  Print version\n\n\
         Flags of a command: prony COMMAND --help\n\n{EXIT_CODES}",
        groups(&COMMANDS)
    );
    let root = root.help_template("{about}\n{usage-heading} {usage}{after-help}");
    root.after_help(short).after_long_help(long).mut_subcommands(|command| arrange(command, ""))
}

fn arrange(command: Command, parent: &str) -> Command {
    let path = format!("{parent}{}", command.get_name());
    let own = |row: &(usize, (&str, &str, &str))| row.1.0.split(", ").any(|one| one == path);
    let (used, rows): (Vec<_>, Vec<_>) = rows().enumerate().filter(own).partition(|(_, row)| row.1 == "-h");
    let used = used.first().map(|(_, (_, _, flags))| *flags);
    let position = |flags: &str, name: &str| flags.split(' ').position(|one| one == name);
    let command = command.mut_args(|flag| {
        let name = flag.get_id().to_string();
        let place = rows.iter().find_map(|(row, (_, heading, flags))| {
            position(flags, &name).map(|column| (*heading, WIDEST * row + column))
        });
        let is_shown = flag.is_positional() || used.is_none_or(|used| position(used, &name).is_some());
        let flag = flag.hide_short_help(!is_shown);
        match place {
            Some((heading, order)) => flag.help_heading(heading).display_order(order),
            None => flag,
        }
    });
    let judges =
        command.get_arguments().any(|flag| ["slo", "slos", "fail_if"].contains(&flag.get_id().as_str()));
    let command = match used {
        Some(_) => command
            .after_help(format!("All flags, under headings: prony {path} --help"))
            .after_long_help(if judges { EXIT_CODES } else { "" }),
        None => command,
    };
    command.mut_subcommands(|sub| arrange(sub, &format!("{path} ")))
}

/// The command line for these words: the few flags of `-h` stand under one heading.
pub(crate) fn command(words: &[String]) -> Command {
    fn flat(command: Command) -> Command {
        command
            .mut_args(|flag: Arg| flag.help_heading(Resettable::<Str>::Reset).hide_env(true))
            .mut_subcommands(flat)
    }
    let all = arranged(Cli::command());
    if words.iter().any(|word| word == "-h") { flat(all) } else { all }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES_MAX: usize = 30;
    const WIDTH: usize = 80;

    fn all(command: Command) -> Vec<(String, Command)> {
        let mut command = command.disable_help_subcommand(true).term_width(WIDTH);
        command.build();
        let mut left = vec![("prony".to_owned(), command)];
        let mut found = Vec::new();
        while let Some((path, command)) = left.pop() {
            left.extend(
                command.get_subcommands().map(|sub| (format!("{path} {}", sub.get_name()), sub.clone())),
            );
            found.push((path, command));
        }
        found
    }

    #[test]
    fn a_short_help_has_at_most_30_lines() {
        let words = ["prony".to_owned(), "-h".to_owned()];
        let long: Vec<String> = all(command(&words))
            .into_iter()
            .filter_map(|(path, mut command)| {
                let help = command.render_help().to_string();
                let lines = help.trim_end().lines().count();
                (lines > LINES_MAX).then(|| format!("{path} -h has {lines} lines:\n{help}"))
            })
            .collect();
        assert!(long.is_empty(), "{}", long.join("\n"));
    }

    #[test]
    fn every_flag_has_a_heading_and_each_listed_name_is_a_flag() {
        let mut known = Vec::new();
        for (path, command) in all(command(&[])) {
            let path = path.trim_start_matches("prony").trim_start();
            for flag in command.get_arguments().filter(|arg| !arg.is_positional() && !arg.is_hide_set()) {
                let name = flag.get_id().as_str();
                known.push(format!("{path} {name}"));
                assert!(
                    matches!(name, "help" | "version") || flag.get_help_heading().is_some(),
                    "{path}: {name} has no heading: name one in HEADINGS"
                );
            }
        }
        let is_known = |command: &str, flag: &str| known.contains(&format!("{command} {flag}"));
        for (commands, heading, flags) in rows() {
            assert!(flags.split(' ').count() <= WIDEST, "{heading}: {flags}");
            for flag in flags.split(' ') {
                assert!(commands.split(", ").any(|command| is_known(command, flag)), "{heading}: {flag}");
            }
        }
    }

    #[test]
    fn every_command_is_in_a_group_and_its_line_fits() {
        let root = command(&[]);
        let mut grouped: Vec<&str> = COMMANDS.iter().flat_map(|(_, names)| names.split(' ')).collect();
        let mut named: Vec<&str> = root.get_subcommands().map(Command::get_name).collect();
        grouped.sort_unstable();
        named.sort_unstable();
        assert_eq!(grouped, named);
        let short = command(&[]).render_help().to_string();
        assert!(short.lines().all(|line| line.len() <= WIDTH), "{short}");
        let long = command(&[]).render_long_help().to_string();
        for command in ["agent", "schema", "completions", "man"] {
            let line = format!("\n  {command} ");
            assert!(!short.contains(&line) && long.contains(&line), "{command}: {short}\n{long}");
        }
    }
}
