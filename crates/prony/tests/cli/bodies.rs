//! Requests' bodies: forms, chunks, files, and those that the server asks for.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use serde_json::Value;

use crate::world::{Said, TargetProcess, World};

/// A load of `/echo` whose responses must be this body.
#[track_caller]
fn echoed(world: &World, target: &TargetProcess, flags: &[&str], body: &[u8]) -> Value {
    world.write_bytes("want", body);
    let url = format!("{}echo", target.url());
    let said = world.prony(
        &[&["load", &url, "-n", "40", "-c", "4", "--expect-body", "@want", "--json", "t.json"], flags]
            .concat(),
    );
    assert_eq!(said.code, Some(0), "{said:?}");
    let json: Value = serde_json::from_str(&world.read("t.json")).unwrap();
    assert_eq!(
        (&json["requests"]["completed"], &json["requests"]["failed"]),
        (&40.into(), &0.into()),
        "{flags:?}"
    );
    json
}

#[track_caller]
fn refused(said: &Said, words: &str) {
    assert!(said.code == Some(2) && said.err.contains(words), "{words:?} is missing: {said:?}");
}

#[test]
fn forms_arrive_as_they_are_given() {
    let (world, target) = (World::new(), TargetProcess::start(&[]));
    let json =
        echoed(&world, &target, &["--form-urlencoded", "a=1 2", "--form-urlencoded", "b=&"], b"a=1+2&b=%26");
    assert_eq!(json["plan"]["method"], "POST");
    assert_eq!(json["plan"]["headers"][0][1], "application/x-www-form-urlencoded");
    world.write("f.txt", "file's");
    let said = world.prony(&[
        "load",
        &format!("{}echo", target.url()),
        "-F",
        "a=1",
        "-F",
        "f=@f.txt",
        "-n",
        "8",
        "--json",
        "t.json",
    ]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let json: Value = serde_json::from_str(&world.read("t.json")).unwrap();
    let kind = json["plan"]["headers"][0][1].as_str().unwrap();
    let boundary = kind.strip_prefix("multipart/form-data; boundary=").unwrap();
    let body = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--{boundary}\r\nContent-Disposition: \
         form-data; name=\"f\"; filename=\"f.txt\"\r\nContent-Type: application/octet-stream\r\n\r\nfile's\r\n--{boundary}--\r\n"
    );
    echoed(&world, &target, &["-F", "a=1", "-F", "f=@f.txt"], body.as_bytes());
    refused(&world.prony(&["load", &target.url(), "-F", "a=1", "-b", "x"]), "one body");
    refused(&world.prony(&["load", &target.url(), "-F", "a"]), "write name=value");
}

#[test]
fn bodies_go_in_chunks_and_from_files() {
    let (world, target) = (World::new(), TargetProcess::start(&[]));
    let body: Vec<u8> = (0..100_000u32).map(|i| (i % 251) as u8).collect();
    world.write_bytes("body", &body);
    for flags in [
        &["-b", "@body", "--chunked"][..],
        &["-b", "@body", "--chunked", "--http2"],
        &["--body-file", "body"],
        &["--body-file", "body", "--chunked"],
        &["--body-file", "body", "--requests-per-connection", "3"],
        &["-b", "@body", "-H", "Expect: 100-continue"],
        &["--body-file", "body", "-H", "Expect: 100-continue"],
    ] {
        let json = echoed(&world, &target, flags, &body);
        assert_eq!(json["plan"]["body_bytes"], 100_000, "{flags:?}");
    }
    for (flags, words) in [
        (&["--body-file", "none"][..], "No such file"),
        (&["--body-file", "."], "no file with a length"),
        (&["--body-file", "body", "-p", "2"], "one at a time"),
        (&["--body-file", "body", "--fleet", "local:2"], "--fleet"),
        (&["-b", "x", "-H", "Expect: 100-continue", "-p", "2"], "Expect"),
        (&["-b", "x", "-H", "Transfer-Encoding: chunked"], "--chunked"),
    ] {
        refused(&world.prony(&[&["load", &target.url()], flags].concat()), words);
    }
}

#[test]
fn a_server_that_never_says_continue_gets_the_body() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut got = Vec::new();
        while !got.ends_with(b"hello") {
            let mut some = [0; 1_000];
            let count = stream.read(&mut some).unwrap();
            assert!(count > 0, "closed after {:?}", String::from_utf8_lossy(&got));
            got.extend_from_slice(&some[..count]);
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
        got
    });
    let world = World::new();
    let said =
        world.prony(&["load", &url, "-n", "1", "-c", "1", "-b", "hello", "-H", "Expect: 100-continue"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(server.join().unwrap().ends_with(b"\r\n\r\nhello"));
}

/// Answers each connection with the next of these bodies and codings, then closes.
fn coded_server(answers: Vec<(&'static str, Vec<u8>)>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    thread::spawn(move || {
        for ((coding, body), stream) in answers.into_iter().cycle().zip(listener.incoming()) {
            let mut stream = stream.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                if stream.read(&mut byte).unwrap_or(0) == 0 {
                    break;
                }
                head.push(byte[0]);
            }
            if head.is_empty() {
                continue; // the look whether anybody listens
            }
            let head = format!(
                "HTTP/1.1 200 OK\r\n{coding}Content-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            stream.write_all(&[head.as_bytes(), &body].concat()).unwrap();
        }
    });
    url
}

#[test]
fn coded_bodies_are_checked_decoded_and_both_sizes_counted() {
    let text = "Hello, World! ".repeat(500);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(text.as_bytes()).unwrap();
    let gzip = encoder.finish().unwrap();
    let world = World::new();
    world.write("want", &text);
    let load = |url: &str| {
        let said = world.prony(&[
            "load",
            url,
            "-n",
            "20",
            "-c",
            "1",
            "--no-keepalive",
            "--decode",
            "--expect-body",
            "@want",
            "--json",
            "t.json",
        ]);
        let json: Value = serde_json::from_str(&world.read("t.json")).unwrap();
        (said, json)
    };
    let (said, json) = load(&coded_server(vec![("Content-Encoding: gzip\r\n", gzip.clone())]));
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains("bodies decoded 140 kB"), "{}", said.out);
    assert_eq!(json["requests"]["completed"], 20);
    assert_eq!(json["plan"]["headers"][0], serde_json::json!(["Accept-Encoding", "gzip, br"]));
    let decoded = json["throughput"]["decoded_bytes_per_s"].as_f64().unwrap();
    assert!(decoded > 10.0 * json["throughput"]["read_bytes_per_s"].as_f64().unwrap());
    // `echo -n hello | brotli`, by brotli 1.0.9.
    let brotli = vec![0x0b, 0x02, 0x80, b'h', b'e', b'l', b'l', b'o', 0x03];
    world.write("want", "hello");
    let (said, json) = load(&coded_server(vec![("Content-Encoding: br\r\n", brotli)]));
    assert_eq!((said.code, &json["requests"]["completed"]), (Some(0), &serde_json::json!(20)), "{said:?}");
    let broken = gzip[..gzip.len() - 4].to_vec();
    let (said, json) = load(&coded_server(vec![("Content-Encoding: gzip\r\n", broken)]));
    assert!(said.err.contains("cannot be decoded") || said.out.contains("cannot be decoded"), "{said:?}");
    assert_eq!(json["requests"]["failed"], 20);
}
