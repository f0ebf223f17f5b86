//! Elixir applications, by mix.

use std::env;
use std::fs;
use std::path::Path;

use super::tool::{Origin, stand_in, tool};
use crate::candidate::Layout;
use crate::programs::{Run, find_command};

/// Names a folder with a folder for each dependency. mix.exs reads it, and names them by `path:`.
pub(super) const DEPENDENCIES: &str = "PRONY_MIX_DEPS";

/// Fetches and compiles what `work`'s mix.exs names, for production.
pub(super) fn run(work: &Path, layout: &Layout, log: &Path) -> Result<Origin, String> {
    let local = stand_in(DEPENDENCIES).is_some();
    let mut env = vec![("MIX_ENV".to_owned(), "prod".to_owned())];
    // Somebody's own homes have their Hex and their mirrors.
    for (name, folder) in [("MIX_HOME", "mix"), ("HEX_HOME", "hex")] {
        if env::var_os(name).is_none() {
            let home = layout.root().join(folder);
            fs::create_dir_all(&home).map_err(|e| format!("{} cannot be made: {e}.", home.display()))?;
            env.push((name.to_owned(), home.to_string_lossy().into_owned()));
        }
    }
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
    for command in commands {
        let done = Run { env: env.clone(), ..tool("mix", command, work, log)? }.run();
        done.map_err(|why| {
            if local {
                why
            } else {
                format!("{why}\nWhere hex.pm cannot be reached, {DEPENDENCIES}=DIR names a folder with the dependencies.")
            }
        })?;
    }
    Ok(if local { Origin::Local } else { Origin::Registry })
}
