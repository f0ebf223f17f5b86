//! Ctrl-C and other signals at any moment end cleanly.

use std::fs;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::Signal;

use crate::lab::Lab;
use crate::metrics;
use crate::world::{
    BINARY, Said, TargetProcess, World, interrupt, processes_naming, send, treats, wait_for_its_handler,
    wait_until,
};

fn start(world: &World, arguments: &[&str]) -> Child {
    world.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn interrupted(child: Child) -> Said {
    interrupt(child.id());
    let said: Said = child.wait_with_output().unwrap().into();
    assert!(!said.err.contains("panicked"), "{said:?}");
    assert_eq!(said.code, Some(130), "{said:?}");
    said
}

/// Not before the handler stands: until then SIGINT ends a program as it ends any other. A hundred requests a second:
/// when the 40th came the window was open, since twenty are due in the warm-up.
#[test]
fn a_load_can_be_interrupted_at_any_moment() {
    let world = World::new();
    for requests in [0, 1, 40] {
        let target = TargetProcess::start(&[]);
        let url = target.url();
        let child =
            start(&world, &["load", &url, "-R", "100", "-d", "600s", "--warmup", "200ms", "--json", "-"]);
        wait_for_its_handler(child.id());
        target.wait_for_requests(requests);
        let said = interrupted(child);
        if said.out.is_empty() {
            assert!(requests < 40 && said.err.contains("nothing was measured"), "{said:?}");
        } else {
            let json: serde_json::Value = serde_json::from_str(&said.out).unwrap();
            assert_eq!(json["interrupted"], true);
            assert!(json["window"]["duration_ns"].as_u64().unwrap() < 600_000_000_000);
        }
    }
}

/// The processes that this one has started, and what they are.
fn children(parent: u32) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter_map(|entry| {
            let status = fs::read_to_string(entry.path().join("status")).ok()?;
            let of =
                status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse::<u32>().ok()?;
            (of == parent).then(|| entry.path().display().to_string())
        })
        .collect()
}

#[test]
fn the_embedded_target_ends_with_its_load() {
    let world = World::new();
    let mut child = start(&world, &["load", "-R", "100", "-d", "600s", "--warmup", "0", "--metrics", ":0"]);
    let (address, rest) = metrics::address_of(&mut child);
    metrics::wait_for_completed(&address);
    let targets = children(child.id());
    assert_eq!(targets.len(), 1, "{targets:?}");
    let said = interrupted(child);
    drop(rest);
    assert!(said.out.contains("INTERRUPTED"), "{}", said.out);
    wait_until("the embedded target is gone", || !std::path::Path::new(&targets[0]).exists());
}

/// SIGTERM and a terminal that hangs up are as Ctrl-C is; SIGQUIT ends Prony at once, and its guard the server.
#[test]
fn no_signal_leaves_anything_of_a_bench() {
    for signal in [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT] {
        if treats(std::process::id(), "SigIgn", signal) {
            eprintln!("not tested: this test was started so that {signal} is ignored");
            continue;
        }
        let plan = "connections = 4\nduration = \"1h\"\nwarmup = \"0s\"\nrequests = 300\ntimeout = \"10m\"\n";
        let lab = Lab::of(&["one"], "held-1", 1, "", plan);
        let child = lab.start_and_wait_in_mid_load(&[]);
        send(child.id(), signal);
        let said: Said = child.wait_with_output().unwrap().into();
        assert_eq!(said.code, Some(130), "{signal}: {said:?}");
        wait_until("the server is gone", || processes_naming(&lab.mark()).is_empty());
        let said = lab.go_on();
        assert_eq!(said.code, Some(0), "{signal}: {said:?}");
        lab.assert_nothing_left();
    }
}

