//! `prony servers start`: a candidate that runs until its user ends it, and the same as a script.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use prony_host::state;
use prony_model::command::shell_word;

use super::inspect::{Alone, alone};
use super::running_server::RunningServer;
use super::start::ServerSide;
use crate::candidate::{Candidate, Layout};
use crate::catalogue::Recipe;
use crate::launch::LaunchContext;
use crate::provision;
use crate::supervise::Supervision;

const LOG: &str = "start.log";
/// The folder that `--print` has a server run in.
const RUN: &str = "run";

pub struct Serving {
    up: Alone,
    pub url: String,
    pub commands: Vec<Vec<String>>,
    pub log: PathBuf,
    kept: PathBuf,
}

impl Serving {
    /// Starts a candidate with so many workers, and waits until it gives the right answer.
    pub fn start(
        candidate: &Candidate,
        layout: &Layout,
        workers: u32,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Serving, String> {
        is_installed(candidate, layout)?;
        let supervision = Supervision::new(&state::folder()?, &[], None);
        let side = ServerSide::Here(layout, &supervision);
        let up = alone(candidate, side, candidate.workers(workers), &[], cancelled)?;
        let (commands, log) = match &up.running {
            RunningServer::Here(own) => (own.commands.clone(), own.log()),
            RunningServer::There(_) => (Vec::new(), PathBuf::new()),
        };
        let kept = folder(candidate, layout).join(LOG);
        let url = up.endpoint.target.display_url();
        Ok(Serving { up, url, commands, log, kept })
    }

    pub fn died(&mut self, candidate: &Candidate) -> Option<String> {
        self.up.running.died().map(|death| death.said(candidate.label()))
    }

    pub fn stop(mut self) -> (Result<PathBuf, String>, Vec<String>) {
        let copied = fs::copy(&self.log, &self.kept);
        let kept = copied.map(|_| self.kept.clone());
        let kept = kept.map_err(|why| format!("Its log cannot be kept in {}: {why}.", self.kept.display()));
        (kept, self.up.running.stop().leftovers)
    }
}

fn is_installed(candidate: &Candidate, layout: &Layout) -> Result<(), String> {
    match provision::missing(candidate, layout).into_iter().next() {
        Some(missing) => {
            Err(format!("{candidate} is not installed, {} is missing: {}", missing.what, missing.mend))
        }
        None => Ok(()),
    }
}

fn folder(candidate: &Candidate, layout: &Layout) -> PathBuf {
    layout.server_dir(candidate.server().map_or(candidate.label(), |server| &server.name))
}

/// A script that starts a candidate on this port without Prony: its files, its processes in order, the last in the
/// foreground.
pub fn script(candidate: &Candidate, layout: &Layout, port: u16, workers: u32) -> Result<String, String> {
    is_installed(candidate, layout)?;
    if candidate.recipe().is_some_and(Recipe::has_services) || candidate.takes_certificate() {
        return Err(format!(
            "{candidate} takes services or a certificate, which Prony makes: start it by prony servers start."
        ));
    }
    let run_dir = folder(candidate, layout).join(RUN);
    let failed = |why: std::io::Error| format!("{} cannot be written: {why}.", run_dir.display());
    let _ = fs::remove_dir_all(&run_dir); // of an earlier script
    fs::create_dir_all(&run_dir).map_err(failed)?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let workers = candidate.workers(workers);
    let context = LaunchContext {
        address,
        workers,
        run_dir: run_dir.clone(),
        services: Vec::new(),
        hidden: Vec::new(),
    };
    let spec = candidate.launch(layout, &context)?;
    let word = |path: &Path| shell_word(&path.to_string_lossy());
    let mut text = format!(
        "#!/bin/sh\n# {candidate} on http://127.0.0.1:{port}/, as Prony starts it; its files are in {}.\nset -e\ncd {}\n",
        run_dir.display(),
        word(&spec.cwd)
    );
    let inherits = if spec.inherits_all_but.is_some() { "env" } else { "env -i" };
    // What it inherits may be secret: the script takes it from its own environment.
    let inherited = candidate.recipe().map_or(&[][..], |recipe| &recipe.start.inherit);
    let set = spec.env.iter().map(|(name, value)| match inherited.contains(name) {
        true => format!("{name}=\"${name}\""),
        false => shell_word(&format!("{name}={value}")),
    });
    let env = [inherits.to_owned()].into_iter().chain(set).collect::<Vec<_>>().join(" ");
    for (at, process) in spec.processes.iter().enumerate() {
        let command = process.argv.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ");
        if at + 1 == spec.processes.len() {
            text.push_str(&format!("{env} {command}\n"));
            break;
        }
        // One of them may be in a process group of its own, as php-fpm's master is.
        text.push_str(&format!("{env} {command} &\nstarted=\"$started $!\"\n"));
        if let Some(path) = &process.wait_for {
            text.push_str(&format!("until [ -e {} ]; do sleep 0.05; done\n", word(path)));
        }
    }
    if spec.processes.len() > 1 {
        let ends = "set -e\ntrap 'trap \"\" TERM; kill $started 2>/dev/null; kill 0' EXIT INT TERM\n";
        text = text.replacen("set -e\n", ends, 1);
    }
    Ok(text)
}
