use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use super::*;
use crate::catalogue::Catalogue;
use crate::container::Engine;
use prony_host::testing::wait_until;

const RECIPE: &str = r#"schema = "prony.server/1"
title = "t"
language = "L"
kind = "runtime"
routes = ["text"]
processes = "workers"
keepalive = true
[requires]
@
[start]
command = ["sh", "{port}"]
[axes.a]
one = {}
two = { requires = { pip = ["b==2"] } }
three = { processes = "single" }
"#;

struct Bench {
    dir: tempfile::TempDir,
    layout: Layout,
}

impl Bench {
    fn new() -> Bench {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(&dir.path().join(".prony")).unwrap();
        Bench { dir, layout }
    }

    fn add(&self, name: &str, requires: &str, files: &[(&str, &str)]) {
        let folder = self.dir.path().join("servers").join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("server.toml"), RECIPE.replace('@', requires)).unwrap();
        for (file, text) in files {
            fs::write(folder.join(file), text).unwrap();
        }
    }

    fn parse(&self, label: &str) -> Candidate {
        Candidate::parse(label, &Catalogue::load(&[self.dir.path().join("servers")])).unwrap()
    }
}

#[test]
fn the_origin_of_a_server_s_packages_is_told() {
    let bench = Bench::new();
    bench.add("found", "commands = [\"sh\"]", &[]);
    bench.add("built", "pip = [\"a==1\"]", &[]);
    // A program from elsewhere stands in for a package of which dpkg knows nothing.
    bench.add("stood-in", "apt = [\"prony-no-such-package\"]\ncommands = [\"sh\"]", &[]);
    let origin = |label: &str| origin(&bench.parse(label), &bench.layout);
    assert_eq!([origin("found"), origin("built")], ["found on PATH", "registry"]);
    assert_eq!([origin("stood-in"), origin("found:two")], ["found on PATH", "registry"]);
    if packages::installed(&["dpkg".to_owned()]).is_some_and(|installed| !installed.is_empty()) {
        bench.add("packaged", "apt = [\"dpkg\"]", &[]);
        assert_eq!(origin("packaged"), "registry");
    }
}

#[test]
fn a_server_without_requirements_counts_as_installed() {
    let bench = Bench::new();
    bench.add("plain", "commands = [\"sh\"]", &[]);
    assert_eq!(missing(&bench.parse("plain"), &bench.layout), []);
    let url = Candidate::url("u", prony_model::Target::parse("http://h/").unwrap()).unwrap();
    assert_eq!(missing(&url, &bench.layout), []);
    let plan = plan(&[bench.parse("plain")], &bench.layout);
    assert!(plan.is_empty());
    assert_eq!(plan.describe(), "Everything is installed.");
    let done = install(&plan, &[bench.parse("plain")], &bench.layout, &|| false, &mut |_| {});
    assert_eq!(done, [("plain".to_owned(), Ok(()))]);
    assert!(bench.layout.work("plain").join("server.toml").is_file());
}

#[test]
fn missing_requirements_are_named_with_their_install_command() {
    let bench = Bench::new();
    bench.add("lacking", "commands = [\"prony-no-such-program\"]", &[]);
    let lacks = missing(&bench.parse("lacking"), &bench.layout);
    assert_eq!(
        lacks,
        [Missing {
            what: "the command prony-no-such-program".to_owned(),
            mend: "install prony-no-such-program and put it on PATH.".to_owned(),
        }]
    );
    bench.add("venv", "pip = [\"a==1\"]", &[]);
    let lacks = missing(&bench.parse("venv:two"), &bench.layout);
    assert_eq!(lacks.last().unwrap().what, "the virtual environment of venv");
    assert_eq!(lacks.last().unwrap().mend, "prony servers install venv:two");
}

