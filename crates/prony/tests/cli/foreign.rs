//! Folders that somebody else prepared: nothing in them is run, believed or followed, and nobody is ended for it.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::process::Command;

use prony_host::process::Identity;
use rustix::process::geteuid;
use serde_json::json;

use crate::signals::program;
use crate::world::{BINARY, Said, World};

/// The user that is nobody else; and another who is not root.
const NOBODY: u32 = 65_534;
const SOMEBODY: u32 = 65_533;

fn set_mode(world: &World, name: &str, mode: u32) {
    fs::set_permissions(world.path(name), Permissions::from_mode(mode)).unwrap();
}

fn give(world: &World, name: &str, user: u32) {
    chown(world.path(name), Some(user), Some(user)).unwrap();
}

/// Only root can make files of other users; whoever is not says so here.
#[expect(clippy::print_stderr, reason = "who reads the test's output learns what was not tested")]
fn is_root() -> bool {
    let root = geteuid().is_root();
    if !root {
        eprintln!("not tested: only root can prepare another user's folder");
    }
    root
}

/// A bench of this binary's target, in one short trial.
fn bench(binary: &str) -> Vec<String> {
    let candidate = format!("a={binary} target --port {{port}} --delay 1ms");
    let flags = ["-n", "40", "-c", "4", "--blocks", "1", "-o", "r.jsonl", "-q"];
    let line = [&["bench", "--candidate", &candidate][..], &flags].concat();
    line.into_iter().map(str::to_owned).collect()
}

fn run(world: &World, line: &[String]) -> Said {
    world.prony(&line.iter().map(String::as_str).collect::<Vec<_>>())
}

