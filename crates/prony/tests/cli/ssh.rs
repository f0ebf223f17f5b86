//! Debian's OpenSSH with keys, configurations and an ssh of the test's own in the test's folder.

use std::net::TcpStream;
use std::process::Command;

use crate::hosts::{Daemon, Hosts, Relay};
use crate::signals::program;
use crate::world::{World, wait_until};

/// sshd, as Debian has it.
pub const SSHD: &str = "/usr/sbin/sshd";
/// ssh.
pub const SSH: &str = "/usr/bin/ssh";

/// Makes the keys `host` and `user` and these others; the host's is known, and `bin/ssh` is ssh by `ssh_config`.
pub fn prepare(world: &World, others: &[&str]) {
    for key in ["host", "user"].iter().chain(others) {
        let mut made = Command::new("ssh-keygen");
        made.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(world.path(key));
        assert!(made.status().unwrap().success());
    }
    // Where sshd puts who is not logged in yet; the package's service makes it, and there is none here.
    let _ = std::fs::create_dir_all("/run/sshd");
    world.write("known_hosts", &format!("* {}", world.read("host.pub")));
    let config = world.path("ssh_config").display().to_string();
    program(world, "bin/ssh", &format!("#!/bin/sh\nexec {SSH} -F {config} \"$@\"\n"));
}

/// What ssh is told: these lines, and to come with this key.
pub fn write_client(world: &World, key: &str, lines: &str) {
    let at = |name: &str| world.path(name).display().to_string();
    let text = format!(
        "{lines}Host *\n  IdentityFile {}\n  IdentitiesOnly yes\n  UserKnownHostsFile {}\n  GlobalKnownHostsFile none\n",
        at(key),
        at("known_hosts"),
    );
    world.write("ssh_config", &text);
}

/// What sshd is told: to let `user` in with these variables set, and these lines.
pub fn write_server(world: &World, variables: &str, lines: &str) {
    let at = |name: &str| world.path(name).display().to_string();
    let text = format!(
        "HostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nPasswordAuthentication no\n\
         PidFile none\nSetEnv {variables}\n{lines}",
        at("host"),
        at("user.pub"),
    );
    world.write("sshd_config", &text);
}

/// sshd on a host, whose clock is ahead by so many seconds; it listens.
pub fn start(world: &World, hosts: &Hosts, host: usize, ahead_s: i64) -> Daemon {
    let mut sshd = hosts.command(host, "unshare");
    sshd.args(["--time", "--monotonic", &ahead_s.to_string(), "--fork", "--kill-child", SSHD, "-D"]);
    sshd.args(["-o", "Port=22", "-o", "ListenAddress=0.0.0.0", "-f"]).arg(world.path("sshd_config"));
    let sshd = Daemon(sshd.spawn().unwrap());
    wait_until("sshd listens", || {
        hosts.at(host, move || TcpStream::connect((Hosts::address(host), 22)).is_ok())
    });
    sshd
}

/// A host's name for ssh, by the way through a relay.
pub fn by(relay: &Relay, name: &str) -> String {
    format!("Host {name}\n  HostName {}\n  Port {}\n", relay.address.ip(), relay.address.port())
}
