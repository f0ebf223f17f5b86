//! `cargo xtask web`: makes run logs and reports, and has Chromium open these and the live pages (`web/e2e/`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};

use crate::{files, programs, web_data};

/// Trials of the synthetic run log.
const MANY: u64 = 1_000;
/// What its report takes on a quiet machine, to be looked at and not asserted.
const REPORT_TARGET_MS: u128 = 2_000;
/// The page beside its data.
const PAGE_MAX_BYTES: u64 = 1_000_000;

pub(crate) fn run(root: &Path) -> Result<(), String> {
    let web = Web {
        // Another binary's pages, where somebody works on them.
        prony: crate::prony(root)?,
        folder: root.join("target/web"),
        root: root.to_owned(),
    };
    files::make(&web.folder)?;
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

impl Web {
    pub(crate) fn prony(&self, words: &[&str]) -> Result<(), String> {
        programs::text(Command::new(&self.prony).args(words).current_dir(&self.folder)).map(drop)
    }

    fn unit_tests(&self) -> Result<(), String> {
        programs::text(Command::new("npm").args(["test", "--silent"]).current_dir(self.root.join("web")))
            .map(drop)
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
            let recipe = format!(
                "schema = \"prony.server/1\"\ntitle = \"{name}\"\nlanguage = \"{language}\"\nkind = \"{kind}\"\nroutes = [\"text\"]\n\
                 processes = \"single\"\nkeepalive = true\n[start]\ncommand = [\"{}\", \"target\", \"--port\", \"{{port}}\", \
                 \"--threads\", \"{threads}\"]\n[[check]]\nrequest = \"GET /\"\nstatus = 200\n",
                self.prony.display()
            ) + axes(name);
            files::write(&toml.join(name).join("server.toml"), recipe)?;
        }
        let experiment = "schema = \"prony.experiment/1\"\ntitle = \"Three alike, for the page\"\n\
            published = \"published.toml\"\n\
            candidates = [\"first\", \"second\", \"third\"]\nbaseline = \"first\"\nroute = \"text\"\nserver_cores = 1\n\
            blocks = 3\nseed = 1\n[load]\nduration = \"200ms\"\nwarmup = \"0s\"\n[[plan]]\nconnections = [4, 16]\n\
            [[plan]]\nconnections = 20\nrate = [\"1k\", \"3k\"]\n";
        files::write(&self.folder.join("three.toml"), experiment)?;
        files::write(&self.folder.join("published.toml"), web_data::PUBLISHED)?;
        self.prony(&["bench", "three.toml", "--servers", "servers", "-q", "-o", "experiment.jsonl"])
    }

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
        let lines = web_data::lines(&self.folder.join("experiment.jsonl"))?;
        let results: Vec<&Value> = lines.iter().filter(|l| l["type"] == "result").collect();
        let mut header = lines.first().cloned().ok_or("the experiment's run log is empty")?;
        if results.is_empty() {
            return Err("the experiment has no results".to_owned());
        }
        let line = |i: u64| {
            let mut line = results[i as usize % results.len()].clone();
            (line["index"], line["block"]) = (json!(i), json!(i / results.len() as u64));
            line
        };
        let made: Vec<Value> = (0..MANY).map(line).collect();
        header["order"] = web_data::order(made.iter());
        header["blocks"] = json!(MANY / results.len() as u64 + 1);
        web_data::write_lines(&self.folder.join("many.jsonl"), &[vec![header], made].concat())
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
        programs::seen(&mut node)
    }
}
