//! The check and a load take the same answers, and refuse the same for the same reasons.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use prony_load::Control;
use prony_load::dial::Dialer;
use prony_model::measurement::ErrorKind;
use prony_model::plan::Stop;
use prony_model::{Plan, Target};

use super::client::{Connection, Fault, Request};

/// A server that answers every request with these bytes, and closes then or does not. It ends with the test's process.
fn server(answer: &str, closes: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answer = answer.to_owned();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let answer = answer.clone();
            thread::spawn(move || serve(stream.unwrap(), &answer, closes));
        }
    });
    address
}

fn serve(mut stream: TcpStream, answer: &str, closes: bool) {
    let mut request = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(count) = stream.read(&mut piece) {
        request.extend_from_slice(&piece[..count]);
        if count == 0 {
            return;
        }
        if request.ends_with(b"\r\n\r\n") {
            request.clear();
            // A client that refuses the answer need not read it to its end.
            if stream.write_all(answer.as_bytes()).is_err() || closes {
                return;
            }
        }
    }
}

/// Two requests, one after the other.
fn plan(address: SocketAddr) -> Plan {
    let mut plan = Plan::closed(Target::parse(&format!("http://{address}/")).unwrap());
    (plan.connections, plan.warmup) = (1, Duration::ZERO);
    plan.stop = Stop { duration: None, requests: Some(2) };
    // Only what hangs takes this long.
    plan.timeout = Duration::from_secs(120);
    plan
}

#[test]
fn the_check_and_a_load_take_and_refuse_the_same_answers() {
    let field = |count: usize| format!("X: {}\r\nContent-Length: 2", "y".repeat(count));
    let [long, too_long] = [250_000, 270_000].map(field);
    let [many, too_many] = [4_000, 5_001].map(|count| "X: y\r\n".repeat(count) + "Content-Length: 2");
    for (fields, body, closes, taken) in [
        ("Content-Length: 2", "ok", false, true),
        ("Content-Length: 2\r\nContent-Length: 2", "ok", false, true),
        ("Content-Length: 2, 2", "ok", false, true),
        ("Content-Length: 2\r\nContent-Length: 3", "ok!", false, false),
        ("Content-Length: 2, 3", "ok!", false, false),
        ("Content-Length: 2,", "ok", false, false),
        ("Content-Length: -2", "ok", false, false),
        ("Content-Length: 99999999999999999999", "ok", true, false),
        ("Content-Length: 9\r\nTransfer-Encoding: chunked", "2\r\nok\r\n0\r\n\r\n", false, true),
        ("Transfer-Encoding: chunked\r\nContent-Length: 9", "2\r\nok\r\n0\r\n\r\n", false, true),
        ("Transfer-Encoding: identity\r\nContent-Length: 2", "ok", false, true),
        ("Transfer-Encoding: chunked, chunked", "2\r\nok\r\n0\r\n\r\n", false, true),
        ("Transfer-Encoding: chunked, gzip", "0\r\n\r\n", false, false),
        ("Transfer-Encoding: gzip", "ok", true, true),
        ("X: a\r\n b\r\n\tc\r\nContent-Length:\r\n 2", "ok", false, true),
        ("Connection: a,\r\n close\r\nContent-Length: 2", "ok", true, true),
        (" X: y\r\nContent-Length: 2", "ok", false, false),
        ("X y\r\nContent-Length: 2", "ok", false, false),
        (long.as_str(), "ok", false, true),
        (too_long.as_str(), "ok", false, false),
        (many.as_str(), "ok", false, true),
        (too_many.as_str(), "ok", false, false),
        ("X: y", "ok", true, true),
    ] {
        let what = &fields[..fields.len().min(60)];
        let plan = plan(server(&format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n{body}"), closes));
        let dialer = Dialer::of(&plan).unwrap();
        let request = Request {
            method: "GET",
            path: "/",
            host: dialer.host(),
            headers: &[],
            body: None,
            fragmented: false,
        };
        let checked = Connection::open(&dialer).unwrap().exchange(&request);
        let m = prony_load::run(&plan, &Control::new(), &mut |_| {}).unwrap();
        match checked {
            Ok(response) => {
                assert!(taken, "the check takes {what}");
                assert_eq!((m.requests.completed, m.requests.failed), (2, 0), "{what}: {:?}", m.errors);
                assert_eq!(m.run_total.connections == 1, response.keeps, "{what}");
            }
            Err(Fault::Protocol(_, why)) => {
                assert!(!taken, "the check refuses {what}: {why}");
                let tally = &m.errors[&ErrorKind::Protocol];
                assert_eq!((m.requests.failed, tally.count, &tally.first), (2, 2, &why), "{what}");
            }
            Err(other) => panic!("{what}: {other}"),
        }
    }
}
