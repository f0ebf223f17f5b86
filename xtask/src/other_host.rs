//! A second host on this machine: a network namespace behind a pair of virtual interfaces, and Debian's OpenSSH in it.
//! It needs root, iproute2, util-linux's nsenter, and OpenSSH.

use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::files::{self, anew, at};
use crate::programs::{self, Running};

/// What it is called, and its interface on this side.
const NAME: &str = "prony-other-host";
const LINK: &str = "prony-oh0";
/// This side's address, and its own.
const HERE: &str = "10.213.77.1/24";
const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 213, 77, 2);
/// What `--server-host` says of it.
pub(crate) const GIVEN: &str = "ssh:other=10.213.77.2";
const SSHD: &str = "/usr/sbin/sshd";
/// sshd listens within milliseconds.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct OtherHost {
    folder: PathBuf,
    _sshd: Running,
}

impl OtherHost {
    /// Its keys and state are in this folder, made anew; who logs in has this home and variables. None where
    /// there can be no other host, which is said.
    pub(crate) fn start(
        folder: &Path,
        home: &Path,
        variables: &[(&str, String)],
    ) -> Result<Option<OtherHost>, String> {
        let skipped = |why: String| {
            println!("skipped: another host: {why}");
            Ok(None)
        };
        if !nix::unistd::geteuid().is_root() {
            return skipped("network namespaces need root".to_owned());
        }
        for program in [SSHD, "/usr/bin/ssh", "/usr/bin/ssh-keygen", "/usr/bin/nsenter"] {
            if !Path::new(program).is_file() {
                return skipped(format!("{program} is not there (apt-get install openssh-server)"));
            }
        }
        anew(folder)?;
        files::make(&folder.join("bin"))?;
        remove();
        for line in [
            format!("netns add {NAME}"),
            format!("link add {LINK} type veth peer name eth0 netns {NAME}"),
            format!("addr add {HERE} dev {LINK}"),
            format!("link set {LINK} up"),
            format!("-n {NAME} addr add {ADDRESS}/24 dev eth0"),
            format!("-n {NAME} link set eth0 up"),
            format!("-n {NAME} link set lo up"),
        ] {
            if !ip(&line) {
                remove();
                return skipped(format!("`ip {line}` fails here"));
            }
        }
        write_configuration(folder, home, variables).inspect_err(|_| remove())?;
        // `ip netns exec` would hide the control groups, which servers' costs are read from.
        let mut sshd = Command::new("nsenter");
        sshd.arg(format!("--net=/run/netns/{NAME}")).args([SSHD, "-D", "-e", "-f"]);
        sshd.arg(folder.join("sshd_config")).stdin(Stdio::null());
        sshd.stderr(fs::File::create(folder.join("sshd.log")).map_err(at(folder))?);
        let sshd = Running::start(&mut sshd).inspect_err(|_| remove())?;
        let host = OtherHost { folder: folder.to_owned(), _sshd: sshd };
        programs::wait_for(PATIENCE, || {
            let said = || files::read(&folder.join("sshd.log")).unwrap_or_default();
            let lacks = TcpStream::connect((ADDRESS, 22)).is_err();
            Ok(lacks.then(|| format!("sshd does not listen: {}", said().trim())))
        })?;
        Ok(Some(host))
    }

    /// PATH with the ssh that reaches it as `other`.
    pub(crate) fn path(&self) -> String {
        format!("{}:{}", self.folder.join("bin").display(), std::env::var("PATH").unwrap_or_default())
    }
}

impl Drop for OtherHost {
    fn drop(&mut self) {
        remove();
    }
}

fn ip(line: &str) -> bool {
    programs::text(Command::new("ip").args(line.split(' '))).is_ok()
}

/// With its namespace the pair of interfaces goes, too.
fn remove() {
    ip(&format!("link del {LINK}"));
    ip(&format!("netns del {NAME}"));
}

fn write_configuration(folder: &Path, home: &Path, variables: &[(&str, String)]) -> Result<(), String> {
    let at = |name: &str| folder.join(name).display().to_string();
    let write = |name: &str, text: String| files::write(&folder.join(name), text);
    for key in ["host", "user"] {
        programs::text(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f", &at(key)]))?;
    }
    // Where sshd puts who is not logged in yet; the package's service makes it.
    let _ = fs::create_dir_all("/run/sshd");
    let public = files::read(&folder.join("host.pub"))?;
    write("known_hosts", format!("* {public}"))?;
    // Its own lock and journal: it is another host.
    let own = [
        ("HOME", home.display().to_string()),
        ("XDG_CACHE_HOME", at("cache")),
        ("PRONY_STATE", at("state")),
        ("PRONY_TURN", at("turn")),
        ("PATH", std::env::var("PATH").unwrap_or_default()),
    ];
    let all: Vec<String> =
        own.iter().chain(variables).map(|(name, value)| format!("{name}={value}")).collect();
    write(
        "sshd_config",
        format!(
            "ListenAddress {ADDRESS}\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\nPermitRootLogin yes\n\
             PasswordAuthentication no\nPidFile none\nSetEnv {}\n",
            at("host"),
            at("user.pub"),
            all.join(" ")
        ),
    )?;
    write(
        "ssh_config",
        format!(
            "Host other\n  HostName {ADDRESS}\n  User root\n  IdentityFile {}\n  IdentitiesOnly yes\n  UserKnownHostsFile {}\n  \
             GlobalKnownHostsFile none\n",
            at("user"),
            at("known_hosts")
        ),
    )?;
    write("bin/ssh", format!("#!/bin/sh\nexec /usr/bin/ssh -F {} \"$@\"\n", at("ssh_config")))?;
    fs::set_permissions(at("bin/ssh"), PermissionsExt::from_mode(0o755)).map_err(|e| e.to_string())
}
