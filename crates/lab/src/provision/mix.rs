//! Elixir applications, by mix.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use super::local_sources::{DEPENDENCIES, stand_in};
use super::tool::{Origin, Site};
use crate::programs::find_command;

pub(super) const LOCK: &str = "mix.lock";

/// Fetches and compiles what `work`'s mix.lock or else its mix.exs names, for production.
pub(super) fn run(work: &Path, site: &Site<'_>) -> Result<Origin, String> {
    let local = stand_in(DEPENDENCIES).is_some();
    let mut env = vec![("MIX_ENV".to_owned(), "prod".to_owned())];
    // Erlang's dependencies are built by rebar3; Debian's need not be fetched.
    if env::var_os("MIX_REBAR3").is_none()
        && let Some(rebar3) = find_command("rebar3")
    {
        env.push(("MIX_REBAR3".to_owned(), rebar3.to_string_lossy().into_owned()));
    }
    let mut commands: Vec<&[&str]> = Vec::new();
    if !local {
        commands.push(&["local.hex", "--force", "--if-missing"]);
        if !env.iter().any(|(name, _)| name == "MIX_REBAR3") {
            commands.push(&["local.rebar", "--force", "--if-missing"]);
        }
    }
    commands.push(&["deps.get", "--only", "prod"]);
    commands.push(&["compile"]);
    let locked = locks(work);
    for command in commands {
        let mut mix = site.tool("mix", command, work)?;
        mix.env.extend(env.iter().cloned());
        mix.run().map_err(|why| {
            if local {
                why
            } else {
                format!("{why}\nWhere hex.pm cannot be reached, {DEPENDENCIES}=DIR names a folder with the dependencies.")
            }
        })?;
        if !local
            && let Some(lock) = locked.iter().find(|(path, text)| fs::read(path).ok().as_ref() != Some(text))
        {
            return Err(changed(command, &lock.0));
        }
    }
    Ok(if local { Origin::Local } else { Origin::Registry })
}

fn locks(work: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let below = fs::read_dir(work).into_iter().flatten().flatten().map(|entry| entry.path());
    let paths = below.chain([work.to_owned()]).map(|dir| dir.join(LOCK));
    paths.filter_map(|path| fs::read(&path).ok().map(|text| (path, text))).collect()
}

/// mix takes what a lock lacks, and writes it down there.
fn changed(command: &[&str], lock: &Path) -> String {
    format!(
        "`mix {}` changed {}, which did not name all that mix.exs needs: complete it.",
        command.join(" "),
        lock.display()
    )
}
