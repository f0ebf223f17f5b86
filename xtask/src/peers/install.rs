//! Installing the tools that a registry has, into `.prony/peers` or through Debian's packages.

use std::fs;
use std::process::Command;

use super::tools::{Places, Source, Tool};

/// Installs the tools that aren't there; says what failed and goes on, as a tool that is missing is skipped by name.
pub(super) fn install(tools: &[&'static Tool], places: &Places) -> Result<(), String> {
    let folder = &places.tools;
    crate::files::make(&folder.join("bin"))?;
    for tool in tools.iter().filter(|tool| tool.program(places).is_none()) {
        let mut command;
        match tool.source {
            Source::Own | Source::Path => continue,
            Source::Debian(package) => {
                command = Command::new("apt-get");
                command.args(["install", "-y", "--no-install-recommends", package]);
                command.env("DEBIAN_FRONTEND", "noninteractive");
            }
            Source::Cargo => {
                command = Command::new("cargo");
                // What the author released with: newer dependencies are another tool.
                command.args(["install", "--locked", "--root"]).arg(folder).arg(tool.name);
                // Not into this repository's target/, whose profiles and lock are its own.
                command.current_dir(folder).env("CARGO_TARGET_DIR", folder.join("build"));
            }
            Source::Go(package) => {
                command = Command::new("go");
                command.args(["install", &format!("{package}@latest")]);
                command.env("GOBIN", folder.join("bin")).env("GOPATH", folder.join("go"));
                // Else `rm -r` cannot remove what it keeps.
                command.env("GOFLAGS", "-modcacherw");
            }
            Source::Npm => {
                command = Command::new("npm");
                command.args(["install", "--no-fund", "--no-audit", "--prefix"]).arg(folder).arg(tool.name);
            }
        }
        // Standard output is the table's.
        match crate::programs::seen(command.stdout(std::io::stderr())) {
            Ok(()) => eprintln!("installed {}", tool.name),
            Err(why) => eprintln!("not installed: {}: {why}", tool.name),
        }
        // Hundreds of megabytes that nobody needs again.
        let _ = fs::remove_dir_all(folder.join("build"));
    }
    Ok(())
}
