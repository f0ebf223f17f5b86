//! Servers in containers, for real: images built, checked, loaded, and gone after a kill -9. No registry is needed: a
//! base image by debootstrap stands in for `debian:bookworm-slim`, in a storage of its own below target/, so that an
//! image or container of the user's is neither seen nor touched.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::engine::{BASE, Engine, LIMITS, MADE_BY, TO_RUN};
use crate::other_host::{GIVEN, OtherHost};
use crate::programs::{self, Checks, Running};
use crate::{files, web_data};

/// An application in an image that has nothing else.
const APP: &str = include_str!("containers/app.rs");
const OWN: &str = "localhost/shop:pr-12";
/// One of a language's own runtime, one of a built-in server, one with a helper process and templates.
const SERVERS: [&str; 3] = ["node-http", "php-server", "nginx-fpm"];
/// Prony's, by which its containers are found.
const LABEL: &str = "label=org.prony.lab=1";
/// What is waited for comes however slow the machine is; a fault does not.
const WATCHDOG: Duration = Duration::from_secs(180);

const EXPERIMENT: &str = r#"schema = "prony.experiment/1"
title = "containers"
candidates = ["node-http", "php-server"]
baseline = "node-http"
route = "text"
server_cores = 1
workers = 1
blocks = 2
seed = 1
[load]
duration = "1s"
warmup = "500ms"
[[plan]]
connections = 10
"#;

pub(crate) fn run(root: &Path) -> Result<(), String> {
    let binary = crate::prony(root)?;
    let Some(world) = World::prepare(&root.join("target/containers"), &binary)? else { return Ok(()) };
    let mut all = Checks::default();
    for (name, result) in checks(&world, root) {
        all.count(name, result);
    }
    all.ended("containers")
}

fn checks(world: &World, root: &Path) -> Vec<(&'static str, Result<(), String>)> {
    let bystander = world.bystander();
    let servers = |verb: &str, more: &[&str]| {
        world.prony(&[&["servers", verb, "--runtime", "podman"], more, &SERVERS].concat())
    };
    let whole =
        |said: String| if said.contains("3 passed, 0 failed, 0 skipped") { Ok(()) } else { Err(said) };
    vec![
        ("images are built from the recipes' Dockerfiles", servers("install", &["--yes"]).map(drop)),
        ("a second installation of images has nothing to do", servers("install", &["--yes"]).map(drop)),
        ("servers keep the contract in containers", servers("check", &["--memory", "512m"]).and_then(whole)),
        ("a record names the base that stood in", world.recorded(root)),
        ("a run in containers is measured, by their own cgroups", world.bench_by(&[], None)),
        ("nothing is left after a run", world.nothing_left(Duration::ZERO)),
        ("a run in containers on another host is measured there", world.bench_there()),
        ("nothing is left on another host", world.nothing_left(Duration::ZERO)),
        ("an image of one's own is measured, and recorded by its content", world.own_image()),
        ("nothing is left after kill -9 of Prony", world.killed()),
        ("a container of somebody else's was not touched", bystander.and_then(|id| world.lives(&id))),
    ]
}

struct World {
    engine: Engine,
    binary: PathBuf,
}

impl World {
    /// None where there can be none, which is said.
    fn prepare(folder: &Path, binary: &Path) -> Result<Option<World>, String> {
        let Some(engine) = Engine::new(folder, &TO_RUN, "servers in containers")? else { return Ok(None) };
        let experiment = folder.join("work/containers.toml");
        files::write(&experiment, EXPERIMENT)?;
        let line = [&["run", "--rm", "--network", "host"], &LIMITS[..], &[BASE, "true"]].concat();
        let runs = engine.base("bookworm", BASE).and_then(|()| engine.command("podman", &line));
        if let Err(why) = runs {
            println!("skipped: no container of {BASE} can be run here: {why}");
            return Ok(None);
        }
        Ok(Some(World { engine, binary: binary.to_owned() }))
    }

