//! Servers in containers, for real: images built, checked, loaded, and gone after a kill -9.
//!
//! No registry is needed: a base image made by debootstrap stands in for
//! `debian:bookworm-slim`. It lies in a storage of its own below target/, so that an
//! image or container of the user's is neither seen nor touched.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::engine::{BASE, Engine, LIMITS, MADE_BY, said};
use crate::other_host::{GIVEN, OtherHost};

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

/// Runs all checks: `cargo xtask containers`.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let binary = crate::prony(root);
    let world = match World::prepare(&root.join("target/containers"), &binary)? {
        Ok(world) => world,
        Err(why) => {
            println!("skipped: {why}");
            return Ok(());
        }
    };
    let mut failed = 0;
    for (name, result) in checks(&world, root) {
        match result {
            Ok(()) => println!("ok      {name}"),
            Err(why) => {
                failed += 1;
                println!("FAILED  {name}: {why}");
            }
        }
    }
    if failed == 0 { Ok(()) } else { Err(format!("{failed} checks of containers failed")) }
}

fn checks(world: &World, root: &Path) -> Vec<(&'static str, Result<(), String>)> {
    let bystander = world.bystander();
    let names = SERVERS.map(String::from);
    let servers = |verb: &str, more: &[&str]| {
        let mut line =
            vec!["servers".to_owned(), verb.to_owned(), "--runtime".to_owned(), "podman".to_owned()];
        line.extend(more.iter().map(ToString::to_string));
        line.extend(names.iter().cloned());
        world.prony(&line)
    };
    let whole =
        |said: String| if said.contains("3 passed, 0 failed, 0 skipped") { Ok(()) } else { Err(said) };
    vec![
        ("images are built from the recipes' Dockerfiles", servers("install", &["--yes"]).map(drop)),
        ("a second installation of images has nothing to do", servers("install", &["--yes"]).map(drop)),
        ("servers keep the contract in containers", servers("check", &["--memory", "512m"]).and_then(whole)),
        ("a record names the base that stood in", world.recorded(root)),
        ("a run in containers is measured, by their own cgroups", world.bench()),
        ("nothing is left after a run", world.nothing_left(Duration::ZERO)),
        ("a run in containers on another host is measured there", world.bench_there()),
        ("nothing is left on another host", world.nothing_left(Duration::ZERO)),
        ("nothing is left after kill -9 of Prony", world.killed()),
        ("a container of somebody else's was not touched", bystander.and_then(|id| world.lives(&id))),
    ]
}

/// An engine with its own storage, and Prony.
struct World {
    engine: Engine,
    binary: PathBuf,
}

impl World {
    /// The inner error is the reason to skip.
    fn prepare(folder: &Path, binary: &Path) -> Result<Result<World, String>, String> {
        let engine = match Engine::new(folder, &["podman", "runc", "debootstrap"])? {
            Ok(engine) => engine,
            Err(why) => return Ok(Err(why)),
        };
        let experiment = folder.join("work/containers.toml");
        fs::write(&experiment, EXPERIMENT).map_err(|e| format!("{}: {e}", experiment.display()))?;
        if let Err(why) = engine.base("bookworm", BASE) {
            return Ok(Err(format!("the base image cannot be made here: {why}")));
        }
        let mut line = vec!["run", "--rm", "--network", "host"];
        line.extend(LIMITS);
        line.extend([BASE, "true"]);
        if let Err(why) = engine.command("podman", &line) {
            return Ok(Err(format!("podman cannot run a container here: {why}")));
        }
        Ok(Ok(World { engine, binary: binary.to_owned() }))
    }

    /// A container that somebody else would have: without Prony's label.
    fn bystander(&self) -> Result<String, String> {
        let line = ["run", "--detach", "--rm", "--network", "host"];
        let line = [&line[..], &LIMITS, &[BASE, "sleep", "infinity"]].concat();
        self.engine.command("podman", &line).map(|said| said.trim().to_owned())
    }

    /// Whether it still runs; it is ended then.
    fn lives(&self, id: &str) -> Result<(), String> {
        let running = self.engine.command("podman", &["inspect", "--format", "{{.State.Running}}", id])?;
        self.engine.command("podman", &["rm", "--force", "--time", "0", id])?;
        if running.trim() == "true" { Ok(()) } else { Err(format!("it runs: {}", running.trim())) }
    }

    /// Whether what is written down of an image says what its base was made by.
    fn recorded(&self, root: &Path) -> Result<(), String> {
        let error = |e: std::io::Error| format!("the recipe cannot be copied: {e}");
        let to = self.engine.folder.join("work/recipes/php-server");
        let _ = fs::remove_dir_all(&to);
        fs::create_dir_all(&to).map_err(error)?;
        for entry in fs::read_dir(root.join("servers/php-server")).map_err(error)?.flatten() {
            if entry.path().is_file() && entry.file_name() != "verified.toml" {
                fs::copy(entry.path(), to.join(entry.file_name())).map_err(error)?;
            }
        }
        let line =
            ["servers", "check", "php-server", "--runtime", "podman", "--record", "--servers", "recipes"];
        self.prony(&line.map(String::from))?;
        let record = fs::read_to_string(to.join("verified.toml")).map_err(|e| format!("no record: {e}"))?;
        if record.contains(&format!("stands in: {MADE_BY}\"")) { Ok(()) } else { Err(record) }
    }

