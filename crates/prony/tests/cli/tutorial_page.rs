//! The commands of docs/tutorial.md as one script, and what it has to leave. The command line's tests run it in a folder,
//! `cargo xtask dist --try` on a machine that has Prony's package and git.

/// Where the page's server listens.
pub(crate) const PORT: &str = "8080";
/// Fewer commands than this mean that the page's form has changed and the test looks past them.
const COMMANDS_MIN: usize = 12;
/// A search on a machine that is busy with other tests may find no rate that is sustained.
const MAY_FIND_NOTHING: &str = "prony capacity ";
/// What the commands leave in the page's folder.
const FILES: [&str; 3] = ["first.jsonl", "run.jsonl", "shop/prony-ci/comparison.md"];

/// The commands in `sh` blocks; a line that ends in a backslash goes on.
pub(crate) fn commands(page: &str) -> Vec<String> {
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

/// All of them in one shell, one after the other, each followed by a line with its number and its exit code.
pub(crate) fn script(commands: &[String]) -> String {
    // Who commits is set up once on anybody's machine, and the server is there once it accepts connections.
    let mut script = "export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@example.org\n\
                      export GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@example.org\nbegan=$PWD\n"
        .to_owned();
    for (nth, command) in commands.iter().enumerate() {
        script.push_str(&format!("{command}\necho \"command {nth} ended with $?\"\n"));
        if command.ends_with('&') {
            let probe = format!("prony load http://127.0.0.1:{PORT}/ -n 1 -q > \"$began/probe\" 2>&1");
            script.push_str(&format!("for i in $(seq 100); do {probe} && break; sleep 0.1; done\n"));
        }
    }
    for file in FILES {
        script
            .push_str(&format!("test -f \"$began/prony-tutorial/{file}\" || echo \"there is no {file}\"\n"));
    }
    script
}

/// Of what the script printed: each command that did not do what the page says.
pub(crate) fn wrong(commands: &[String], said: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if commands.len() < COMMANDS_MIN {
        wrong.push(format!("only {} commands on the page", commands.len()));
    }
    for (nth, command) in commands.iter().enumerate() {
        let status = said.lines().find_map(|line| line.strip_prefix(&format!("command {nth} ended with ")));
        if status != Some("0") && !(command.starts_with(MAY_FIND_NOTHING) && status == Some("3")) {
            wrong.push(format!("{command}\n  ended with {status:?}"));
        }
    }
    // The page's last command prints the code with which a job would fail.
    let bad = said.lines().filter(|line| line.starts_with("there is no ") || *line == "exit code 2");
    wrong.extend(bad.map(str::to_owned));
    wrong
}
