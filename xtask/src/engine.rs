//! podman with a storage of its own below target/, so that nothing of the user's is touched, and Debian by debootstrap.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{files, programs};

/// Debian 12, under the official image's name.
pub(crate) const BASE: &str = "docker.io/library/debian:bookworm-slim";
/// What the base was made by, in the label by which a record says that it was not the official one.
pub(crate) const MADE_BY: &str = "debootstrap";
/// What `podman run` may give without more rights than its own.
pub(crate) const LIMITS: [&str; 4] = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024"];
/// What containers of these images need.
pub(crate) const TO_RUN: [&str; 3] = ["podman", "runc", "debootstrap"];
const STAND_IN: &str = "org.prony.stand-in";

pub(crate) struct Engine {
    /// Its storage, and `work/`, where its commands run.
    pub(crate) folder: PathBuf,
}

impl Engine {
    /// None where a program is missing, which is said of what is skipped therefore.
    pub(crate) fn new(folder: &Path, programs: &[&str], what: &str) -> Result<Option<Engine>, String> {
        files::make(&folder.join("work"))?;
        let engine = Engine { folder: folder.to_owned() };
        for program in programs {
            if engine.command("which", &[program]).is_err() {
                println!("skipped {what}: {program} is not installed (apt-get install {})", TO_RUN.join(" "));
                return Ok(None);
            }
        }
        let (storage, containers) = engine.configuration();
        files::write(&folder.join("storage.conf"), storage)?;
        files::write(&folder.join("containers.conf"), containers)?;
        Ok(Some(engine))
    }

    fn configuration(&self) -> (String, String) {
        let at = |name: &str| self.folder.join(name).display().to_string();
        let storage = format!(
            "[storage]\ndriver = \"overlay\"\ngraphroot = {:?}\nrunroot = {:?}\n",
            at("storage"),
            at("run")
        );
        // Without systemd there is nobody to ask for cgroups or to keep a journal.
        let containers = format!(
            "[engine]\nruntime = \"runc\"\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\ntmp_dir = {:?}\n",
            at("tmp")
        );
        (storage, containers)
    }

    /// Debian of this suite, as small as debootstrap makes it, once; with the host's certificates, for its proxy.
    pub(crate) fn base(&self, suite: &str, image: &str) -> Result<(), String> {
        let label = format!("{{{{index .Config.Labels {STAND_IN:?}}}}}");
        match self.command("podman", &["image", "inspect", "--format", &label, image]) {
            Ok(said) if said == MADE_BY => return Ok(()),
            // Made by an older revision: what was built on it lacks the label, too. The storage is this check's own.
            Ok(_) => self.command("podman", &["rmi", "--all", "--force"]).map(drop)?,
            Err(_) => {}
        }
        let root = self.folder.join(format!("base-{suite}"));
        let root_text = root.display().to_string();
        let made = root.join("etc/debian_version").is_file() && root.join("var/lib/dpkg/status").is_file();
        if !made || !root.join("made").is_file() {
            println!("making the base image {suite} by debootstrap, once …");
            let _ = fs::remove_dir_all(&root);
            self.command("debootstrap", &["--variant=minbase", suite, &root_text])?;
            let copy = |from: &str| {
                // What is not here is not needed there.
                let _ = files::copy(Path::new(from), &root.join(from.trim_start_matches('/')));
            };
            ["/etc/ssl/certs/ca-certificates.crt", "/etc/pip.conf"].into_iter().for_each(copy);
            // From which a package that comes later makes that file anew.
            let own = "/usr/local/share/ca-certificates";
            let own = files::list(Path::new(own)).unwrap_or_default();
            own.iter().for_each(|path| copy(&path.to_string_lossy()));
            files::write(&root.join("made"), "")?;
        }
        let archive = self.folder.join(format!("base-{suite}.tar")).display().to_string();
        self.command("tar", &["-C", &root_text, "-cf", &archive, "."])?;
        let label = format!("LABEL {STAND_IN}={MADE_BY}");
        let imported = self.command("podman", &["import", "--change", &label, &archive, image]);
        let _ = fs::remove_file(&archive);
        imported.map(drop)
    }

    /// That base with what a wheel, the tutorial and a job of CI need: Python, git and curl. The image's name.
    pub(crate) fn furnished(&self, suite: &str, base: &str) -> Result<String, String> {
        self.base(suite, base)?;
        let name = format!("localhost/prony-try-{suite}");
        if self.command("podman", &["image", "exists", &name]).is_ok() {
            return Ok(name);
        }
        let context = self.folder.join("furnished");
        let install = "apt-get install --yes --no-install-recommends python3-venv git curl ca-certificates";
        let text = format!("FROM {base}\nRUN apt-get update && {install} && apt-get clean\n");
        files::write(&context.join("Dockerfile"), text)?;
        let context = context.display().to_string();
        let build = ["build", "--quiet", "--network", "host", "--tag", &name, &context];
        self.command("podman", &build).map(|_| name)
    }

    /// The standard output of a command that must succeed.
    pub(crate) fn command(&self, program: &str, line: &[&str]) -> Result<String, String> {
        programs::text(self.in_world(Command::new(program).args(line)))
    }

    pub(crate) fn in_world<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.current_dir(self.folder.join("work")).envs(self.variables()).stdin(Stdio::null())
    }

    /// What the engine is told by its environment.
    pub(crate) fn variables(&self) -> [(&'static str, String); 3] {
        let at = |name: &str| self.folder.join(name).display().to_string();
        [
            ("CONTAINERS_STORAGE_CONF", at("storage.conf")),
            ("CONTAINERS_CONF", at("containers.conf")),
            ("BUILDAH_ISOLATION", "chroot".to_owned()),
        ]
    }
}
