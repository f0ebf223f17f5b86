//! The routes that need services, held against a right server and against servers that break one rule each.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use prony_load::dial::Dialer;
use prony_model::{Plan, Target};

use super::realistic::{DB_ABSENT, DB_WRONG, UPSTREAM_DELAY};
use super::*;

/// Status, type and body.
type Answer = (u16, &'static str, Vec<u8>);
/// What a test makes of a right answer.
type Change = fn(&mut Answer);

const ROUTES: [Route; 4] = [Route::Upstream, Route::Db, Route::Fortunes, Route::EchoJson];

fn right(path: &str, sent: &[u8]) -> Answer {
    let id = path.strip_prefix("/db?id=").and_then(|id| id.parse::<i32>().ok()).filter(|id| *id >= 0);
    match (path, id) {
        ("/upstream", _) => {
            thread::sleep(UPSTREAM_DELAY);
            (200, "text/plain", GREETING.into())
        }
        ("/fortunes", _) => (200, "text/html; charset=UTF-8", fortunes::tests::right_page().into()),
        ("/echo", _) => (200, "application/octet-stream", sent.to_vec()),
        (_, Some(id @ 1..=1000)) => {
            (200, "application/json", format!("{{ \"message\":\"Message {id}\",\"id\":{id} }}").into())
        }
        (_, Some(_)) => (404, "text/plain", b"no".to_vec()),
        ("/", None) => (200, "text/plain", GREETING.into()),
        _ => (400, "text/plain", b"no".to_vec()),
    }
}

fn serve(stream: TcpStream, (changed, change): (&str, Change)) -> std::io::Result<()> {
    let (mut reader, mut writer) = (BufReader::new(stream.try_clone()?), stream);
    let (mut path, mut length, mut line) = (String::new(), 0, String::new());
    while reader.read_line(&mut line)? > 0 {
        match line.trim_end() {
            "" => {
                let mut sent = vec![0; length];
                reader.read_exact(&mut sent)?;
                let mut answer = right(&path, &sent);
                if path == changed {
                    change(&mut answer);
                }
                let (status, kind, body) = answer;
                let length = body.len();
                let head = format!(
                    "HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
                );
                writer.write_all(&[head.into_bytes(), body].concat())?;
            }
            head if path.is_empty() || head.ends_with("HTTP/1.1") => {
                (path, length) = (head.split(' ').nth(1).unwrap_or_default().to_owned(), 0);
            }
            head => {
                if let Some(given) = head.strip_prefix("Content-Length: ") {
                    length = given.parse().unwrap();
                }
            }
        }
        line.clear();
    }
    Ok(())
}

/// What the check says of a server with this change at a path; it ends with the test's process.
fn checked(change: (&'static str, Change)) -> CheckReport {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = Target::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || serve(stream.unwrap(), change));
        }
    });
    let expectation = ContractExpectation {
        routes: ROUTES.to_vec(),
        keepalive: Some(true),
        ..ContractExpectation::default()
    };
    check(&Dialer::of(&Plan::closed(target)).unwrap(), &expectation)
}

#[test]
fn a_server_with_work_passes_in_full() {
    let report = checked(("", |_| ()));
    assert_eq!(report.failures().collect::<Vec<_>>(), Vec::<&CheckResult>::new());
    let names: Vec<&str> = report.results.iter().map(|result| result.name.as_str()).collect();
    let db = DB_IDS.iter().map(|id| format!("GET /db?id={id}"));
    let db = db.chain(DB_ABSENT.iter().map(|id| format!("GET /db?id={id}")));
    let db: Vec<String> = db.chain(DB_WRONG.iter().map(|query| format!("GET /db{query}"))).collect();
    assert_eq!(&names[..2], ["GET /upstream", "GET /upstream, again"]);
    assert_eq!(names[2..2 + db.len()], db);
    assert_eq!(&names[2 + db.len()..][..2], ["GET /fortunes", "POST /echo, 10 KiB of JSON"]);
    // What each answer under load is held against.
    let seen = |path: &str| report.bodies().get(path).map(|body| String::from_utf8_lossy(body).into_owned());
    assert_eq!(seen("/db?id=1000").as_deref(), Some("{ \"message\":\"Message 1000\",\"id\":1000 }"));
    assert_eq!(seen("/fortunes"), Some(fortunes::tests::right_page()));
    assert_eq!((seen("/db"), seen("/db?id=abc")), (None, None));
}

