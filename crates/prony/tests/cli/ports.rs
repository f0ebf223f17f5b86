//! Running out of local ports, in a network namespace that has twenty of them.

use std::process::Command;

use serde_json::Value;

use crate::world::{BINARY, World};

const NOT_TESTED: &str = "not tested: this user may have no network namespace";

/// Runs a script in a network namespace of its own; `None` where this user may have none.
fn in_namespace(world: &World, script: &str) -> Option<std::process::Output> {
    let unshare = |words: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--net", "--map-root-user", "--user"]).args(words).current_dir(world.path("."));
        command.output()
    };
    // Some hosts forbid namespaces to users and to containers: there is nothing to test there.
    unshare(&["true"]).ok().filter(|output| output.status.success())?;
    unshare(&["sh", "-c", script]).ok()
}

/// A load of 50 connections, with these flags besides, where twenty ports are; `None` where that can't be had.
fn load_with_twenty_ports(flags: &str) -> Option<Value> {
    let world = World::new();
    let script = format!(
        "set -e; ip link set lo up; echo '40000 40019' > /proc/sys/net/ipv4/ip_local_port_range; \
         mkfifo said; {BINARY} target --port 8080 >said & target=$!; trap \"kill $target\" EXIT; \
         read line < said; {BINARY} load http://127.0.0.1:8080/ -c 50 --warmup 0 {flags} --json - || true"
    );
    let output = in_namespace(&world, &script)?;
    let out = String::from_utf8_lossy(&output.stdout);
    let json = out.find('{').map(|at| &out[at..]).unwrap_or_default();
    Some(serde_json::from_str(json).unwrap_or_else(|e| panic!("{e}: {output:?}")))
}

#[test]
fn exhausted_ports_are_reported_and_make_the_trial_invalid() {
    let Some(trial) = load_with_twenty_ports("-d 500ms") else {
        return eprintln!("{NOT_TESTED}");
    };
    assert!(trial["errors"]["no_ports"].as_u64().is_some_and(|count| count > 0), "{}", trial["errors"]);
    let reasons = trial["verdict"]["reasons"].as_array().unwrap();
    let named = reasons.iter().find(|reason| reason["code"] == "ports_exhausted").unwrap();
    let advice = named["advice"].as_str().unwrap();
    assert!(advice.contains("ip_local_port_range") && advice.contains("--source"), "{named}");
    assert_eq!(trial["verdict"]["validity"], "invalid");
    // The twenty that there are were used.
    let connections = trial["run_total"]["connections"].as_u64().unwrap();
    assert!((1..=20).contains(&connections), "{}", trial["run_total"]);
}

#[test]
fn more_source_addresses_have_more_ports() {
    let Some(trial) = load_with_twenty_ports("-n 500 --source 127.0.0.2-127.0.0.4") else {
        return eprintln!("{NOT_TESTED}");
    };
    assert!(trial["errors"].get("no_ports").is_none_or(|count| count == 0), "{}", trial["errors"]);
    assert_eq!((&trial["requests"]["failed"], &trial["requests"]["completed"]), (&0.into(), &500.into()));
    assert_eq!(trial["run_total"]["connections"], 50);
    let reasons = trial["verdict"]["reasons"].as_array().unwrap();
    assert!(reasons.iter().all(|reason| reason["code"] != "ports_exhausted"), "{reasons:?}");
}
