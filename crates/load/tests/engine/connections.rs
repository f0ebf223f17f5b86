//! What is kept of connections that a server was slow to accept, and of those that it ended.

use std::io::Write;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use crate::lying::{read_request, serve};
use crate::{plan, run};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const LAST: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";

/// Whether the kernel has sent the first packet of a connect to this port again (proc_net_tcp: the state SYN_SENT, its retransmits).
fn was_asked_again(port: u16) -> bool {
    let text = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let port = format!(":{port:04X}");
    text.lines().any(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        fields[2].ends_with(&port) && fields[3] == "02" && fields[6] != "00000000"
    })
}

/// A listening socket whose queue takes one connection, and that accepts none until another was asked for again.
#[test]
fn connects_that_were_retried_before_the_clock_are_counted() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        while !was_asked_again(address.port()) {
            thread::sleep(Duration::from_millis(1));
        }
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || while read_request(&mut stream) && stream.write_all(OK).is_ok() {});
        }
    });
    let mut p = plan(address);
    p.connections = 4;
    let m = run(&p).unwrap();
    assert_eq!((m.requests.completed, m.run_total.connections), (200, 4));
    assert!((1..=3).contains(&m.run_total.retried), "{:?}", m.run_total);
}

#[test]
fn after_how_many_requests_the_server_ended_connections_is_kept() {
    let address = serve(|mut stream, _| {
        for _ in 0..6 {
            if !read_request(&mut stream) || stream.write_all(OK).is_err() {
                return;
            }
        }
        if read_request(&mut stream) {
            let _ = stream.write_all(LAST);
        }
    });
    let m = run(&plan(address)).unwrap();
    assert_eq!(m.by_connection.ended_after, [7; 200 / 7]);
    assert_eq!((m.run_total.connections, m.run_total.retried), (200 / 7 + 1, 0));
    assert!(m.by_connection.ended_after_ns.iter().all(|ns| *ns > 0));
}
