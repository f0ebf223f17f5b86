//! Every artifact where nothing else is: root filesystems of Debian 12 and 13 by debootstrap, one that has busybox and
//! no C library, and the image alone; all without a network. A load of Prony's own reference server by what was
//! installed must complete every request. Where the Debian package is, every command of docs/tutorial.md is run to the
//! letter.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Dist, VERSION, fleet};
use crate::engine::{BASE, Engine, LIMITS, TO_RUN};
use crate::files::{copy, read, write};
use crate::programs::{Checks, found, is_there, text};

#[path = "../../../crates/prony/tests/cli/tutorial_page.rs"]
mod tutorial_page;

pub(super) const REQUESTS: u64 = 1_000;
/// Debian 12 is the base of the checks of servers in containers, too.
const DEBIANS: [(&str, &str); 2] = [("bookworm", BASE), ("trixie", "docker.io/library/debian:trixie-slim")];
const NEWEST: &str = "trixie";
const BUSYBOX: &str = "localhost/prony-try-busybox";
/// From the artifact to a figure, at most, as far as the machine is quiet.
const FIRST_FIGURE: Duration = Duration::from_secs(30);

/// How an artifact is installed in a shell, and what then runs.
struct Way {
    name: &'static str,
    install: String,
    prony: String,
}

pub(super) fn run(dist: &Dist) -> Result<(), String> {
    let folder = dist.root.join("target/containers");
    let Some(engine) = Engine::new(&folder, &TO_RUN, "the artifacts")? else { return Ok(()) };
    let ways = ways(dist)?;
    let mut checks = Checks::default();
    checks.count_said("image", image(dist, &engine));
    for (suite, image) in DEBIANS {
        let furnished = match engine.furnished(suite, image) {
            Ok(furnished) => furnished,
            Err(why) => {
                println!("skipped: the root filesystem of {suite} cannot be made here: {why}");
                continue;
            }
        };
        for way in &ways {
            let image = if way.name == "wheel" { &furnished } else { image };
            checks.count_said(&format!("{} on {suite}", way.name), loaded(dist, &engine, image, way));
        }
        if suite != NEWEST {
            continue;
        }
        let worked = tutorial(dist, &engine, &furnished);
        checks.count(&format!("every command of the tutorial, beside the package on {suite}"), worked);
        match found("command -v nats-server") {
            Some(nats) => {
                let worked = fleet::works(dist, &engine, image, &nats);
                checks.count("agents of the image, with a nats-server beside them", worked);
            }
            None => println!("skipped a fleet of containers: no nats-server (apt-get install nats-server)"),
        }
    }
    match busybox(&engine, &folder) {
        Ok(()) => {
            checks.count_said("archive beside busybox alone", loaded(dist, &engine, BUSYBOX, &ways[0]));
        }
        Err(why) => println!("skipped: a root filesystem of busybox cannot be made here: {why}"),
    }
    speed(dist)?;
    checks.ended("the artifacts")
}

/// The lines of docs/install.md to the letter, in an empty home; what they download is the folder of artifacts.
fn ways(dist: &Dist) -> Result<[Way; 3], String> {
    let page = read(&dist.root.join("docs/install.md"))?;
    let line = |way: &str| -> Result<String, String> {
        let row = page.lines().find(|line| line.starts_with(&format!("| {way}")));
        let command = row.and_then(|row| row.split('`').nth(1));
        let command = command.ok_or_else(|| format!("docs/install.md has no line for {way:?}"))?;
        let other = dist.machine != "x86_64";
        let command = command.replace("\\|", "|");
        Ok(if other { command.replace("x86_64", &dist.machine).replace("amd64", "arm64") } else { command })
    };
    // Without a network a download is a copy, and root needs no sudo.
    let before = format!(
        "mkdir -p /tmp; cd /tmp; export HOME=/tmp/home VERSION={VERSION} PRONY=/dist PIP_NO_INDEX=1; mkdir $HOME; \
         curl() {{ if [ $1 = -fL ]; then cat $2; else cp $2 .; fi; }}; sudo() {{ \"$@\"; }}"
    );
    let complete = "prony completions bash | cmp - /usr/share/bash-completion/completions/prony";
    Ok([
        Way {
            name: "archive",
            install: format!("{before}; {}", line("any Linux")?),
            prony: "~/.local/bin/prony".to_owned(),
        },
        Way {
            name: "Debian package",
            // dpkg may be told to leave manuals out, so that the package is asked whether it has them.
            // Nor can what is recommended be had, and nobody is there to be asked.
            install: format!(
                "{before}; printf 'APT::Install-Recommends \"false\";\\nAPT::Get::Assume-Yes \"true\";\\n' \
                 >/etc/apt/apt.conf.d/90try; {} && {complete} && dpkg-query --listfiles prony | grep -q man1/prony-load.1.gz",
                line("Debian, Ubuntu")?
            ),
            prony: "prony".to_owned(),
        },
        Way {
            name: "wheel",
            install: format!(
                "{before}; python3 -m venv /tmp/it; . /tmp/it/bin/activate; {}",
                line("pip, in a virtual environment")?
            ),
            prony: "prony".to_owned(),
        },
    ])
}

