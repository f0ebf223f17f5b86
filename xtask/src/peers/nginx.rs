//! A TLS 1.3 server for the comparison: nginx, whose own count is its status page.
//!
//! It speaks HTTP/2 with those that ask for it. One cipher is allowed, so that all clients do the same work.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A started nginx: the process, where it serves TLS and where it counts.
pub(super) struct Nginx {
    pub(super) child: Child,
    /// `https://127.0.0.1:PORT/`.
    pub(super) url: String,
    /// `127.0.0.1:PORT` of the status page, over plain HTTP.
    pub(super) status_address: String,
}

/// Whether it can be started; else why not.
pub(crate) fn lacks() -> Option<String> {
    let missing = ["nginx", "openssl"].into_iter().find(|name| {
        let mut run = Command::new(name);
        run.arg(if *name == "nginx" { "-v" } else { "version" });
        run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_err()
    })?;
    Some(format!("its server is nginx with TLS, and {missing} isn't here (prony servers install nginx-fpm)"))
}

/// Starts it on `cpu`, with its files in `scratch`.
pub(super) fn start(scratch: &Path, cpu: usize) -> Result<Nginx, String> {
    let folder = scratch.join("nginx");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    certificate(&folder)?;
    let (tls, status) = (free_port()?, free_port()?);
    let path = folder.join("nginx.conf");
    fs::write(&path, configuration(tls, status)).map_err(|e| format!("{}: {e}", path.display()))?;
    let own = std::env::current_exe().map_err(|e| format!("this program was not found: {e}"))?;
    let child = Command::new(own)
        .args(["pinned", &cpu.to_string(), "nginx", "-e", "stderr", "-p"])
        .arg(&folder)
        .arg("-c")
        .arg(&path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .map_err(|e| format!("nginx could not be started: {e}"))?;
    let (url, status_address) = (format!("https://127.0.0.1:{tls}/"), format!("127.0.0.1:{status}"));
    Ok(Nginx { child, url, status_address })
}

/// One process that serves until it is ended; nothing is written but errors to stderr.
fn configuration(tls: u16, status: u16) -> String {
    format!(
        "daemon off;
master_process off;
pid nginx.pid;
error_log stderr crit;
worker_rlimit_nofile 20000;
events {{ worker_connections 10000; }}
http {{
  access_log off;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  keepalive_requests 1000000000;
  keepalive_timeout 60s;
  server {{
    listen 127.0.0.1:{tls} ssl http2 backlog=4096;
    ssl_certificate certificate.pem;
    ssl_certificate_key key.pem;
    ssl_protocols TLSv1.3;
    ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256;
    default_type text/plain;
    location = / {{ return 200 'Hello, World!'; }}
  }}
  server {{
    listen 127.0.0.1:{status};
    location = / {{ stub_status; }}
  }}
}}
"
    )
}

/// A certificate for 127.0.0.1, signed by itself, of a day.
fn certificate(folder: &Path) -> Result<(), String> {
    let output = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "1",
        ])
        .args(["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"])
        .args(["-keyout", "key.pem", "-out", "certificate.pem"])
        .current_dir(folder)
        .output()
        .map_err(|e| format!("openssl could not be run: {e}"))?;
    if output.status.success() { Ok(()) } else { Err(super::child::stderr(&output)) }
}

fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|e| e.to_string())?;
    listener.local_addr().map(|address| address.port()).map_err(|e| e.to_string())
}

/// What the status page says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Status {
    /// Connections open, the page's own included.
    pub(super) open: u64,
    /// Connections accepted since the start.
    pub(super) accepted: u64,
    /// Requests since the start, pages of status included.
    pub(super) requests: u64,
}

/// Reads the page; `None` where it is none.
pub(super) fn status(page: &str) -> Option<Status> {
    let open = page.lines().find_map(|line| line.strip_prefix("Active connections:"))?;
    let mut counts = page.lines().nth(2)?.split_ascii_whitespace().map(str::parse);
    let (accepted, _handled, requests) = (counts.next()?.ok()?, counts.next()?, counts.next()?.ok()?);
    Some(Status { open: open.trim().parse().ok()?, accepted, requests })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_page_is_read() {
        let page = "Active connections: 3 \nserver accepts handled requests\n 17 17 90210 \nReading: 0 Writing: 1 Waiting: 2 \n";
        assert_eq!(status(page), Some(Status { open: 3, accepted: 17, requests: 90_210 }));
        assert_eq!(status("<html>404</html>"), None);
        assert_eq!(status("Active connections: 3 \n"), None);
    }
}
