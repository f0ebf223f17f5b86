//! Pools: agents that stand by at a NATS server that is not Prony's, with TLS and nkeys.
//!
//! They need nats-server on PATH, and say so where there is none.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::fleet::{is_cut, is_quiet, sum};
use crate::needs::{Need, has, has_nats_server};
use crate::tls::server_that_asks_who_comes;
use crate::world::{BINARY, Said, TargetProcess, World, send, wait_until};

/// A NATS server with TLS, which lets in who has the nkey; agents; and the folder of all their files.
pub struct PoolWorld {
    pub world: World,
    nats: Child,
    url: String,
    pub agents: Vec<Child>,
}

impl Drop for PoolWorld {
    fn drop(&mut self) {
        for child in self.agents.iter_mut().chain([&mut self.nats]) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl PoolWorld {
    pub fn new() -> PoolWorld {
        let world = World::new();
        let made =
            rcgen::generate_simple_self_signed(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        world.write("ca.pem", &made.cert.pem());
        world.write("key.pem", &made.signing_key.serialize_pem());
        let (user, stranger) = (nkeys::KeyPair::new_user(), nkeys::KeyPair::new_user());
        world.write("user.nk", &user.seed().unwrap());
        world.write("stranger.nk", &stranger.seed().unwrap());
        let at = |name: &str| world.path(name).display().to_string();
        world.write(
            "nats.conf",
            &format!(
                "listen: \"127.0.0.1:-1\"\nports_file_dir: \"{}\"\ntls {{ cert_file: \"{}\", key_file: \"{}\" }}\nauthorization {{ \
                 users: [ {{ nkey: {}, permissions: {{ publish: \"prony.pool.>\", subscribe: \"prony.pool.>\" }} }} ] }}\n",
                at("ports"),
                at("ca.pem"),
                at("key.pem"),
                user.public_key()
            ),
        );
        std::fs::create_dir(world.path("ports")).unwrap();
        let nats = Command::new("nats-server")
            .args(["-c", &at("nats.conf"), "-l", &at("nats.log")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut url = None;
        wait_until("the NATS server listens", || {
            let file = std::fs::read_dir(world.path("ports")).unwrap().flatten().next();
            let text = file.and_then(|file| std::fs::read_to_string(file.path()).ok()).unwrap_or_default();
            let ports: Value = serde_json::from_str(&text).unwrap_or_default();
            let listens = ports["nats"][0].as_str().and_then(|url| url.rsplit(':').next()).map(str::to_owned);
            url = listens.map(|port| format!("tls://127.0.0.1:{}/test", port.trim_end_matches('/')));
            url.is_some()
        });
        let pool = PoolWorld { world, nats, url: url.unwrap(), agents: Vec::new() };
        assert_eq!(pool.world.prony(&["fleet", "key", "keys"]).code, Some(0));
        assert_eq!(pool.world.prony(&["fleet", "key", "others"]).code, Some(0));
        pool
    }

    /// Starts an agent of this name, and waits until it stands by.
    pub fn agent(&mut self, name: &str, key: &str, more: &[&str]) {
        self.agent_by(BINARY.as_ref(), name, key, more);
    }

    fn agent_by(&mut self, program: &std::path::Path, name: &str, key: &str, more: &[&str]) {
        let mut child = Command::new(program)
            .args(["agent", "--pool", &self.url, "--name", name, "--key", key])
            .args(["--nats-ca", "ca.pem", "--nats-nkey", "user.nk"])
            .args(more)
            .env("XDG_STATE_HOME", self.world.path("state"))
            .current_dir(self.world.path("."))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
        self.agents.push(child);
        let waits = |line: std::io::Result<String>| line.is_ok_and(|line| line.contains("waits in the pool"));
        assert!(said.any(waits), "the agent {name} does not wait");
        // Whatever else it says is read, so that it can say it.
        std::thread::spawn(move || said.for_each(drop));
    }

    pub fn command(&self, target: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(BINARY);
        command
            .args([
                "load",
                target,
                "--json",
                "-",
                "-q",
                "--fleet",
                &self.url,
                "--fleet-key",
                "keys/controller.key",
            ])
            .args(["--nats-ca", "ca.pem", "--nats-nkey", "user.nk"])
            .args(arguments)
            .current_dir(self.world.path("."));
        command
    }

    fn load(&self, target: &TargetProcess, arguments: &[&str]) -> Said {
        self.command(&target.url(), arguments).output().unwrap().into()
    }

    /// A load by `--agents 1` of an agent that has these bounds: one sentence, exit code 3, nothing sent.
    #[track_caller]
    fn is_refused(&self, arguments: &[&str], says: &str) {
        let target = TargetProcess::start(&[]);
        let said = self.load(&target, arguments);
        assert_eq!(said.code, Some(3), "{said:?}");
        let sentence = said.err.lines().find(|line| line.starts_with("prony: ")).unwrap_or_default();
        assert!(sentence.contains(says) && sentence.ends_with('.'), "{says:?} {said:?}");
        assert_eq!(target.ledger()["requests_received"], 0);
    }
}

#[test]
fn agents_of_a_pool_apply_loads_one_after_the_other() {
    if !has_nats_server("a pool") {
        return;
    }
    let mut pool = PoolWorld::new();
    for name in ["red", "red", "blue"] {
        pool.agent(
            name,
            "keys/agent.key",
            &["--allow", "127.0.0.0/8", "--max-rate", "2000", "--max-connections", "50"],
        );
    }
    for (agents, load) in
        [("3", &["-R", "3000"][..]), ("2", &["-R", "900", "--arrivals", "poisson"]), ("3", &["-R", "900"])]
    {
        let target = TargetProcess::start(&[]);
        let said = pool.load(&target, &[&["--agents", agents, "-c", "30", "-n", "1001"][..], load].concat());
        assert_eq!(said.code, Some(0), "{said:?}");
        let json: Value = serde_json::from_str(&said.out).unwrap();
        let ledger = target.ledger();
        assert_eq!((sum(&json, "run_sent"), &ledger["requests_received"]), (1001, &1001.into()));
        let mut names: Vec<&str> = json["fleet"]["agents"]
            .as_array()
            .unwrap()
            .iter()
            .map(|agent| agent["name"].as_str().unwrap())
            .collect();
        names.sort_unstable();
        match agents {
            "3" => assert_eq!(names, ["blue", "red", "red-2"]),
            _ => assert_eq!(names.len(), 2),
        }
    }
    // Whatever they measured was taken.
    wait_until("agents have removed their files", || {
        std::fs::read_dir(pool.world.path("state/prony/agents")).is_ok_and(|files| files.count() == 0)
    });
}

#[test]
fn an_agent_is_used_within_its_own_bounds_alone() {
    if !has_nats_server("an agent's bounds") {
        return;
    }
    let mut pool = PoolWorld::new();
    pool.agent("shy", "keys/agent.key", &[]);
    pool.is_refused(&["--agents", "1", "-n", "10", "-c", "1"], "not a target that this agent may load");
    pool.agents.pop().unwrap().kill().unwrap();
    let bounds = ["--allow", "127.0.0.1", "--max-rate", "100", "--max-connections", "5"];
    pool.agent("small", "keys/agent.key", &bounds);
    for (load, says) in [
        (&["-R", "200", "-c", "5"][..], "it takes at most 100/s (--max-rate)"),
        (&["-c", "5"], "the load has no rate"),
        (&["-R", "100", "-c", "6"], "6 connections, and it takes at most 5 (--max-connections)"),
    ] {
        pool.is_refused(&[&["--agents", "1", "-d", "1s"][..], load].concat(), says);
    }
}

#[test]
fn an_agent_reads_certificates_in_its_own_folder_alone() {
    if !has_nats_server("an agent's certificates") {
        return;
    }
    let mut pool = PoolWorld::new();
    let url = format!("https://{}/", server_that_asks_who_comes(&pool.world));
    let certs = pool.world.path("certs").display().to_string();
    let load = |pool: &PoolWorld, cert: &str| -> Said {
        let arguments = [
            "--agents",
            "1",
            "-n",
            "10",
            "-c",
            "1",
            "--cacert",
            "certs/ca.pem",
            "--key",
            "key.pem",
            "--cert",
            cert,
        ];
        pool.command(&url, &arguments).output().unwrap().into()
    };
    pool.agent("shy", "keys/agent.key", &["--allow", "127.0.0.1"]);
    let shy = load(&pool, "client.pem");
    assert!(
        shy.code == Some(3)
            && shy.err.contains("shy: --cert client.pem could not be read: this agent reads none"),
        "{shy:?}"
    );
    pool.agents.pop().unwrap().kill().unwrap();
    pool.agent("keeper", "keys/agent.key", &["--allow", "127.0.0.1", "--allow-cert", &certs]);
    let within = load(&pool, "client.pem");
    assert_eq!(within.code, Some(0), "{within:?}");
    let beyond = load(&pool, "../ca.pem");
    assert!(
        beyond.code == Some(3) && beyond.err.contains(&format!("reads those in {certs} alone")),
        "{beyond:?}"
    );
}

#[test]
fn missing_agents_are_counted_and_other_versions_are_named() {
    if !has_nats_server("agents that do not come") {
        return;
    }
    let mut pool = PoolWorld::new();
    let allow = ["--allow", "127.0.0.1"];
    pool.agent("good", "keys/agent.key", &allow);
    pool.agent("other", "others/agent.key", &allow);
    let own = format!("{} protocol ", env!("CARGO_PKG_VERSION")).into_bytes();
    let mut program = std::fs::read(BINARY).unwrap();
    let places: Vec<usize> =
        (0..program.len() - own.len()).filter(|at| program[*at..].starts_with(&own)).collect();
    places.into_iter().for_each(|at| program[at] = b'9');
    std::fs::write(pool.world.path("bytes"), program).unwrap();
    // By another process: see `signals::program`.
    let old = pool.world.path("old");
    let mut copied = Command::new("install");
    assert!(copied.args(["-m", "755"]).arg(pool.world.path("bytes")).arg(&old).status().unwrap().success());
    pool.agent_by(&old, "old", "keys/agent.key", &allow);
    let arguments = ["--agents", "3", "-n", "30", "-c", "3"];
    pool.is_refused(&arguments, "Of 3 agents, 2 did not answer");
    pool.is_refused(&arguments, "old was refused: the agent is Prony 9.");
}

/// A load of one request by one agent of a pool.
fn one_request<'a>(url: &'a str, pool: &'a str, key: &'a str) -> [&'a str; 12] {
    ["load", url, "-c", "1", "-n", "1", "--agents", "1", "--fleet", pool, "--fleet-key", key]
}

#[test]
fn a_nats_server_that_is_not_there_or_refuses_is_named() {
    if !has_nats_server("a NATS server that refuses") {
        return;
    }
    let mut pool = PoolWorld::new();
    let load = ["--agents", "1", "-n", "1", "-c", "1"];
    std::fs::copy(pool.world.path("stranger.nk"), pool.world.path("user.nk")).unwrap();
    pool.is_refused(&load, "could not be reached: authorization violation");
    pool.world.write("user.nk", "no seed");
    pool.is_refused(&load, "has no seed of a user nkey");
    std::fs::copy(pool.world.path("keys/agent.key"), pool.world.path("keys/controller.key")).unwrap();
    pool.is_refused(&load, "it is the agent's");
    let _ = (pool.nats.kill(), pool.nats.wait());
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    // Nobody listens at this address of the loopback while another holds its port.
    let port = listener.local_addr().unwrap().port();
    pool.url = format!("nats://127.0.0.77:{port}");
    pool.world.prony(&["fleet", "key", "new"]);
    let target = TargetProcess::start(&[]);
    let url = target.url();
    let said = pool.world.prony(&one_request(&url, &pool.url, "new/controller.key"));
    assert_eq!((said.code, said.err.contains("could not be reached")), (Some(3), true), "{said:?}");
    assert!(said.err.contains(&pool.url) && said.err.trim_end().ends_with('.'), "{said:?}");
    assert_eq!(target.ledger()["requests_received"], 0);
}

#[test]
fn a_nats_server_that_is_too_old_is_named_by_whoever_comes() {
    let old = crate::world::serve(0, |mut stream| {
        let info =
            "INFO {\"server_id\":\"old\",\"version\":\"2.1.9\",\"proto\":1,\"max_payload\":1048576}\r\n";
        let mut alive = stream.write_all(info.as_bytes()).is_ok();
        for line in BufReader::new(stream.try_clone().unwrap()).lines() {
            alive &= line.is_ok_and(|line| line != "PING" || stream.write_all(b"PONG\r\n").is_ok());
            if !alive {
                return;
            }
        }
    });
    let world = World::new();
    world.prony(&["fleet", "key", "keys"]);
    let pool = format!("nats://{old}/test");
    let target = TargetProcess::start(&[]);
    let url = target.url();
    let load = one_request(&url, &pool, "keys/controller.key");
    let agent =
        ["agent", "--pool", &pool, "--key", "keys/agent.key", "--allow", "127.0.0.1", "--name", "one"];
    for line in [&load[..], &agent] {
        let said = world.prony(line);
        let says = format!(
            "The NATS server at nats://{old} is of version \"2.1.9\", and a fleet needs 2.2.0 or newer"
        );
        assert!(said.code == Some(3) && said.err.contains(&says), "{said:?}");
    }
    assert_eq!(target.ledger()["requests_received"], 0);
}

/// A load by both agents for a minute, two seconds of it done.
fn under_way(pool: &PoolWorld, target: &TargetProcess) -> Child {
    let arguments = ["--agents", "2", "-c", "8", "-R", "200", "-d", "60s", "--warmup", "0"];
    let controller = pool.command(&target.url(), &arguments).stdout(Stdio::piped()).spawn().unwrap();
    target.wait_for_requests(600);
    controller
}

#[test]
fn agents_of_a_killed_controller_end_and_serve_the_next_one() {
    if !has_nats_server("a pool whose controller is killed") {
        return;
    }
    let mut pool = PoolWorld::new();
    for name in ["red", "blue"] {
        pool.agent(name, "keys/agent.key", &["--allow", "127.0.0.1"]);
    }
    let target = TargetProcess::start(&[]);
    let mut controller = under_way(&pool, &target);
    send(controller.id(), Signal::SIGKILL);
    controller.wait().unwrap();
    is_quiet(&target);
    let files = || std::fs::read_dir(pool.world.path("state/prony/agents")).unwrap().flatten();
    wait_until("both agents have left their files", || files().count() == 2);
    for file in files() {
        let text = std::fs::read_to_string(file.path()).unwrap();
        // A line a second, each what was measured in it.
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(lines.len() >= 2 && lines.iter().all(|line| line["Part"]["share"].is_object()), "{text}");
    }
    let mut said = None;
    wait_until("the agents serve the next", || {
        let done = pool.load(&target, &["--agents", "2", "-c", "8", "-n", "100"]);
        let is_done = done.code == Some(0);
        said = Some(done);
        is_done
    });
    let json: Value = serde_json::from_str(&said.unwrap().out).unwrap();
    assert_eq!(sum(&json, "run_sent"), 100);
}

#[test]
fn a_nats_server_that_dies_is_named_and_ends_the_run() {
    if !has_nats_server("a pool whose NATS server dies") {
        return;
    }
    let mut pool = PoolWorld::new();
    for name in ["red", "blue"] {
        pool.agent(name, "keys/agent.key", &["--allow", "127.0.0.1"]);
    }
    let target = TargetProcess::start(&[]);
    let controller = under_way(&pool, &target);
    let _ = (pool.nats.kill(), pool.nats.wait());
    let done: Said = controller.wait_with_output().unwrap().into();
    let json: Value = serde_json::from_str(&done.out).unwrap();
    is_cut(&json);
    let reasons = json["verdict"]["reasons"].to_string();
    assert!(reasons.contains("the connection to the NATS server is lost"), "{reasons}");
    is_quiet(&target);
}

#[test]
fn keys_are_written_once_and_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let said = world.prony(&["fleet", "key", "keys"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    for name in ["keys/controller.key", "keys/agent.key"] {
        assert!(said.out.contains(name), "{said:?}");
        assert_eq!(std::fs::metadata(world.path(name)).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let again = world.prony(&["fleet", "key", "keys"]);
    assert_eq!((again.code, again.err.contains("exists")), (Some(2), true), "{again:?}");
}

#[test]
fn manifests_name_pool_targets_and_whole_cpus() {
    let world = World::new();
    let of = |format: &str| {
        let pool = "nats://nats.load:4222/p";
        let line = [
            "fleet",
            "manifests",
            "--format",
            format,
            "--pool",
            pool,
            "--allow",
            "10.0.0.0/8:80",
            "--agents",
            "5",
            "--cpus",
            "4",
        ];
        let said = world.prony(&line);
        assert_eq!(said.code, Some(0), "{said:?}");
        said.out
    };
    let job = of("kubernetes");
    for line in [
        "completionMode: Indexed",
        "completions: 5",
        "parallelism: 5",
        "backoffLimit: 0",
        "restartPolicy: Never",
        // What a namespace with the restricted standard asks for.
        "runAsNonRoot: true",
        "seccompProfile:\n          type: RuntimeDefault",
        "allowPrivilegeEscalation: false",
        "topologyKey: kubernetes.io/hostname",
    ] {
        assert!(job.contains(line), "{line}: {job}");
    }
    assert_eq!(job.matches("cpu: \"4\"").count(), 2, "asked for as it is limited: {job}");
    let unit = of("systemd");
    assert!(
        unit.contains("ExecStart=/usr/local/bin/prony \"agent\" \"--pool\" \"nats://nats.load:4222/p\""),
        "{unit}"
    );
    for text in [&job, &unit] {
        assert!(text.contains("\"--allow\"") && text.contains("\"10.0.0.0/8:80\""), "{text}");
    }
    validate(&world, &job);
}

/// Holds a manifest against the schema of Kubernetes' API, by the tool for it.
fn validate(world: &World, job: &str) {
    if !has("the Job against the API's schema", &[Need::Manifests]) {
        return;
    }
    let validates = |text: &str| {
        world.write("job.yaml", text);
        Command::new("kubernetes-validate")
            .args(["--strict", "job.yaml"])
            .current_dir(world.path("."))
            .output()
            .unwrap()
    };
    let right = validates(job);
    assert!(right.status.success(), "{right:?}");
    let wrong = validates(&job.replace("backoffLimit: 0", "backoffLimit: none"));
    assert!(!wrong.status.success(), "{wrong:?}");
}
