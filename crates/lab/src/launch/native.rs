//! From a candidate to processes: variables replaced, templates rendered.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use prony_model::secret::redacted_command;
use rustix::process::geteuid;

use super::spec::{LaunchContext, LaunchSpec, ProcessSpec};
use super::{certificate, container};
use crate::candidate::{Candidate, Layout};
use crate::catalogue::{Piece, Server, Values, pieces};
use crate::programs::{environment, find_command};

/// How long a user's own command may take to answer: it may compile something first.
const COMMAND_READY_TIMEOUT: Duration = Duration::from_secs(30);
/// By what variable a shell is given a command with a secret, and what it does with it.
const COMMAND: &str = "PRONY_COMMAND";
const COMMAND_FROM_ENVIRONMENT: &str =
    "prony_command=$PRONY_COMMAND; unset PRONY_COMMAND; eval \"$prony_command\"";

impl Candidate {
    /// Its processes, ready to be started: copies the recipe's folder if changed, renders templates into the run's.
    pub(crate) fn launch(&self, layout: &Layout, context: &LaunchContext) -> Result<LaunchSpec, String> {
        match (self.server(), self.engine()) {
            (Some(server), _) => of_recipe(self, server, layout, context),
            (None, Some(engine)) => {
                container::launch(self, engine, layout, context, &values(self, layout, context))
            }
            (None, None) if self.as_url().is_some() => {
                Err(format!("{self} is a URL: it is loaded where it runs, not started."))
            }
            (None, None) => Ok(of_command(self, context)),
        }
    }

    /// Whether a certificate is to be made for each of its starts: it speaks TLS, and takes `{cert}` for it.
    pub(crate) fn takes_certificate(&self) -> bool {
        self.tls() && self.command_line().is_none_or(|command| pieces(command).contains(&Piece::Name("cert")))
    }

    /// The Unix socket that it listens on in this start; `None`: it listens on the port.
    pub(crate) fn socket(&self, context: &LaunchContext) -> Option<PathBuf> {
        self.unix().map(|path| PathBuf::from(of_context(context).replace(path)))
    }
}

pub(super) fn not_rendered(candidate: &Candidate, path: &Path) -> impl Fn(io::Error) -> String {
    let template = format!("{candidate} cannot be started: the template {}", path.display());
    move |why| format!("{template} cannot be rendered: {why}.")
}

fn of_command(candidate: &Candidate, context: &LaunchContext) -> LaunchSpec {
    let command = of_context(context).replace(candidate.command_line().unwrap_or_default());
    // Everybody on this machine can read a process' arguments: a secret goes by the environment, which only its user can.
    let (script, mut env) = if redacted_command(&command) == command {
        (command, Vec::new())
    } else {
        (COMMAND_FROM_ENVIRONMENT.to_owned(), vec![(COMMAND.to_owned(), command)])
    };
    env.extend(context.env());
    LaunchSpec {
        label: candidate.label().to_owned(),
        processes: vec![ProcessSpec {
            argv: vec!["/bin/sh".to_owned(), "-c".to_owned(), script],
            wait_for: None,
            ends: false,
        }],
        cwd: current_folder(),
        env,
        inherits_all_but: Some(context.hidden.clone()),
        run_dir: context.run_dir.clone(),
        cpus: Vec::new(),
        ready_timeout: COMMAND_READY_TIMEOUT,
        container: None,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    Serves,
    Probes,
    Resets,
}

impl Work {
    /// The shell's script around the file of the command, `$0`; what has succeeded makes the file `$1`.
    fn script(self) -> &'static str {
        match self {
            Work::Serves => r#"exec /bin/sh "$0""#,
            Work::Probes => r#"until /bin/sh "$0"; do sleep 0.02; done; : >"$1""#,
            Work::Resets => r#"/bin/sh "$0" && : >"$1""#,
        }
    }
}

pub(crate) fn done(run_dir: &Path) -> PathBuf {
    run_dir.join("done")
}

