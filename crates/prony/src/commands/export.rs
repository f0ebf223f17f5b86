//! `--export KIND=FILE`: the result in other tools' formats.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::mem::take;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use prony_load::{Control, LoadError, Snapshot};
use prony_model::plan::{Arrivals, SAMPLES_MAX};
use prony_model::recorded_plan::RecordedPlan;
use prony_model::run_log::PlannedTrial;
use prony_model::{Measurement, Plan, Trial};
use prony_report::export::{LOAD_FORMATS, LoadFormat, jtl};
use prony_report::format::thousands;
use prony_report::runs::plain;

use crate::failure::{Failure, USAGE};
use crate::printer::Printer;
use crate::result_file;

/// The requests kept of a closed load that only a duration ends: how many it will make is not known. 200 MB.
const CLOSED_SAMPLES: u64 = 5_000_000;
/// A list of requests is long: it is written in pieces of this size.
const BUFFER_BYTES: usize = 1 << 20;
/// Letters of a candidate's and of a plan's name in a file's.
const NAME_MAX: usize = 80;

#[derive(Debug, Default)]
pub(crate) struct Exports(Vec<(&'static LoadFormat, String)>);

impl Exports {
    /// Reads the flags and checks that their files can be written, so
    /// that no load is lost for a missing folder, and that they are others than those of the `result` and of the `log`.
    pub(crate) fn parse(
        texts: &[String],
        result: Option<&str>,
        log: Option<&str>,
    ) -> Result<Exports, Failure> {
        apart(result, log)?;
        let mut exports = Vec::new();
        let mut seen: Vec<PathBuf> = result.into_iter().chain(log).map(identity).collect();
        for text in texts {
            let (format, path) = format_and_path(text)?;
            let identity = identity(path);
            if seen.contains(&identity) {
                return Err(Failure::usage(format!(
                    "--export {text}: {path} would be written twice by this command: give each output its own file."
                )));
            }
            result_file::probe(Path::new(path))
                .map_err(|e| Failure::usage(format!("--export {text}: {path} cannot be written: {e}.")))?;
            seen.push(identity);
            exports.push((format, path.to_owned()));
        }
        Ok(Exports(exports))
    }

    /// How many single requests the load must keep: none, or all that it can make, as far as known and within bounds.
    pub(crate) fn samples_max(&self, plan: &Plan) -> u64 {
        if self.0.iter().any(|(format, _)| format.of_requests) { samples_max(plan) } else { 0 }
    }

    /// Writes all of them. One that fails does not keep the others from being written.
    pub(crate) fn write(&self, trial: &Trial, m: &Measurement, printer: &Printer) -> Result<(), Failure> {
        let mut failed = None;
        for (format, path) in &self.0 {
            if let Err(e) = write_one(format, path, trial, m) {
                let message = format!("{path} could not be written: {e}.");
                if let Some(earlier) = failed.replace(message) {
                    printer.error(&earlier);
                }
            } else if format.of_requests && m.samples_dropped > 0 {
                printer.note(&kept_the_first(path, m.samples.len() as u64, m.samples_dropped));
            }
        }
        failed.map_or(Ok(()), |message| Err(Failure::usage(message)))
    }
}

/// All single requests that a plan can make, as far as known and within bounds.
fn samples_max(plan: &Plan) -> u64 {
    let by_count = plan.stop.requests.unwrap_or(u64::MAX);
    let by_time = match (plan.arrivals.rate(), plan.stop.duration) {
        (Some(rate), Some(duration)) => {
            let end_ns = u64::try_from((plan.warmup + duration).as_nanos()).unwrap_or(u64::MAX);
            let due = rate.due_before(end_ns);
            // A Poisson count is within six of its standard deviations, as good as always.
            let beyond = matches!(plan.arrivals, Arrivals::Poisson(_)).then(|| 6 * due.isqrt() + 6);
            due + beyond.unwrap_or(0)
        }
        (None, Some(_)) if plan.stop.requests.is_none() => CLOSED_SAMPLES,
        _ => u64::MAX,
    };
    by_count.min(by_time).clamp(1, SAMPLES_MAX)
}

/// JMeter's log of each trial of a bench, written when the trial has ended: a run log has no single requests.
pub(crate) struct TrialLogs {
    folder: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The file of the trial that runs.
    name: String,
    /// Its load, until it is written: while the load is observed Prony would be seen writing.
    loaded: Option<(Plan, Measurement)>,
    /// What is to be said in the end: of files that lack requests, and why others could not be written.
    notes: Vec<String>,
    failed: Vec<String>,
}

impl TrialLogs {
    /// `None` where none were asked for. Makes the folder.
    pub(crate) fn parse(texts: &[String]) -> Result<Option<TrialLogs>, Failure> {
        let folder = match texts {
            [] => return Ok(None),
            [text] => text.strip_prefix("jtl=").filter(|folder| !folder.is_empty()),
            _ => None,
        };
        let folder = PathBuf::from(folder.ok_or_else(|| {
            Failure::usage(
                "--export of a bench is jtl=FOLDER, once: other formats are made of its run log, by `prony report --format`.",
            )
        })?);
        fs::create_dir_all(&folder)
            .map_err(|e| Failure::usage(format!("{} cannot be a folder of logs: {e}.", folder.display())))?;
        Ok(Some(TrialLogs { folder, state: Mutex::default() }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Names the file of what is loaded next.
    pub(crate) fn begins(&self, trial: &PlannedTrial) {
        let [candidate, plan] =
            [&trial.candidate, &trial.plan].map(|of| plain(of).chars().take(NAME_MAX).collect::<String>());
        self.state().name = format!("{:05}-{candidate}-{plan}.jtl", u64::from(trial.index) + 1);
    }

    /// Applies the trial's load and keeps its requests, as many as there is room for.
    pub(crate) fn load(
        &self,
        plan: &Plan,
        control: &Control,
        observe: &mut dyn FnMut(&Snapshot),
    ) -> Result<Measurement, LoadError> {
        let plan = Plan { samples_max: samples_max(plan), ..plan.clone() };
        let mut m = prony_load::run(&plan, control, observe)?;
        let (samples, samples_dropped) = (take(&mut m.samples), take(&mut m.samples_dropped));
        self.state().loaded = Some((plan, Measurement { samples, samples_dropped, ..m.clone() }));
        Ok(m)
    }

    /// Writes the requests of the trial that was loaded last.
    pub(crate) fn ended(&self) {
        let mut state = self.state();
        let Some((plan, m)) = state.loaded.take() else { return };
        let path = self.folder.join(&state.name);
        let written = result_file::write(&path, |file| {
            let mut out = BufWriter::with_capacity(BUFFER_BYTES, file);
            jtl::write(&RecordedPlan::of(&plan), &m, &mut out)?;
            out.flush()
        });
        let shown = path.display().to_string();
        match written {
            Ok(()) if m.samples_dropped == 0 => {}
            Ok(()) => state.notes.push(kept_the_first(&shown, m.samples.len() as u64, m.samples_dropped)),
            Err(e) => state.failed.push(format!("{shown} could not be written: {e}.")),
        }
    }

    /// Says what is left to say; fails where a file could not be written.
    pub(crate) fn conclude(self, printer: &Printer) -> Result<(), Failure> {
        self.ended();
        let State { notes, failed, .. } = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        notes.iter().for_each(|note| printer.note(note));
        failed.iter().for_each(|why| printer.error(why));
        if failed.is_empty() { Ok(()) } else { Err(Failure::code(USAGE)) }
    }
}

fn format_and_path(text: &str) -> Result<(&'static LoadFormat, &str), Failure> {
    let names = LOAD_FORMATS.each_ref().map(|format| format.name).join(", ");
    let Some((name, path)) = text.split_once('=') else {
        return Err(Failure::usage(format!(
            "--export {text:?} names no file: write --export KIND=FILE, where KIND is one of {names}."
        )));
    };
    let Some(format) = LOAD_FORMATS.iter().find(|format| format.name == name) else {
        return Err(Failure::usage(format!(
            "--export {text:?}: {name:?} is not a format of --export: write one of {names}."
        )));
    };
    if path.is_empty() || path == "-" {
        return Err(Failure::usage(format!(
            "--export {text:?} needs a file, since standard output is for the result: write --export {name}=FILE."
        )));
    }
    Ok((format, path))
}

/// Checks that the result (`-` is no file) and the run log can be written, its folder made, and are not the same file.
fn apart(result: Option<&str>, log: Option<&str>) -> Result<(), Failure> {
    let result = result.filter(|path| *path != "-");
    let folder_is_there = |path: &&str| {
        Path::new(path).parent().is_none_or(|folder| folder.as_os_str().is_empty() || folder.exists())
    };
    for path in result.into_iter().chain(log.filter(folder_is_there)) {
        result_file::probe(Path::new(path))
            .map_err(|e| Failure::usage(format!("{path} could not be written: {e}.")))?;
    }
    match (result, log) {
        (Some(result), Some(log)) if identity(result) == identity(log) => {
            Err(Failure::usage(format!("{log} is named twice: give --json and -o different files.")))
        }
        _ => Ok(()),
    }
}

fn identity(path: &str) -> PathBuf {
    let path = Path::new(path);
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    path.file_name().map_or(folder.clone(), |name| folder.join(name))
}

fn write_one(format: &LoadFormat, path: &str, trial: &Trial, m: &Measurement) -> io::Result<()> {
    result_file::write(Path::new(path), |file| {
        let mut out = BufWriter::with_capacity(BUFFER_BYTES, file);
        (format.write)(trial, m, &mut out)?;
        out.flush()
    })
}

fn kept_the_first(path: &str, kept: u64, dropped: u64) -> String {
    format!(
        "{path} has only the first {} of {} requests: their memory is allocated before the load. \
         For all of them make the load shorter: -d, or -n up to {}.",
        thousands(kept),
        thousands(kept + dropped),
        thousands(SAMPLES_MAX)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_model::Target;
    use prony_model::rate::Rate;
    use std::time::Duration;

    fn samples_of(name: &str, change: impl FnOnce(&mut Plan)) -> u64 {
        let mut plan = Plan::closed(Target::parse("http://h/").unwrap());
        change(&mut plan);
        let format = |name| LOAD_FORMATS.iter().find(|format| format.name == name).unwrap();
        Exports(vec![(format("csv"), "a".to_owned()), (format(name), "b".to_owned())]).samples_max(&plan)
    }

    #[test]
    fn samples_max_follows_from_the_plan() {
        let rate = |per_s| Arrivals::Constant(Rate::per_s(per_s).unwrap());
        assert_eq!(samples_of("hlog", |_| {}), 0);
        assert_eq!(samples_of("jtl", |_| {}), CLOSED_SAMPLES);
        // 10 s after 1 s of warm-up, in which requests may wait for the window.
        assert_eq!(samples_of("jtl", |p| p.arrivals = rate(2000.0)), 22_000);
        assert_eq!(samples_of("jtl", |p| p.arrivals = rate(1e7)), SAMPLES_MAX);
        assert_eq!(samples_of("jtl", |p| p.arrivals = rate(0.001)), 1);
        let counted = |requests| {
            move |p: &mut Plan| {
                p.stop.requests = Some(requests);
            }
        };
        assert_eq!(samples_of("jtl", counted(500)), 500);
        assert_eq!(samples_of("jtl", counted(u64::MAX)), SAMPLES_MAX);
        let both = |p: &mut Plan| {
            (p.arrivals, p.stop.requests, p.warmup) = (rate(100.0), Some(5_000), Duration::ZERO);
        };
        assert_eq!(samples_of("jtl", both), 1_000);
    }

    #[test]
    fn a_note_says_how_many_requests_were_kept() {
        assert_eq!(
            kept_the_first("r.jtl", 5_000_000, 1_545_858),
            "r.jtl has only the first 5,000,000 of 6,545,858 requests: their memory is allocated before the load. \
             For all of them make the load shorter: -d, or -n up to 10,000,000."
        );
    }

    #[test]
    fn paths_of_the_same_file_have_the_same_identity() {
        assert_eq!(identity("a.csv"), identity("./a.csv"));
        assert_ne!(identity("a.csv"), identity("b.csv"));
    }
}
