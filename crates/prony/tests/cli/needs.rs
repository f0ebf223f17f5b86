//! What tests need of the machine that not every machine has. Where it is missing, a test says so and ends; where
//! `PRONY_TESTS_NEED` names it, as in CI, the test fails.

use std::path::Path;
use std::process::Command;

use crate::ssh::{SSH, SSHD};

/// What is to be there, by name: `PRONY_TESTS_NEED="nats ssh netns manifests postgresql otlp"`.
const NEEDED: &str = "PRONY_TESTS_NEED";

/// Something that a test needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// nats-server on PATH.
    Nats,
    /// Debian's OpenSSH.
    Ssh,
    /// Network and time namespaces: root, iproute2 and util-linux.
    Netns,
    /// What holds manifests against the schema of Kubernetes' API.
    Manifests,
    /// PostgreSQL as Debian has it.
    Postgresql,
    /// OTLP's messages in Python, as OpenTelemetry generates them.
    Otlp,
}

impl Need {
    fn name(self) -> &'static str {
        match self {
            Need::Nats => "nats",
            Need::Ssh => "ssh",
            Need::Netns => "netns",
            Need::Manifests => "manifests",
            Need::Postgresql => "postgresql",
            Need::Otlp => "otlp",
        }
    }

    /// What of it is not there.
    fn missing(self) -> Option<&'static str> {
        let runs = |program: &str, arguments: &[&str]| {
            Command::new(program).args(arguments).output().is_ok_and(|done| done.status.success())
        };
        let lacks = match self {
            Need::Nats => [("nats-server on PATH", runs("nats-server", &["--version"]))].to_vec(),
            Need::Ssh => [SSH, SSHD].map(|path| (path, Path::new(path).is_file())).to_vec(),
            Need::Netns => vec![
                ("ip on PATH (iproute2)", runs("ip", &["-V"])),
                ("the right to make namespaces (root)", runs("unshare", &["--net", "--time", "true"])),
            ],
            Need::Manifests => {
                vec![("kubernetes-validate on PATH", runs("kubernetes-validate", &["--version"]))]
            }
            Need::Postgresql => {
                vec![(
                    "PostgreSQL (apt-get install postgresql)",
                    runs("sh", &["-c", "ls /usr/lib/postgresql/*/bin/initdb"]),
                )]
            }
            Need::Otlp => {
                let import = ["-c", "import opentelemetry.proto.collector.metrics.v1.metrics_service_pb2"];
                vec![("Python's opentelemetry-proto", runs("python3", &import))]
            }
        };
        lacks.into_iter().find(|(_, is_there)| !is_there).map(|(what, _)| what)
    }
}

/// Whether all of it is there that a test needs.
#[expect(clippy::print_stderr, reason = "who reads the test's output learns what was not tested")]
pub fn has(test: &str, needs: &[Need]) -> bool {
    let asked = std::env::var(NEEDED).unwrap_or_default();
    for need in needs {
        let Some(missing) = need.missing() else { continue };
        let is_asked = asked.split_whitespace().any(|name| name == need.name());
        assert!(!is_asked, "{test} needs {missing}, and {NEEDED} asks for {}", need.name());
        eprintln!("{test} is left out: it needs {missing}");
        return false;
    }
    true
}

/// Whether there is a nats-server.
pub fn has_nats_server(test: &str) -> bool {
    has(test, &[Need::Nats])
}