/// An entry as an earlier Prony kept it there: a container's removal by a command line, and a process of this boot.
#[test]
fn a_journal_in_the_current_folder_runs_and_ends_nothing() {
    let world = World::new();
    let mut stranger = Command::new("sleep").arg("600").spawn().unwrap();
    let alive = Identity::of(stranger.id()).unwrap();
    let gone = Identity { pid: 4_194_305, start_ticks: 1 };
    let removed = world.path("removed");
    let entry = json!({
        "guard": gone, "owner": gone, "boot_id": prony_host::boot_id(), "label": "x",
        "run_dir": world.path("run"), "cgroup": null, "processes": [alive], "memory_cgroup": null,
        "container": {
            "inspect": ["true"], "remove": ["touch", removed], "made": null,
            "engine": "/usr/bin/touch", "name": removed,
        },
    });
    fs::create_dir_all(world.path(".prony/journal")).unwrap();
    world.write(".prony/journal/4194305.json", &entry.to_string());
    let said = run(&world, &bench(BINARY));
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(!removed.exists(), "a command line out of a file was run");
    assert_eq!(stranger.try_wait().unwrap(), None, "somebody's process was ended");
    assert!(world.path(".prony/journal/4194305.json").exists());
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

#[test]
fn installed_servers_that_others_may_have_written_are_refused() {
    let world = World::new();
    fs::create_dir(world.path(".prony")).unwrap();
    let list: &[&str] = &["servers", "list"];
    let lines = [list, &["servers", "check", "--all"], &["bench", "quickstart", "--dry-run"]];
    let refused = |why: &str| {
        for line in lines {
            let said = world.prony(line);
            assert_eq!(said.code, Some(2), "{line:?}: {said:?}");
            assert!(said.err.contains(why) && said.err.contains("chmod go-w .prony"), "{line:?}: {said:?}");
        }
    };
    set_mode(&world, ".prony", 0o777);
    refused(".prony may be written by other users: what is installed in it would run as you.");
    set_mode(&world, ".prony", 0o755);
    assert_eq!(world.prony(list).code, Some(0));
    if !is_root() {
        return;
    }
    give(&world, ".prony", NOBODY);
    refused(".prony belongs to user 65534, not to user 0: ");
    let by_sudo =
        |user: &str| world.command(list).env("SUDO_UID", user).env("SUDO_GID", user).output().unwrap();
    assert_eq!(Said::from(by_sudo("65534")).code, Some(0), "the folder of who called sudo");
    assert_eq!(Said::from(by_sudo("65533")).code, Some(2));
    // A link of somebody's to a folder of root's, whose choice it is not.
    fs::rename(world.path(".prony"), world.path("own")).unwrap();
    give(&world, "own", 0);
    symlink(world.path("own"), world.path(".prony")).unwrap();
    assert_eq!(world.prony(list).code, Some(0), "root's own link");
    std::os::unix::fs::lchown(world.path(".prony"), Some(NOBODY), Some(NOBODY)).unwrap();
    refused(".prony belongs to user 65534, not to user 0: ");
}

#[test]
fn only_ones_own_server_replaces_a_built_in_and_is_named_once() {
    let world = World::new();
    // A name that the catalogue has already is refused for a copy: somebody brings it.
    assert_eq!(world.prony(&["servers", "new", "mine", "--from", "node-http"]).code, Some(0));
    fs::rename(world.path("prony/servers/mine"), world.path("prony/servers/node-http")).unwrap();
    let said = world.prony(&["servers", "list"]);
    let note = "The server node-http is the one in prony/servers/node-http, not the built-in one.";
    assert!(said.code == Some(0) && said.err.matches(note).count() == 1, "{said:?}");
    // Of several, as in a folder with a clone, there is one line for all.
    assert_eq!(world.prony(&["servers", "new", "other", "--from", "gunicorn"]).code, Some(0));
    fs::rename(world.path("prony/servers/other"), world.path("prony/servers/gunicorn")).unwrap();
    let both = world.prony(&["servers", "list"]).err;
    assert_eq!(both, "2 servers are those in prony/servers, not the built-in ones.\n");
    fs::remove_dir_all(world.path("prony/servers/gunicorn")).unwrap();
    set_mode(&world, "prony/servers", 0o777);
    let said = world.prony(&["servers", "list"]);
    assert!(said.code == Some(0) && !said.err.contains(note), "{said:?}");
    assert!(said.err.contains("prony/servers may be written by other users: "), "{said:?}");
    let said = world.prony(&["servers", "list", "--servers", "prony/servers"]);
    assert!(said.code == Some(0) && said.err.contains(note), "{said:?}");
}

#[test]
fn saved_settings_in_the_current_folder_are_not_put_back() {
    const CORE_PATTERN: &str = "/proc/sys/kernel/core_pattern";
    let world = World::new();
    let before = fs::read_to_string(CORE_PATTERN).unwrap();
    let saved = json!({
        "schema": "prony.doctor-restore/1", "boot_id": prony_host::boot_id(),
        "changed": [{"path": CORE_PATTERN, "was": "|/tmp/evil %p", "set": before.trim()}],
    });
    fs::create_dir(world.path(".prony")).unwrap();
    world.write(".prony/doctor-restore.json", &saved.to_string());
    let said = world.prony(&["doctor", "--restore"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("There is nothing to restore"), "{said:?}");
    assert_eq!(fs::read_to_string(CORE_PATTERN).unwrap(), before);
}

#[test]
fn a_state_folder_that_others_may_use_is_refused_with_advice() {
    let world = World::new();
    let refused = || {
        for line in [vec!["doctor".to_owned(), "--restore".to_owned()], bench(BINARY)] {
            let said = run(&world, &line);
            assert_eq!(said.code, Some(2), "{said:?}");
            let words = ["state, where Prony records", "is not a folder that only user", "PRONY_STATE=DIR"];
            assert!(words.iter().all(|words| said.err.contains(words)), "{said:?}");
        }
        assert!(!world.path("r.jsonl").exists());
    };
    fs::create_dir(world.path("elsewhere")).unwrap();
    set_mode(&world, "elsewhere", 0o700);
    symlink(world.path("elsewhere"), world.path("state")).unwrap();
    refused();
    fs::remove_file(world.path("state")).unwrap();
    fs::create_dir(world.path("state")).unwrap();
    set_mode(&world, "state", 0o777);
    refused();
    set_mode(&world, "state", 0o700);
    if is_root() {
        give(&world, "state", NOBODY);
        refused();
    }
    assert_eq!(fs::read_dir(world.path("elsewhere")).unwrap().count(), 0);
}

/// The other side: another user than root, in a folder of theirs where root and a third one prepared things.
#[test]
fn a_user_follows_no_symlink_that_another_user_prepared() {
    if !is_root() {
        return;
    }
    let world = World::new();
    // Others may not pass where the binary lies. By another process: what this one has open cannot be executed.
    assert!(Command::new("cp").arg(BINARY).arg(world.path("prony")).status().unwrap().success());
    for folder in [".", "temporary"] {
        fs::create_dir_all(world.path(folder)).unwrap();
        give(&world, folder, NOBODY);
    }
    let as_nobody = |line: &[&str]| -> std::io::Result<Said> {
        let mut command = Command::new(world.path("prony"));
        command.args(line).current_dir(world.path(".")).uid(NOBODY).gid(NOBODY);
        command.env("TMPDIR", world.path("temporary")).env("HOME", world.path("."));
        command.env(prony_host::bench_lock::VARIABLE, world.path("turn"));
        command.env_remove(prony_host::state::VARIABLE);
        command.stdin(std::process::Stdio::null());
        Ok(command.output()?.into())
    };
    if let Err(why) = as_nobody(&["--version"]) {
        return eprintln!("not tested: nobody may not run programs in {}: {why}", world.path(".").display());
    }
    let as_nobody = |line: &[&str]| as_nobody(line).unwrap();
    // Root is to be trusted, a third one is not.
    fs::create_dir(world.path(".prony")).unwrap();
    assert_eq!(as_nobody(&["servers", "list"]).code, Some(0));
    give(&world, ".prony", SOMEBODY);
    let said = as_nobody(&["servers", "list"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains(".prony belongs to user 65533, not to user 65534"), "{said:?}");
    fs::remove_dir(world.path(".prony")).unwrap();
    // Somebody took the place of the folder of state in the temporary folder.
    let state = format!("temporary/prony-{NOBODY}");
    fs::create_dir(world.path(&state)).unwrap();
    set_mode(&world, &state, 0o777);
    let said = as_nobody(&["doctor", "--restore"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("is not a folder that only user 65534 may use"), "{said:?}");
    fs::remove_dir(world.path(&state)).unwrap();
    let said = as_nobody(&["doctor", "--restore"]);
    assert!(said.code == Some(2) && said.err.contains("sudo prony doctor --restore"), "{said:?}");
    assert_eq!(fs::metadata(world.path(&state)).unwrap().permissions().mode() & 0o777, 0o700);
    // A lock that they may not open: it is said, and the bench runs.
    world.write("turn", "");
    set_mode(&world, "turn", 0o600);
    let line = bench(&world.path("prony").display().to_string());
    let said = as_nobody(&line.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.err.contains("cannot be locked, so another bench may run"), "{said:?}");
    let left: Vec<_> = fs::read_dir(world.path("temporary")).unwrap().flatten().map(|e| e.path()).collect();
    assert_eq!(left, [world.path(&state)], "run folders are gone");
}

/// The compiler is a script that says who runs it.
#[test]
fn servers_built_as_an_unused_user_belong_to_root_afterwards() {
    if !is_root() {
        return;
    }
    let world = World::new();
    set_mode(&world, ".", 0o755);
    fs::create_dir_all(world.path("recipes/built")).unwrap();
    world.write("recipes/built/go.mod", "module built\n");
    let recipe = "schema = \"prony.server/1\"\ntitle = \"t\"\nlanguage = \"Go\"\nkind = \"runtime\"\n\
        routes = [\"text\"]\nprocesses = \"single\"\nkeepalive = true\n[requires]\ngo = true\n\
        [start]\ncommand = [\"{work}/bin/server\", \"{port}\"]\n";
    world.write("recipes/built/server.toml", recipe);
    let compiler = "#!/bin/sh\nid -u >\"$HOME/uid\"\nwhile [ \"$1\" != -o ]; do shift; done\n\
        mkdir -p \"$(dirname \"$2\")\" && printf '#!/bin/sh\\n' >\"$2\" && chmod 755 \"$2\"\n";
    let path = program(&world, "bin/go", compiler);
    let mut command = world.command(&["servers", "install", "built", "--servers", "recipes", "--yes"]);
    command.env("PATH", path).env_remove("SUDO_UID").env_remove("SUDO_GID");
    let said: Said = command.output().unwrap().into();
    assert_eq!(said.code, Some(0), "{said:?}");
    let builder = world.path(".prony").join("home").join("uid");
    assert_ne!(fs::read_to_string(builder).unwrap().trim(), "0");
    let said = said.out + &said.err;
    assert!(!said.contains("Steps have root's rights"), "{said}");
    let built = world.path(".prony/servers/built/work/bin/server");
    assert_eq!(fs::metadata(built).unwrap().uid(), 0);
}
