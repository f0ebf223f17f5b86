//! Lists of more requests than fit in memory, or in a fleet's plan: counts to the request against the target's ledger.

use serde_json::Value;

use crate::fleet::sum;
use crate::fleet_pool::PoolWorld;
use crate::needs::has_nats_server;
use crate::world::{Said, TargetProcess, World};

/// A list of so many different lines, each with a parameter of so many bytes at least.
fn list(world: &World, name: &str, lines: usize, bytes: usize) {
    let text: String = (0..lines).map(|i| format!("/?{i:0bytes$}\n")).collect();
    world.write(name, &text);
}

fn loaded(said: &Said) -> Value {
    assert_eq!(said.code, Some(0), "{said:?}");
    serde_json::from_str(&said.out).unwrap()
}

#[test]
fn a_list_of_over_a_million_lines_stays_in_its_file() {
    let (world, target) = (World::new(), TargetProcess::start(&[]));
    list(&world, "list.txt", 1_000_001, 0);
    let mut sent = 0;
    for load in [&["-n", "3000", "-c", "4", "-t", "2"][..], &["-n", "1000", "-c", "8", "-R", "5000"]] {
        let url = target.url();
        let line = [&["load", &url, "--targets", "list.txt", "--json", "-", "-q"], load].concat();
        let json = loaded(&world.prony(&line));
        assert_eq!((&json["requests"]["failed"], &json["targets"]), (&0.into(), &Value::Null));
        let of = &json["plan"]["targets"];
        assert_eq!((&of["lines"], &of["order"]), (&1_000_001.into(), &"in_turn".into()));
        sent += json["run_total"]["sent"].as_u64().unwrap();
        assert_eq!(target.ledger()["requests_by_path"]["/"], sent);
    }
    assert_eq!(sent, 4_000);
    for (flags, why) in [
        (&["--shuffle"][..], "give one, without --shuffle"),
        (&["--http2"], "--http2 cannot be used with a list of over 1000000 requests"),
        (&["--requests-per-connection", "5"], "--requests-per-connection cannot be used with a list of over"),
    ] {
        let said = world.prony(&[&["load", &target.url(), "--targets", "list.txt"], flags].concat());
        assert!(said.code == Some(2) && said.err.contains(why), "{said:?}");
    }
}

#[test]
fn agents_read_the_list_that_is_too_long_for_the_plan() {
    if !has_nats_server("lists that agents read") {
        return;
    }
    let (world, target) = (World::new(), TargetProcess::start(&[]));
    // In memory, but over 32 MiB as a plan; and beyond memory.
    for (lines, bytes, sent) in [(40_000, 1_000, 2_000), (1_000_001, 0, 4_000)] {
        list(&world, "list.txt", lines, bytes);
        let load =
            ["load", &target.url(), "--targets", "list.txt", "--fleet", "local:2", "-n", "2000", "-c", "4"];
        let json = loaded(&world.prony(&[&load[..], &["--json", "-", "-q"]].concat()));
        assert_eq!((sum(&json, "run_sent"), &json["requests"]["failed"]), (2_000, &0.into()), "{json}");
        assert_eq!(json["plan"]["targets"]["lines"], lines);
        assert_eq!(target.ledger()["requests_by_path"]["/"], sent);
    }
}

#[test]
fn an_agent_of_a_pool_reads_the_same_list_in_its_folder() {
    if !has_nats_server("an agent's lists") {
        return;
    }
    let (mut pool, target) = (PoolWorld::new(), TargetProcess::start(&[]));
    list(&pool.world, "list.txt", 40_000, 1_000);
    std::fs::create_dir(pool.world.path("lists")).unwrap();
    let folder = pool.world.path("lists").display().to_string();
    let load = |pool: &PoolWorld| -> Said {
        let flags = ["--agents", "1", "-n", "100", "-c", "1", "--targets", "list.txt"];
        pool.command(&target.url(), &flags).output().unwrap().into()
    };
    pool.agent("shy", "keys/agent.key", &["--allow", "127.0.0.1"]);
    let shy = load(&pool);
    let why =
        "The list list.txt is too long for a plan, and this agent reads none: start it with --lists DIR";
    assert!(shy.code == Some(3) && shy.err.contains(why), "{shy:?}");
    pool.agents.pop().unwrap().kill().unwrap();
    pool.agent("keeper", "keys/agent.key", &["--allow", "127.0.0.1", "--lists", &folder]);
    let none = load(&pool);
    let at = format!("--targets {folder}/list.txt could not be read: No such file");
    assert!(none.code == Some(3) && none.err.contains(&at), "{none:?}");
    list(&pool.world, "lists/list.txt", 40_001, 1_000);
    let other = load(&pool);
    let why = format!("{folder}/list.txt is not the controller's list.txt, which has");
    assert!(other.code == Some(3) && other.err.contains(&why), "{other:?}");
    assert_eq!(target.ledger()["requests_received"], 0);
    list(&pool.world, "lists/list.txt", 40_000, 1_000);
    let done = load(&pool);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(target.ledger()["requests_by_path"]["/"], 100);
}
