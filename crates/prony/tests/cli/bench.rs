//! Experiments end to end, over servers that are this binary's own target.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::world::{BINARY, World};

/// Two builds of the same server: no difference to find, and none to fear.
fn candidates() -> Vec<String> {
    ["one", "two"]
        .iter()
        .flat_map(|name| {
            ["--candidate".to_owned(), format!("{name}={BINARY} target --port {{port}} --delay 1ms")]
        })
        .collect()
}

fn bench(flags: &[&str]) -> Vec<String> {
    let mut line = vec!["bench".to_owned()];
    line.extend(candidates());
    line.extend(["-c", "4", "-d", "300ms", "--warmup", "50ms", "-o", "r.jsonl"].map(str::to_owned));
    line.extend(flags.iter().map(|f| (*f).to_owned()));
    line
}

fn run(world: &World, line: &[String]) -> crate::world::Said {
    world.prony(&line.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The run log's lines of a type.
fn lines(world: &World, kind: &str) -> Vec<Value> {
    let text = world.read("r.jsonl");
    let parsed = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    parsed.filter(|line| line["type"] == kind).collect()
}

/// Processes whose command line names this test's folder or asks for a target's port.
fn servers_alive(marker: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap();
    let command = |pid: &str| std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.bytes().all(|b| b.is_ascii_digit()))
        .map(|pid| String::from_utf8_lossy(&command(&pid)).replace('\0', " "))
        .filter(|line| line.contains(marker))
        .collect()
}

#[test]
fn two_candidates_are_compared_and_reported_in_every_form() {
    let world = World::new();
    let said = run(&world, &bench(&["--blocks", "3"]));
    assert_eq!(said.code, Some(0), "{said:?}");
    for words in ["one", "two", "req/s", "Student's t", "Reproduce  prony bench"] {
        assert!(said.out.contains(words), "{words:?}: {}", said.out);
    }
    let results = lines(&world, "result");
    assert_eq!((results.len(), lines(&world, "trial_start").len()), (6, 6));
    for result in &results {
        assert!(result["trial"]["requests"]["completed"].as_u64().unwrap() > 0);
        assert_eq!(result["trial"]["errors"], serde_json::json!({}));
        assert!(result["server"]["startup_ns"].as_u64().unwrap() > 0);
        assert!(result["server"]["peak_memory_bytes"].as_u64().unwrap() > 100_000);
    }
    if prony_report::page::available().is_ok() {
        assert!(said.out.contains("Report:  r.html"), "{}", said.out);
        assert!(world.read("r.html").contains("prony.page/1"));
    } else {
        // Built without Node: everything but the page, and a sentence.
        assert!(said.err.contains("make build"), "{}", said.err);
    }
    for format in ["terminal", "markdown", "json", "csv"] {
        let shown = world.prony(&["report", "r.jsonl", "--format", format]);
        assert_eq!(shown.code, Some(0));
        assert!(shown.out.contains("one") && shown.out.contains("two"), "{format}: {}", shown.out);
    }
    // What is there is not overwritten.
    let again = run(&world, &bench(&["--blocks", "3"]));
    assert_eq!(again.code, Some(2), "{again:?}");
    assert!(again.err.contains("exists already") && again.err.contains("--resume"), "{}", again.err);
}

fn spawn(world: &World, line: &[String]) -> Child {
    let arguments: Vec<&str> = line.iter().map(String::as_str).collect();
    world.command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Waits until the log holds so many results.
fn wait_for_results(log: &Path, count: usize) {
    let deadline = Instant::now() + Duration::from_secs(60);
    let results = || std::fs::read_to_string(log).unwrap_or_default().matches("\"type\":\"result\"").count();
    while results() < count {
        assert!(Instant::now() < deadline, "only {} results after a minute", results());
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn killed_in_the_middle_it_loses_nothing_leaves_nothing_and_goes_on() {
    let world = World::new();
    // A seed of its own marks this test's servers among those of others.
    let line: Vec<String> = bench(&["--blocks", "3"])
        .iter()
        .map(|word| word.replace("--delay 1ms", "--seed 424242 --delay 1ms"))
        .collect();
    let mut child = spawn(&world, &line);
    wait_for_results(&world.path("r.jsonl"), 2);
    thread::sleep(Duration::from_millis(250)); // into the third trial
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();
    let measured = lines(&world, "result");
    let deadline = Instant::now() + Duration::from_secs(20);
    while !servers_alive("424242").is_empty() {
        assert!(Instant::now() < deadline, "left: {:?}", servers_alive("424242"));
        thread::sleep(Duration::from_millis(50));
    }
    let said = run(&world, &[line, vec!["--resume".to_owned()]].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    let after = lines(&world, "result");
    assert_eq!(after.len(), 6, "the plan is completed");
    assert_eq!(after[..measured.len()], measured[..], "nothing measured is lost");
    assert!(servers_alive("424242").is_empty());
    let cleaned = std::fs::read_dir(world.path(".prony/journal")).map_or(0, Iterator::count);
    assert_eq!(cleaned, 0, "the journal is empty");
}

#[test]
fn interrupted_it_says_how_to_go_on() {
    let world = World::new();
    let line = bench(&["--blocks", "3"]);
    let arguments: Vec<&str> = line.iter().map(String::as_str).collect();
    let child = world.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_results(&world.path("r.jsonl"), 1);
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let said: crate::world::Said = child.wait_with_output().unwrap().into();
    assert_eq!(said.code, Some(130), "{said:?}");
    assert!(said.err.contains("--resume r.jsonl"), "{}", said.err);
    assert!(lines(&world, "event").iter().any(|event| event["what"] == "interrupted"));
    let said = run(&world, &[line, vec!["--resume".to_owned(), "r.jsonl".to_owned()]].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    let valid: Vec<Value> =
        lines(&world, "result").into_iter().filter(|r| r["trial"]["interrupted"] == false).collect();
    assert_eq!(valid.len(), 6);
}

#[test]
fn a_server_that_dies_at_its_start_is_quoted() {
    let world = World::new();
    let said = world.prony(&[
        "bench",
        "--candidate",
        "dead=echo no licence for port {port} >&2; exit 7",
        "-d",
        "200ms",
        "--blocks",
        "1",
        "-o",
        "r.jsonl",
    ]);
    assert_eq!(said.code, Some(3), "{said:?}");
    let all = format!("{}{}", said.out, said.err);
    assert!(all.contains("no licence for port") && all.contains('7'), "{all}");
    assert!(!all.contains("panicked"), "{all}");
}

#[test]
fn a_server_that_answers_wrongly_is_not_measured() {
    let world = World::new();
    let said = world.prony(&[
        "bench",
        "--candidate",
        &format!("wrong={BINARY} target --port {{port}}"),
        "--expect-body",
        "something else",
        "-d",
        "200ms",
        "--blocks",
        "1",
        "-o",
        "r.jsonl",
    ]);
    assert_eq!(said.code, Some(3), "{said:?}");
}

#[test]
fn a_dry_run_runs_nothing() {
    let world = World::new();
    let said = run(&world, &bench(&["--blocks", "4", "--dry-run"]));
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains("8 trials"), "{}", said.out);
    assert!(!world.path("r.jsonl").exists());
}

#[test]
fn a_wrong_experiment_is_refused_with_file_line_and_the_nearest_key() {
    let world = World::new();
    let experiment = |body: &str| {
        format!("schema = \"prony.experiment/1\"\ntitle = \"t\"\ncandidates = [\"node-http\"]\n{body}")
    };
    for (body, words) in [
        ("[[plan]]\nconections = 5\n", vec!["e.toml:5", "conections", "connections"]),
        ("[[plan]]\nconnections = \"many\"\n", vec!["e.toml:5", "connections"]),
        ("[[plan]]\nconnections = 0\n", vec!["e.toml:5"]),
        ("[[plan]]\nrate = \"fast\"\n", vec!["e.toml:5", "fast"]),
        ("[[plan]]\ncapacity = \"fast\"\n", vec!["e.toml:5", "fast", "p99<50ms"]),
        ("blocks = 0\n[[plan]]\n", vec!["e.toml:4", "blocks"]),
        ("baseline = \"caddy-fpm\"\n[[plan]]\n", vec!["e.toml:4", "caddy-fpm"]),
        ("[[plan\n", vec!["e.toml:4"]),
    ] {
        world.write("e.toml", &experiment(body));
        let said = world.prony(&["bench", "e.toml", "--dry-run"]);
        assert_eq!(said.code, Some(2), "{body}: {said:?}");
        for word in words {
            assert!(said.err.contains(word), "{body}: {word:?} is missing: {}", said.err);
        }
    }
    let unknown = |candidate: &str, words: &[&str]| {
        world.write("e.toml", &experiment("[[plan]]\n").replace("node-http", candidate));
        let said = world.prony(&["bench", "e.toml", "--dry-run"]);
        assert_eq!(said.code, Some(2), "{said:?}");
        for word in words {
            assert!(said.err.contains(word), "{word:?} is missing: {}", said.err);
        }
    };
    unknown("node-htp", &["node-htp", "node-http"]);
    unknown("node-http:clustr", &["clustr", "cluster"]);
    let said = world.prony(&["bench", "quickstrt"]);
    assert!(said.code == Some(2) && said.err.contains("quickstart"), "{said:?}");
    let said = world.prony(&["bench", "no/such.toml"]);
    assert!(said.code == Some(2) && said.err.contains("no/such.toml"), "{said:?}");
}
