//! `prony bench --fleet`: the loads of an experiment's trials are a fleet's.

use crate::fleet::sum;
use crate::needs::has_nats_server;
use crate::tls::server_that_asks_who_comes;
use crate::world::{BINARY, World};

#[test]
fn a_bench_by_agents_is_exact_and_needs_reachable_servers() {
    let candidate = format!("t={BINARY} target --port {{port}}");
    let line = [
        "bench",
        "--candidate",
        &candidate,
        "-n",
        "1001",
        "-c",
        "20",
        "--blocks",
        "2",
        "-q",
        "-o",
        "r.jsonl",
    ];
    let world = World::new();
    let said = world.prony(&[&line[..], &["--fleet", "ssh:host"]].concat());
    assert_eq!((said.code, said.err.contains("give --server-host")), (Some(2), true), "{said:?}");
    if !has_nats_server("a bench by a fleet") {
        return;
    }
    let said = world.prony(&[&line[..], &["--fleet", "local:30"]].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    let results = world.lines("r.jsonl", "result");
    assert_eq!(results.len(), 2, "a block each");
    for result in results {
        // As many agents as there are connections for.
        assert_eq!(result["trial"]["fleet"]["agents"].as_array().unwrap().len(), 20);
        assert_eq!(
            (&result["trial"]["run_total"]["sent"], sum(&result["trial"], "run_sent")),
            (&1001.into(), 1001)
        );
        assert!(result["server"]["window_cpu_ns"].as_u64().unwrap() > 0);
    }
}

#[test]
fn options_that_no_fleet_can_apply_are_refused_beforehand() {
    let world = World::new();
    world.write(
        "e.toml",
        "schema = \"prony.experiment/1\"\ntitle = \"t\"\ncandidates = [\"node-http\"]\n[[plan]]\nconnections = 7\n\
         capacity = \"default\"\n",
    );
    let url = |host: &str| format!("t=http://{host}:9/");
    let (loopback, unspecified, mapped) = (url("localhost"), url("0.0.0.0"), url("[::ffff:127.0.0.1]"));
    for (arguments, says) in [
        (&["e.toml", "--fleet", "local:3"][..], "a multiple of 3"),
        // This machine's server would be checked, and each agent's own loaded.
        (
            &["--candidate", &loopback, "--fleet", "ssh:host"],
            "each of them would load itself: give --server-host",
        ),
        (&["--candidate", &unspecified, "--fleet", "ssh:host"], "would load itself"),
        (&["--candidate", &mapped, "--fleet", "nats://host", "--agents", "2"], "would load itself"),
    ] {
        let said = world.prony(&[&["bench"], arguments].concat());
        assert_eq!((said.code, said.err.contains(says)), (Some(2), true), "{arguments:?} {said:?}");
    }
}

#[test]
fn agents_of_a_bench_read_the_clients_certificate_and_key() {
    if !has_nats_server("a bench by a fleet with a client's certificate") {
        return;
    }
    let world = World::new();
    let candidate = format!("t=https://{}/", server_that_asks_who_comes(&world));
    let load = ["bench", "--candidate", &candidate, "--cacert", "certs/ca.pem", "-n", "50", "-c", "4"];
    let identity = ["--cert", "certs/client.pem", "--key", "certs/key.pem"];
    let run = ["--blocks", "1", "-q", "-o", "r.jsonl", "--fleet", "local:2"];
    let said = world.prony(&[&load[..], &identity, &run].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    let results = world.lines("r.jsonl", "result");
    assert_eq!((results.len(), sum(&results[0]["trial"], "completed")), (1, 50), "{results:?}");
}
