//! End to end: the static binary of a release (or `$PRONY`) against the real servers of the catalogue, and all that a
//! release consists of. With `YES=1` a part of the catalogue, another each day, is installed first and must keep the
//! contract; without, those that are installed are checked. No verdict depends on how fast or quiet the machine is:
//! three lanes run at once.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::{files, programs, replication, rotation};

/// A short run of the quickstart experiment must rank at least so many servers where all are installed.
const RANKED_MIN: usize = 8;
/// What a slow machine can bring about by itself; any other failed request is the server's or Prony's.
const FOR_TIME: [&str; 2] = ["connect_timeout", "request_timeout"];

type Step = (&'static str, fn(&mut Run<'_>));
/// Work that needs apt's lock, that needs neither it nor containers, and that is in containers: none waits for the others.
const LANES: [&[Step]; 3] = [
    &[
        ("the generated pages", |run| {
            let result = super::docs::check(run.root, run.binary);
            run.count("the generated pages are the binary's", result);
        }),
        ("today's servers", |run| run.todays_part()),
        ("the installed servers", |run| {
            run.check("every installed server keeps the contract", &["servers", "check", "--all"]);
        }),
        ("quickstart", |run| run.quickstart()),
        ("counts of HTTP/2 against servers' logs", |run| {
            if run.install {
                run.check(
                    "nginx and h2o for their logs",
                    &["servers", "install", "-y", "nginx-static", "h2o-static"],
                );
            }
            run.task("http2-counts", "http2-counts");
        }),
        ("a published comparison", |run| run.replication()),
    ],
    &[
        ("the web page in a browser", |run| run.task("web", "web")),
        ("h2spec's servers", |run| run.task("h2spec", "h2spec")),
        ("an application over a database", |run| run.task("shop", "shop")),
        ("GitHub's action and GitLab's template", |run| run.task("action", "action")),
        ("a full disk", |run| run.full_disk()),
    ],
    &[
        ("what a release consists of", |run| run.release()),
        ("the documentation's site", |run| run.task("site", "site --contained")),
        ("servers in containers", |run| run.task("containers", "containers")),
    ],
];

/// A step as it is done: its lines are printed at its end.
struct Run<'a> {
    root: &'a Path,
    binary: &'a Path,
    folder: &'a Path,
    install: bool,
    /// Of what was checked, a line that begins with `ok` or `FAILED` each.
    text: String,
}

pub(crate) fn run(root: &Path) -> Result<(), String> {
    let begun = Instant::now();
    let binary =
        env::var_os("PRONY").map_or_else(|| super::dist::binary(root), |named| Ok(PathBuf::from(named)))?;
    let folder = root.join("target/e2e");
    files::make(&folder)?;
    let units_before = enabled_units();
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for lane in LANES {
            let (done, folder, binary) = (&done, &folder, &binary);
            scope.spawn(move || {
                for (name, step) in lane {
                    let begun = Instant::now();
                    let mut run = Run::new(root, binary, folder);
                    step(&mut run);
                    let took = begun.elapsed();
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    println!("\n{name}, {:.0} s:\n{}", took.as_secs_f64(), run.text.trim_end());
                    done.push((took, *name, run.text));
                }
            });
        }
    });
    let mut done: Vec<(Duration, &str, String)> = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut last = Run::new(root, &binary, &folder);
    let units_after = enabled_units();
    let same = if units_before == units_after { Ok(()) } else { Err(format!("{units_after:?}")) };
    last.count("no service was enabled", same);
    println!("\n{}\nWhat took longest, in three lanes:", last.text.trim_end());
    done.sort_by_key(|(took, ..)| std::cmp::Reverse(*took));
    for (took, name, ..) in &done {
        println!("{:6.1} s  {name}", took.as_secs_f64());
    }
    let texts = || done.iter().map(|(.., text)| text).chain([&last.text]).flat_map(|text| text.lines());
    let [passed, failed] =
        ["ok ", "FAILED "].map(|word| texts().filter(|line| line.starts_with(word)).count());
    println!("\nIn {:.0} s:\n{passed} passed, {failed} failed", begun.elapsed().as_secs_f64());
    if failed > 0 { Err("end-to-end checks failed".to_owned()) } else { Ok(()) }
}

