//! `prony bench --duet` as a user meets it, over servers that are this binary's own target. Two
//! processors are enough; with fewer, what is said of that is looked at.

use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::world::{BINARY, Said, World};

/// A duet of targets with these flags: 300 answers in a window, so that it has a median.
fn line(flags: [&str; 2], more: &[&str]) -> Vec<String> {
    let candidate = |name: &str, flags: &str| format!("{name}={BINARY} target --port {{port}} {flags}");
    let mut line = vec!["bench".to_owned(), "--duet".to_owned()];
    for (name, flags) in [("base", flags[0]), ("head", flags[1])] {
        line.extend(["--candidate".to_owned(), candidate(name, flags)]);
    }
    let usual = ["-R", "500", "-c", "32", "-d", "600ms", "--warmup", "100ms", "-o", "r.jsonl", "-q"];
    line.extend(usual.iter().chain(more).map(|word| (*word).to_owned()));
    line
}

fn run(world: &World, line: &[String]) -> Said {
    world.prony(&line.iter().map(String::as_str).collect::<Vec<_>>())
}

fn lines(world: &World, kind: &str) -> Vec<Value> {
    let text = world.read("r.jsonl");
    let parsed = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    parsed.filter(|line| line["type"] == kind).collect()
}

/// Whether this machine has room for two; if not, it is said.
fn has_room(world: &World) -> bool {
    let said = run(world, &line(["", ""], &["--dry-run"]));
    if said.code == Some(0) {
        return true;
    }
    assert!(said.code == Some(2) && said.err.contains("may use only one CPU"), "{said:?}");
    false
}

/// Processes whose command line names this text.
fn alive(marker: &str) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap();
    let pids = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let lines = pids
        .filter(|name| name.bytes().all(|b| b.is_ascii_digit()))
        .map(|pid| std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default());
    lines.filter(|line| String::from_utf8_lossy(line).contains(marker)).count()
}

#[test]
fn both_run_at_once_in_places_that_they_change_and_every_view_says_who_is_slower() {
    let world = World::new();
    if !has_room(&world) {
        return;
    }
    // 2 ms against 20: no machine is too busy for that.
    let said = run(&world, &line(["--delay 2ms", "--delay 20ms"], &["--blocks", "3"]));
    assert_eq!(said.code, Some(0), "{said:?}");
    for words in ["head is slower than base", "p50 ms", "SLOWER", "both at once", "--duet"] {
        assert!(said.out.contains(words), "{words:?}: {}", said.out);
    }
    let results = lines(&world, "result");
    assert_eq!(results.len(), 12, "two candidates, two halves, three blocks");
    for pair in results.chunks(2) {
        let (left, right) = (&pair[0], &pair[1]);
        assert_eq!((&left["duet"]["side"], &right["duet"]["side"]), (&"left".into(), &"right".into()));
        assert_eq!(left["duet"]["half"], right["duet"]["half"]);
        assert_ne!(left["candidate"], right["candidate"]);
        // The windows are one: they begin within the millisecond that a log keeps, and are as long.
        let ms = |result: &Value| {
            let at = result["trial"]["started_at"].as_str().unwrap().to_owned();
            let number = |range: std::ops::Range<usize>| at[range].parse::<u64>().unwrap();
            ((number(11..13) * 60 + number(14..16)) * 60 + number(17..19)) * 1000 + number(20..23)
        };
        assert!(ms(left).abs_diff(ms(right)) <= 1, "{left} {right}");
        assert_eq!(left["trial"]["window"], right["trial"]["window"]);
        let cpus = |result: &Value| result["server"]["cpus"].clone();
        assert_ne!(cpus(left), cpus(right), "each on CPUs of its own");
    }
    let places = |candidate: &str, side: &str| {
        results.iter().filter(|r| r["candidate"] == candidate && r["duet"]["side"] == side).count()
    };
    for candidate in ["base", "head"] {
        assert_eq!((places(candidate, "left"), places(candidate, "right")), (3, 3));
    }
    let header = &lines(&world, "header")[0];
    assert!(header["duet"]["left"]["server_cpus"].is_array() && header["duet"]["shared"].is_string());
    let compared = world.prony(&["compare", "r.jsonl", "--fail-if", "slower"]);
    assert_eq!(compared.code, Some(1), "{compared:?}");
    assert!(compared.out.contains("places that they changed"), "{}", compared.out);
    for (format, words) in
        [("terminal", "SLOWER"), ("markdown", "**SLOWER**"), ("json", "\"duet\": {"), ("csv", "head")]
    {
        let shown = world.prony(&["report", "r.jsonl", "--format", format]);
        assert!(shown.code == Some(0) && shown.out.contains(words), "{format}: {}", shown.out);
    }
    let json = world.prony(&["compare", "r.jsonl", "base", "head", "--format", "json"]);
    let value: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!((value[0]["duet"].as_bool(), value[0]["plans"][0]["blocks"].as_u64()), (Some(true), Some(3)));
    assert_eq!(std::fs::read_dir(world.path(".prony/journal")).map_or(0, Iterator::count), 0);
}

