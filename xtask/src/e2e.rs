//! End to end: the release binary against the real servers of the catalogue.
//!
//! With `YES=1` a part of the catalogue, another each day, is installed first and must keep
//! the contract; without, those that are installed are checked.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::{replication, rotation};

/// A short run of the quickstart experiment must rank at least so many servers where all are installed.
const RANKED_MIN: usize = 8;

struct Run {
    binary: PathBuf,
    folder: PathBuf,
    passed: u32,
    failed: u32,
}

/// Runs all checks.
///
/// # Errors
/// When one fails.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let install =
        env::var("YES").is_ok_and(|yes| !yes.is_empty()) || env::var("CI").is_ok_and(|ci| ci == "true");
    let folder = root.join("target/e2e");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut run = Run { binary: root.join("target/release/prony"), folder, passed: 0, failed: 0 };
    run.count("the generated pages are the binary's", super::docs::check(root));
    let units_before = enabled_units();
    if install {
        run.todays_part();
    }
    run.check("every installed server keeps the contract", &["servers", "check", "--all"], |_| Ok(()));
    run.quickstart(if install { RANKED_MIN } else { 1 });
    run.replication(root);
    run.full_disk();
    run.containers(root);
    run.count("the web page in a browser", crate::web::run(root));
    let units_after = enabled_units();
    run.count(
        "no service was enabled",
        if units_before == units_after { Ok(()) } else { Err(format!("{units_after:?}")) },
    );
    println!("{} passed, {} failed", run.passed, run.failed);
    if run.failed > 0 { Err("end-to-end checks failed".to_owned()) } else { Ok(()) }
}

fn nothing_to_do(out: &str) -> Result<(), String> {
    if out.contains("installed") { Ok(()) } else { Err(format!("it said: {out}")) }
}

/// Links by which systemd would start something at boot.
fn enabled_units() -> Vec<PathBuf> {
    let folders = fs::read_dir("/etc/systemd/system").into_iter().flatten().flatten();
    let wants =
        folders.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "wants"));
    let mut units: Vec<PathBuf> = wants
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flatten()
        .flatten()
        .map(|link| link.path())
        .collect();
    units.sort();
    units
}

impl Run {
    /// Installs the servers whose turn it is, and holds each against the contract.
    fn todays_part(&mut self) {
        let listed = self.prony(&["servers", "list", "--format", "json"]);
        let part = match listed.and_then(|text| rotation::of_today(&text)) {
            Ok(part) => part,
            Err(why) => return self.count("the catalogue is listed", Err(why)),
        };
        for (name, why) in &part.left_out {
            println!("skipped {name}: {why}");
        }
        let names: Vec<&str> = part.servers.iter().map(String::as_str).collect();
        println!("today's servers: {}", names.join(" "));
        let install = [&["servers", "install", "--yes"], &names[..]].concat();
        self.check("today's servers are installed", &install, |_| Ok(()));
        self.check("a second installation has nothing to do", &install, nothing_to_do);
        let check = [&["servers", "check"], &names[..]].concat();
        self.check("today's servers keep the contract", &check, |_| Ok(()));
    }

    fn containers(&mut self, root: &Path) {
        match super::containers::checks(root) {
            Ok(super::containers::Outcome::Skipped(why)) => println!("skipped containers: {why}"),
            Ok(super::containers::Outcome::Ran(results)) => {
                results.into_iter().for_each(|(name, result)| self.count(name, result));
            }
            Err(why) => self.count("containers", Err(why)),
        }
    }

    fn count(&mut self, name: &str, result: Result<(), String>) {
        match result {
            Ok(()) => {
                self.passed += 1;
                println!("ok      {name}");
            }
            Err(why) => {
                self.failed += 1;
                println!("FAILED  {name}: {why}");
            }
        }
    }

    /// A command must succeed, and what it printed must please `look`.
    fn check(&mut self, name: &str, arguments: &[&str], look: impl FnOnce(&str) -> Result<(), String>) {
        let result = self.prony(arguments).and_then(|out| look(&out));
        self.count(name, result);
    }

