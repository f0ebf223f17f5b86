//! Servers in containers, by podman or docker: the same recipes, in an image of the folder's Dockerfile.
//!
//! Everything that is made carries the label [`LABEL`], and nothing else is ever looked at, ended or removed. The
//! network is the host's, so that what is measured is the server and no bridge; CPUs are given by the engine's own
//! cpuset, and by affinity where podman starts the container below the guard.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::programs::{Captured, capture, find_command};
use crate::sample::parse_size;

mod image;

pub use image::Image;
pub(crate) use image::context;

pub(crate) const LABEL: &str = "org.prony.lab=1";
/// An engine answers in 0.1 to 1 s; the first call after a boot may take longer.
const TIMEOUT: Duration = Duration::from_secs(20);
pub(crate) const ENGINES: [&str; 2] = ["podman", "docker"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Engine {
    pub(crate) program: PathBuf,
    pub(crate) name: &'static str,
    pub(crate) version: String,
    /// What a container may use at most, as the engine takes it (`512m`).
    pub(crate) memory: Option<String>,
}

/// The engines that `--runtime` means, none where it means processes.
pub fn engines(runtime: &str) -> Result<&'static [&'static str], String> {
    match runtime {
        "native" => Ok(&[]),
        "container" => Ok(&ENGINES),
        "podman" => Ok(&["podman"]),
        "docker" => Ok(&["docker"]),
        _ => Err(format!("--runtime {runtime:?} is not known: write native, container, podman or docker.")),
    }
}

impl Engine {
    /// The engine that `--runtime` means: `podman`, `docker`, or `container` for whichever works, podman before docker.
    pub fn find(runtime: &str, memory: Option<&str>) -> Result<Engine, String> {
        let wanted = engines(runtime)?;
        memory.map(parse_size).transpose()?;
        let mut why = Vec::new();
        for &name in wanted {
            match Engine::ask(name) {
                Ok(engine) => return Ok(Engine { memory: memory.map(str::to_owned), ..engine }),
                Err(reason) => why.push(reason),
            }
        }
        Err(format!("No container engine works here: {}.", why.join("; ")))
    }

    /// Whether it is there and does something: docker's client alone, without its service, does not.
    fn ask(name: &'static str) -> Result<Engine, String> {
        let program = find_command(name).ok_or_else(|| format!("{name} is not installed"))?;
        let engine = Engine { program, name, version: String::new(), memory: None };
        let format = if name == "podman" { "{{.Version.Version}}" } else { "{{.ServerVersion}}" };
        let said = engine.capture(&["info", "--format", format]);
        let said = said.ok_or_else(|| format!("{name} does not answer within {} s", TIMEOUT.as_secs()))?;
        let version = String::from_utf8_lossy(&said.stdout).trim().to_owned();
        if !said.success || version.is_empty() {
            let text = String::from_utf8_lossy(&said.stderr).into_owned();
            let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no reason given");
            return Err(format!("{name}: {}", last.trim().trim_end_matches('.')));
        }
        Ok(Engine { version, ..engine })
    }

    /// `podman 4.3.1`
    pub fn describe(&self) -> String {
        format!("{} {}", self.name, self.version)
    }

    pub(crate) fn capture(&self, arguments: &[&str]) -> Option<Captured> {
        capture(&self.argv(arguments), Path::new("/"), &[], TIMEOUT)
    }

    pub(crate) fn argv(&self, arguments: &[&str]) -> Vec<String> {
        command(&self.program, arguments)
    }

    pub(crate) fn has_image(&self, reference: &str) -> bool {
        self.capture(&["image", "inspect", "--format", "{{.Id}}", reference]).is_some_and(|said| said.success)
    }

    /// Whether its client asks a service, which does what it was asked though the client is gone.
    pub(crate) fn has_service(&self) -> bool {
        self.name == "docker"
    }
}

pub(crate) fn command(program: &Path, arguments: &[&str]) -> Vec<String> {
    let program = program.to_string_lossy().into_owned();
    std::iter::once(program).chain(arguments.iter().map(ToString::to_string)).collect()
}

pub(crate) fn removal(program: &Path, container: &str) -> Vec<String> {
    if program.file_name().is_some_and(|name| name == "podman") {
        // Without its time podman waits ten seconds for what ignores SIGTERM.
        command(program, &["rm", "--force", "--time", "0", "--ignore", container])
    } else {
        command(program, &["rm", "--force", container])
    }
}

/// Our own limits, as arguments of `--ulimit`: engines would raise them to values that a machine may not allow, and
/// podman itself gives up all processes beyond the kernel's highest pid.
pub(crate) fn limits() -> Vec<String> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    limits_of(&read("/proc/self/limits"), read("/proc/sys/kernel/pid_max").trim().parse().ok())
}

fn limits_of(limits: &str, pid_max: Option<u64>) -> Vec<String> {
    let of = |name: &str, line: &str, at_most: Option<u64>| {
        let values = limits.lines().find_map(|l| l.strip_prefix(line))?;
        let mut values = values.split_whitespace().map(|word| match (word.parse::<u64>().ok(), at_most) {
            (Some(value), Some(most)) => value.min(most).to_string(),
            (None, Some(most)) => most.to_string(),
            (Some(value), None) => value.to_string(),
            (None, None) => "-1".to_owned(),
        });
        Some(format!("{name}={}:{}", values.next()?, values.next()?))
    };
    [of("nofile", "Max open files", None), of("nproc", "Max processes", pid_max)]
        .into_iter()
        .flatten()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_has_our_limits_and_at_most_pid_max_processes() {
        let text = "Limit  Soft  Hard  Units\nMax processes             96365                96365                processes\n\
            Max open files            1024                 unlimited            files\n";
        assert_eq!(limits_of(text, Some(32768)), ["nofile=1024:-1", "nproc=32768:32768"]);
        assert_eq!(limits_of(text, None)[1], "nproc=96365:96365");
        assert_eq!(limits_of("", None), [""; 0]);
        assert_eq!(limits().len(), 2);
    }

    #[test]
    fn unknown_runtimes_and_memory_sizes_are_refused() {
        let error = Engine::find("lxc", None).unwrap_err();
        assert_eq!(error, "--runtime \"lxc\" is not known: write native, container, podman or docker.");
        let error = Engine::find("container", Some("much")).unwrap_err();
        assert_eq!(error, "--memory \"much\" is not a size: write 512m or 2g.");
    }
}
