//! `cargo xtask shop`: makes of examples/shop-api in each language a commit with a query per row, which
//! `prony ci compare` must find slower. It is fifty queries for one: no machine is so noisy.

use std::path::Path;
use std::process::Command;

use crate::{files, programs};

/// A folder of the example, a program that it takes, how it is built, and how it is started.
#[rustfmt::skip]
const LANGUAGES: [[&str; 4]; 3] = [
    ["node", "npm", "npm ci --silent", "node server.js {port}"],
    ["python", "python3", "python3 -m venv v && v/bin/pip install -q -r requirements.txt", "v/bin/python server.py {port}"],
    ["go", "go", "go build -o shop .", "./shop {port}"],
];

pub(crate) fn run(root: &Path) -> Result<(), String> {
    let binary = crate::prony(root)?;
    let database = "ls /usr/lib/postgresql/*/bin/initdb";
    if programs::found(database).is_none() {
        println!("skipped: PostgreSQL is not installed (apt-get install postgresql)");
        return Ok(());
    }
    let mut all = programs::Checks::default();
    for [language, program, build, serve] in LANGUAGES {
        if programs::found(&format!("command -v {program}")).is_none() {
            println!("skipped: {program} is not installed");
            continue;
        }
        let name = format!("a query per row is found in the shop in {language}");
        all.count(&name, found(root, &binary, language, [build, serve]));
    }
    all.ended("an application over a database")
}

fn found(root: &Path, binary: &Path, language: &str, [build, serve]: [&str; 2]) -> Result<(), String> {
    let (from, to) = (root.join("examples/shop-api"), root.join("target/shop").join(language));
    files::anew(&to)?;
    for name in ["seed.sql", language] {
        programs::text(Command::new("cp").arg("-r").arg(from.join(name)).arg(&to))?;
    }
    programs::two_commits(&to, || {
        programs::git(&to.join(language), &["apply", "query-per-row.patch"]).map(drop)
    })?;
    let line =
        ["ci", "compare", "--base", "fast", "--directory", language, "--build", build, "--serve", serve];
    let load = ["--service", "db=postgresql:../seed.sql", "--load", "-c 4 -d 1s --blocks 5"];
    let mut command = Command::new(binary);
    command.current_dir(&to).args(line).args(load).args(["--fail-if", "slower"]);
    let ended = programs::output(&mut command)?;
    let said = programs::trimmed(&ended.stdout);
    if ended.status.code() == Some(1) && said.contains("head is slower than base") && said.contains("db") {
        return Ok(());
    }
    Err(format!("{}: {said}\n{}", ended.status, programs::trimmed(&ended.stderr)))
}
