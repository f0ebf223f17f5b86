use std::fs;
use std::path::Path;

use super::*;
use crate::launch::LaunchContext;
use crate::programs::environment;

const RECIPE: &str = r#"schema = "prony.server/1"
title = "t"
language = "L"
kind = "runtime"
routes = ["text"]
processes = "workers"
keepalive = true
[requires]
pip = ["a==1"]
[vars]
flags = ["-a", "{port}"]
word = "one"
[start]
command = ["sh", "{flags}", "{word}", "{host}:{port}"]
env = { W = "{workers}" }
inherit = ["CARGO_MANIFEST_DIR", "PRONY_NO_SUCH_VARIABLE"]
templates = ["app.conf"]
[[helper]]
command = ["sh", "{run}"]
wait_for = "{run}/sock"
[version]
command = ["sh", "-c", "echo; echo v 1.2 {word}"]
[axes.opt]
none = {}
jit = { flags = ["-j"], env = { J = "1" } }
on = { flags = [] }
[axes.loop]
native = {}
ev = { word = "ev", requires = { pip = ["ev==2"] } }
on = { keepalive = false, processes = "single", recycles = true }
[axes.close]
no = {}
yes = { keepalive = false }
"#;

fn catalogue(dir: &Path) -> Catalogue {
    let app = dir.join("srv/app");
    fs::create_dir_all(&app).unwrap();
    fs::write(app.join("server.toml"), RECIPE).unwrap();
    fs::write(app.join("app.conf"), "listen {port}; { x } {unknown} {word} ${port}").unwrap();
    Catalogue::load(&[dir.join("srv")])
}

fn context(run_dir: &Path) -> LaunchContext {
    LaunchContext {
        address: "127.0.0.1:8123".parse().unwrap(),
        workers: 3,
        run_dir: run_dir.to_owned(),
        services: vec![("db".to_owned(), 5432)],
        hidden: vec!["TOKEN".to_owned()],
    }
}

#[test]
fn labels_print_what_differs_and_round_trip() {
    let dir = tempfile::tempdir().unwrap();
    let catalogue = catalogue(dir.path());
    for (written, label) in [
        ("app", "app"),
        ("app:none+native", "app"),
        ("app:ev+jit", "app:jit+ev"),
        ("app:loop=ev", "app:ev"),
        ("app:opt=on+loop=on", "app:opt=on+loop=on"),
        (" app : jit + ev ", "app:jit+ev"),
        ("app:close+jit", "app:jit+close"),
        ("app:yes", "app:close"),
        ("app:close=yes", "app:close"),
        ("app:close=no", "app"),
    ] {
        let candidate = Candidate::parse(written, &catalogue).unwrap();
        assert_eq!(candidate.label(), label);
        let again = Candidate::parse(candidate.label(), &catalogue).unwrap();
        assert_eq!(again.settings(), candidate.settings());
    }
}

#[test]
fn an_unknown_label_names_the_nearest() {
    let dir = tempfile::tempdir().unwrap();
    let catalogue = catalogue(dir.path());
    let error = |label: &str| Candidate::parse(label, &catalogue).unwrap_err();
    assert_eq!(
        error("app:jitt"),
        "\"app:jitt\": app has no setting \"jitt\": did you mean \"jit\"? Known: none, jit, opt=on, native, ev, loop=on, no, close."
    );
    assert_eq!(
        error("app:lop=ev"),
        "\"app:lop=ev\": app has no setting \"lop=ev\": did you mean \"loop=ev\"? Known: opt=none, opt=jit, \
         opt=on, loop=native, loop=ev, loop=on, close=no, \
         close=yes."
    );
    assert_eq!(
        error("app:on"),
        "\"app:on\": \"on\" could be a value of several axes: write opt=on or loop=on."
    );
    assert_eq!(
        error("app:jit+none"),
        "\"app:jit+none\" sets the axis \"opt\" twice: keep one of its values."
    );
    assert_eq!(error("app:"), "\"app:\" is not a candidate: write SERVER, or SERVER:SETTING+SETTING.");
    assert!(error("ap").starts_with("There is no server \"ap\" in the catalogue: did you mean \"app\"?"));
}

