//! Installing the tools that a registry has, into `.prony/peers` or through Debian's packages.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::tools::{Places, Source, Tool};

/// Installs the tools that aren't there; says what failed and goes on, as a tool that is missing is skipped by name.
pub(super) fn install(tools: &[&'static Tool], places: &Places) -> Result<(), String> {
    let folder = &places.tools;
    crate::files::make(&folder.join("bin"))?;
    let missing: Vec<_> = tools.iter().filter(|tool| tool.program(places).is_none()).collect();
    let packages: Vec<_> = missing.iter().filter_map(|tool| debian(tool.source)).collect();
    if !packages.is_empty() {
        report("Debian's packages", apt(&packages));
    }
    for tool in missing {
        let result = match tool.source {
            Source::Own | Source::Path | Source::Debian(_) => continue,
            Source::Cargo => cargo(tool.name, folder),
            Source::Go(package) => go(package, folder),
            Source::Npm => npm(tool.name, folder),
        };
        report(tool.name, result);
    }
    Ok(())
}

fn debian(source: Source) -> Option<&'static str> {
    if let Source::Debian(package) = source { Some(package) } else { None }
}

fn report(what: &str, result: Result<(), String>) {
    match result {
        Ok(()) => eprintln!("installed {what}"),
        Err(why) => eprintln!("not installed: {what}: {why}"),
    }
}

fn apt(packages: &[&str]) -> Result<(), String> {
    if !nix::unistd::geteuid().is_root() {
        return Err(format!("apt-get needs root: apt-get install {}", packages.join(" ")));
    }
    let mut command = Command::new("apt-get");
    command.args(["install", "-y", "--no-install-recommends"]).args(packages);
    command.env("DEBIAN_FRONTEND", "noninteractive");
    run(&mut command)
}

fn cargo(name: &str, folder: &Path) -> Result<(), String> {
    let mut command = Command::new("cargo");
    // What the author released with: newer dependencies are another tool.
    command.args(["install", "--locked", "--root"]).arg(folder).arg(name);
    // Not into this repository's target/, whose profiles and lock are its own.
    command.current_dir(folder).env("CARGO_TARGET_DIR", folder.join("build"));
    let result = run(&mut command);
    // Hundreds of megabytes that nobody needs again.
    let _ = fs::remove_dir_all(folder.join("build"));
    result
}

fn go(package: &str, folder: &Path) -> Result<(), String> {
    let mut command = Command::new("go");
    command.args(["install", &format!("{package}@latest")]);
    command.env("GOBIN", folder.join("bin")).env("GOPATH", folder.join("go"));
    // Else `rm -r` cannot remove what it keeps.
    command.env("GOFLAGS", "-modcacherw");
    run(&mut command)
}

fn npm(name: &str, folder: &Path) -> Result<(), String> {
    let mut command = Command::new("npm");
    command.args(["install", "--no-fund", "--no-audit", "--prefix"]).arg(folder).arg(name);
    run(&mut command)
}

/// Standard output is the table's, so the installers' goes to stderr.
fn run(command: &mut Command) -> Result<(), String> {
    crate::programs::seen(command.stdout(std::io::stderr()))
}
