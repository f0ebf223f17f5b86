//! `prony ci`: a change against its base, in one job, on one machine. GitHub's action and GitLab's template call it,
//! and no script; it needs git, and a shell for the build alone.

mod base;
mod comment;
mod files;
mod request;

use std::path::Path;

use prony_analysis::comparison::fail_if::{FailIf, Reading, reading};
use prony_analysis::comparison::{Options, choose_in, compare_candidates, fail_if};

use super::sides::worktrees::Worktrees;
use super::sides::{self, Bench, SIDES, given, listed};
use super::{compare, thresholds};
use crate::cli::{CiArguments, CiCommand, CiCompareArguments};
use crate::failure::{Failure, MISSED, NOT_MEASURED, USAGE};
use crate::interrupt;
use crate::printer::Printer;
use files::Files;

/// How precise a comparison is unless told otherwise: what matters of throughput.
const PRECISION: &str = "2%";
/// What tells `git bisect run` to skip a commit.
const SKIPPED: u8 = 125;
/// What ends a `git bisect run`: so does every code from 128 on.
const ABORTED: u8 = 128;

pub(crate) fn run(arguments: &CiArguments, printer: &Printer) -> Result<(), Failure> {
    match &arguments.command {
        CiCommand::Compare(arguments) if arguments.git_bisect => {
            run_compare(arguments, printer).map_err(|failure| {
                let code = match failure.code {
                    USAGE => ABORTED,
                    NOT_MEASURED => SKIPPED,
                    code => code,
                };
                Failure { code, ..failure }
            })
        }
        CiCommand::Compare(arguments) => run_compare(arguments, printer),
        CiCommand::Comment(arguments) => comment::run(arguments, printer),
    }
}

fn run_compare(arguments: &CiCompareArguments, printer: &Printer) -> Result<(), Failure> {
    let served = &arguments.served;
    let margins = compare::margins(&listed(served.margin.as_ref()))?;
    let mut conditions = compare::conditions(&listed(served.fail_if.as_ref()))?;
    if arguments.git_bisect && conditions.is_empty() {
        conditions.push(FailIf::Slower);
    }
    let slos = listed(arguments.slo.as_ref()).iter().map(|slo| format!("--slo={slo}")).collect();
    let load = sides::load(served, slos, printer)?;
    let slos = load.iter().filter_map(|word| word.strip_prefix("--slo=").map(str::to_owned));
    let slos = thresholds::parse(&slos.collect::<Vec<_>>())?;
    // From here on a signal ends the child that runs, and the base's folder is removed.
    let _ = interrupt::of_a_short_run()?;
    let mut worktrees = Worktrees::of(given(served.directory.as_ref()).unwrap_or("."), printer)?;
    let commit = base::commit(&worktrees.application, given(arguments.base.as_ref()), printer)?;
    let base = worktrees.checked_out(&commit)?;
    let files = Files::fresh(&arguments.output)?;
    let folders: [&Path; 2] = [&base, &worktrees.application];
    for (side, folder) in SIDES.iter().zip(folders) {
        sides::build(side, folder, given(served.build.as_ref()), printer).map_err(|failure| {
            // Without its base no commit can be tested.
            let is_base = arguments.git_bisect && *side == SIDES[0] && failure.code == NOT_MEASURED;
            if is_base { Failure { code: ABORTED, ..failure } } else { failure }
        })?;
    }
    let within = &worktrees.application;
    let bench =
        Bench { serve: &served.serve, folders, load: &load, log: &files.log, within, is_quiet: false };
    let missed = bench.run(&flags(arguments, &load))?;
    drop(worktrees);

    let log = prony_analysis::run_log::read_any(&files.log)?;
    let run = files.log.display().to_string();
    let named = SIDES.map(str::to_owned);
    let (base, head) = choose_in(&log, &run, &named).map_err(|why| match arguments.git_bisect {
        true => Failure::not_measured(why),
        false => compare::failure(why),
    })?;
    let declared = fail_if::figures(&conditions);
    let options = Options { margins, declared, ..Options::default() };
    let mut comparison = compare_candidates(base, head, &options).map_err(compare::failure)?;
    let failed = fail_if::failures(&conditions, &comparison);
    let mut not_judged = fail_if::not_judged(&conditions, &comparison);
    not_judged.extend(thresholds::not_judged(&thresholds::of_run(&slos, &log)));
    let precision_asked = given(arguments.precision.as_ref()).is_some();
    not_judged.extend(thresholds::precision_not_judged(precision_asked, &log));
    comparison.not_judged = not_judged;
    files.write(&log, &comparison, (&failed, arguments.all), printer)?;
    if arguments.git_bisect {
        return of_git_bisect(reading(&conditions, &comparison), &comparison.not_judged, missed);
    }
    compare::concluded(&failed, &comparison.not_judged, missed)
}

/// Exit codes as `git bisect run` takes them: 0 good, 1 bad, 125 neither is sure.
fn of_git_bisect(reading: Reading, not_judged: &[String], missed: bool) -> Result<(), Failure> {
    let open = |why: &[String]| Failure {
        message: format!("Neither good nor bad: {}.", why.join("; ")),
        code: SKIPPED,
    };
    match reading {
        Reading::Bad(why) => Err(Failure { message: format!("Bad: {}.", why.join("; ")), code: MISSED }),
        _ if missed => Err(Failure::code(MISSED)),
        Reading::Open(why) => Err(open(&why)),
        Reading::Good if !not_judged.is_empty() => Err(open(not_judged)),
        Reading::Good => Ok(()),
    }
}

/// What a comparison asks of `prony bench` besides its load.
fn flags(arguments: &CiCompareArguments, load: &[String]) -> Vec<String> {
    let is_fixed = arguments.duet || load.iter().any(|word| word.split('=').next() == Some("--blocks"));
    let precision = given(arguments.precision.as_ref()).or((!is_fixed).then_some(PRECISION));
    let budget = given(arguments.served.budget.as_ref());
    let mut flags = Vec::new();
    for (flag, value) in [("--precision", precision), ("--budget", budget)] {
        flags.extend(value.map(|value| format!("{flag}={value}")));
    }
    flags.extend(arguments.duet.then(|| "--duet".to_owned()));
    flags.extend(given(arguments.profile.as_ref()).map(|when| format!("--profile={when}")));
    flags
}