/// Every command of docs/tutorial.md to the letter, where the package, git and nothing else was installed.
fn tutorial(dist: &Dist, engine: &Engine, image: &str) -> Result<(), String> {
    let commands = tutorial_page::commands(&read(&dist.root.join("docs/tutorial.md"))?);
    let script = tutorial_page::script(&commands);
    let script = format!("dpkg --install /dist/*.deb >&2\ncd \"$(mktemp --directory)\"\n{script}");
    let said = beside_artifacts(dist, engine, image, "-c", &script)?;
    let wrong = tutorial_page::wrong(&commands, &said);
    if wrong.is_empty() { Ok(()) } else { Err(format!("{}\n{said}", wrong.join("\n"))) }
}

/// Installs in a container of the image that sees the artifacts and nothing else, and loads.
fn loaded(dist: &Dist, engine: &Engine, image: &str, way: &Way) -> Result<String, String> {
    let script = format!("{{ {}; }} >&2 && {} load -n {REQUESTS} -q --json -", way.install, way.prony);
    let begun = Instant::now();
    let said = beside_artifacts(dist, engine, image, "-ec", &script)?;
    completed(&said).map(|()| first_figure(begun.elapsed()))
}

/// What a script prints in a container of the image that sees the artifacts.
fn beside_artifacts(
    dist: &Dist,
    engine: &Engine,
    image: &str,
    flags: &str,
    script: &str,
) -> Result<String, String> {
    let mount = format!("{}:/dist:ro", dist.out.display());
    let line = ["--volume", &mount, image, "sh", flags, script];
    engine.command("podman", &[&RUN[..], &LIMITS, &line].concat())
}

fn first_figure(took: Duration) -> String {
    let slow = if took > FIRST_FIGURE { ", over 30 s" } else { "" };
    format!(": {:.1} s from the file to the first figure{slow}", took.as_secs_f64())
}

const RUN: [&str; 4] = ["run", "--rm", "--network", "none"];

pub(super) fn completed(said: &str) -> Result<(), String> {
    let trial: Value = serde_json::from_str(said).map_err(|e| format!("{e}: {said}"))?;
    match trial.pointer("/requests/completed").and_then(Value::as_u64) {
        Some(REQUESTS) => Ok(()),
        other => Err(format!("{other:?} of {REQUESTS} requests were completed")),
    }
}

pub(super) fn image_name() -> String {
    format!("localhost/prony:{VERSION}")
}

/// The image from its archive, as another user than root and with no folder that it could write.
fn image(dist: &Dist, engine: &Engine) -> Result<String, String> {
    let file = dist.out.join(format!("prony-{VERSION}-{}-image.tar", dist.machine));
    if !file.is_file() {
        return Err("it was not built".to_owned());
    }
    let name = image_name();
    let begun = Instant::now();
    engine.command("podman", &["rmi", "--force", "--ignore", &name])?;
    engine.command("podman", &["load", "--quiet", "--input", &file.display().to_string()])?;
    let requests = REQUESTS.to_string();
    let load = ["--read-only", &name, "load", "-n", &requests, "-q", "--json", "-"];
    completed(&engine.command("podman", &[&RUN[..], &LIMITS, &load].concat())?)?;
    let took = begun.elapsed();
    let user = engine.command("podman", &["image", "inspect", "--format", "{{.User}}", &name])?;
    let user = user.trim();
    if user.is_empty() || user.starts_with('0') {
        Err(format!("it runs as {user:?}"))
    } else {
        Ok(first_figure(took))
    }
}

fn busybox(engine: &Engine, folder: &Path) -> Result<(), String> {
    let context = folder.join("busybox");
    let busybox =
        ["/usr/bin/busybox", "/bin/busybox"].map(PathBuf::from).into_iter().find(|path| path.is_file());
    let busybox = busybox.ok_or("there is none here (apt-get install busybox-static)")?;
    copy(&busybox, &context.join("busybox"))?;
    let is_dynamic = is_there("ldd", &busybox.to_string_lossy());
    if is_dynamic {
        return Err(format!("{} is not static (apt-get install busybox-static)", busybox.display()));
    }
    let install = "RUN [\"/bin/busybox\", \"--install\", \"-s\", \"/bin\"]";
    write(&context.join("Dockerfile"), format!("FROM scratch\nCOPY busybox /bin/busybox\n{install}\n"))?;
    engine
        .command("podman", &["build", "--quiet", "--tag", BUSYBOX, &context.display().to_string()])
        .map(drop)
}

fn speed(dist: &Dist) -> Result<(), String> {
    let prony = dist.prony();
    for line in [&["--version"][..], &["load", "-n", "1"]] {
        let mut took = Vec::new();
        for _ in 0..21 {
            let begun = Instant::now();
            text(Command::new(&prony).args(line))?;
            took.push(begun.elapsed());
        }
        took.sort_unstable();
        let median = took.get(took.len() / 2).copied().unwrap_or_default();
        println!("{:6.1} ms  prony {}", median.as_secs_f64() * 1e3, line.join(" "));
    }
    Ok(())
}