#[test]
fn killed_in_the_middle_both_servers_end_and_the_rest_is_gone_on_with() {
    let world = World::new();
    if !has_room(&world) {
        return;
    }
    // A seed of its own marks this test's servers among those of others.
    let line = line(["--seed 515151 --delay 1ms", "--seed 515151 --delay 1ms"], &["--blocks", "2"]);
    let arguments: Vec<&str> = line.iter().map(String::as_str).collect();
    let mut child = world.command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    let servers = || std::fs::read_dir(world.path(".prony/journal")).map_or(0, Iterator::count);
    let results = || std::fs::read_to_string(world.path("r.jsonl")).unwrap_or_default();
    // Into the second half, with two servers up: two guards are in the journal.
    while results().matches("\"type\":\"result\"").count() < 2 || servers() < 2 {
        assert!(Instant::now() < until, "{} servers", servers());
        thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    while alive("515151") > 0 {
        assert!(Instant::now() < until, "{} are left", alive("515151"));
        thread::sleep(Duration::from_millis(50));
    }
    // What was begun with --duet goes on as one.
    let resumed: Vec<String> = line.iter().filter(|word| *word != "--duet").cloned().collect();
    let said = run(&world, &[resumed, vec!["--resume".to_owned()]].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    let results = lines(&world, "result");
    let mut indices: Vec<u64> = results.iter().map(|r| r["index"].as_u64().unwrap()).collect();
    indices.sort_unstable();
    indices.dedup();
    assert_eq!(indices, [0, 1, 2, 3, 4, 5, 6, 7]);
    assert!(results.iter().all(|r| r["duet"]["half"].is_u64()));
    assert_eq!((alive("515151"), servers()), (0, 0));
}

#[test]
fn what_is_no_duet_is_refused_with_the_reason() {
    let world = World::new();
    if !has_room(&world) {
        return;
    }
    let refused = |line: &[&str], words: &[&str]| {
        let said = world.prony(line);
        assert_eq!(said.code, Some(2), "{said:?}");
        for word in words {
            assert!(said.err.contains(word), "{word:?}: {said:?}");
        }
    };
    let (a, b) = ("a=x {port}", "b=y {port}");
    let two = ["bench", "--duet", "--candidate", a, "--candidate", b];
    refused(&two, &["compares at a rate", "c50 has none", "maximum", "-R RATE"]);
    refused(&["bench", "--duet", "--candidate", a, "-R", "100"], &["two candidates", "a"]);
    refused(
        &[&two[..], &["--candidate", "c=z {port}", "-R", "100"]].concat(),
        &["two candidates", "3: a, b, c"],
    );
    refused(&[&two[..], &["-R", "100", "--precision", "2%"]].concat(), &["--precision", "--blocks"]);
    refused(&[&two[..], &["-R", "100", "--pin", "server=1", "--pin", "client=0"]].concat(), &["even number"]);
    refused(
        &["bench", "--duet", "--candidate", a, "--candidate", "b=http://127.0.0.1:9/", "-R", "9"],
        &["b is a URL"],
    );
    refused(&["bench", "quickstart", "--duet"], &["--only"]);
    refused(&["load", "--duet", "http://127.0.0.1:9/"], &["prony bench --duet"]);
}