/// Commands that run beside candidates, ready to be started: those of a recipe's service in the folder and with the
/// environment of its server, others in the current folder with Prony's own.
pub(crate) fn beside(
    label: &str,
    commands: &[(Work, &str)],
    of: Option<(&Candidate, &Layout)>,
    context: &LaunchContext,
    ready_timeout: Duration,
) -> Result<LaunchSpec, String> {
    let of = of.map(|(candidate, layout)| (candidate.natively(), layout));
    let (mut cwd, mut env_of, mut hidden) = (current_folder(), Vec::new(), Some(context.hidden.clone()));
    let mut known = of_context(context);
    if let Some((candidate, layout)) = &of
        && let Some(server) = candidate.server()
    {
        cwd = layout.work(&server.name);
        server.materialise(&cwd)?;
        known = values(candidate, layout, context);
        (env_of, hidden) = (env(candidate, &context.run_dir, &known), None);
    }
    env_of.extend(context.env());
    let prony = std::env::current_exe().map_err(|why| format!("Prony's own program is not found: {why}."))?;
    known.set("prony", prony.to_string_lossy());
    let run = &context.run_dir;
    let process = |(at, (work, command)): (usize, &(Work, &str))| {
        // Not as an argument, which everybody on this machine can read.
        let file = run.join(format!("{at}.sh"));
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file);
        let written = made.and_then(|mut made| made.write_all(known.replace(command).as_bytes()));
        written.map_err(|why| format!("{} cannot be written: {why}.", file.display()))?;
        let paths = [file, done(run)].map(|path| path.to_string_lossy().into_owned());
        let argv = ["/bin/sh", "-c", work.script()].map(str::to_owned).into_iter().chain(paths).collect();
        Ok(ProcessSpec { argv, wait_for: None, ends: *work != Work::Serves })
    };
    Ok(LaunchSpec {
        label: label.to_owned(),
        processes: commands.iter().enumerate().map(process).collect::<Result<_, String>>()?,
        cwd,
        env: env_of,
        inherits_all_but: hidden,
        run_dir: run.clone(),
        cpus: Vec::new(),
        ready_timeout,
        container: None,
    })
}

fn current_folder() -> PathBuf {
    std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"))
}

fn of_recipe(
    candidate: &Candidate,
    server: &Server,
    layout: &Layout,
    context: &LaunchContext,
) -> Result<LaunchSpec, String> {
    let work = match candidate.engine() {
        Some(_) => layout.context(&server.name),
        None => layout.work(&server.name),
    };
    server.materialise(&work).map_err(|why| format!("{candidate} cannot be started: {why}"))?;
    let values = values(candidate, layout, context);
    for name in &server.recipe.start.templates {
        let (from, to) = (work.join(name), context.run_dir.join(name));
        let text = fs::read_to_string(&from).map_err(not_rendered(candidate, &from))?;
        fs::write(&to, values.replace(&text)).map_err(not_rendered(candidate, &to))?;
    }
    if let Some(engine) = candidate.engine() {
        return container::launch(candidate, engine, layout, context, &values);
    }
    let mut processes: Vec<ProcessSpec> = server
        .recipe
        .helpers
        .iter()
        .map(|helper| ProcessSpec {
            argv: argv(&values, &helper.command),
            wait_for: helper.wait_for.as_deref().map(|path| work.join(values.replace(path))),
            ends: false,
        })
        .collect();
    processes.push(ProcessSpec {
        argv: argv(&values, &server.recipe.start.command),
        wait_for: None,
        ends: false,
    });
    let mut env = env(candidate, &context.run_dir, &values);
    env.extend(context.env_of_server(candidate.routes()));
    Ok(LaunchSpec {
        label: candidate.label().to_owned(),
        processes,
        cwd: work,
        env,
        inherits_all_but: None,
        run_dir: context.run_dir.clone(),
        cpus: Vec::new(),
        ready_timeout: server.recipe.start.ready_timeout(),
        container: None,
    })
}