    /// A container that somebody else would have: without Prony's label.
    fn bystander(&self) -> Result<String, String> {
        let line = ["run", "--detach", "--rm", "--network", "host"];
        let line = [&line[..], &LIMITS, &[BASE, "sleep", "infinity"]].concat();
        self.engine.command("podman", &line)
    }

    fn lives(&self, id: &str) -> Result<(), String> {
        let running = self.engine.command("podman", &["inspect", "--format", "{{.State.Running}}", id])?;
        self.engine.command("podman", &["rm", "--force", "--time", "0", id])?;
        if running == "true" { Ok(()) } else { Err(format!("it runs: {running}")) }
    }

    /// Whether what is written down of an image says what its base was made by.
    fn recorded(&self, root: &Path) -> Result<(), String> {
        let to = self.engine.folder.join("work/recipes/php-server");
        files::anew(&to)?;
        for path in files::list(&root.join("servers/php-server"))? {
            if path.is_file() && !path.ends_with("verified.toml") {
                files::copy(&path, &to.join(files::name(&path)))?;
            }
        }
        let line =
            ["servers", "check", "php-server", "--runtime", "podman", "--record", "--servers", "recipes"];
        self.prony(&line)?;
        let record = files::read(&to.join("verified.toml"))?;
        if record.contains(&format!("stands in: {MADE_BY}\"")) { Ok(()) } else { Err(record) }
    }

    /// The same with `--server-host`: another host's containers have its network.
    fn bench_there(&self) -> Result<(), String> {
        let variables = self.engine.variables();
        let folder = self.engine.folder.join("host");
        let home = self.engine.folder.join("work");
        let Some(other) = OtherHost::start(&folder, &home, &variables)? else { return Ok(()) };
        self.bench_by(&["--server-host", GIVEN], Some(&other.path()))
    }

    fn bench_by(&self, more: &[&str], path: Option<&str>) -> Result<(), String> {
        let _ = fs::remove_file(self.engine.folder.join("work/containers.jsonl"));
        let mut command = Command::new(&self.binary);
        command.args(bench_line("containers.jsonl")).args(more).envs(path.map(|path| ("PATH", path)));
        programs::text(self.engine.in_world(&mut command))?;
        self.measured("containers.jsonl")?;
        let trials = web_data::lines(&self.engine.folder.join("work/containers.jsonl"))?;
        let servers: Vec<&Value> = trials.iter().flat_map(|line| find(line, "window_cpu_ns")).collect();
        // Of a window: something, and no more than one core could give while it was sampled (half as much again, as a
        // stamp and its reading are two instants).
        let busy = servers.iter().filter(|s| {
            let cpu = s["window_cpu_ns"].as_i64().unwrap_or(0);
            let memory = s["peak_memory_bytes"].as_u64().unwrap_or(0);
            let at: Vec<i64> =
                s["columns"]["at_ns"].as_array().into_iter().flatten().filter_map(Value::as_i64).collect();
            let sampled = at.last().zip(at.first()).map_or(0, |(last, first)| last - first);
            cpu > 0 && cpu < sampled + sampled / 2 && memory > 1 << 20
        });
        let by_cgroup =
            servers.iter().all(|s| s["cpu_method"].as_str().is_some_and(|m| m.starts_with("cgroup")));
        match (servers.len(), busy.count()) {
            (4, 4) if by_cgroup => Ok(()),
            (all, busy) => Err(format!("{all} trials sampled, {busy} of them busy: {servers:?}")),
        }
    }

    /// Whether both candidates of a run have a throughput, and no request failed.
    fn measured(&self, log: &str) -> Result<(), String> {
        let mut report = Command::new(&self.binary);
        report.args(["report", log, "--format", "json"]);
        let (measured, failed) = programs::measured(&programs::json(self.engine.in_world(&mut report))?);
        if measured != 2 || failed > 0 {
            return Err(format!("{log}: {measured} servers measured, {failed} requests failed"));
        }
        Ok(())
    }