/// Of all trials of a run log: statuses and failures that no slowness explains.
fn wrong_answers(log: &Path) -> Result<Vec<String>, String> {
    let log = prony_analysis::run_log::read(log).map_err(|e| e.to_string())?;
    let trials = log.results.into_iter().filter_map(|result| Some((result.planned.candidate, result.trial?)));
    let wrong = trials.flat_map(|(candidate, trial)| {
        let statuses = trial.status.into_iter().filter(|(status, _)| status != "200");
        let errors = trial.errors.into_iter().filter(|(kind, _)| !FOR_TIME.contains(&kind.as_str()));
        let named = |(what, count)| format!("{candidate}: {what}: {count}");
        statuses.chain(errors).map(named).collect::<Vec<_>>()
    });
    Ok(wrong.collect())
}

/// Links by which systemd would start something at boot.
fn enabled_units() -> Vec<PathBuf> {
    let folders = files::list(Path::new("/etc/systemd/system")).unwrap_or_default();
    let wants = folders.iter().filter(|path| path.extension().is_some_and(|e| e == "wants"));
    wants.filter_map(|folder| files::list(folder).ok()).flatten().collect()
}

impl<'a> Run<'a> {
    fn new(root: &'a Path, binary: &'a Path, folder: &'a Path) -> Self {
        let install =
            env::var("YES").is_ok_and(|yes| !yes.is_empty()) || env::var("CI").is_ok_and(|ci| ci == "true");
        Run { root, binary, folder, install, text: String::new() }
    }

    /// Installs the servers whose turn it is, and holds each against the contract.
    fn todays_part(&mut self) {
        if !self.install {
            return self.say("skipped: YES=1 installs them");
        }
        let listed = self.prony(&["servers", "list", "--format", "json"]);
        let part = match listed.and_then(|text| rotation::of_today(&text)) {
            Ok(part) => part,
            Err(why) => return self.count("the catalogue is listed", Err(why)),
        };
        for (name, why) in &part.left_out {
            self.say(&format!("skipped {name}: {why}"));
        }
        let names: Vec<&str> = part.servers.iter().map(String::as_str).collect();
        self.say(&format!("today's: {}", names.join(" ")));
        let install = [&["servers", "install", "--yes"], &names[..]].concat();
        self.check("today's servers are installed", &install);
        let again = self.output(&install).and_then(|ran| {
            let said = programs::trimmed(&ran.stderr);
            if said.contains("Everything is installed.") {
                Ok(())
            } else {
                Err(programs::trimmed(&ran.stdout) + &said)
            }
        });
        self.count("a second installation has nothing to do", again);
        let check = [&["servers", "check"], &names[..]].concat();
        self.check("today's servers keep the contract", &check);
    }

    /// Packs the binary in every way and tries each. It is built already: `run` had it built.
    fn release(&mut self) {
        if env::var_os("PRONY").is_some() {
            return self.say(
                "skipped: $PRONY names a binary, and a release is made of the one that is built for it",
            );
        }
        self.task("the artifacts", "dist --try");
    }

    /// Another task of this program, whose checks are lines that begin with `ok` or `FAILED`.
    fn task(&mut self, name: &str, line: &str) {
        let ran = programs::own().and_then(|mut own| {
            programs::output(self.in_folder(own.args(line.split(' ')).env("PRONY", self.binary)))
        });
        match ran {
            Err(why) => self.count(name, Err(why)),
            Ok(ran) => {
                let said = programs::trimmed(&ran.stdout);
                self.say(&said);
                if !ran.status.success() && !said.lines().any(|line| line.starts_with("FAILED ")) {
                    self.count(name, Err(programs::trimmed(&ran.stderr)));
                }
            }
        }
    }

    fn say(&mut self, line: &str) {
        let _ = writeln!(self.text, "{line}"); // a String takes all
    }

    fn count(&mut self, name: &str, result: Result<(), String>) {
        match result {
            Ok(()) => self.say(&format!("ok      {name}")),
            // What else was said may have lines that look like a check's.
            Err(why) => self.say(&format!("FAILED  {name}: {}", why.replace('\n', "\n  "))),
        }
    }

    fn check(&mut self, name: &str, arguments: &[&str]) {
        let result = self.prony(arguments).map(drop);
        self.count(name, result);
    }