/// The whole environment of a recipe's processes: what every server may see, a home that is not the user's, what the
/// recipe asks for by name, and over it what the recipe and then each setting sets.
pub(super) fn env(candidate: &Candidate, home: &Path, values: &Values) -> Vec<(String, String)> {
    let mut env = environment::of_servers();
    env.insert("HOME".to_owned(), home.to_string_lossy().into_owned());
    let inherited = candidate.server().into_iter().flat_map(|server| &server.recipe.start.inherit);
    env.extend(inherited.filter_map(|name| Some((name.clone(), std::env::var(name).ok()?))));
    env.extend(candidate.env().into_iter().map(|(name, value)| (name, values.replace(&value))));
    env.into_iter().collect()
}

/// Programs with their whole path: users without rights often have no sbin in theirs, where servers are.
pub(super) fn argv(values: &Values, command: &[String]) -> Vec<String> {
    let mut argv = values.argv(command);
    if let Some(program) = argv.first_mut()
        && let Some(path) = find_command(program)
    {
        *program = path.to_string_lossy().into_owned();
    }
    argv
}

pub(super) fn values(candidate: &Candidate, layout: &Layout, context: &LaunchContext) -> Values {
    let mut built_in = of_context(context);
    if let Some(server) = candidate.server() {
        built_in.set("work", layout.work(&server.name).to_string_lossy());
        built_in.set("ext", layout.ext(&server.name).to_string_lossy());
        built_in.set("opt", layout.opt(&server.name).to_string_lossy());
    }
    built_in.set("venv", candidate.venv(layout).to_string_lossy());
    let (user, unprivileged) = users();
    built_in.set("user", user);
    built_in.set("unprivileged_user", unprivileged);
    if candidate.engine().is_some() {
        container::values(&mut built_in);
    }
    let mut values = built_in.clone();
    let defaults = candidate.server().into_iter().flat_map(|server| &server.recipe.vars);
    for (name, value) in defaults.chain(candidate.chosen_values().flat_map(|value| &value.vars)) {
        values.set_var(name, value, &built_in);
    }
    values
}

impl LaunchContext {
    pub(crate) fn replace(&self, text: &str) -> String {
        of_context(self).replace(text)
    }
}

pub(super) fn of_context(context: &LaunchContext) -> Values {
    let mut values = Values::default();
    values.set("host", context.address.ip().to_string());
    values.set("port", context.address.port().to_string());
    values.set("workers", context.workers.to_string());
    values.set("run", context.run_dir.to_string_lossy());
    values.set("cert", context.run_dir.join(certificate::CERTIFICATE).to_string_lossy());
    values.set("key", context.run_dir.join(certificate::KEY).to_string_lossy());
    for (service, port) in &context.services {
        values.set(&format!("{service}_port"), port.to_string());
    }
    values
}

fn users() -> (String, String) {
    let uid = geteuid().as_raw();
    let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
    users_of(uid, &passwd)
}

fn users_of(uid: u32, passwd: &str) -> (String, String) {
    let entries = || passwd.lines().map(|line| line.split(':').collect::<Vec<_>>()).filter(|e| e.len() > 2);
    // A container's user may have a number only.
    let user =
        entries().find(|e| e[2] == uid.to_string()).map_or_else(|| uid.to_string(), |e| e[0].to_owned());
    if uid != 0 {
        return (user.clone(), user);
    }
    let has = |name: &str| entries().any(|e| e[0] == name);
    let unprivileged = if has("www-data") { "www-data" } else { "nobody" };
    (user, unprivileged.to_owned())
}

#[cfg(test)]
mod tests {
    use super::users_of;

    #[test]
    fn the_unprivileged_user_is_another_only_for_root() {
        let passwd = "root:x:0:0::/root:/bin/sh\nwww-data:x:33:33::/:/x\nann:x:1000:1000::/h/ann:/bin/sh\n";
        assert_eq!(users_of(0, passwd), ("root".into(), "www-data".into()));
        assert_eq!(users_of(1000, passwd), ("ann".into(), "ann".into()));
        assert_eq!(users_of(77, passwd), ("77".into(), "77".into()));
        assert_eq!(users_of(0, "root:x:0:0::/root:/bin/sh\n"), ("root".into(), "nobody".into()));
    }
}
