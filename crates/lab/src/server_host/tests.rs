//! Both ends in one process, over sockets in place of ssh.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use prony_host::testing::wait_until;
use prony_load::Interrupt;

use super::*;
use crate::bench::tests::{SERVE, assert_nothing_left, counted, events, quick, read, setup, wait_for_log};
use crate::bench::{BenchError, BenchSetup, End, Loads, run};
use crate::supervise::testing::supervision;

type Served = JoinHandle<Result<(), String>>;

fn options(root: &Path, allow_commands: bool) -> AgentOptions {
    AgentOptions {
        allow_commands,
        reached_by: Some(Ipv4Addr::LOCALHOST),
        root: root.join("there"),
        supervision: supervision(root),
        lock: root.join("lock"),
    }
}

/// An agent, and the other end of its pipe.
fn agent(root: &Path, allow_commands: bool) -> (UnixStream, Served) {
    let (ours, its) = UnixStream::pair().unwrap();
    let (reads, options) = (its.try_clone().unwrap(), options(root, allow_commands));
    (ours, thread::spawn(move || serve(reads, its, options)))
}

fn greeted(pipe: &UnixStream) -> Result<ServerHost, String> {
    greeted_at(pipe, None)
}

fn greeted_at(pipe: &UnixStream, address: Option<Ipv4Addr>) -> Result<ServerHost, String> {
    /// The end of a socket that is shut down with it, as ssh's pipe is closed.
    struct Writing(UnixStream);
    impl Write for Writing {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    impl Drop for Writing {
        fn drop(&mut self) {
            let _ = self.0.shutdown(std::net::Shutdown::Write);
        }
    }
    let pipe = Pipe {
        to_agent: Box::new(Writing(pipe.try_clone().unwrap())),
        from_agent: Box::new(pipe.try_clone().unwrap()),
        carrier: Box::new(()),
    };
    let given = "ssh:there".to_owned();
    let wanted = Wanted { given, address, runtime: "native".to_owned(), memory: None };
    ServerHost::greet(pipe, wanted)
}

fn on(root: &Path, host: ServerHost) -> BenchSetup {
    BenchSetup { server_host: Some(Arc::new(host)), ..setup(root, &[("a", SERVE), ("b", SERVE)], 2) }
}

#[test]
fn a_run_with_servers_elsewhere_is_whole_and_has_their_costs() {
    let root = tempfile::tempdir().unwrap();
    let (pipe, served) = agent(root.path(), true);
    let setup = on(root.path(), greeted(&pipe).unwrap());
    assert_eq!(run(&setup, Loads::new(&quick), &Interrupt::new(), &mut |_| ()).unwrap().end, End::Finished);
    let log = read(&setup);
    assert_eq!((counted(&log), log.header.server_host.as_ref().unwrap().address.as_str()), (4, "127.0.0.1"));
    for result in &log.results {
        let server = result.server.as_ref().unwrap();
        let host = server.host.as_ref().unwrap();
        // A window of some milliseconds may lie between two readings, so that no packet is counted in it.
        assert!(host.clock_bound_ns > 0 && host.packets_received.is_some(), "{host:?}");
        assert!(server.startup_ns > 0 && server.columns.at_ns[0] <= 0, "{server:?}");
    }
    drop(setup);
    assert_eq!(served.join().unwrap(), Ok(()));
    assert_nothing_left(root.path());
}

#[test]
fn a_pipe_cut_in_mid_load_ends_its_servers_and_the_run_goes_on() {
    let root = tempfile::tempdir().unwrap();
    let (pipe, served) = agent(root.path(), true);
    let setup = on(root.path(), greeted(&pipe).unwrap());
    let cut = |plan: &_, control: &_, observe: &mut dyn FnMut(&_)| {
        pipe.shutdown(std::net::Shutdown::Both).unwrap();
        quick(plan, control, observe)
    };
    let why = run(&setup, Loads::new(&cut), &Interrupt::new(), &mut |_| ()).unwrap_err();
    assert!(matches!(why, BenchError::ServerHost { .. }), "{why}");
    assert!(
        why.to_string().contains("ssh:there: it is out of reach: ") && why.to_string().contains("--resume")
    );
    served.join().unwrap().unwrap();
    assert_nothing_left(root.path());
    drop(setup);
    let (pipe, served) = agent(root.path(), true);
    let setup = BenchSetup { resume: true, ..on(root.path(), greeted(&pipe).unwrap()) };
    wait_for_log(&setup);
    run(&setup, Loads::new(&quick), &Interrupt::new(), &mut |_| ()).unwrap();
    let log = read(&setup);
    assert_eq!((counted(&log), log.results.len()), (4, 4));
    assert!(events(&log).contains(&"resumed"), "{:?}", events(&log));
    drop(setup);
    served.join().unwrap().unwrap();
}

#[test]
fn an_agents_lease_ends_its_servers_after_controller_silence() {
    let root = tempfile::tempdir().unwrap();
    let (mut pipe, served) = agent(root.path(), true);
    let mut said = BufReader::new(pipe.try_clone().unwrap()).lines().map(Result::unwrap);
    let version = prony_model::Tool::this().version;
    let greeting = message::Greeting { version, address: None, runtime: "native".into(), memory: None };
    let command = SERVE.replace("SELF", &crate::supervise::testing::guard_exe().display().to_string());
    let candidate = message::Named::Command { name: "a".into(), command, tls: false };
    for (call, request) in [
        (1, message::Request::Greet(greeting)),
        (2, message::Request::Start { candidate, workers: 1, cpus: Vec::new(), services: Vec::new() }),
    ] {
        lines::say(&mut pipe, &message::FromController::Call(call, Box::new(request))).unwrap();
    }
    let listening = said.find(|line| line.contains("Listening")).unwrap();
    let message::FromAgent::Listening(listening) = serde_json::from_str(&listening).unwrap() else {
        unreachable!("{listening}")
    };
    wait_until("the server listens", || TcpStream::connect(("127.0.0.1", listening.port)).is_ok());
    // Nothing more is said, and the pipe stays open.
    served.join().unwrap().unwrap();
    assert!(TcpStream::connect(("127.0.0.1", listening.port)).is_err());
    assert_nothing_left(root.path());
}

#[test]
fn forbidden_commands_are_refused_and_garbage_ends_the_agent() {
    let root = tempfile::tempdir().unwrap();
    let (pipe, served) = agent(root.path(), false);
    let setup = on(root.path(), greeted(&pipe).unwrap());
    run(&setup, Loads::new(&quick), &Interrupt::new(), &mut |_| ()).unwrap();
    let log = read(&setup);
    let failures: Vec<&str> = log.results.iter().filter_map(|r| r.failure.as_deref()).collect();
    assert_eq!(failures.len(), log.results.len());
    assert!(
        failures[0].contains(" is a command") && failures[0].contains("--allow-commands"),
        "{failures:?}"
    );
    drop(setup);
    served.join().unwrap().unwrap();
    for line in ["nonsense\n".to_owned(), "{\"Beat\":1}".to_owned(), format!("{}\n", "x".repeat(2 << 20))] {
        let (mut pipe, served) = agent(root.path(), false);
        // It may be gone before all of it was written.
        let _ = pipe.write_all(line.as_bytes());
        let _ = pipe.shutdown(std::net::Shutdown::Write);
        let why = served.join().unwrap().unwrap_err();
        assert!(why.contains("prony bench --server-host"), "{why}");
    }
}

#[test]
fn a_program_that_is_not_an_agent_is_refused() {
    for (answer, says) in [
        ("nonsense\n", "could not be understood"),
        ("", "has ended"),
        ("{\"Answer\":[1,{\"Err\":\"no \\u001b[31m\"}]}\n", "no \u{fffd}[31m"),
        ("{\"Answer\":[1,{\"Ok\":\"Sampling\"}]}\n", "unexpected reply"),
    ] {
        let (ours, mut its) = UnixStream::pair().unwrap();
        let named = thread::spawn(move || greeted(&ours).unwrap_err());
        let mut asked = BufReader::new(its.try_clone().unwrap()).lines().map(Result::unwrap);
        assert!(asked.any(|line| line.contains("Greet")));
        its.write_all(answer.as_bytes()).unwrap();
        its.shutdown(std::net::Shutdown::Write).unwrap();
        let why = named.join().unwrap();
        assert!(why.contains("ssh:there") && why.contains(says), "{answer}: {why}");
    }
}

#[test]
fn an_agent_that_names_another_address_than_given_is_refused() {
    for (wanted, is_refused) in [(Ipv4Addr::LOCALHOST, false), (Ipv4Addr::new(127, 9, 9, 9), true)] {
        let (ours, mut its) = UnixStream::pair().unwrap();
        let named = thread::spawn(move || greeted_at(&ours, Some(wanted)).map(|host| host.address()));
        let mut asked = BufReader::new(its.try_clone().unwrap()).lines().map(Result::unwrap);
        assert!(asked.any(|line| line.contains("Greet") && line.contains(&wanted.to_string())));
        let greeted = message::Greeted {
            host: prony_model::host::Host::default(),
            address: Ipv4Addr::LOCALHOST,
            interface: None,
        };
        let greeted = serde_json::value::to_raw_value(&greeted).unwrap();
        lines::say(&mut its, &message::FromAgent::Answer(1, Ok(greeted))).unwrap();
        its.shutdown(std::net::Shutdown::Write).unwrap();
        match named.join().unwrap() {
            Ok(address) => assert!(!is_refused && address == wanted),
            Err(why) => {
                assert!(is_refused && why.contains("127.0.0.1") && why.contains("127.9.9.9"), "{why}");
            }
        }
    }
}
