//! The web page, built and looked at: `cargo xtask web` makes run logs and
//! reports of them, and has Chromium open these and the live pages (`web/e2e/`).

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use crate::web_data;

/// Trials of the synthetic run log.
const MANY: u64 = 1_000;
/// What its report takes on a quiet machine, to be looked at and not asserted.
const REPORT_TARGET_MS: u128 = 2_000;
/// The page beside its data.
const PAGE_MAX_BYTES: u64 = 1_000_000;

/// Runs the checks of the web page.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let web = Web {
        // Another binary's pages, where somebody works on them.
        prony: crate::prony(root),
        folder: root.join("target/web"),
        root: root.to_owned(),
    };
    fs::create_dir_all(&web.folder).map_err(|e| format!("{}: {e}", web.folder.display()))?;
    let begun = Instant::now();
    web.unit_tests()?;
    web.experiment()?;
    web_data::experiment(&web.folder)?;
    web.loads()?;
    web_data::loads(&web.folder)?;
    web.many()?;
    web_data::knees(&web.folder)?;
    web_data::history(&web.folder)?;
    web.duet()?;
    web_data::duet(&web.folder)?;
    for name in ["experiment", "loads", "ramp", "knees", "duet"] {
        web.report(name)?;
    }
    let built_ms = web.report("many")?;
    web.weights(built_ms)?;
    println!("unit tests and data: {:.0} s", begun.elapsed().as_secs_f64());
    web.browser()
}

pub(crate) struct Web {
    pub(crate) prony: PathBuf,
    pub(crate) folder: PathBuf,
    root: PathBuf,
}

/// Runs a command, whose output is of interest where it fails.
fn done(command: &mut Command) -> Result<(), String> {
    let shown = format!("{command:?}");
    let ran = command.stdin(Stdio::null()).output().map_err(|e| format!("{shown}: {e}"))?;
    if ran.status.success() {
        return Ok(());
    }
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    Err(format!("{shown} ended with {}:\n{}{}", ran.status, text(&ran.stdout), text(&ran.stderr)))
}

impl Web {
    pub(crate) fn prony(&self, words: &[&str]) -> Result<(), String> {
        done(Command::new(&self.prony).args(words).current_dir(&self.folder))
    }

    fn unit_tests(&self) -> Result<(), String> {
        done(Command::new("npm").args(["test", "--silent"]).current_dir(self.root.join("web")))
    }

    /// Three candidates that are this binary, under two loops and two rates.
    fn experiment(&self) -> Result<(), String> {
        let file = self.folder.join("experiment.jsonl");
        let _ = fs::remove_file(&file); // from an earlier run of this task
        let toml = self.folder.join("servers");
        let three = [
            ("first", "Rust", "runtime", 1),
            ("second", "Rust", "runtime", 2),
            ("third", "Go", "event-loop", 1),
        ];
        // An axis that two of them differ in by their defaults, and the third does not have.
        let axes = |name: &str| match name {
            "first" => "[axes.mode]\nplain = {}\nfull = {}\n",
            "second" => "[axes.mode]\nfull = {}\nplain = {}\n",
            _ => "",
        };
        for (name, language, kind, threads) in three {
            let folder = toml.join(name);
            fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
            let recipe = format!(
                "schema = \"prony.server/1\"\ntitle = \"{name}\"\nlanguage = \"{language}\"\nkind = \"{kind}\"\nroutes = [\"text\"]\n\
                 processes = \"single\"\nkeepalive = true\n[start]\ncommand = [\"{}\", \"target\", \"--port\", \"{{port}}\", \
                 \"--threads\", \"{threads}\"]\n[[check]]\nrequest = \"GET /\"\nstatus = 200\n",
                self.prony.display()
            ) + axes(name);
            fs::write(folder.join("server.toml"), recipe).map_err(|e| e.to_string())?;
        }
        let experiment = "schema = \"prony.experiment/1\"\ntitle = \"Three alike, for the page\"\n\
            published = \"published.toml\"\n\
            candidates = [\"first\", \"second\", \"third\"]\nbaseline = \"first\"\nroute = \"text\"\nserver_cores = 1\n\
            blocks = 3\nseed = 1\n[load]\nduration = \"200ms\"\nwarmup = \"0s\"\n[[plan]]\nconnections = [4, 16]\n\
            [[plan]]\nconnections = 20\nrate = [\"1k\", \"3k\"]\n";
        fs::write(self.folder.join("three.toml"), experiment).map_err(|e| e.to_string())?;
        fs::write(self.folder.join("published.toml"), web_data::PUBLISHED).map_err(|e| e.to_string())?;
        self.prony(&["bench", "three.toml", "--servers", "servers", "-q", "-o", "experiment.jsonl"])
    }