    fn bench(&self) -> Result<(), String> {
        self.bench_by(&[], None)
    }

    /// The same with `--server-host`: another host's containers have its network.
    fn bench_there(&self) -> Result<(), String> {
        let variables = self.engine.variables();
        let folder = self.engine.folder.join("host");
        let other = match OtherHost::start(&folder, &self.engine.folder.join("work"), &variables)? {
            Ok(other) => other,
            Err(why) => {
                println!("skipped: containers on another host: {why}");
                return Ok(());
            }
        };
        self.bench_by(&["--server-host", GIVEN], Some(&other.path()))
    }

    fn bench_by(&self, more: &[&str], path: Option<&str>) -> Result<(), String> {
        let _ = fs::remove_file(self.engine.folder.join("work/containers.jsonl"));
        let mut command = Command::new(&self.binary);
        command.args(bench_line("containers.jsonl")).args(more).envs(path.map(|path| ("PATH", path)));
        let output = self.engine.in_world(&mut command).output().map_err(|e| e.to_string())?;
        said("prony bench", &output)?;
        let text = self.prony(&["report", "containers.jsonl", "--format", "json"].map(String::from))?;
        let analysis: Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
        let rows = analysis["plans"][0]["rows"].as_array().cloned().unwrap_or_default();
        let measured =
            rows.iter().filter(|r| r["requests_per_s"]["point"].as_f64().is_some_and(|v| v > 0.0)).count();
        let failed: u64 = rows.iter().filter_map(|r| r["failed"].as_u64()).sum();
        if measured != 2 || failed > 0 {
            return Err(format!("{measured} servers measured, {failed} requests failed"));
        }
        let log = fs::read_to_string(self.engine.folder.join("work/containers.jsonl"))
            .map_err(|e| e.to_string())?;
        let trials: Vec<Value> = log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
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

    /// Whether no container of Prony's is there, at the latest after `within`.
    fn nothing_left(&self, within: Duration) -> Result<(), String> {
        let until = Instant::now() + within;
        loop {
            let left = self.engine.command("podman", &["ps", "--all", "--quiet", "--filter", LABEL])?;
            if left.trim().is_empty() {
                return Ok(());
            }
            if Instant::now() >= until {
                return Err(format!("left: {}", left.trim()));
            }
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// Kills a run that would take an hour by SIGKILL while a container serves: nobody but the guard is there to end it.
    fn killed(&self) -> Result<(), String> {
        let _ = fs::remove_file(self.engine.folder.join("work/killed.jsonl"));
        let mut child = self.spawn(&[&bench_line("killed.jsonl")[..], &["--blocks", "1000"]].concat())?;
        let until = Instant::now() + WATCHDOG;
        let seen = loop {
            let running = self.engine.command("podman", &["ps", "--quiet", "--filter", LABEL])?;
            if !running.trim().is_empty() {
                break Ok(());
            }
            if Instant::now() >= until {
                break Err("no container was started".to_owned());
            }
            thread::sleep(Duration::from_millis(100));
        };
        let _ = child.kill();
        let ended = child.wait().map_err(|e| e.to_string())?;
        seen?;
        if ended.signal() != Some(9) {
            return Err(format!("Prony ended by itself: {ended}"));
        }
        self.nothing_left(WATCHDOG)
    }

    fn spawn(&self, line: &[&str]) -> Result<Child, String> {
        let mut command = Command::new(&self.binary);
        command.args(line).stdout(Stdio::null()).stderr(Stdio::null());
        self.engine.in_world(&mut command).spawn().map_err(|e| e.to_string())
    }

    fn prony(&self, line: &[String]) -> Result<String, String> {
        let mut command = Command::new(&self.binary);
        command.args(line);
        let output = self.engine.in_world(&mut command).output().map_err(|e| e.to_string())?;
        said(&format!("prony {}", line.join(" ")), &output)
    }
}

fn bench_line(log: &str) -> [&str; 7] {
    ["bench", "containers.toml", "--runtime", "podman", "-q", "-o", log]
}

/// All objects of a document that have this key.
fn find<'a>(value: &'a Value, key: &str) -> Vec<&'a Value> {
    match value {
        Value::Object(fields) if fields.contains_key(key) => vec![value],
        Value::Object(fields) => fields.values().flat_map(|v| find(v, key)).collect(),
        Value::Array(items) => items.iter().flat_map(|v| find(v, key)).collect(),
        _ => Vec::new(),
    }
}
