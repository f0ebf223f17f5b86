//! `--watch`: what a server costs that somebody else started.

use crate::world::{TargetProcess, World};

#[test]
fn what_names_no_server_is_refused_before_anything_is_loaded() {
    let (world, target) = (World::new(), TargetProcess::start(&[]));
    for (command, watch, words) in [
        ("load", "nginx", "names no server"),
        ("load", ":0", "names no server"),
        ("capacity", "4194305", "no such process"),
    ] {
        let said = world.prony(&[command, &target.url(), "--watch", watch]);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.err.contains(words), "{said:?}");
    }
    assert_eq!(target.ledger()["requests_received"], 0);
}