#[test]
fn each_broken_rule_of_a_server_with_work_is_named() {
    let broken: [(&str, Change, &str); 15] = [
        ("/upstream", |a| a.2 = b"Hello".to_vec(), "The body is \"Hello\""),
        ("/upstream", |a| a.0 = 502, "Status 502, expected 200."),
        ("/db?id=1", |a| a.2 = b"{}".to_vec(), "The body is \"{}\", expected {\"id\":1,"),
        ("/db?id=1000", |a| a.0 = 404, "Status 404, expected 200."),
        ("/db?id=2", |a| *a = right("/db?id=1", b""), "expected {\"id\":2,"),
        ("/db?id=3", |a| a.2 = b"{\"id\":\"3\",\"message\":\"Message 3\"}".to_vec(), "expected {\"id\":3,"),
        ("/db?id=3", |a| a.1 = "text/html", "Content-Type is \"text/html\""),
        ("/db?id=1001", |a| a.0 = 200, "Status 200, expected 404."),
        ("/db", |a| a.0 = 404, "Status 404, expected 400."),
        ("/db?id=abc", |a| a.0 = 500, "Status 500, expected 400."),
        ("/db?id=1%20OR%201=1", |a| *a = right("/db?id=1", b""), "Status 200, expected 400."),
        ("/db?id=2147483648", |a| a.0 = 500, "Status 500, expected 400."),
        ("/fortunes", |a| a.1 = "text/html", "expected \"text/html; charset=utf-8\"."),
        ("/fortunes", |a| a.2.clear(), "The row that the server adds is missing"),
        ("/echo", |a| a.2.truncate(4096), "(4096 bytes), expected"),
    ];
    for (path, change, words) in broken {
        let report = checked((path, change));
        let is_it = |failure: &&CheckResult| failure.name.split([' ', ',']).nth(1) == Some(path);
        let named = report.failures().find(is_it).unwrap_or_else(|| panic!("{path}: {report:?}"));
        assert!(named.detail.contains(words), "{path}: {}", named.detail);
        // An upstream is asked twice.
        let others = report.failures().filter(|failure| !is_it(failure)).count();
        assert_eq!(others, 0, "{path}: {report:?}");
    }
}

/// A response that is there at once did not wait for the upstream; a test's machine may be slow, never early.
#[test]
fn an_answer_from_a_cache_is_no_answer_of_the_upstream() {
    let upstream = |took_ms| {
        contract::waited(std::time::Duration::from_millis(took_ms), UPSTREAM_DELAY, std::time::Duration::ZERO)
    };
    assert_eq!(upstream(9).unwrap_err(), "The response took 9 ms, expected 10 at least.");
    assert_eq!((upstream(10), upstream(1000)), (Ok(()), Ok(())));
}

#[test]
fn a_route_that_is_left_out_is_no_route_that_passed() {
    let mut report = CheckReport::default();
    report.leave_out(&[Route::Db], "There is no\n  database.");
    assert!(report.unchecked && !report.results[0].passed && report.results[0].note);
    assert_eq!(report.results[0].name, "GET /db");
    assert_eq!(report.results[0].detail, "Not checked. There is no database.");
}

#[test]
fn ten_kib_of_json_are_json_of_ten_kib() {
    let body = json_body();
    let value: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((body.len(), value["items"][0]["id"].as_u64()), (10_240, Some(1)));
    assert_eq!(serde_json::to_vec(&value).map(|again| again.len()).unwrap(), 10_240, "it has no blanks");
}
