//! From a candidate to one container: its processes in a script, and the engine's command line.

use std::fs;
use std::path::Path;
use std::time::Duration;

use prony_model::command::shell_word;
use prony_model::secret::{is_secret_by_custom, redacted};
use rustix::process::geteuid;

use super::native::not_rendered;
use super::spec::{ContainerSpec, LaunchContext, LaunchSpec, NAME_PREFIX, ProcessSpec, is_plain};
use crate::candidate::{Candidate, Layout};
use crate::catalogue::{CAPABILITIES, Values};
use crate::container::{Engine, LABEL, limits, removal};
use crate::programs::{Captured, capture};

const WORK: &str = "/app";
const VENV: &str = "/venv";
const EXT: &str = "/ext";
const OPT: &str = "/opt/prony";
const SCRIPT: &str = "prony-start.sh";
/// What an engine with a service writes the id of a container into, once that is made.
const MADE: &str = "container-id";
/// Processes and threads that a container may have for each worker, and as many again: Apache has a thousand threads a worker.
const PIDS_PER_WORKER: u64 = 2048;
/// A container takes a second to start on a busy machine.
const VERSION_TIMEOUT: Duration = Duration::from_secs(20);

pub(super) fn values(built_in: &mut Values) {
    for (name, value) in [("work", WORK), ("venv", VENV), ("ext", EXT), ("opt", OPT)] {
        built_in.set(name, value);
    }
    // A container's first user is root, though that is nobody outside where the engine has no rights either.
    built_in.set("user", "root");
    built_in.set("unprivileged_user", "www-data");
}

pub(super) fn launch(
    candidate: &Candidate,
    engine: &Engine,
    layout: &Layout,
    context: &LaunchContext,
    values: &Values,
) -> Result<LaunchSpec, String> {
    let (Some(recipe), Some(image)) = (candidate.recipe(), candidate.run_image()) else {
        return Err(format!(
            "{candidate} has no image: put a Dockerfile beside its server.toml, or name an image there."
        ));
    };
    let name = container_name(&context.run_dir);
    let (server, start) =
        (candidate.server().map_or(candidate.label(), |server| &server.name), &recipe.start);
    let run = context.run_dir.to_string_lossy().into_owned();
    let mut argv =
        engine.argv(&["run", "--rm", "--pull", "never", "--network", "host", "--log-driver", "none"]);
    let mut add = |arguments: &[&str]| argv.extend(arguments.iter().map(ToString::to_string));
    let made = engine.has_service().then(|| context.run_dir.join(MADE));
    if let Some(made) = &made {
        add(&["--cidfile", &made.to_string_lossy()]);
    }
    add(&["--name", &name, "--label", LABEL, "--label", &format!("org.prony.server={server}")]);
    add(&["--security-opt", "label=disable", "--volume", &format!("{run}:{run}")]);
    add(&confined(candidate, engine, context.workers).iter().map(String::as_str).collect::<Vec<_>>());
    if let Some(memory) = &engine.memory {
        add(&["--memory", memory]);
    }
    let given = candidate.env().into_iter().map(|(key, value)| (key, values.replace(&value)));
    let given = given.chain(context.env_of_server(candidate.routes()));
    let (env, secret): (Vec<_>, Vec<_>) = given.partition(|(key, value)| !is_secret(key, value));
    env.iter().for_each(|(key, value)| add(&["--env", &format!("{key}={value}")]));
    secret.iter().for_each(|(key, _)| add(&["--env", key]));
    // Without a value: the client's own, if it has one.
    for name in &start.inherit {
        add(&["--env", name]);
    }
    if !start.command.is_empty() {
        let work = layout.context(server);
        let script = context.run_dir.join(SCRIPT);
        fs::write(&script, script_of(candidate, values)).map_err(not_rendered(candidate, &script))?;
        if !image.built {
            add(&["--volume", &format!("{}:{WORK}:ro", work.display())]);
        }
        add(&["--workdir", WORK, "--entrypoint", "/bin/sh", &image.reference, &script.to_string_lossy()]);
    } else {
        add(&[&image.reference]);
        add(&values.argv(&start.args).iter().map(String::as_str).collect::<Vec<_>>());
    }
    Ok(LaunchSpec {
        label: candidate.label().to_owned(),
        processes: vec![ProcessSpec { argv, wait_for: None, ends: false }],
        cwd: context.run_dir.clone(),
        env: secret,
        inherits_all_but: Some(
            context.hidden.iter().filter(|name| !start.inherit.contains(name)).cloned().collect(),
        ),
        run_dir: context.run_dir.clone(),
        cpus: Vec::new(),
        ready_timeout: start.ready_timeout(),
        container: Some(ContainerSpec { engine: engine.program.clone(), name, made }),
    })
}

