//! A fleet of containers, a nats-server and agents beside it, all in one network that reaches nothing else.

use std::process::{Command, Output};
use std::time::Duration;

use super::Dist;
use super::trial::{REQUESTS, completed, image_name};
use crate::engine::{Engine, LIMITS};
use crate::files;
use crate::programs::{text, wait_for};

/// What is waited for comes however slow the machine is; a fault does not.
const WATCHDOG: Duration = Duration::from_secs(120);
const SERVER: &str = "127.0.0.1:8080";

/// Containers that are removed with it, the last first.
struct Containers<'a> {
    engine: &'a Engine,
    ids: Vec<String>,
}

impl Containers<'_> {
    fn start(&mut self, line: &[&str], ready: &str) -> Result<String, String> {
        let id = self.engine.command("podman", &[&["run", "--detach"], &LIMITS[..], line].concat())?;
        let id = id.trim().to_owned();
        self.ids.push(id.clone());
        wait_for(WATCHDOG, || {
            let logs = self.engine.in_world(Command::new("podman").args(["logs", &id])).output();
            let Output { stdout, stderr, .. } = logs.map_err(|e| format!("podman: {e}"))?;
            let logs = String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned();
            Ok((!logs.contains(ready)).then(|| format!("{line:?} has not said {ready:?}: {logs}")))
        })?;
        Ok(id)
    }
}

impl Drop for Containers<'_> {
    fn drop(&mut self) {
        for id in self.ids.iter().rev() {
            // One that is gone already is as good.
            let _ = self.engine.command("podman", &["rm", "--force", "--time", "0", id]);
        }
    }
}

/// Two agents and their controller, each in a container, carry so many requests over a nats-server in one of `base`.
pub(super) fn works(dist: &Dist, engine: &Engine, base: &str, nats: &str) -> Result<(), String> {
    let image = &*image_name();
    let keys = dist.work.join("keys");
    files::anew(&keys)?;
    text(Command::new(dist.prony()).args(["fleet", "key"]).arg(&keys))?;
    let nats = format!("--volume={nats}:/usr/bin/nats-server:ro");
    let keys = format!("--volume={}:/keys:ro", keys.display());
    let mut containers = Containers { engine, ids: Vec::new() };
    let line = ["--network=none", &nats, base, "nats-server", "--addr", "127.0.0.1"];
    let network = format!("--network=container:{}", containers.start(&line, "Server is ready")?);
    containers.start(&[&network, image, "target", "--port", "8080"], SERVER)?;
    let pool = "nats://127.0.0.1:4222";
    // The keys are this user's, which a container's root is.
    let ours = [network.as_str(), "--user=0:0", &keys, image];
    for name in ["one", "other"] {
        let agent = ["agent", "--pool", pool, "--key", "/keys/agent.key", "--allow", SERVER, "--name", name];
        containers.start(&[&ours[..], &agent].concat(), "waits in the pool")?;
    }
    let (requests, url) = (REQUESTS.to_string(), format!("http://{SERVER}/"));
    let load = ["load", "--fleet", pool, "--agents", "2", "--fleet-key", "/keys/controller.key", "-c", "2"];
    let load = [&load[..], &["-n", &requests, "-q", "--json", "-", &url]].concat();
    completed(&engine.command("podman", &[&["run", "--rm"], &LIMITS[..], &ours, &load].concat())?)
}