    /// Loads at several rates, and a ramp of connections.
    fn loads(&self) -> Result<(), String> {
        let _ = fs::remove_file(self.folder.join("loads.jsonl"));
        for rate in ["500", "2k", "4k"] {
            self.prony(&["load", "-R", rate, "-d", "200ms", "--warmup", "0", "-q", "-o", "loads.jsonl"])?;
        }
        self.load("ramp", &["--stage", "3s:60c", "--stage", "2s:10c"])
    }

    /// One load, in a run log of its own.
    pub(crate) fn load(&self, name: &str, words: &[&str]) -> Result<(), String> {
        let log = format!("{name}.jsonl");
        let _ = fs::remove_file(self.folder.join(&log)); // from an earlier run of this task
        self.prony(&[&["load", "-q", "-o", &log], words].concat())
    }

    /// Two, which are made a duet.
    fn duet(&self) -> Result<(), String> {
        let _ = fs::remove_file(self.folder.join("duet.jsonl"));
        let candidate = |name| format!("{name}={} target --port {{port}}", self.prony.display());
        let (base, head) = (candidate("base"), candidate("head"));
        let load = ["-R", "500", "-c", "32", "-d", "200ms", "--warmup", "0", "--blocks", "6"];
        let words = ["bench", "--candidate", &base, "--candidate", &head, "-q", "-o", "duet.jsonl"];
        self.prony(&[&words[..], &load].concat())
    }

    /// A run log of a thousand trials: those of the experiment again and again, in further blocks.
    fn many(&self) -> Result<(), String> {
        let text = fs::read_to_string(self.folder.join("experiment.jsonl")).map_err(|e| e.to_string())?;
        let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let results: Vec<&Value> = lines.iter().filter(|l| l["type"] == "result").collect();
        let mut header = lines.first().cloned().ok_or("the experiment's run log is empty")?;
        if results.is_empty() {
            return Err("the experiment has no results".to_owned());
        }
        let planned: Vec<Value> = (0..MANY)
            .map(|i| {
                let model = results[usize::try_from(i).unwrap_or(0) % results.len()];
                json!({"index": i, "block": i / results.len() as u64, "candidate": model["candidate"], "plan": model["plan"]})
            })
            .collect();
        header["order"] = Value::Array(planned.clone());
        header["blocks"] = json!(MANY / results.len() as u64 + 1);
        let file = fs::File::create(self.folder.join("many.jsonl")).map_err(|e| e.to_string())?;
        let mut out = std::io::BufWriter::new(file);
        writeln!(out, "{header}").map_err(|e| e.to_string())?;
        for (i, place) in planned.iter().enumerate() {
            let mut line = results[i % results.len()].clone();
            for key in ["index", "block", "candidate", "plan"] {
                line[key] = place[key].clone();
            }
            writeln!(out, "{line}").map_err(|e| e.to_string())?;
        }
        out.flush().map_err(|e| e.to_string())
    }

    /// Makes the report of a run log; in how many milliseconds.
    fn report(&self, name: &str) -> Result<u128, String> {
        let started = Instant::now();
        self.prony(&["report", &format!("{name}.jsonl"), "--format", "html", "-o", &format!("{name}.html")])?;
        let took = started.elapsed().as_millis();
        println!("report of {name}: {took} ms");
        Ok(took)
    }

    /// What a report of many trials took and weighs, and the page without its data.
    fn weights(&self, built_ms: u128) -> Result<(), String> {
        let size = |path: PathBuf| {
            fs::metadata(&path).map(|m| m.len()).map_err(|e| format!("{}: {e}", path.display()))
        };
        let page = size(self.root.join("web/dist/app.packed"))? + size(self.root.join("web/dist/app.css"))?;
        let (many, log) = (size(self.folder.join("many.html"))?, size(self.folder.join("many.jsonl"))?);
        println!(
            "report of {MANY} trials: built in {built_ms} ms (target {REPORT_TARGET_MS}) from a run log of {log} bytes; \
             the file has {many} bytes: the page {page} (at most {PAGE_MAX_BYTES}), the data {}",
            many.saturating_sub(page)
        );
        if page > PAGE_MAX_BYTES { Err(format!("the page weighs {page} bytes without data")) } else { Ok(()) }
    }

    /// Its lines are printed as they come.
    fn browser(&self) -> Result<(), String> {
        let mut node = Command::new("node");
        node.arg("e2e/run.mjs").arg(&self.prony).arg(&self.folder).current_dir(self.root.join("web"));
        let status = node.stdin(Stdio::null()).status().map_err(|e| format!("node: {e}"))?;
        if status.success() { Ok(()) } else { Err("checks of the web page failed".to_owned()) }
    }
}