    /// Builds an image from scratch and measures it twice: told its port by `PORT`, and by an argument.
    fn own_image(&self) -> Result<(), String> {
        let folder = self.engine.folder.join("own");
        files::write(&folder.join("app.rs"), APP)?;
        files::write(&folder.join("Dockerfile"), "FROM scratch\nCOPY app /app\nENTRYPOINT [\"/app\"]\n")?;
        let (app, source) = (folder.join("app"), folder.join("app.rs"));
        let line = ["--edition=2024", "-O", "-C", "target-feature=+crt-static", "-o"];
        programs::text(Command::new("rustc").args(line).arg(&app).arg(&source))?;
        self.engine.command("podman", &["build", "--tag", OWN, &folder.display().to_string()])?;
        let id = self.engine.command("podman", &["image", "inspect", "--format", "{{.Id}}", OWN])?;
        let candidates = [format!("old=image:{OWN}"), format!("new=image:{OWN}")];
        let [old, new] = candidates.each_ref().map(String::as_str);
        let db = format!("db={} target --port {{port}}", self.binary.display());
        let run = ["bench", "--candidate", old, "--candidate", new, "-q", "--blocks", "2", "-d", "1s"];
        let run = [&run[..], &["--service", &db]].concat();
        for (log, more) in [
            ("by-variable.jsonl", &["--expect-body", "{\"items\":[]}"][..]),
            ("by-argument.jsonl", &["--args", "--listen={port} --db=postgres://me:s3cret@h/db"]),
        ] {
            let _ = fs::remove_file(self.engine.folder.join("work").join(log));
            self.prony(&[&run[..], &["-o", log], more].concat())?;
            self.measured(log)?;
            let text = files::read(&self.engine.folder.join("work").join(log))?;
            if text.contains("s3cret") || !text.contains(&format!("{id} in podman")) {
                return Err(format!("{log} has a secret, or no image by its content"));
            }
        }
        self.nothing_left(Duration::ZERO)?;
        match self.prony(&["bench", "--candidate", "new=image:localhost/absent:1", "--dry-run"]) {
            Err(said) if said.contains("podman has no image localhost/absent:1 here: build it first") => {
                Ok(())
            }
            other => Err(format!("an image that is not here: {other:?}")),
        }
    }

    /// Whether no container of Prony's is there, at the latest after `within`.
    fn nothing_left(&self, within: Duration) -> Result<(), String> {
        programs::wait_for(within, || {
            let left = self.engine.command("podman", &["ps", "--all", "--quiet", "--filter", LABEL])?;
            Ok((!left.is_empty()).then(|| format!("left: {left}")))
        })
    }

    /// Kills a run that would take an hour by SIGKILL while a container serves: nobody but the guard is there to end it.
    fn killed(&self) -> Result<(), String> {
        let _ = fs::remove_file(self.engine.folder.join("work/killed.jsonl"));
        let mut command = Command::new(&self.binary);
        command.args(bench_line("killed.jsonl")).args(["--blocks", "1000"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut prony = Running::start(self.engine.in_world(&mut command))?;
        let seen = programs::wait_for(WATCHDOG, || {
            let running = self.engine.command("podman", &["ps", "--quiet", "--filter", LABEL])?;
            Ok(running.is_empty().then(|| "no container was started".to_owned()))
        });
        let _ = prony.0.kill();
        let ended = prony.0.wait().map_err(|e| e.to_string())?;
        seen?;
        if ended.signal() != Some(9) {
            return Err(format!("Prony ended by itself: {ended}"));
        }
        self.nothing_left(WATCHDOG)
    }

    fn prony(&self, line: &[&str]) -> Result<String, String> {
        programs::text(self.engine.in_world(Command::new(&self.binary).args(line)))
    }
}

fn bench_line(log: &str) -> [&str; 7] {
    ["bench", "containers.toml", "--runtime", "podman", "-q", "-o", log]
}

fn find<'a>(value: &'a Value, key: &str) -> Vec<&'a Value> {
    match value {
        Value::Object(fields) if fields.contains_key(key) => vec![value],
        Value::Object(fields) => fields.values().flat_map(|v| find(v, key)).collect(),
        Value::Array(items) => items.iter().flat_map(|v| find(v, key)).collect(),
        _ => Vec::new(),
    }
}