    /// In the lane's folder, and without waiting for the other lanes' benches or for an idle second beside them.
    fn in_folder<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        let turn = self.folder.join(format!("turn-{:?}", thread::current().id()));
        command.current_dir(self.folder).env("PRONY_TURN", turn).env("PRONY_DISTURBED", "keep")
    }

    fn output(&self, arguments: &[&str]) -> Result<Output, String> {
        programs::output(self.in_folder(Command::new(self.binary).args(arguments)))
    }

    fn prony(&self, arguments: &[&str]) -> Result<String, String> {
        programs::text(self.in_folder(Command::new(self.binary).args(arguments)))
    }

    /// Whether a bench has anything to run with the servers that are installed.
    fn runs(&self, line: &[&str]) -> bool {
        let planned = self.prony(&[line, &["--dry-run"]].concat());
        planned.is_ok_and(|out| out.lines().any(|line| line.starts_with("runs ")))
    }

    /// One block of the quickstart experiment: every trial is measured and no answer is wrong.
    fn quickstart(&mut self) {
        let line = ["bench", "quickstart", "--scale", "short", "--blocks", "1"];
        let ranked_min = if self.install { RANKED_MIN } else { 1 };
        if !self.install && !self.runs(&line) {
            return self.say("skipped: none of its servers is installed");
        }
        // From an earlier run of this task.
        let _ = fs::remove_file(self.folder.join("quickstart.jsonl"));
        self.check(
            "one block of quickstart is measured",
            &[&line[..], &["-q", "-o", "quickstart.jsonl"]].concat(),
        );
        let report = ["report", "quickstart.jsonl", "--format", "json"];
        let report = programs::json(self.in_folder(Command::new(self.binary).args(report)));
        let result = report.and_then(|report| {
            let (measured, _) = programs::measured(&report);
            let wrong = wrong_answers(&self.folder.join("quickstart.jsonl"))?;
            if measured < ranked_min || !wrong.is_empty() {
                return Err(format!("{measured} servers measured; wrong: {wrong:?}"));
            }
            Ok(())
        });
        self.count("its report ranks the servers and has no wrong answer", result);
        let page = fs::read_to_string(self.folder.join("quickstart.html")).unwrap_or_default();
        let alone =
            !page.contains("src=\"http") && !page.contains("href=\"http") && page.contains("prony.page/1");
        self.count(
            "its page has its data and loads nothing",
            if alone { Ok(()) } else { Err("see quickstart.html".to_owned()) },
        );
    }

    /// One block of a published comparison, shortened: what is installed is measured, the rest is skipped by name.
    fn replication(&mut self) {
        let line = ["bench", replication::EXPERIMENT, "--scale", "short", "--blocks", "1", "--only"];
        let line = [&line[..], &[replication::PLAN]].concat();
        if !self.runs(&line) {
            return self.say("skipped: none of its servers is installed");
        }
        let _ = fs::remove_file(self.folder.join("published.jsonl"));
        let result = self.prony(&[&line[..], &["-q", "-o", "published.jsonl"]].concat()).and_then(|_| {
            let markdown = self.prony(&["report", "published.jsonl", "--format", "markdown"])?;
            replication::is_whole(&replication::candidates(self.root)?, &markdown)
        });
        self.count("a published comparison has the source's figures, and names whom it skipped", result);
    }

    /// A full disk ends a run with a sentence; what was measured before stays readable. (It needs root.)
    fn full_disk(&mut self) {
        let disk = self.folder.join("small-disk");
        if let Err(why) = files::make(&disk) {
            return self.count("a full disk", Err(why));
        }
        let mut mount = Command::new("mount");
        if programs::text(mount.args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(&disk)).is_err() {
            return self.say("skipped: a small file system could not be mounted here");
        }
        let candidate = format!("one={} target --port {{port}}", self.binary.display());
        // A trial's record has some kilobytes: the disk is full long before the blocks are done.
        let line = ["bench", "--candidate", &candidate, "-d", "200ms", "--warmup", "0", "--blocks", "500"];
        let result = self.output(&[&line[..], &["-o", "small-disk/r.jsonl"]].concat()).and_then(|ended| {
            let said = programs::trimmed(&ended.stderr);
            let readable = self.prony(&["report", "small-disk/r.jsonl"])?;
            let sentence = said.contains("No space left") && said.contains("--resume");
            if ended.status.code() != Some(0) && sentence && readable.contains("one") {
                Ok(())
            } else {
                Err(said)
            }
        });
        self.count("a full disk ends a run with a sentence and loses nothing", result);
        // Ours: mounted above.
        let _ = Command::new("umount").arg(&disk).status();
    }
}
