//! `prony bench --duet` as a user meets it, over servers that are this binary's own target. Two
//! processors are enough; with fewer, what is said of that is looked at.

use serde_json::Value;

use crate::lab::Lab;
use crate::world::{BINARY, Said, World, processes_naming, wait_until};

/// A duet of two servers, each started by `server`.
fn line(server: &str, more: &[&str]) -> Vec<String> {
    let mut line = vec!["bench".to_owned(), "--duet".to_owned()];
    for name in ["base", "head"] {
        line.extend(["--candidate".to_owned(), format!("{name}={server}")]);
    }
    let usual = ["-R", "500", "-c", "32", "-o", "r.jsonl", "-q"];
    line.extend(usual.iter().chain(more).map(|word| (*word).to_owned()));
    line
}

fn target() -> String {
    format!("{BINARY} target --port {{port}} --delay 1ms")
}

fn run(world: &World, line: &[String]) -> Said {
    world.prony(&line.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Whether this machine has room for two; if not, it is said.
fn has_room(world: &World) -> bool {
    let said = run(world, &line(&target(), &["--dry-run"]));
    if said.code == Some(0) {
        return true;
    }
    assert!(said.code == Some(2) && said.err.contains("may use only one CPU"), "{said:?}");
    false
}

#[test]
fn a_duet_runs_both_at_once_and_reports_the_slower_one() {
    let world = World::new();
    if !has_room(&world) {
        return;
    }
    let said = run(&world, &line(&target(), &["-d", "300ms", "--warmup", "100ms", "--blocks", "3"]));
    assert_eq!(said.code, Some(0), "{said:?}");
    for words in ["both at once", "--duet"] {
        assert!(said.out.contains(words), "{words:?}: {}", said.out);
    }
    let results = world.lines("r.jsonl", "result");
    assert_eq!(results.len(), 12, "two candidates, two halves, three blocks");
    for pair in results.chunks(2) {
        let (left, right) = (&pair[0], &pair[1]);
        assert_eq!((&left["duet"]["side"], &right["duet"]["side"]), (&"left".into(), &"right".into()));
        assert_eq!(left["duet"]["half"], right["duet"]["half"]);
        assert_ne!(left["candidate"], right["candidate"]);
        // As long as each other; that both begin at the same instant is the gate's (prony-load).
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
    let header = &world.lines("r.jsonl", "header")[0];
    assert!(header["duet"]["left"]["server_cpus"].is_array() && header["duet"]["shared"].is_string());
    // Every view says who is slower, where the figures say it.
    world.set_figures("r.jsonl", |name, nth| {
        let p50_ns = if name == "base" { 2_000_000 } else { 20_000_000 };
        (500.0, p50_ns + 10_000 * (nth as u64 % 3))
    });
    let shown = world.prony(&["report", "r.jsonl"]);
    for words in ["head is slower than base", "p50 ms", "both at once"] {
        assert!(shown.out.contains(words), "{words:?}: {}", shown.out);
    }
    let compared = world.prony(&["compare", "r.jsonl", "--fail-if", "slower"]);
    assert_eq!(compared.code, Some(1), "{compared:?}");
    assert!(compared.out.contains("with their CPUs swapped"), "{}", compared.out);
    for (format, words) in
        [("terminal", "SLOWER"), ("markdown", "**SLOWER**"), ("json", "\"duet\": {"), ("csv", "head")]
    {
        let shown = world.prony(&["report", "r.jsonl", "--format", format]);
        assert!(shown.code == Some(0) && shown.out.contains(words), "{format}: {}", shown.out);
    }
    let json = world.prony(&["compare", "r.jsonl", "base", "head", "--format", "json"]);
    let value: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!((value[0]["duet"].as_bool(), value[0]["plans"][0]["blocks"].as_u64()), (Some(true), Some(3)));
    assert_eq!(std::fs::read_dir(world.path("state/journal")).map_or(0, Iterator::count), 0);
}

#[test]
fn a_killed_duet_ends_both_servers_and_can_be_resumed() {
    let world = World::new();
    if !has_room(&world) {
        return;
    }
    // The first half is measured. In the second both servers stop answering in mid load, until they are told to go on.
    let plan = "rate = 500\nconnections = 32\nduration = \"1h\"\nwarmup = \"0s\"\nrequests = 300\ntimeout = \"10m\"\n";
    let lab = Lab::of(&["base", "head"], "held-3", 2, "", plan);
    let mut child = lab.start_and_wait_in_mid_load(&["--duet"]);
    assert_eq!((lab.world.lines("r.jsonl", "result").len(), lab.guards()), (2, 2), "two servers are up");
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();
    wait_until("the killed run's servers are gone", || processes_naming(&lab.mark()).is_empty());
    // What was begun with --duet goes on as one.
    let said = lab.go_on();
    assert_eq!(said.code, Some(0), "{said:?}");
    let results = lab.world.lines("r.jsonl", "result");
    let mut indices: Vec<u64> = results.iter().map(|r| r["index"].as_u64().unwrap()).collect();
    indices.sort_unstable();
    indices.dedup();
    assert_eq!(indices, [0, 1, 2, 3, 4, 5, 6, 7]);
    assert!(results.iter().all(|r| r["duet"]["half"].is_u64()));
    assert_eq!((processes_naming(&lab.mark()), lab.guards()), (Vec::new(), 0));
}

#[test]
fn runs_that_cannot_be_a_duet_are_refused_with_the_reason() {
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
