//! `--watch`: what a server costs that somebody else started.

use serde_json::Value;

use crate::world::{Said, TargetProcess, World};

fn json(said: &Said) -> Value {
    assert_eq!(said.code, Some(0), "{said:?}");
    serde_json::from_str(&said.out).unwrap()
}

#[test]
fn a_server_is_watched_by_its_port_and_by_its_number() {
    let (world, target) = (World::new(), TargetProcess::start(&[]));
    let port = format!(":{}", target.address.port());
    let pid = target.pid().to_string();
    for watch in [&port, &pid] {
        let said = world.prony(&["load", &target.url(), "-n", "2000", "--watch", watch, "--json", "-"]);
        let server = &json(&said)["server"];
        assert_eq!((&server["processes"], &server["startup_ns"]), (&1.into(), &0.into()), "{server}");
        assert!(server["window_cpu_ns"].as_u64().unwrap() > 0, "{server}");
        assert!(server["peak_memory_bytes"].as_u64().unwrap() > 0, "{server}");
    }
    let repeated = ["-n", "2000", "--repeat", "2", "--watch", &port];
    let said = world.prony(&[&["load", &target.url()][..], &repeated].concat());
    assert_eq!(said.out.lines().filter(|line| line.starts_with("     server ")).count(), 2, "{said:?}");
    let flags =
        ["-n", "2000", "--watch", &port, "-o", "r.jsonl", "--slo", "memory<1MB", "--slo", "memory<9GB"];
    let said = world.prony(&[&["load", &target.url()][..], &flags].concat());
    assert_eq!(said.code, Some(1), "a threshold was missed: {said:?}");
    for words in ["server ", " at most, 1 process", "MISSED     memory<1MB", "MET        memory<9GB"] {
        assert!(said.out.contains(words), "{words}: {said:?}");
    }
    assert!(world.read("r.jsonl").contains("\"peak_memory_bytes\""), "the run log has it");
}

#[test]
fn what_names_no_server_is_refused_before_anything_is_loaded() {
    let (world, target) = (World::new(), TargetProcess::start(&[]));
    for (command, watch, words) in [
        ("load", "nginx", "names no server"),
        ("load", ":0", "names no server"),
        ("capacity", "4194305", "no such process"),
        ("load", "ssh::8080", "--watch: \"\" is not a host name"),
        ("capacity", "ssh:big:22:8080", "--watch: \"big:22\" is not a host name"),
    ] {
        let said = world.prony(&[command, &target.url(), "--watch", watch]);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.err.contains(words), "{said:?}");
    }
    assert_eq!(target.ledger()["requests_received"], 0);
}
