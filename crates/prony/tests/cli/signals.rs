//! Ctrl-C at any moment ends cleanly.

use std::process::{Child, Stdio};

use crate::metrics;
use crate::world::{Said, TargetProcess, World, interrupt, wait_for_its_handler, wait_until};

fn start(world: &World, arguments: &[&str]) -> Child {
    world.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn interrupted(child: Child) -> Said {
    interrupt(child.id());
    let said: Said = child.wait_with_output().unwrap().into();
    assert!(!said.err.contains("panicked"), "{said:?}");
    assert_eq!(said.code, Some(130), "{said:?}");
    said
}

/// Not before the handler stands: until then SIGINT ends a program as it ends any other. A hundred requests a second:
/// when the 40th came the window was open, since twenty are due in the warm-up.
#[test]
fn a_load_can_be_interrupted_at_any_moment() {
    let world = World::new();
    for requests in [0, 1, 40] {
        let target = TargetProcess::start(&[]);
        let url = target.url();
        let child =
            start(&world, &["load", &url, "-R", "100", "-d", "600s", "--warmup", "200ms", "--json", "-"]);
        wait_for_its_handler(child.id());
        target.wait_for_requests(requests);
        let said = interrupted(child);
        if said.out.is_empty() {
            assert!(requests < 40 && said.err.contains("nothing was measured"), "{said:?}");
        } else {
            let json: serde_json::Value = serde_json::from_str(&said.out).unwrap();
            assert_eq!(json["interrupted"], true);
            assert!(json["window"]["duration_ns"].as_u64().unwrap() < 600_000_000_000);
        }
    }
}

/// The processes that this one has started, and what they are.
fn children(parent: u32) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter_map(|entry| {
            let status = std::fs::read_to_string(entry.path().join("status")).ok()?;
            let of =
                status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse::<u32>().ok()?;
            (of == parent).then(|| entry.path().display().to_string())
        })
        .collect()
}

#[test]
fn the_embedded_target_ends_with_its_load() {
    let world = World::new();
    let mut child = start(&world, &["load", "-d", "600s", "--warmup", "0", "--metrics", ":0"]);
    let (address, rest) = metrics::address_of(&mut child);
    metrics::wait_for_completed(&address);
    let targets = children(child.id());
    assert_eq!(targets.len(), 1, "{targets:?}");
    let said = interrupted(child);
    drop(rest);
    assert!(said.out.contains("INTERRUPTED"), "{}", said.out);
    wait_until("the embedded target is gone", || !std::path::Path::new(&targets[0]).exists());
}
