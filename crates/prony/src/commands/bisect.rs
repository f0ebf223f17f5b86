//! `prony bisect`: the commit that made a figure worse. Each step is a `prony bench` of a commit beside the good one;
//! what is tried next is decided by [`Bisection`].

mod files;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use prony_analysis::bisection::{
    Bisection, BisectionReport, BisectionStep, BisectionVerdict, Found, Next, Revision,
};
use prony_analysis::comparison::fail_if::{self, FailIf, Reading};
use prony_analysis::comparison::{Comparison, Options, choose_in, compare_candidates};
use prony_analysis::figure::Figure;
use prony_model::run_log::EventKind;
use prony_model::units::{parse_duration, show_duration};
use prony_report::terminal;

use super::sides::worktrees::{Worktrees, commit, git, short};
use super::sides::{self, Bench, SIDES, given, listed};
use super::{compare, reproduce, write_json};
use crate::cli::BisectArguments;
use crate::failure::{Failure, INTERRUPTED, NOT_JUDGED, NOT_MEASURED};
use crate::interrupt;
use crate::plan_file;
use crate::printer::Printer;
use crate::words;
use files::Files;

struct Commit {
    revision: Revision,
    tree: String,
}

pub(crate) fn run(arguments: &BisectArguments, printer: &Printer) -> Result<(), Failure> {
    let served = &arguments.served;
    let mut conditions = compare::conditions(&listed(served.fail_if.as_ref()))?;
    if conditions.contains(&FailIf::Inconclusive) {
        return Err(Failure::usage(
            "--fail-if inconclusive: an undecided commit is measured again here; name what makes one bad, such as slower.",
        ));
    }
    if conditions.is_empty() {
        conditions.push(FailIf::Slower);
    }
    let margins = compare::margins(&listed(served.margin.as_ref()))?;
    let budget = given(served.budget.as_ref()).map(parse_duration).transpose()?;
    let load = sides::load(served, plan_file::options_of(words::all()), printer)?;
    // From here on a signal ends the child that runs, and the work trees are removed.
    let _ = interrupt::of_a_short_run()?;
    let worktrees = Worktrees::of(given(served.directory.as_ref()).unwrap_or("."), printer)?;
    let line = line(&worktrees.application, arguments)?;
    let mut search = Search {
        arguments,
        bisection: Bisection::new(conditions, line.len(), arguments.blocks),
        line,
        load,
        margins: Options { margins, ..Options::default() },
        until: budget.map(|budget| Instant::now() + budget),
        worktrees,
        built: BTreeMap::new(),
        read: BTreeMap::new(),
        steps: Vec::new(),
        files: Files::fresh(arguments.output.as_deref())?,
        printer,
    };
    let ended = search.run();
    let stopped = match &ended {
        Ok(Some(_)) => None,
        Ok(None) => Some("the budget is spent"),
        Err(failure) if failure.code == INTERRUPTED => Some("it was interrupted"),
        Err(_) => None,
    };
    let verdict = match ended {
        Ok(verdict) => verdict.unwrap_or(BisectionVerdict::Open),
        // What was found until then is kept.
        Err(Failure { code: INTERRUPTED, .. }) if !search.steps.is_empty() => BisectionVerdict::Open,
        Err(failure) => return Err(failure),
    };
    let Search { bisection, line, steps, files, worktrees, .. } = search;
    drop(worktrees);
    let line: Vec<Revision> = line.into_iter().map(|commit| commit.revision).collect();
    let made = (stopped, reproduce::own(&[]));
    let report = BisectionReport::new(&bisection, verdict, &line, steps, made);
    let figure = bisection.dividing().and_then(FailIf::figure).unwrap_or(Figure::THROUGHPUT);
    files.write(&report, figure, printer)?;
    if !write_json(arguments.json.as_deref(), &report, printer)? {
        printer.out(&terminal::bisection(&report, &printer.options()));
    }
    match verdict {
        _ if interrupt::asked() => Err(Failure::code(INTERRUPTED)),
        BisectionVerdict::Found => Ok(()),
        BisectionVerdict::Open | BisectionVerdict::NotWorse => Err(Failure::code(NOT_JUDGED)),
    }
}

