//! Ctrl-C at any moment ends cleanly.

use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::world::{Said, TargetProcess, World};

/// Sends SIGINT to a command after a while and gives what it said.
fn interrupted_after(world: &World, arguments: &[&str], after: Duration) -> Said {
    let child = world.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    thread::sleep(after);
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    child.wait_with_output().unwrap().into()
}

#[test]
fn a_load_is_interrupted_at_any_moment() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    // Not before the handler stands: until then SIGINT ends a program as it ends any other.
    for after_ms in [100, 150, 300, 700] {
        let line = ["load", &target.url(), "-d", "100s", "--warmup", "200ms", "--json", "-"];
        let said = interrupted_after(&world, &line, Duration::from_millis(after_ms));
        assert!(!said.err.contains("panicked"), "{said:?}");
        assert_eq!(said.code, Some(130), "{said:?}");
        if said.out.is_empty() {
            assert!(said.err.contains("nothing was measured"), "{said:?}");
        } else {
            let json: serde_json::Value = serde_json::from_str(&said.out).unwrap();
            assert_eq!(json["interrupted"], true);
            assert!(json["window"]["duration_ns"].as_u64().unwrap() < 60_000_000_000);
        }
    }
}

#[test]
fn the_embedded_target_goes_with_its_load() {
    let world = World::new();
    let said =
        interrupted_after(&world, &["load", "-d", "100s", "--warmup", "0"], Duration::from_millis(800));
    assert_eq!(said.code, Some(130), "{said:?}");
    assert!(said.out.contains("INTERRUPTED"), "{}", said.out);
}
