//! Where the steps of a job are run: in a container that has what a runner's machine has, or here where there is no engine.

use std::path::Path;
use std::process::{Command, Output};

use crate::engine::{BASE, Engine, LIMITS};
use crate::programs;

pub(super) enum Machine {
    Here,
    Container { engine: Engine, image: String, volumes: Vec<String> },
}

impl Machine {
    /// A container of Debian with Python, git and curl that may write into `folder`; or, which is said, this machine.
    pub(super) fn prepare(root: &Path, binary: &Path, folder: &Path) -> Result<Machine, String> {
        let made = Engine::new(&root.join("target/containers"), &["podman", "runc", "debootstrap"])?;
        let made = made.and_then(|engine| {
            let image = engine.furnished("bookworm", BASE)?;
            engine.command("podman", &[&RUN[..], &LIMITS, &[&image, "true"]].concat())?;
            let programs = binary.parent().unwrap_or(root);
            let seen = |path: &Path| format!("{0}:{0}:ro", path.display());
            let volumes = vec![seen(root), seen(programs), format!("{0}:{0}", folder.display())];
            Ok(Machine::Container { engine, image, volumes })
        });
        Ok(made.unwrap_or_else(|why| {
            println!("skipped the container: {why}; the steps are run on this machine");
            Machine::Here
        }))
    }

    /// The system's programs there.
    pub(super) fn path(&self) -> String {
        match self {
            Machine::Here => std::env::var("PATH").unwrap_or_default(),
            Machine::Container { .. } => {
                "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned()
            }
        }
    }

    /// Runs a script with these variables and no others.
    pub(super) fn bash(
        &self,
        script: &Path,
        folder: &Path,
        variables: &[(String, String)],
    ) -> Result<Output, String> {
        let mut command;
        match self {
            Machine::Here => {
                command = Command::new("bash");
                command.current_dir(folder).env_clear().envs(variables.iter().cloned());
            }
            Machine::Container { engine, image, volumes } => {
                command = Command::new("podman");
                engine.in_world(&mut command).args(RUN).args(LIMITS).arg("--workdir").arg(folder);
                command.args(volumes.iter().map(|volume| format!("--volume={volume}")));
                command.args(variables.iter().map(|(name, value)| format!("--env={name}={value}")));
                command.args([image, "bash"]);
            }
        }
        programs::output(command.args(["--noprofile", "--norc", "-eo", "pipefail"]).arg(script))
    }
}

/// With the host's network, where the API that is ours listens.
const RUN: [&str; 4] = ["run", "--rm", "--network", "host"];