#[test]
fn settings_change_workers_keepalive_packages_and_environment() {
    let dir = tempfile::tempdir().unwrap();
    let catalogue = catalogue(dir.path());
    let parse = |label: &str| Candidate::parse(label, &catalogue).unwrap();
    let layout = Layout::new(&dir.path().join(".prony")).unwrap();
    let (default, ev, on) = (parse("app"), parse("app:ev"), parse("app:loop=on"));
    assert_eq!((default.keepalive(), default.workers(4)), (Some(true), 4));
    assert_eq!((on.keepalive(), on.workers(4)), (Some(false), 1));
    assert_eq!((default.recycles(), on.recycles()), (false, true));
    assert_eq!(ev.requires().pip, ["a==1", "ev==2"]);
    assert_eq!(default.venv(&layout), layout.server_dir("app").join("venv"));
    assert_eq!(on.venv(&layout), default.venv(&layout));
    assert_ne!(ev.venv(&layout), default.venv(&layout));
    assert_eq!(ev.venv(&layout), parse("app:jit+ev").venv(&layout));
}

#[test]
fn a_launch_has_command_environment_and_templates_filled_in() {
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout::new(&dir.path().join(".prony")).unwrap();
    let run = dir.path().join("run");
    fs::create_dir(&run).unwrap();
    let candidate = Candidate::parse("app:jit", &catalogue(dir.path())).unwrap();
    let spec = candidate.launch(&layout, &context(&run)).unwrap();
    assert_eq!((spec.label.as_str(), &spec.cwd, &spec.run_dir), ("app:jit", &layout.work("app"), &run));
    // What every server may see, what the recipe sets, and what it asks for of the environment of every test process.
    let mut expected = environment::of_servers();
    let folder = env!("CARGO_MANIFEST_DIR");
    let of_recipe = [("CARGO_MANIFEST_DIR", folder), ("HOME", run.to_str().unwrap()), ("J", "1"), ("W", "3")];
    expected.extend(of_recipe.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let service = ("DB_PORT".to_owned(), "5432".to_owned());
    assert_eq!(spec.env, expected.into_iter().chain([service]).collect::<Vec<_>>());
    assert_eq!(spec.inherits_all_but, None);
    let [helper, server] = &spec.processes[..] else { panic!("two processes") };
    assert_eq!(helper.wait_for, Some(run.join("sock")));
    assert!(server.argv[0].ends_with("/sh"), "{:?}", server.argv);
    assert_eq!(server.argv[1..], ["-j", "one", "127.0.0.1:8123"]);
    let rendered = fs::read_to_string(run.join("app.conf")).unwrap();
    assert_eq!(rendered, "listen 8123; { x } {unknown} one ${port}");
    let default = Candidate::parse("app", &catalogue(dir.path())).unwrap();
    let spec = default.launch(&layout, &context(&run)).unwrap();
    assert_eq!(spec.processes[1].argv[1..], ["-a", "8123", "one", "127.0.0.1:8123"]);
}

#[test]
fn the_version_is_the_first_line_that_says_something() {
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout::new(&dir.path().join(".prony")).unwrap();
    let catalogue = catalogue(dir.path());
    let version = |label: &str| Candidate::parse(label, &catalogue).unwrap().version(&layout);
    assert_eq!(version("app:ev").as_deref(), Some("v 1.2 ev"));
    assert_eq!(Candidate::command("mine", "x {port}", Listens::default()).unwrap().version(&layout), None);
}

#[test]
fn commands_and_urls_are_candidates_too() {
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout::new(dir.path()).unwrap();
    let command = Candidate::command("mine", "A=1 ./s '{port}' ${port} | cat", Listens::default()).unwrap();
    let spec = command.launch(&layout, &context(dir.path())).unwrap();
    assert_eq!(spec.processes[0].argv, ["/bin/sh", "-c", "A=1 ./s '8123' ${port} | cat"]);
    assert_eq!(
        spec.inherits_all_but.unwrap(),
        ["TOKEN"],
        "the user's own environment, less what @env: names"
    );
    let secret = "export OWN=redis://me:s3cret@h; printenv OWN PRONY_COMMAND; echo {port}";
    let secret = Candidate::command("mine", secret, Listens::default()).unwrap();
    assert_eq!(secret.title(), "export OWN=redis://[redacted]@h; printenv OWN PRONY_COMMAND; echo {port}");
    let launch = secret.launch(&layout, &context(dir.path())).unwrap();
    let argv = &launch.processes[0].argv;
    assert!(!argv.join(" ").contains("s3cret"), "{argv:?}");
    let said = std::process::Command::new(&argv[0]).args(&argv[1..]).envs(launch.env).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout), "redis://me:s3cret@h\n8123\n");
    assert!(spec.cwd.is_absolute());
    assert_eq!((command.keepalive(), command.workers(0), command.kind()), (None, 1, None));
    let error = |e: Result<Candidate, String>| e.unwrap_err();
    assert!(
        error(Candidate::command("mine", "./s 80", Listens::default()))
            .contains("has no {port}: write {port} where")
    );
    assert!(
        error(Candidate::command("a+b", "./s {port}", Listens::default())).starts_with("\"a+b\" cannot be")
    );

    let url = Candidate::url("theirs", Target::parse("https://u:p@h:81/a?b#c").unwrap()).unwrap();
    assert_eq!((url.expectation().custom[0].request.as_str(), url.tls()), ("GET /a?b", true));
    assert!(url.launch(&layout, &context(dir.path())).is_err());
}