#[test]
fn a_load_under_nohup_outlives_its_terminal() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    let mut command = Command::new("nohup");
    command.arg(BINARY).args(["load", &target.url(), "-R", "100", "-d", "600s", "--json", "-"]);
    command.current_dir(world.path(".")).env(prony_host::bench_lock::VARIABLE, world.path("turn"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    // All handlers stand by then.
    target.wait_for_requests(1);
    assert!(treats(child.id(), "SigIgn", Signal::SIGHUP));
    send(child.id(), Signal::SIGHUP);
    let came = target.ledger()["requests_received"].as_u64().unwrap();
    target.wait_for_requests(came + 10);
    interrupted(child);
}

/// A script in `folder/name` of the world, and the PATH that finds it first. Written by another process: what a child
/// of another test has open for writing at this moment cannot be executed.
pub fn program(world: &World, name: &str, script: &str) -> String {
    let path = world.path(name);
    let folder = path.parent().unwrap();
    fs::create_dir_all(folder).unwrap();
    let mut written = Command::new("sh");
    written.args(["-c", "printf %s \"$2\" >\"$1\" && chmod 755 \"$1\"", "sh"]).arg(&path).arg(script);
    assert!(written.status().unwrap().success());
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default())
}

/// Of Debian's switch against services: in a mount namespace whose /usr/sbin is a folder of the test, and with an
/// apt-get that goes on when the test lets it.
#[test]
fn after_any_signal_packages_may_start_services_as_before() {
    const RECIPE: &str = "schema = \"prony.server/1\"\ntitle = \"t\"\nlanguage = \"C\"\nkind = \"runtime\"\n\
        routes = [\"text\"]\nprocesses = \"single\"\nkeepalive = true\n\
        [requires]\napt = [\"prony-test-no-such-package\"]\n[start]\ncommand = [\"true\", \"{port}\"]\n";
    let before = "#!/bin/sh\nexit 0\n";
    for (signal, found) in [(Signal::SIGINT, None), (Signal::SIGTERM, Some(before)), (Signal::SIGHUP, None)] {
        let world = World::new();
        fs::create_dir_all(world.path("recipes/packaged")).unwrap();
        world.write("recipes/packaged/server.toml", RECIPE);
        let (switch, asked, gate) = (world.path("sbin/policy-rc.d"), world.path("asked"), world.path("gate"));
        fs::create_dir(world.path("sbin")).unwrap();
        if let Some(script) = found {
            program(&world, "sbin/policy-rc.d", script);
        }
        let apt_get = format!(
            "#!/bin/sh\n[ \"$1\" = install ] || exit 0\ntouch {}\nwhile ! test -e {}; do sleep 0.05; done\nexit 1\n",
            asked.display(),
            gate.display()
        );
        let path = program(&world, "bin/apt-get", &apt_get);
        let mut command = Command::new("unshare");
        command
            .args(["--user", "--map-root-user", "--mount", "sh", "-c"])
            .arg(r#"mount --bind sbin /usr/sbin && exec "$@""#)
            .args(["sh", BINARY, "servers", "install", "packaged", "--servers", "recipes", "--yes"])
            .current_dir(world.path("."))
            .env(prony_host::bench_lock::VARIABLE, world.path("turn"))
            .env(prony_host::state::VARIABLE, world.path("state"))
            .env("PATH", path);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut ended = false;
        wait_until("apt-get is asked to install", || {
            ended = child.try_wait().unwrap().is_some();
            ended || asked.exists()
        });
        if ended {
            let said: Said = child.wait_with_output().unwrap().into();
            let refused = said.err.contains("unshare:") || said.err.contains("mount:");
            assert!(refused, "{said:?}");
            return eprintln!("not tested: this user may have no mount namespace of its own: {}", said.err);
        }
        let during = fs::read_to_string(&switch).unwrap();
        assert!(during.contains("Put here by prony"), "{during}");
        // A second one ends no step of dpkg's either; two of a kind may become one on their way.
        send(child.id(), signal);
        send(child.id(), if signal == Signal::SIGTERM { Signal::SIGINT } else { Signal::SIGTERM });
        fs::write(&gate, "").unwrap();
        let said: Said = child.wait_with_output().unwrap().into();
        assert_eq!(said.code, Some(130), "{said:?}");
        assert_eq!(fs::read_to_string(&switch).ok().as_deref(), found, "{said:?}");
        assert!(!world.path("sbin/policy-rc.d.before-prony").exists());
    }
}

#[test]
fn a_build_that_completes_its_mix_lock_is_refused() {
    let world = World::new();
    fs::create_dir_all(world.path("recipes/mixed")).unwrap();
    world.write("recipes/mixed/mix.exs", "");
    world.write("recipes/mixed/mix.lock", "%{\n}\n");
    let recipe = "schema = \"prony.server/1\"\ntitle = \"t\"\nlanguage = \"Elixir\"\nkind = \"runtime\"\n\
        routes = [\"text\"]\nprocesses = \"single\"\nkeepalive = true\n[requires]\nmix = true\n\
        [start]\ncommand = [\"true\", \"{port}\"]\n";
    world.write("recipes/mixed/server.toml", recipe);
    let path = program(&world, "bin/mix", "#!/bin/sh\n[ \"$1\" != deps.get ] || echo more >>mix.lock\n");
    let mut command = world.command(&["servers", "install", "mixed", "--servers", "recipes", "--yes"]);
    let said: Said = command.env("PATH", path).output().unwrap().into();
    assert_ne!(said.code, Some(0), "{said:?}");
    let said = said.out + &said.err;
    assert!(said.contains("which did not name all that mix.exs needs"), "{said}");
}

/// The compiler is a script that takes its time.
#[test]
fn a_second_signal_ends_an_installations_step_and_its_children() {
    let world = World::new();
    let folder = world.path("recipes/built");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("go.mod"), "module built\n").unwrap();
    let recipe = "schema = \"prony.server/1\"\ntitle = \"t\"\nlanguage = \"Go\"\nkind = \"runtime\"\n\
        routes = [\"text\"]\nprocesses = \"single\"\nkeepalive = true\n[requires]\ngo = true\n\
        [start]\ncommand = [\"{work}/bin/server\", \"{port}\"]\n";
    fs::write(folder.join("server.toml"), recipe).unwrap();
    // In the home of builds: where root runs this, the rest is root's, and the step has another user's rights.
    let started = world.path(".prony").join("home").join("started");
    let compiler =
        format!("#!/bin/sh\nsleep 600 & echo $! >{0}.new\nmv {0}.new {0}\nwait\n", started.display());
    let path = program(&world, "bin/go", &compiler);
    let mut command = world.command(&["servers", "install", "built", "--servers", "recipes", "--yes"]);
    let child = command.env("PATH", path).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the build begins", || started.exists());
    let sleeper = fs::read_to_string(&started).unwrap().trim().to_owned();
    // Two of a kind may become one on their way.
    send(child.id(), Signal::SIGTERM);
    let said = interrupted(child);
    assert!(said.err.contains("Interrupted: run the same command again"), "{said:?}");
    let ended = || {
        let status = fs::read_to_string(format!("/proc/{sleeper}/status")).unwrap_or_default();
        status.lines().all(|line| !line.starts_with("State:") || line.contains("zombie"))
    };
    wait_until("what the step started is gone", ended);
}

#[test]
fn a_child_whose_parent_is_already_gone_starts_nothing() {
    let world = World::new();
    let tied = |parent: u32| world.prony(&["__tied", &parent.to_string(), "echo", "started"]);
    let said = tied(std::process::id());
    assert_eq!((said.code, said.out.trim()), (Some(0), "started"), "{said:?}");
    // Whoever has taken it in by then is another one.
    let said = tied(1);
    assert!(
        said.code == Some(3) && said.out.is_empty() && said.err.contains("its parent has ended"),
        "{said:?}"
    );
}
