//! Small servers on loopback, and where they listen.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// Has each connection to a free port, until this process ends, in a thread of its own.
pub(crate) fn serve(connection: impl Fn(TcpStream) + Send + Sync + 'static) -> Result<SocketAddr, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|e| format!("a server of our own: {e}"))?;
    let address = listener.local_addr().map_err(|e| e.to_string())?;
    let connection = Arc::new(connection);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let connection = Arc::clone(&connection);
            thread::spawn(move || connection(stream));
        }
    });
    Ok(address)
}

/// A port on which nobody listens.
pub(crate) fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|e| e.to_string())?;
    listener.local_addr().map(|address| address.port()).map_err(|e| e.to_string())
}

/// nginx in one process that keeps its files in its folder, with this log and these servers.
pub(crate) fn nginx(log: &str, servers: &str) -> String {
    format!(
        "daemon off;\nmaster_process off;\npid nginx.pid;\nerror_log stderr crit;\nworker_rlimit_nofile 20000;\n\
         events {{ worker_connections 10000; }}\nhttp {{\naccess_log {log};\nclient_body_temp_path body;\nproxy_temp_path proxy;\n\
         fastcgi_temp_path fastcgi;\nuwsgi_temp_path uwsgi;\nscgi_temp_path scgi;\ndefault_type text/plain;\n{servers}\n}}\n"
    )
}