fn line(application: &Path, arguments: &BisectArguments) -> Result<Vec<Commit>, Failure> {
    let (named_good, named_bad) = (&arguments.good, &arguments.bad);
    let good = commit(application, "--good", named_good)?;
    let bad = commit(application, "--bad", named_bad)?;
    let not_between = |why: &str| {
        Err(Failure::usage(format!(
            "--good {named_good} {why} --bad {named_bad}: nothing lies between them."
        )))
    };
    if good == bad {
        return not_between("is the same commit as");
    }
    if git(application, &["merge-base", "--is-ancestor", &good, &bad]).is_err() {
        return not_between("is not an ancestor of");
    }
    let format = "--format=%H%x00%T%x00%P%x00%cI%x00%s";
    let first = git(application, &["log", "-1", format, &good])?;
    let others = format!("{good}..{bad}");
    let others = git(application, &["log", "--first-parent", "--reverse", format, &others])?;
    Ok(first.lines().chain(others.lines()).filter_map(Commit::parse).collect())
}

impl Commit {
    fn parse(line: &str) -> Option<Commit> {
        let mut parts = line.splitn(5, '\0').map(str::to_owned);
        let (commit, tree, parents) = (parts.next()?, parts.next()?, parts.next()?);
        let (at, subject) = (parts.next()?, parts.next()?);
        Some(Commit { revision: Revision { commit, subject, at, is_merge: parents.contains(' ') }, tree })
    }
}

struct Search<'a> {
    arguments: &'a BisectArguments,
    bisection: Bisection,
    line: Vec<Commit>,
    load: Vec<String>,
    margins: Options,
    until: Option<Instant>,
    worktrees: Worktrees,
    /// Where the files of a tree are built; or why they cannot be.
    built: BTreeMap<String, Result<PathBuf, String>>,
    read: BTreeMap<String, (usize, Reading)>,
    steps: Vec<BisectionStep>,
    files: Files,
    printer: &'a Printer,
}