#[test]
fn one_environment_serves_all_candidates_with_the_same_pins() {
    let bench = Bench::new();
    bench.add("py", "pip = [\"a==1\"]", &[]);
    bench.add("go", "go = true", &[("go.mod", "module x\n")]);
    let candidates = ["py", "py:three", "py:two", "py", "go"].map(|label| bench.parse(label));
    let plan = plan(&candidates, &bench.layout);
    assert_eq!(plan.labels, ["py", "py:three", "py:two", "go"]);
    let steps: Vec<Vec<String>> = plan.steps.iter().map(|s| s.labels.clone()).collect();
    assert_eq!(steps, [vec!["py".to_owned(), "py:three".into()], vec!["py:two".into()], vec!["go".into()]]);
    let text = plan.describe();
    assert!(text.contains("py, py:three: a virtual environment with a==1, in "), "{text}");
    assert!(text.contains("py:two: a virtual environment with a==1, b==2, in "), "{text}");
    assert!(text.contains("go: go build, in "), "{text}");
}

#[test]
fn npm_go_and_cargo_take_what_locks_name_and_run_no_scripts() {
    let bench = Bench::new();
    bench.add("npm", "npm = true", &[("package-lock.json", "{}")]);
    bench.add("scripts", "npm = true\nnpm_scripts = true", &[("package-lock.json", "{}")]);
    bench.add("go", "go = true", &[("go.mod", "module x\n")]);
    bench.add("cargo", "cargo = true", &[("Cargo.lock", "")]);
    let command = |label: &str| {
        let candidate = bench.parse(label);
        let steps = steps::pending(&candidate, &candidate.requires(), &bench.layout);
        let (program, arguments) = steps[0].command().unwrap();
        format!("{program} {}", arguments.join(" "))
    };
    assert_eq!(command("npm"), "npm ci --no-audit --no-fund --ignore-scripts");
    assert_eq!(command("scripts"), "npm ci --no-audit --no-fund");
    let out = bench.layout.work("go").join("bin/server");
    let go = format!("go build -mod=readonly -trimpath -buildvcs=false -modcacherw -o {} .", out.display());
    assert_eq!(command("go"), go);
    assert_eq!(command("cargo"), "cargo build --release --locked --target-dir target");
}

#[test]
fn what_is_pinned_by_version_only_is_said() {
    let bench = Bench::new();
    let lock = [("requirements.lock", "a==1 --hash=sha256:00\n")];
    bench.add("free", "pip = [\"a==1\"]", &[]);
    bench.add("locked", "pip = [\"a==1\"]", &lock);
    let text = |label: &str| plan(&[bench.parse(label)], &bench.layout).describe();
    let free = text("free");
    assert!(free.contains("venv. Only versions are pinned: there is no requirements.lock."), "{free}");
    assert!(!text("locked").contains("Only versions"), "{}", text("locked"));
}

/// podman as a script: `build` and `pull` write down what they were told, and know no digest of zeros, as a registry would.
fn scripted_engine(folder: &Path) -> Arc<Engine> {
    let (program, told) = (folder.join("podman"), folder.join("told"));
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in\n*sha256:0000*) exit 125;;\n*RepoDigests*) echo '[\"debian@sha256:ff\"]';;\n\
         *'{{{{.Id}}}}'*) test -e {told:?};;\n*inspect*) ;;\n*) echo \"$*\" >{told:?};;\nesac\n"
    );
    // By another process: what a child of another test has open for writing at this moment cannot be executed.
    let written = Command::new("sh")
        .args(["-c", "printf %s \"$2\" >\"$1\" && chmod 755 \"$1\"", "sh"])
        .arg(&program)
        .arg(script)
        .status();
    assert!(written.unwrap().success());
    Arc::new(Engine { program, name: "podman", version: "1".to_owned(), memory: None })
}

