//! What the tests of the laboratory start in place of the `prony` binary (a
//! test's own executable would read the argument as a filter of test names):
//!
//! - `lab_guard __guard`: a guard;
//! - `lab_guard hold ROOT SPEC`: a Prony that starts the server of a launch
//!   spec (JSON), says `up` and never ends, so that a test can kill it;
//! - `lab_guard serve PORT`: a server that answers the contract;
//! - `lab_guard lie PORT`: one that says something else.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::ExitCode;

use prony_lab::launch::LaunchSpec;
use prony_lab::supervise::{Running, Supervision};
use prony_target::Config;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [prony_lab::supervise::GUARD_ARGUMENT] => {
            ExitCode::from(u8::try_from(prony_lab::supervise::run_guard()).unwrap_or(1))
        }
        ["hold", root, spec] => hold(Path::new(root), spec).unwrap_or(ExitCode::from(3)),
        ["serve", port] => serve(port, None).unwrap_or(ExitCode::from(4)),
        ["lie", port] => serve(port, Some(5)).unwrap_or(ExitCode::from(4)),
        _ => ExitCode::from(2),
    }
}

fn serve(port: &str, body_bytes: Option<usize>) -> Option<ExitCode> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port.parse().ok()?));
    let config = Config { address, body_bytes, ..Config::default() };
    prony_target::run(&config, |_, _| ()).ok()?;
    Some(ExitCode::SUCCESS)
}

fn hold(root: &Path, spec: &str) -> Option<ExitCode> {
    let spec: LaunchSpec = serde_json::from_str(spec).ok()?;
    let _running = Running::start(&spec, &Supervision::new(root, &[], None), &mut || true, &|| false).ok()?;
    writeln!(std::io::stdout(), "up").ok()?;
    loop {
        std::thread::park();
    }
}
