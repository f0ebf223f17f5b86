//! A nats-server of a run's own: on this machine's loopback, with users made for the run, gone when the run is.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nkeys::KeyPair;
use prony_host::cpus;
use ring::rand::{SecureRandom, SystemRandom};
use rustix::process::geteuid;

use crate::die_with_parent::{die_with_parent, on_path};
use crate::nats::{Address, Login};

const START_TIMEOUT: Duration = Duration::from_secs(10);
/// What the folders of such servers begin with, and how long one stays whose controller was killed.
const FOLDER: &str = "prony-fleet-";
const KEPT: Duration = Duration::from_secs(86_400);
/// The oldest nats-server that will do: the client library writes headers into its first line, which 2.2 brought.
const OLDEST: [u64; 3] = [2, 2, 0];
/// Connections that each user may have: one, and those that are begun beside one which is silent.
const CONNECTIONS_EACH: usize = 64;
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A running nats-server; it ends when this is dropped, and when this process does, however it does.
#[derive(Debug)]
pub struct Server {
    child: Child,
    _folder: tempfile::TempDir,
    url: String,
    /// The keys of its users: the controller's, then each agent's.
    users: Vec<KeyPair>,
    cpus: Vec<u32>,
}

/// A name that nobody guesses: 128 bits in hexadecimal.
pub(crate) fn random_name() -> Result<String, String> {
    let mut bytes = [0u8; 16];
    SystemRandom::new().fill(&mut bytes).map_err(|_| "the system gave no random numbers".to_owned())?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// nats-server and its version: the first one that will do of what is on PATH and what `prony fleet install` has put there.
pub fn find(installed: &Path) -> Result<(PathBuf, String), String> {
    let mut refused = format!(
        "A fleet needs nats-server, which is neither on PATH nor at {}: run `prony fleet install`, or install the package \
         nats-server.",
        installed.display()
    );
    let is_installed = installed.is_file().then(|| installed.to_owned());
    for program in on_path("nats-server").into_iter().chain(is_installed) {
        let who = format!("nats-server ({})", program.display());
        match version(&program).and_then(|version| judge(&who, &version).map(|()| version)) {
            Ok(version) => return Ok((program, version)),
            Err(why) => refused = why,
        }
    }
    Err(refused)
}

pub fn version(program: &Path) -> Result<String, String> {
    let shown = program.display();
    let said = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    let said = said.map_err(|e| format!("{shown} cannot be run: {e}."))?;
    let text = String::from_utf8_lossy(&said.stdout);
    let version =
        text.trim().strip_prefix("nats-server: v").filter(|version| !version.contains(char::is_whitespace));
    version
        .map(str::to_owned)
        .ok_or_else(|| format!("{shown} is not a nats-server: it does not print its version."))
}

pub fn judge(who: &str, version: &str) -> Result<(), String> {
    let number = |part: &str| part.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u64>().ok();
    let numbers: Option<Vec<u64>> = version.splitn(3, '.').map(number).collect();
    if numbers.is_some_and(|numbers| numbers.len() == 3 && numbers.as_slice() >= OLDEST.as_slice()) {
        return Ok(());
    }
    let [major, minor, patch] = OLDEST;
    Err(format!(
        "{who} is of version {version:?}, and a fleet needs {major}.{minor}.{patch} or newer: `prony fleet \
         install` installs one."
    ))
}

impl Server {
    /// Starts `program` for a run of so many agents, by `own`, this binary, on these CPUs (none: on any).
    pub fn start(own: &Path, program: &Path, run: &str, agents: u32, cpus: &[u32]) -> Result<Server, String> {
        let refused =
            |what: String| format!("nats-server ({}) could not be started: {what}.", program.display());
        remove_old(&std::env::temp_dir());
        // tempfile's folders are the user's alone (0700).
        let folder = tempfile::Builder::new().prefix(FOLDER).tempdir().map_err(|e| refused(e.to_string()))?;
        let users: Vec<KeyPair> = (0..=agents).map(|_| KeyPair::new_user()).collect();
        let public: Vec<String> = users.iter().map(KeyPair::public_key).collect();
        let ports = folder.path().join("ports");
        DirBuilder::new().mode(0o700).create(&ports).map_err(|e| refused(e.to_string()))?;
        let config = folder.path().join("nats.conf");
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&config);
        let written =
            file.as_mut().map(|file| file.write_all(configuration(run, &public, &ports).as_bytes()));
        match written {
            Ok(Ok(())) => {}
            Ok(Err(e)) => return Err(refused(e.to_string())),
            Err(e) => return Err(refused(e.to_string())),
        }
        let log = folder.path().join("log");
        // It inherits this thread's CPUs.
        let before = cpus::affinity(0).unwrap_or_default();
        let _ = cpus::set_affinity(0, cpus);
        let child = die_with_parent(own, program)
            .args(["-c".as_ref(), config.as_os_str(), "-l".as_ref(), log.as_os_str()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let _ = cpus::set_affinity(0, &before);
        let child = child.map_err(|e| refused(e.to_string()))?;
        let mut server = Server { child, _folder: folder, url: String::new(), users, cpus: cpus.to_vec() };
        server.url = server.wait_until_it_listens(&ports, &log).map_err(refused)?;
        Ok(server)
    }

    fn wait_until_it_listens(&mut self, ports: &Path, log: &Path) -> Result<String, String> {
        let began = Instant::now();
        while began.elapsed() < START_TIMEOUT {
            if let Some(url) = listening_at(ports) {
                return Ok(url);
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                let said = fs::read_to_string(log).unwrap_or_default();
                let last = said.lines().last().unwrap_or("it printed nothing").to_owned();
                return Err(format!("it ended with {status} ({last})"));
            }
            thread::sleep(LOOK_EVERY);
        }
        Err(format!("it did not listen within {} s", START_TIMEOUT.as_secs()))
    }

    pub fn controller(&self) -> Result<Address, String> {
        Ok(Address {
            url: self.url.clone(),
            login: Login::Nkey(self.seed(0)?),
            authority: None,
            cpus: self.cpus.clone(),
        })
    }

    pub fn agent(&self, agent: u32) -> Result<(String, String), String> {
        Ok((self.url.clone(), self.seed(agent as usize + 1)?))
    }

    fn seed(&self, user: usize) -> Result<String, String> {
        let key = self.users.get(user).ok_or("the run's nats-server has no such user")?;
        key.seed().map_err(|e| format!("a user's key of the run's nats-server cannot be given: {e}"))
    }

    pub fn port(&self) -> u16 {
        self.url.rsplit(':').next().and_then(|port| port.trim_end_matches('/').parse().ok()).unwrap_or(0)
    }

    pub(crate) fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It keeps nothing that an orderly end would save.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Removes the folders of this user's that controllers left which were killed, once they are a day old.
fn remove_old(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_own = |found: &fs::Metadata| found.is_dir() && found.uid() == geteuid().as_raw();
        let is_old =
            |found: &fs::Metadata| found.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age > KEPT));
        if entry.file_name().to_string_lossy().starts_with(FOLDER)
            && entry.metadata().is_ok_and(|found| is_own(&found) && is_old(&found))
        {
            // Of a fleet that has run for a day it is still needed for nothing: the server has read its configuration.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn listening_at(ports: &Path) -> Option<String> {
    let file = fs::read_dir(ports)
        .ok()?
        .flatten()
        .find(|entry| entry.file_name().to_string_lossy().ends_with(".ports"))?;
    let text = fs::read_to_string(file.path()).ok()?;
    let all: serde_json::Value = serde_json::from_str(&text).ok()?;
    let url = all.get("nats")?.get(0)?.as_str()?;
    Some(url.to_owned())
}

/// Each agent may say and hear what is its own, and nothing else.
fn configuration(run: &str, public: &[String], ports: &Path) -> String {
    let (controller, agents) = public.split_first().map_or(("", [].as_slice()), |(c, a)| (c.as_str(), a));
    let mut users = format!(
        "    {{ nkey: {controller}, permissions: {{ publish: \"prony.{run}.down.>\", subscribe: \"prony.{run}.up.>\" }} }}\n"
    );
    for (agent, key) in agents.iter().enumerate() {
        users.push_str(&format!(
            "    {{ nkey: {key}, permissions: {{ publish: \"prony.{run}.up.{agent}\", subscribe: \
             \"prony.{run}.down.{agent}\" }} }}\n"
        ));
    }
    format!(
        "listen: \"127.0.0.1:-1\"\nports_file_dir: \"{}\"\nmax_payload: 1MB\nmax_connections: {}\nauthorization {{\n  users: \
         [\n{users}  ]\n}}\n",
        ports.display(),
        public.len() * CONNECTIONS_EACH
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_may_speak_and_hear_its_own_subject_alone() {
        let public = ["UC", "UA", "UB"].map(str::to_owned);
        let text = configuration("run", &public, Path::new("/p"));
        let second = text.lines().find(|line| line.contains("nkey: UB")).unwrap();
        assert!(
            second.contains("publish: \"prony.run.up.1\"")
                && second.contains("subscribe: \"prony.run.down.1\"")
        );
        assert!(!second.contains('>') && text.contains("listen: \"127.0.0.1:-1\""), "{text}");
    }

    #[test]
    fn an_old_version_and_a_malformed_one_are_refused() {
        for version in ["2.2.0", "2.9.10", "2.12.0-RC.1", "2.11.0-dev", "3.0.0", "10.1.2"] {
            assert_eq!(judge("It", version), Ok(()), "{version}");
        }
        for version in ["2.1.9", "1.4.1", "2.2", "", "dev", "2.x.1", "-2.9.1"] {
            let refused = judge("It", version).unwrap_err();
            assert!(refused.starts_with("It is of version \"") && refused.ends_with('.'), "{refused}");
        }
    }

    #[test]
    fn names_are_long_and_differ() {
        let (one, two) = (random_name().unwrap(), random_name().unwrap());
        assert!(one.len() == 32 && one != two);
    }
}