#[test]
fn an_image_is_made_of_its_base_by_digest_and_that_is_recorded() {
    let pinned = |digit: &str| format!("debian:trixie-slim@sha256:{}", digit.repeat(64));
    let dockerfile = "ARG IMAGE=debian:bookworm-slim\nFROM ${IMAGE}\n";
    // With a Dockerfile and as it is, by a digest, by a tag, and by a digest that nothing has.
    for (name, file, image, told, how) in [
        (
            "built",
            "Dockerfile",
            pinned("a"),
            Some(format!("--build-arg IMAGE={} ", pinned("a"))),
            pinned("a"),
        ),
        ("pulled", "other", pinned("a"), Some(format!("pull {}", pinned("a"))), pinned("a")),
        (
            "by-tag",
            "Dockerfile",
            "debian:12".to_owned(),
            Some("IMAGE=debian:12".to_owned()),
            "debian@sha256:ff".to_owned(),
        ),
        ("unknown", "Dockerfile", pinned("0"), None, String::new()),
    ] {
        let bench = Bench::new();
        bench.add(name, "", &[(file, dockerfile)]);
        let recipe = bench.dir.path().join("servers").join(name).join("server.toml");
        let text = fs::read_to_string(&recipe).unwrap();
        fs::write(&recipe, format!("image = {image:?}\n{text}")).unwrap();
        let candidates = [bench.parse(name).in_container(&scripted_engine(bench.dir.path()))];
        let planned = plan(&candidates, &bench.layout);
        let installed = install(&planned, &candidates, &bench.layout, &|| false, &mut |_| ());
        assert_eq!(installed[0].1.is_ok(), told.is_some(), "{installed:?}");
        let said = fs::read_to_string(bench.dir.path().join("told")).unwrap_or_default();
        if let Some(told) = told {
            assert!(said.contains(&told), "{name}: {said}");
            assert_eq!(origin(&candidates[0], &bench.layout), format!("image on {how}"), "{name}");
        } else {
            assert_eq!(said, "", "{name}");
        }
    }
}

/// In images no step of Prony's looks: what their Dockerfiles take is checked by themselves.
#[test]
fn images_take_only_what_a_lock_or_a_checksum_names() {
    let pairs = [
        ("npm ci", "--ignore-scripts"),
        ("composer install", "--prefer-source"),
        ("cargo build", "--locked"),
        (" go build", "-mod=readonly"),
        ("git clone", "rev-parse HEAD"),
        ("curl --fail", "sha256sum --check"),
    ];
    let mut seen = BTreeSet::new();
    for server in Catalogue::load(&[]).servers.values().filter(|server| server.has_file("Dockerfile")) {
        let dir = tempfile::tempdir().unwrap();
        server.materialise(dir.path()).unwrap();
        let text = fs::read_to_string(dir.path().join("Dockerfile")).unwrap().replace("\\\n", " ");
        for (command, checked) in pairs {
            let lax = text.lines().find(|line| line.matches(command).count() > line.matches(checked).count());
            assert_eq!(lax, None, "{}: {command} without {checked}", server.name);
            seen.extend(text.contains(command).then_some(command));
        }
    }
    assert_eq!(seen.len(), pairs.len(), "{seen:?}");
}

#[test]
fn the_catalogue_is_all_locked_and_takes_no_unsigned_package() {
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout::new(dir.path()).unwrap();
    let catalogue = Catalogue::load(&[]);
    let mut unlocked = BTreeSet::new();
    let mut texts = vec![include_str!("apt.rs").to_owned()];
    for server in catalogue.servers.values() {
        for candidate in Candidate::parse(&server.name, &catalogue).unwrap().with_each_setting() {
            let steps = steps::pending(&candidate, &candidate.requires(), &layout);
            let locks = steps.iter().filter_map(|step| step.unlocked);
            unlocked.extend(locks.map(|lock| format!("{} {lock}", server.name)));
        }
        server.materialise(&layout.work(&server.name)).unwrap();
        texts.extend(fs::read_to_string(layout.work(&server.name).join("Dockerfile")));
    }
    assert_eq!(unlocked, BTreeSet::new());
    for word in
        ["allow-unauthenticated", "AllowUnauthenticated", "AllowInsecure", "trusted=yes", "pecl download"]
    {
        assert!(!texts.iter().any(|text| text.contains(word)), "{word}");
    }
}

/// Whether a text is the name of a commit.
fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

