//! Profiles after a comparison, with a program in the place of perf: `cargo xtask flame` has the real one.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::Value;

use crate::world::{BINARY, Said, World};

const LOAD: [&str; 9] = ["-c", "1", "-d", "300ms", "--warmup", "0", "--blocks", "1", "--profile"];

fn bench(world: &World, candidates: &[&str]) -> Command {
    let folder = world.path("bin");
    std::fs::create_dir_all(&folder).unwrap();
    let perf = folder.join("perf");
    std::fs::write(&perf, include_str!("perf.sh")).unwrap();
    std::fs::set_permissions(&perf, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = world.command(&["bench", "-o", "run.jsonl"]);
    for name in candidates {
        command.args(["--candidate", &format!("{name}=exec {BINARY} target --port {{port}}")]);
    }
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    command.args(LOAD).env("PATH", path).env("FAKE_PERF", world.path(""));
    command
}

fn analysis(world: &World, log: &str) -> Value {
    let said = world.prony(&["report", log, "--format", "json"]);
    serde_json::from_str(&said.out).unwrap()
}

#[test]
fn a_profile_names_what_grew_and_counts_for_no_figure() {
    let world = World::new();
    let said: Said = bench(&world, &["base", "head"]).output().unwrap().into();
    assert_eq!(said.code, Some(0), "{said:?}");
    let profiles = world.lines("run.jsonl", "profile");
    let of: Vec<&str> = profiles.iter().map(|profile| profile["candidate"].as_str().unwrap()).collect();
    assert_eq!(of, ["base", "head"], "{said:?}");
    assert_eq!(world.lines("run.jsonl", "result").len(), 2);
    assert!(said.out.contains("burn_cpu") && said.out.contains("growth, µs"), "{}", said.out);
    let with = analysis(&world, "run.jsonl");
    let functions = with["profile"]["functions"].as_array().unwrap();
    assert_eq!(functions[0]["function"], "burn_cpu", "{functions:?}");
    assert!(functions[0]["growth"]["ci_low"].as_f64().unwrap() > 0.0);
    let page = world.prony(&["report", "run.jsonl", "--format", "html"]);
    assert!(page.code == Some(0) && world.read("run.html").contains("data:image/svg+xml"), "{page:?}");

    let text = world.read("run.jsonl");
    let without: Vec<&str> = text.lines().filter(|line| !line.contains("\"type\":\"profile\"")).collect();
    world.write("without.jsonl", &(without.join("\n") + "\n"));
    let without = analysis(&world, "without.jsonl");
    assert!(without["profile"].is_null());
    for part in ["plans", "trials", "headline", "elapsed_ns"] {
        assert_eq!(with[part], without[part], "{part}");
    }
}

#[test]
fn what_perf_prints_that_is_no_sample_is_said_and_the_run_stands() {
    let world = World::new();
    let said: Said =
        bench(&world, &["base", "head"]).env("FAKE_PERF_SAYS", "no such file").output().unwrap().into();
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(
        said.err.contains("Not profiled: Line 1 of what `perf script` prints is no sample: no such file."),
        "{said:?}"
    );
    let events = world.lines("run.jsonl", "event");
    assert!(events.iter().any(|event| event["what"] == "not_profiled"), "{events:?}");
    assert!(world.lines("run.jsonl", "profile").is_empty());
}

#[test]
fn a_profile_that_cannot_be_made_is_refused_before_the_run() {
    let world = World::new();
    let refused = |command: &mut Command, words: &str| {
        let said: Said = command.output().unwrap().into();
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.err.contains(words), "{said:?}");
        assert!(!world.path("run.jsonl").exists());
    };
    refused(&mut bench(&world, &["a", "b", "c"]), "--profile: two candidates are profiled that Prony starts");
    let nowhere = world.path("nowhere");
    refused(
        bench(&world, &["a", "b"]).env("PATH", nowhere),
        "perf is not installed: install linux-perf (Debian)",
    );
    let mut foreign = bench(&world, &["a"]);
    refused(
        foreign.args(["--candidate", "b=http://127.0.0.1:1/"]),
        "--profile: two candidates are profiled that Prony starts",
    );
}
