//! Every command of docs/tutorial.md runs as it stands there. Its port alone is another, since tests run beside each other;
//! what it measures is nobody's concern here.

use std::net::TcpListener;
use std::path::Path;

use crate::tutorial_page::{PORT, commands, script, wrong};
use crate::world::World;

#[test]
fn every_command_of_the_tutorial_runs_to_the_letter() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tutorial.md");
    let commands = commands(&std::fs::read_to_string(&path).unwrap());
    let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port().to_string();
    let said = World::new().shell(&script(&commands).replace(PORT, &port));
    let wrong = wrong(&commands, &said.out);
    assert!(wrong.is_empty(), "{}\n{said:?}", wrong.join("\n"));
}