#[test]
fn every_composer_package_is_the_pinned_version_by_its_commit() {
    let mut seen = 0;
    for server in Catalogue::load(&[]).servers.values().filter(|server| server.has_file("composer.json")) {
        let dir = tempfile::tempdir().unwrap();
        server.materialise(dir.path()).unwrap();
        let read = |file: &str| -> serde_json::Value {
            serde_json::from_str(&fs::read_to_string(dir.path().join(file)).unwrap()).unwrap()
        };
        let (json, lock) = (read("composer.json"), read("composer.lock"));
        let packages = lock["packages"].as_array().unwrap();
        let pins = json["require"].as_object().unwrap().iter().filter(|(name, _)| name.contains('/'));
        assert_eq!(pins.count(), packages.len(), "{}", server.name);
        for package in packages {
            let name = package["name"].as_str().unwrap();
            let version = package["version"].as_str().unwrap().trim_start_matches('v');
            assert_eq!(json["require"][name], version, "{} {name}", server.name);
            // Composer takes an archive, whose content nothing checks, where it cannot have the commit.
            assert!(package["dist"].is_null(), "{} {name}", server.name);
            if package["type"] != "metapackage" {
                assert_eq!(package["source"]["type"], "git", "{} {name}", server.name);
                assert!(
                    is_commit(package["source"]["reference"].as_str().unwrap()),
                    "{} {name}",
                    server.name
                );
            }
            seen += 1;
        }
    }
    assert!(seen > 80, "{seen}");
}

#[test]
fn every_mix_dependency_is_locked_by_two_hashes_or_its_commit() {
    let mut seen = 0;
    for server in Catalogue::load(&[]).servers.values().filter(|server| server.has_file("mix.exs")) {
        let dir = tempfile::tempdir().unwrap();
        server.materialise(dir.path()).unwrap();
        for folder in [dir.path().to_owned(), dir.path().join("v1")] {
            let Ok(project) = fs::read_to_string(folder.join("mix.exs")) else { continue };
            let lock = fs::read_to_string(folder.join("mix.lock")).unwrap();
            let quoted =
                |text: &str| text.split('"').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
            let dependencies = project.split("dep(:").skip(1);
            assert_eq!(dependencies.clone().count(), lock.lines().count() - 2, "{}", server.name);
            for dependency in dependencies {
                let (name, rest) = dependency.split_once(", ").unwrap();
                let line = lock.lines().find(|line| line.starts_with(&format!("  \"{name}\": "))).unwrap();
                let (pins, words) = (quoted(rest), quoted(line));
                if let Some(version) = pins[0].strip_prefix("== ") {
                    let (inner, outer) = (&words[2], words.last().unwrap());
                    assert_eq!(words[1], version, "{} {name}", server.name);
                    assert!([inner, outer].iter().all(|sum| sum.len() == 64) && inner != outer, "{line}");
                } else {
                    assert!(
                        line.contains(&format!("{{:git, \"{}\", ", pins[0])) && is_commit(&words[2]),
                        "{line}"
                    );
                    assert_eq!((&words[2], words.len()), (&pins[1], 4), "{line}");
                }
                seen += 1;
            }
        }
    }
    assert!(seen > 60, "{seen}");
}

#[test]
fn one_server_that_fails_to_install_leaves_the_others_alone() {
    let bench = Bench::new();
    bench.add("lacking", "commands = [\"prony-no-such-program\"]", &[]);
    bench.add("plain", "", &[]);
    // npm is given a file that is not what it says: it fails, or is missing, and says so either way.
    bench.add("npm", "npm = true", &[("package-lock.json", "{"), ("package.json", "{")]);
    let candidates = ["lacking", "npm", "plain"].map(|label| bench.parse(label));
    let plan = plan(&candidates, &bench.layout);
    let done = install(&plan, &candidates, &bench.layout, &|| false, &mut |_| {});
    let ok: Vec<(&str, bool)> = done.iter().map(|(label, r)| (label.as_str(), r.is_ok())).collect();
    assert_eq!(ok, [("lacking", false), ("npm", false), ("plain", true)]);
    let error = done[0].1.as_ref().unwrap_err();
    assert_eq!(
        error,
        "the command prony-no-such-program is missing: install prony-no-such-program and put it on PATH."
    );
    assert!(done[1].1.as_ref().unwrap_err().contains("npm"));
}