/// Whether a variable goes by the engine's own environment: everybody on this machine can read its arguments.
fn is_secret(key: &str, value: &str) -> bool {
    is_secret_by_custom(key) || redacted(value) != value
}

pub(super) fn ask_version(candidate: &Candidate, engine: &Engine, values: &Values) -> Option<Captured> {
    let command = values.argv(&candidate.server()?.recipe.version.as_ref()?.command);
    let image = candidate.run_image()?;
    let (program, arguments) = command.split_first()?;
    let name = format!("prony-version-{}", std::process::id());
    let mut argv = engine.argv(&["run", "--rm", "--pull", "never", "--network", "none", "--name", &name]);
    argv.extend(["--label", LABEL, "--workdir", WORK, "--entrypoint", program].map(str::to_owned));
    argv.extend(confined(candidate, engine, 1));
    argv.push(image.reference);
    argv.extend(arguments.iter().cloned());
    let said = capture(&argv, Path::new("/"), &[], VERSION_TIMEOUT);
    if said.is_none() {
        let _ = capture(&removal(&engine.program, &name), Path::new("/"), &[], VERSION_TIMEOUT);
    }
    said
}

/// The options that keep a container small: root without rights but those that its recipe names, no way to more of them,
/// nothing of its client's environment, and bounds on processes and open files.
fn confined(candidate: &Candidate, engine: &Engine, workers: u32) -> Vec<String> {
    let recipe = candidate.recipe();
    let said = recipe.and_then(|recipe| recipe.capabilities.as_deref());
    // An image that is all of a recipe starts as its maker meant it, often by giving up root's rights itself.
    let image_alone = recipe.is_some_and(|recipe| recipe.start.command.is_empty());
    let unsaid = if image_alone { CAPABILITIES.map(str::to_owned).to_vec() } else { Vec::new() };
    let mut kept = said.map_or(unsaid, <[String]>::to_vec);
    // The root of a service is not the user who made {run}.
    let may_write = "DAC_OVERRIDE".to_owned();
    if engine.has_service() && !geteuid().is_root() && !kept.contains(&may_write) {
        kept.push(may_write);
    }
    let mut options = vec!["--cap-drop=all".to_owned(), "--security-opt=no-new-privileges".to_owned()];
    if engine.name == "podman" {
        // It would hand on the proxies of the client's environment, and what their URLs hold.
        options.push("--http-proxy=false".to_owned());
    }
    options.extend(kept.iter().map(|capability| format!("--cap-add={capability}")));
    options.push(format!("--pids-limit={}", PIDS_PER_WORKER * (u64::from(workers) + 1)));
    options.extend(limits().iter().map(|limit| format!("--ulimit={limit}")));
    options
}

/// After the run's folder, which nobody else on this machine has.
fn container_name(run_dir: &Path) -> String {
    let name = run_dir.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name.chars().filter(|c| is_plain(*c)).collect();
    if name.starts_with(NAME_PREFIX) { name } else { format!("{NAME_PREFIX}{name}") }
}

