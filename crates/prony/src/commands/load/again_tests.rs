//! The command line that reproduces a trial means the plan that the trial was measured with.

use clap::Parser;
use prony_model::recorded_plan::RecordedPlan;
use prony_model::target::Target;
use prony_report::command::command;

use crate::cli::{Cli, Command};
use crate::commands::{parse_cpus, plan};

/// What a command line's words mean.
fn meaning(words: &[String]) -> RecordedPlan {
    let Command::Load(arguments) = Cli::try_parse_from(words).unwrap().command else {
        panic!("{words:?} is no load")
    };
    let target = Target::parse(arguments.common.url.as_deref().unwrap()).unwrap();
    let mut plan = plan::plan(&arguments.common.plan, &arguments.common.redact, Some(target)).unwrap();
    if let Some(cpus) = &arguments.common.pin {
        plan.cpus = parse_cpus(cpus).unwrap();
    }
    RecordedPlan::of(&plan)
}

/// The words that a shell makes of a line.
fn words(line: &str) -> Vec<String> {
    let shell =
        std::process::Command::new("sh").args(["-c", &format!("printf '%s\\n' {line}")]).output().unwrap();
    assert!(shell.status.success(), "{line}: {shell:?}");
    String::from_utf8(shell.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_trials_command_line_means_its_plan() {
    for line in [
        "prony load http://h/",
        "prony load 'http://h:8080/a?b=1&c=$x;#d' -c 7 -t 2 -d 1500ms",
        "prony load http://h/ -R 2.5k -d 60 --timeout 250ms",
        "prony load http://h/ -R 0.5 --arrivals poisson --seed 9 --spin --user-clock",
        "prony load http://h/ -n 1000 -c 3 --no-keepalive",
        "prony load http://h/ -n 1000 -d 5s --warmup 100us -p 4 --pin 0",
        r#"prony load http://h/ -H "Accept: it's \$HOME" -H 'X-A: b; c' -m OPTIONS --expect-status 204"#,
        "prony load http://h/ -b abc --expect-body abc",
        "prony load http://h/ --expect-json /id=17 --expect-json '/a b=Ann'\\''s'",
        "prony load http://h/ -m PUT -b abc",
        "prony load http://h/ --stage 30s:20k/s --stage 1m:20k/s -c 40 --warmup 5s",
        "prony load http://h/ --stage 3s:60c --stage 0s:10c --stage 2s:10c",
        "prony load http://[::1]/ --source ::1",
        "prony load http://h/ --unix '/run/an app.sock'",
        "prony load https://h/ -k --tls-resumption off",
    ] {
        let given = words(line);
        let first = meaning(&given);
        let address = match given.iter().position(|word| word == "--unix") {
            Some(at) => format!("unix:{}", given[at + 1]),
            None => "127.0.0.1:80".to_owned(),
        };
        let again = command(&first, &address, "h");
        // The user fills in what the record does not hold.
        let filled = again.replace("@BODY", "abc").replace("@EXPECTED", "abc");
        assert_eq!(meaning(&words(&filled)), first, "{line} became {again}");
        assert_eq!(again.contains("--unix"), address.starts_with("unix:"), "{again}");
    }
}
