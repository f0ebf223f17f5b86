//! Every command of docs/tutorial.md runs as it stands there, in one shell, one after the other. Its port alone is
//! another, since tests run beside each other; what it measures is nobody's concern here.

use std::net::TcpListener;
use std::path::Path;

use crate::world::World;

/// Where the page's server listens.
const PAGE_PORT: &str = "8080";
/// Fewer commands than this mean that the page's form has changed and the test looks past them.
const COMMANDS_MIN: usize = 12;
/// A search on a machine that is busy with other tests may find no rate that is sustained.
const MAY_FIND_NOTHING: &str = "prony capacity ";

/// The commands in `sh` blocks; a line that ends in a backslash goes on.
fn commands_of(page: &str) -> Vec<String> {
    let mut inside = false;
    let mut commands: Vec<String> = Vec::new();
    for line in page.lines() {
        if let Some(info) = line.strip_prefix("```") {
            inside = !inside && info.trim() == "sh";
        } else if inside {
            match commands.last_mut().filter(|last| last.ends_with('\\')) {
                Some(last) => *last = format!("{last}\n{line}"),
                None => commands.push(line.to_owned()),
            }
        }
    }
    commands
}

#[test]
fn every_command_of_the_tutorial_runs_to_the_letter() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tutorial.md");
    let commands = commands_of(&std::fs::read_to_string(&path).unwrap());
    assert!(commands.len() >= COMMANDS_MIN, "only {} commands in {}", commands.len(), path.display());
    let world = World::new();
    let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port().to_string();
    // Who commits is set up once on anybody's machine, and the server is there once it accepts connections.
    let mut script = "export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@example.org\n\
                      export GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@example.org\nstatuses=$PWD/statuses\n"
        .to_owned();
    for (nth, command) in commands.iter().enumerate() {
        script.push_str(&format!("{}\necho {nth} $? >> \"$statuses\"\n", command.replace(PAGE_PORT, &port)));
        if command.ends_with('&') {
            let probe = format!("prony load http://127.0.0.1:{port}/ -n 1 -q");
            script.push_str(&format!(
                "for i in $(seq 100); do {probe} > \"$statuses.probe\" 2>&1 && break; sleep 0.1; done\n"
            ));
        }
    }
    let said = world.shell(&script);
    let statuses = world.read("statuses");
    let mut wrong = Vec::new();
    for (nth, command) in commands.iter().enumerate() {
        let status = statuses.lines().find_map(|line| line.strip_prefix(&format!("{nth} ")));
        let right = status == Some("0") || (command.starts_with(MAY_FIND_NOTHING) && status == Some("3"));
        if !right {
            wrong.push(format!("{command}\n  ended with {status:?}"));
        }
    }
    assert!(wrong.is_empty() && !said.out.contains("exit code 2"), "{}\n{said:?}", wrong.join("\n"));
    for file in ["first.jsonl", "run.jsonl", "shop/prony-ci/comparison.md"] {
        assert!(world.path("prony-tutorial").join(file).is_file(), "no {file}: {said:?}");
    }
}