#[test]
fn a_command_may_listen_on_its_own_socket_and_speak_tls() {
    let dir = tempfile::tempdir().unwrap();
    let listens = Listens { tls: true, unix: Some("{run}/{port}.sock".to_owned()), port: None };
    let command = Candidate::command("mine", "./s {run}/8123.sock", listens).unwrap();
    assert_eq!(command.socket(&context(dir.path())), Some(dir.path().join("8123.sock")));
    assert_eq!(command.settings(), [("tls", "on".into()), ("unix", "{run}/{port}.sock".into())]);
    // It has a certificate of its own where it does not ask for one.
    assert!(!command.takes_certificate());
    let asking =
        |tls| Candidate::command("a", "./s {port} {cert}", Listens { tls, ..Listens::default() }).unwrap();
    assert!(asking(true).takes_certificate() && !asking(false).takes_certificate());
}

/// How many processes or threads of PHP the catalogue's own `label` starts where three workers are asked for: the
/// number that its rendered configuration names.
fn children_of(label: &str, file: &str, key: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout::new(&dir.path().join(".prony")).unwrap();
    let run = dir.path().join("run");
    fs::create_dir(&run).unwrap();
    let candidate = Candidate::parse(label, &Catalogue::load(&[])).unwrap();
    candidate.launch(&layout, &context(&run)).unwrap();
    let text = fs::read_to_string(run.join(file)).unwrap();
    let line = text.lines().map(str::trim).find(|line| line.starts_with(key)).unwrap_or_default();
    line.rsplit(' ').next().unwrap_or_default().to_owned()
}

#[test]
fn php_has_as_many_processes_as_workers_or_as_its_pool_says() {
    for server in ["nginx-fpm", "apache-fpm", "caddy-fpm", "lighttpd-fpm"] {
        assert_eq!(children_of(server, "php-fpm.conf", "pm.max_children"), "3", "{server}");
        let pool = format!("{server}:4");
        assert_eq!(children_of(&pool, "php-fpm.conf", "pm.max_children"), "4", "{server}");
    }
    assert_eq!(children_of("frankenphp", "Caddyfile", "worker"), "");
    assert_eq!(children_of("frankenphp:worker", "Caddyfile", "worker"), "3");
    assert_eq!(children_of("frankenphp:worker+4", "Caddyfile", "worker"), "4");
}

#[test]
fn frankenphp_has_one_thread_more_than_it_has_of_the_script() {
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout::new(&dir.path().join(".prony")).unwrap();
    let threads = |label: &str| {
        let candidate = Candidate::parse(label, &Catalogue::load(&[])).unwrap();
        let spec = candidate.launch(&layout, &context(dir.path())).unwrap();
        let argv = &spec.processes[0].argv;
        // In the place of FrankenPHP, something that says what it was given.
        let sum = ["-c", &argv[2], "sh", "sh", "-c", "echo $THREADS"];
        let output = std::process::Command::new("sh").args(sum).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let all = ["frankenphp", "frankenphp:worker", "frankenphp:4", "frankenphp:worker+4"].map(threads);
    assert_eq!(all, ["3", "4", "4", "5"]);
    let caddyfile = fs::read_to_string(dir.path().join("Caddyfile")).unwrap();
    assert!(caddyfile.contains("num_threads {$THREADS}\n"), "{caddyfile}");
}