#[test]
fn commands_are_found_by_name_and_by_whole_path() {
    assert!(find_command("sh").is_some_and(|p| p.is_absolute()));
    assert_eq!(find_command("/bin/sh"), Some(PathBuf::from("/bin/sh")));
    assert_eq!(find_command("./sh"), None);
    assert_eq!(find_command("prony-no-such-program"), None);
    assert_eq!(find_command("/etc/passwd"), None);
}

/// Installs, starts and checks servers of the catalogue: `PRONY_SERVERS=gunicorn,go-net-http cargo
/// test -p prony-lab for_real -- --ignored --nocapture`. Needs the registries, and root for packages.
#[test]
#[ignore = "installs software"]
fn servers_are_installed_started_and_checked_for_real() {
    let wanted = env::var("PRONY_SERVERS").unwrap_or_else(|_| "node-http,gunicorn,go-net-http".to_owned());
    let kept = env::var_os("PRONY_KEEP").map(PathBuf::from);
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout::new(&kept.unwrap_or_else(|| dir.path().join(".prony"))).unwrap();
    let extra: Vec<PathBuf> = env::var_os("PRONY_CATALOGUE").map(PathBuf::from).into_iter().collect();
    let catalogue = Catalogue::load(&extra);
    let candidates: Vec<Candidate> =
        wanted.split(',').map(|label| Candidate::parse(label, &catalogue).unwrap()).collect();
    let plan = plan(&candidates, &layout);
    println!("{}\n", plan.describe());
    let done = install(&plan, &candidates, &layout, &|| false, &mut |progress| println!("{progress:?}"));
    assert!(super::plan(&candidates, &layout).steps.is_empty() || done.iter().any(|d| d.1.is_err()));
    let mut failed = Vec::new();
    for (candidate, (label, result)) in candidates.iter().zip(&done) {
        println!("\n{label}: {result:?}\n  version {:?}", candidate.version(&layout));
        let run_dir = tempfile::tempdir().unwrap();
        if result.is_err() || !started_and_checked(candidate, &layout, run_dir.path()) {
            failed.push(label);
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

fn started_and_checked(candidate: &Candidate, layout: &Layout, run_dir: &Path) -> bool {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let workers = candidate.workers(2);
    let run_dir = run_dir.to_owned();
    let context =
        crate::launch::LaunchContext { address, workers, run_dir, services: Vec::new(), hidden: Vec::new() };
    let spec = candidate.launch(layout, &context).unwrap();
    let mut children = Vec::new();
    for process in &spec.processes {
        let mut command = Command::new(&process.argv[0]);
        command.args(&process.argv[1..]).current_dir(&spec.cwd).env_clear().envs(spec.env.iter().cloned());
        children.push(command.stdin(Stdio::null()).spawn().unwrap());
        wait_until("a helper's path", || process.wait_for.as_ref().is_none_or(|path| path.exists()));
    }
    let route = candidate.routes()[0];
    let asked = crate::check::CustomCheck::of_route(route);
    let at = prony_model::Target::parse(&format!("http://{address}/")).unwrap();
    let dialer = prony_load::dial::Dialer::of(&prony_model::Plan::closed(at)).unwrap();
    let answers = || crate::check::ready(&dialer, &asked, &prony_model::plan::Expect::default());
    wait_until("a right answer", || answers().is_ok());
    let report = crate::check::check(&dialer, &candidate.expectation());
    for result in &report.results {
        println!("  {} {}: {}", if result.passed { "ok" } else { "NO" }, result.name, result.detail);
        result.wire.iter().for_each(|wire| println!("{wire}"));
    }
    for mut child in children.into_iter().rev() {
        // PHP's forked workers outlive their parent's end.
        let below = prony_host::process::descendants(child.id());
        let _ = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
        let _ = child.wait();
        for process in below {
            process.identity().kill();
        }
    }
    report.passed()
}
