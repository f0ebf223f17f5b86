//! A TLS 1.3 server for the comparison: nginx, also in HTTP/2. One cipher is allowed: all clients do the same work.

use std::path::Path;
use std::process::{Command, Stdio};

use super::child::pinned;
use crate::files::{make, write};
use crate::loopback::{self, free_port};
use crate::programs::{self, Running, is_there};

pub(crate) fn lacks() -> Option<String> {
    let needed = [
        ("nginx", "-v", "prony servers install nginx-fpm"),
        ("openssl", "version", "apt-get install openssl"),
        ("curl", "--version", "apt-get install curl"),
    ];
    let (name, _, install) = needed.into_iter().find(|(name, flag, _)| !is_there(name, flag))?;
    Some(format!("its server is nginx with TLS, and {name} isn't here ({install})"))
}

/// Starts it on `cpu`, with its files in `scratch`: where it serves TLS, and where it counts, over plain HTTP.
pub(super) fn start(scratch: &Path, cpu: u32) -> Result<(Running, String, String), String> {
    let folder = scratch.join("nginx");
    make(&folder)?;
    certificate(&folder)?;
    let (tls, status) = (free_port()?, free_port()?);
    let path = folder.join("nginx.conf");
    write(&path, configuration(tls, status))?;
    let mut command = pinned(cpu);
    command.args(["nginx", "-e", "stderr", "-p"]).arg(&folder);
    command.arg("-c").arg(&path).stdin(Stdio::null()).stdout(Stdio::null());
    let nginx = Running::start(&mut command)?;
    Ok((nginx, format!("https://127.0.0.1:{tls}/"), format!("http://127.0.0.1:{status}/")))
}

/// TLS that serves until it is ended; nothing is logged.
fn configuration(tls: u16, status: u16) -> String {
    let servers = format!(
        "keepalive_requests 1000000000;
keepalive_timeout 60s;
server {{
  listen 127.0.0.1:{tls} ssl http2 backlog=4096;
  ssl_certificate certificate.pem;
  ssl_certificate_key key.pem;
  ssl_protocols TLSv1.3;
  ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256;
  location = / {{ return 200 'Hello, World!'; }}
}}
server {{ listen 127.0.0.1:{status}; location = / {{ stub_status; }} }}"
    );
    loopback::nginx("off", &servers)
}

/// A certificate for 127.0.0.1, signed by itself, of a day.
fn certificate(folder: &Path) -> Result<(), String> {
    let request = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=localhost \
                   -addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out certificate.pem";
    programs::text(Command::new("openssl").args(request.split(' ')).current_dir(folder)).map(drop)
}

/// Connections open (the page's own included), connections accepted and requests (pages of status included), since the start.
pub(super) fn status(page: &str) -> Option<(u64, u64, u64)> {
    let open = page.lines().find_map(|line| line.strip_prefix("Active connections:"))?;
    let mut counts = page.lines().nth(2)?.split_ascii_whitespace().map(str::parse);
    let (accepted, _handled, requests) = (counts.next()?.ok()?, counts.next()?, counts.next()?.ok()?);
    Some((open.trim().parse().ok()?, accepted, requests))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_page_is_read() {
        let page = "Active connections: 3 \nserver accepts handled requests\n 17 17 90210 \nReading: 0 Writing: 1 Waiting: 2 \n";
        assert_eq!(status(page), Some((3, 17, 90_210)));
        assert_eq!(status("<html>404</html>"), None);
        assert_eq!(status("Active connections: 3 \n"), None);
    }
}