impl Search<'_> {
    /// How it ended; `None` where the budget is spent.
    fn run(&mut self) -> Result<Option<BisectionVerdict>, Failure> {
        loop {
            let (revision, blocks) = match self.bisection.next() {
                Next::Ended(verdict) => return Ok(Some(verdict)),
                Next::Measure { revision, blocks } => (revision, blocks),
            };
            let left = self.until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(None);
            }
            if self.steps.last().is_none_or(|step| step.position != revision) {
                self.begin(revision);
            }
            if let Some((other, reading)) = self.known(revision) {
                self.as_of(other, &reading);
                continue;
            }
            match self.look(revision, blocks, left)? {
                Ok(comparison) => self.take(revision, blocks, &comparison),
                Err(why) => self.pass_over(why)?,
            }
        }
    }

    fn begin(&mut self, position: usize) {
        let revision = self.line[position].revision.clone();
        let (good, bad) = self.bisection.between();
        self.printer.note(&format!(
            "Step {}, {}: it is one of {} commits",
            self.steps.len() + 1,
            revision.said(),
            bad - good
        ));
        self.steps.push(BisectionStep {
            revision,
            position,
            found: Found::Open,
            ratio: None,
            blocks: 0,
            looks: 0,
            log: None,
            why: None,
        });
    }

    /// What is known of a commit with the files of another one; those of the good one are good.
    fn known(&self, revision: usize) -> Option<(Option<usize>, Reading)> {
        let tree = &self.line[revision].tree;
        let is_good = *tree == self.line[0].tree;
        let read = || self.read.get(tree).map(|(step, reading)| (Some(*step), reading.clone()));
        is_good.then_some((None, Reading::Good)).or_else(read)
    }

    fn as_of(&mut self, other: Option<usize>, reading: &Reading) {
        let of = other.and_then(|step| self.steps.get(step)).cloned();
        let commit = of.as_ref().map_or(self.line[0].revision.short(), |step| step.revision.short());
        let why = format!("its files are those of {commit}");
        if let Some(step) = self.steps.last_mut() {
            step.found = found(reading);
            step.ratio = of.and_then(|step| step.ratio);
            step.why = Some(why);
        }
        self.bisection.hear(reading);
    }

    fn build(&mut self, position: usize) -> Result<Result<PathBuf, String>, Failure> {
        let Commit { revision, tree } = &self.line[position];
        if let Some(built) = self.built.get(tree) {
            return Ok(built.clone());
        }
        let folder = self.worktrees.checked_out(&revision.commit)?;
        let command = given(self.arguments.served.build.as_ref());
        let built = match sides::build(revision.short(), &folder, command, self.printer) {
            Ok(()) => Ok(folder),
            Err(failure) if failure.code == NOT_MEASURED => Err(failure.message),
            Err(failure) => return Err(failure),
        };
        self.built.insert(tree.clone(), built.clone());
        Ok(built)
    }

    /// Measures a commit beside the good one, up to so many blocks; or why it cannot be.
    fn look(
        &mut self,
        revision: usize,
        blocks: u32,
        left: Option<Duration>,
    ) -> Result<Result<Comparison, String>, Failure> {
        let good = self.build(0)?.map_err(Failure::not_measured)?;
        let head = match self.build(revision)? {
            Ok(head) => head,
            Err(why) => return Ok(Err(why)),
        };
        let log = self.files.log(self.steps.len(), short(&self.line[revision].revision.commit));
        let mut flags = vec![format!("--blocks={blocks}"), "--profile=never".to_owned()];
        flags.extend(log.exists().then(|| "--resume".to_owned()));
        flags.extend(left.map(|left| format!("--budget={}", show_duration(left))));
        let bench = Bench {
            serve: &self.arguments.served.serve,
            folders: [&good, &head],
            load: &self.load,
            log: &log,
            within: Path::new("."),
            is_quiet: true,
        };
        match bench.run(&flags) {
            // The good one has been measured before: what could not be is this one.
            Err(failure) if failure.code == NOT_MEASURED && log.exists() => {}
            missed => _ = missed?,
        }
        sides::unless_interrupted()?;
        let read = prony_analysis::run_log::read_any(&log)?;
        let run = log.display().to_string();
        if let Some(step) = self.steps.last_mut() {
            step.log = Some(run.clone());
        }
        let named = SIDES.map(str::to_owned);
        let declared = fail_if::figures(self.bisection.conditions());
        let options = Options { declared, ..self.margins.clone() };
        let pair = choose_in(&read, &run, &named);
        let compared = pair.and_then(|(base, head)| compare_candidates(base, head, &options));
        Ok(compared.map_err(|why| {
            let kinds = [EventKind::StartFailed, EventKind::NoResponse];
            let failed = || read.events.iter().filter(|event| event.is_one_of(&kinds));
            let of_head = failed().find(|event| event.candidate() == Some(SIDES[1]));
            of_head.or(failed().next()).map_or(why.to_string(), |event| event.detail.clone())
        }))
    }

    fn take(&mut self, revision: usize, blocks: u32, comparison: &Comparison) {
        let reading = self.bisection.take(comparison);
        let figure = self.bisection.dividing().and_then(FailIf::figure);
        let figures = comparison.plans.iter().flat_map(|plan| &plan.figures);
        let of_figure = figures.into_iter().find(|of| Some(of.figure) == figure);
        let last = self.steps.len() - 1;
        let step = &mut self.steps[last];
        step.found = found(&reading);
        step.ratio = of_figure.and_then(|of| of.ratio.clone());
        step.looks = comparison.look;
        step.blocks = comparison.plans.iter().map(|plan| plan.blocks).max().unwrap_or(blocks);
        step.why = match &reading {
            Reading::Open(why) => Some(why.join("; ")),
            Reading::Bad(_) | Reading::Good => None,
        };
        self.printer.note(&format!("{} after {} blocks", said(&reading), step.blocks));
        if !matches!(reading, Reading::Open(_)) {
            self.read.insert(self.line[revision].tree.clone(), (last, reading));
        }
    }

    /// Of the commit that is said to be bad nothing would be known.
    fn pass_over(&mut self, why: String) -> Result<(), Failure> {
        if self.steps.len() == 1 {
            return Err(Failure::not_measured(why));
        }
        self.printer.note(&format!("Skipped: {why}"));
        if let Some(step) = self.steps.last_mut() {
            (step.found, step.why) = (Found::Skipped, Some(why));
        }
        self.bisection.pass_over();
        Ok(())
    }
}

fn found(reading: &Reading) -> Found {
    match reading {
        Reading::Bad(_) => Found::Bad,
        Reading::Good => Found::Good,
        Reading::Open(_) => Found::Open,
    }
}

fn said(reading: &Reading) -> String {
    match reading {
        Reading::Bad(why) => format!("Bad: {}", why.join("; ")),
        Reading::Good => "Good".to_owned(),
        Reading::Open(why) => format!("Open: {}", why.join("; ")),
    }
}
