//! Where connections go, and after how many requests they end.

use serde_json::Value;

use crate::world::{TargetProcess, World};

/// A load's trial, which must have completed all of its requests.
#[track_caller]
fn trial(world: &World, url: &str, flags: &[&str], requests: u64) -> Value {
    let n = requests.to_string();
    let said = world.prony(&[&["load", url, "-n", &n, "--json", "t.json"], flags].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    let json: Value = serde_json::from_str(&world.read("t.json")).unwrap();
    assert_eq!((&json["requests"]["completed"], &json["requests"]["failed"]), (&requests.into(), &0.into()));
    json
}

#[test]
fn connections_carry_as_many_requests_as_asked() {
    let world = World::new();
    // Connections for 100 requests; where each has one, another finds out before whether anybody listens.
    for (flags, connections, before) in [
        (&["--requests-per-connection", "10"][..], 10, 0),
        (&["--requests-per-connection", "1"], 100, 1),
        (&["--requests-per-connection", "10", "--http2", "-p", "2"], 10, 0),
        (&["--no-keepalive", "--http2"], 100, 1),
        (&["--requests-per-connection", "10", "-R", "2000"], 10, 0),
    ] {
        let target = TargetProcess::start(&[]);
        let json = trial(&world, &target.url(), &[flags, &["-c", "1"]].concat(), 100);
        assert_eq!(json["run_total"]["connections"], connections, "{flags:?}");
        let ledger = target.ledger();
        // Beside the ledger's own.
        assert_eq!(ledger["connections_accepted"], connections + before + 1, "{flags:?}");
        assert_eq!(ledger["requests_received"], 100, "{flags:?}");
        let codes = json["verdict"]["reasons"].to_string();
        assert!(!codes.contains("connections_closed"), "the plan closes them: {codes}");
    }
    let said = world.prony(&["load", "http://127.0.0.1:9/", "--requests-per-connection", "4", "-p", "2"]);
    assert!(said.code == Some(2) && said.err.contains("--http2"), "{said:?}");
    let said =
        world.prony(&["load", "http://127.0.0.1:9/", "--requests-per-connection", "4", "-p", "8", "--http2"]);
    assert!(said.code == Some(2) && said.err.contains("serves 4 requests cannot carry 8"), "{said:?}");
}

#[test]
fn connections_go_where_the_rule_says() {
    let (world, target) = (World::new(), TargetProcess::start(&[]));
    let to = target.address.to_string();
    let json = trial(&world, "http://shop.invalid/", &["--connect-to", &to, "--resolve-every", "1s"], 50);
    assert_eq!(
        (&json["plan"]["connect_to"], &json["plan"]["url"]),
        (&vec![to.clone()].into(), &"http://shop.invalid/".into())
    );
    let rule = format!("shop.invalid:80:127.0.0.1:{}", target.address.port());
    trial(
        &world,
        "http://shop.invalid/",
        &["--connect-to", "other.invalid:80:127.0.0.1:9", "--connect-to", &rule],
        50,
    );
    let said = world.prony(&[
        "load",
        "http://shop.invalid/",
        "--connect-to",
        "other.invalid:80:127.0.0.1:9",
        "-n",
        "1",
    ]);
    assert!(said.code != Some(0) && said.err.contains("shop.invalid"), "{said:?}");
    assert_eq!(target.ledger()["requests_received"], 100);
}

#[test]
fn addresses_are_those_of_the_asked_kind_each_with_figures() {
    let (world, target) = (World::new(), TargetProcess::start(&[]));
    let url = format!("http://localhost:{}/", target.address.port());
    let json = trial(&world, &url, &["--all-addresses", "-4", "-c", "4"], 200);
    let rows = json["targets"].as_array().unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(
        (&rows[0]["request"], &rows[0]["completed"]),
        (&target.address.to_string().into(), &200.into())
    );
    let json = trial(&world, &url, &["--all-addresses", "-4", "-c", "4", "--http2", "-p", "3"], 200);
    assert_eq!(json["targets"][0]["completed"], 200);
    let said = world.prony(&["load", &target.url(), "-6", "-n", "1"]);
    assert!(said.code != Some(0) && said.err.contains("no IPv6 address"), "{said:?}");
    for flags in [
        &["-4", "-6"][..],
        &["--all-addresses", "--resolve-every", "1s"],
        &["--sni", "a"],
        &["--unix", "/x", "-4"],
    ] {
        let said = world.prony(&[&["load", &target.url(), "-n", "1"], flags].concat());
        assert_eq!(said.code, Some(2), "{flags:?}: {said:?}");
    }
}