/// The shell stays as process 1, since a process 1 without a handler of its own does not heed SIGTERM.
fn script_of(candidate: &Candidate, values: &Values) -> String {
    let mut script =
        "#!/bin/sh\ntrap 'trap \"\" TERM; kill -TERM -1 2>/dev/null; wait; exit 143' TERM INT\n".to_owned();
    let line = |command: &[String]| {
        values.argv(command).iter().map(|argument| shell_word(argument)).collect::<Vec<_>>().join(" ")
    };
    let Some(server) = candidate.server() else { return script };
    for helper in &server.recipe.helpers {
        script.push_str(&format!("{} &\n", line(&helper.command)));
        if let Some(path) = &helper.wait_for {
            let path = shell_word(&values.replace(path));
            script.push_str(&format!("until [ -e {path} ]; do kill -0 $! || exit 70; sleep 0.01; done\n"));
        }
    }
    script.push_str(&format!("{} &\nwait $!\n", line(&server.recipe.start.command)));
    script
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::catalogue::Catalogue;

    /// How a candidate of these recipes is started in podman, where the load asks for two secrets of the environment.
    fn launched(label: &str, catalogue: &Catalogue, folder: &Path) -> LaunchSpec {
        let engine = Engine {
            program: "/usr/bin/podman".into(),
            name: "podman",
            version: "4.3.1".to_owned(),
            memory: Some("512m".to_owned()),
        };
        let candidate = Candidate::parse(label, catalogue).unwrap().in_container(&Arc::new(engine));
        let layout = Layout::new(&folder.join(".prony")).unwrap();
        let run_dir = folder.join("run");
        fs::create_dir_all(&run_dir).unwrap();
        let address = "127.0.0.1:8123".parse().unwrap();
        let hidden = vec!["TOKEN".to_owned(), "OTHER".to_owned()];
        candidate
            .launch(&layout, &LaunchContext { address, workers: 3, run_dir, services: Vec::new(), hidden })
            .unwrap()
    }

    fn kept(spec: &LaunchSpec) -> Vec<&str> {
        spec.processes[0].argv.iter().filter_map(|argument| argument.strip_prefix("--cap-add=")).collect()
    }

    #[test]
    fn a_container_has_only_the_rights_that_its_recipe_names() {
        let dir = tempfile::tempdir().unwrap();
        let catalogue = Catalogue::load(&[]);
        let options =
            ["--cap-drop=all", "--security-opt=no-new-privileges", "--pids-limit=8192", "--http-proxy=false"];
        for (label, capabilities) in [
            ("nginx-fpm", &["SETGID"][..]),
            ("apache-fpm", &["CHOWN", "KILL", "SETGID", "SETUID"][..]),
            ("node-http", &[][..]),
        ] {
            let spec = launched(label, &catalogue, dir.path());
            let argv = &spec.processes[0].argv;
            assert_eq!(argv[..2], ["/usr/bin/podman", "run"]);
            for option in options {
                assert!(argv.iter().any(|argument| argument == option), "{label}: {option} of {argv:?}");
            }
            assert!(argv.windows(2).any(|pair| pair == ["--memory", "512m"]), "{argv:?}");
            assert_eq!(kept(&spec), capabilities, "{label}");
            assert_eq!(spec.inherits_all_but.unwrap(), ["TOKEN", "OTHER"]);
        }
    }

    #[test]
    fn an_own_image_may_give_up_roots_rights_and_gets_variables() {
        let dir = tempfile::tempdir().unwrap();
        for (name, more) in [
            ("alone", "port = 8080\n"),
            ("less", "port = 8080\ncapabilities = []\n"),
            ("told", "[start]\ncommand = [\"sh\", \"{port}\"]\ninherit = [\"TOKEN\"]\n"),
        ] {
            let folder = dir.path().join("own").join(name);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("server.toml"), format!("image = \"me/app:1\"\n{more}")).unwrap();
        }
        let catalogue = Catalogue::load(&[dir.path().join("own")]);
        assert_eq!(kept(&launched("alone", &catalogue, dir.path())), CAPABILITIES);
        assert_eq!(kept(&launched("less", &catalogue, dir.path())), [""; 0]);
        let told = launched("told", &catalogue, dir.path());
        assert_eq!(kept(&told), [""; 0]);
        assert!(told.processes[0].argv.windows(2).any(|pair| pair == ["--env", "TOKEN"]));
        assert_eq!(told.inherits_all_but.unwrap(), ["OTHER"], "the engine's client hands it on");
    }

    #[test]
    fn variables_with_secrets_are_no_arguments() {
        assert!(is_secret("SECRET_KEY_BASE", "a") && is_secret("DATABASE_URL", "postgres://me:s3cret@h"));
        assert!(!is_secret("THREADS", "4") && !is_secret("OWN", "http://h/a?b=c"));
    }

    #[test]
    fn a_container_is_named_after_its_run_folder() {
        assert_eq!(container_name(Path::new("/tmp/prony-12-0")), "prony-12-0");
        assert_eq!(container_name(Path::new("/tmp/x/a b;c")), "prony-abc");
    }
}