    /// Standard output; what it says on stderr is shown as it comes.
    fn prony(&self, arguments: &[&str]) -> Result<String, String> {
        let output = Command::new(&self.binary)
            .args(arguments)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .map_err(|e| format!("{}: {e}", self.binary.display()))?;
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            return Ok(out);
        }
        Err(format!("prony {} ended with {}:\n{out}", arguments.join(" "), output.status))
    }

    /// One block of the quickstart experiment: every trial is measured and no answer is wrong.
    fn quickstart(&mut self, ranked_min: usize) {
        let log = self.folder.join("quickstart.jsonl");
        // From an earlier run of this task.
        let _ = fs::remove_file(&log);
        self.check(
            "one block of quickstart is measured",
            &["bench", "quickstart", "--blocks", "1", "-q", "-o", "quickstart.jsonl"],
            |_| Ok(()),
        );
        let analysis = self.prony(&["report", "quickstart.jsonl", "--format", "json"]);
        let result =
            analysis.and_then(|text| serde_json::from_str::<Value>(&text).map_err(|e| e.to_string()));
        let result = result.and_then(|analysis| {
            let rows = analysis["plans"][0]["rows"].as_array().cloned().unwrap_or_default();
            let measured = rows
                .iter()
                .filter(|r| r["requests_per_s"]["point"].as_f64().is_some_and(|v| v > 0.0))
                .count();
            let failed: u64 = rows.iter().filter_map(|r| r["failed"].as_u64()).sum();
            if measured < ranked_min || failed > 0 {
                return Err(format!("{measured} servers measured, {failed} requests failed"));
            }
            Ok(())
        });
        self.count("its report ranks the servers and counts no failure", result);
        let page = fs::read_to_string(self.folder.join("quickstart.html")).unwrap_or_default();
        let alone =
            !page.contains("src=\"http") && !page.contains("href=\"http") && page.contains("prony.page/1");
        self.count(
            "its page has its data and loads nothing",
            if alone { Ok(()) } else { Err("see quickstart.html".to_owned()) },
        );
    }

    /// One block of a published comparison, shortened: what is installed is measured, the rest is skipped by name.
    fn replication(&mut self, root: &Path) {
        let line = ["bench", replication::EXPERIMENT, "--scale", "short", "--blocks", "1", "--only"];
        let line = [&line[..], &[replication::PLAN]].concat();
        let installed = self.prony(&[&line[..], &["--dry-run"]].concat());
        if !installed.is_ok_and(|out| out.lines().any(|line| line.starts_with("runs "))) {
            println!("skipped a published comparison: none of its servers is installed");
            return;
        }
        let _ = fs::remove_file(self.folder.join("published.jsonl"));
        let result = self.prony(&[&line[..], &["-q", "-o", "published.jsonl"]].concat()).and_then(|_| {
            let report = |format| self.prony(&["report", "published.jsonl", "--format", format]);
            replication::is_whole(&replication::candidates(root)?, &report("json")?, &report("markdown")?)
        });
        self.count("a published comparison has the source's figures, and names whom it skipped", result);
    }

    /// A full disk ends a run with a sentence, and what was measured before stays readable.
    /// (Needs root, for a file system that is small enough.)
    fn full_disk(&mut self) {
        let disk = self.folder.join("small-disk");
        if fs::create_dir_all(&disk).is_err() {
            return self.count("a full disk", Err("its folder could not be made".to_owned()));
        }
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
            .arg(&disk)
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|s| s.success());
        if !mounted {
            println!("skipped a full disk: a small file system could not be mounted here");
            return;
        }
        let candidate = format!("one={} target --port {{port}}", self.binary.display());
        let line = [
            "bench",
            "--candidate",
            &candidate,
            "-d",
            "300ms",
            "--warmup",
            "0",
            "--blocks",
            "40",
            "-o",
            "small-disk/r.jsonl",
        ];
        let ended =
            Command::new(&self.binary).args(line).current_dir(&self.folder).stdin(Stdio::null()).output();
        let result = ended.map_err(|e| e.to_string()).and_then(|ended| {
            let said = String::from_utf8_lossy(&ended.stderr).into_owned();
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
