//! Requests as people have them: lists in each format, and values, held against what servers saw.

use std::io::{BufRead, BufReader, Read, Write};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::world::{TargetProcess, World, serve};

/// Loads 400 requests of a list, and gives the ledger's counts by path.
fn counted(world: &World, target: &TargetProcess, flags: &[&str]) -> Value {
    let url = target.url();
    let line = ["load", &url, "-n", "400", "-c", "4", "-t", "2", "--json", "t.json"];
    let said = world.prony(&[&line[..], flags].concat());
    assert_eq!(said.code, Some(0), "{flags:?}: {said:?}");
    let json: Value = serde_json::from_str(&world.read("t.json")).unwrap();
    assert_eq!(json["run_total"]["completed"], 400, "{flags:?}");
    let ledger = target.ledger();
    assert_eq!(ledger["requests_received"], 400, "{flags:?}");
    ledger["requests_by_path"].clone()
}

#[test]
fn each_format_of_a_list_agrees_with_the_ledger() {
    let world = World::new();
    world.write("body.txt", "hello");
    let body = world.path("body.txt").display().to_string();
    std::fs::create_dir(world.path("raw")).unwrap();
    world.write("raw/a.raw", "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    world.write("raw/b.raw", "GET /json HTTP/1.1\r\nX-A: 1\r\n\r\n");
    world.write("raw/c.raw", "POST /echo HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello\n");
    world.write("raw/d.raw", "POST /echo HTTP/1.1\r\n\r\nhello");
    let lists = [
        ("vegeta", format!("GET /\n\nGET /json\nX-A: 1\n\nPOST /echo\nX-A: 1\n@{body}\n\nPOST /echo\n@{body}\n")),
        (
            "vegeta-json",
            "{\"method\":\"GET\",\"url\":\"/\"}\n{\"method\":\"GET\",\"url\":\"/json\",\"header\":{\"X-A\":[\"1\"]}}\n\
             {\"method\":\"POST\",\"url\":\"/echo\",\"body\":\"aGVsbG8=\"}\n{\"method\":\"POST\",\"url\":\"/echo\"}\n"
                .to_owned(),
        ),
        ("curl", "curl /\ncurl -H 'X-A: 1' \\\n  /json\ncurl -d hello /echo\ncurl /echo --json '{}'\n".to_owned()),
        (
            "jsonl",
            "{\"url\":\"/\"}\n{\"url\":\"/json\",\"headers\":{\"X-A\":\"1\"},\"expect\":{\"status\":200}}\n\
             {\"url\":\"/echo\",\"body\":\"hello\",\"weight\":2,\"expect\":{\"body\":\"hello\"}}\n"
                .to_owned(),
        ),
    ];
    for (format, text) in &lists {
        world.write(format, text);
    }
    let counts = serde_json::json!({"/": 100, "/json": 100, "/echo": 200});
    for format in ["vegeta", "vegeta-json", "curl", "jsonl", "raw"] {
        for flags in [&["--targets", format][..], &["--targets", format, "--shuffle", "-R", "4000"]] {
            let target = TargetProcess::start(&[]);
            assert_eq!(counted(&world, &target, flags), counts, "{format}");
            let json: Value = serde_json::from_str(&world.read("t.json")).unwrap();
            assert_eq!(json["plan"]["targets"]["format"], *format);
        }
    }
    let target = TargetProcess::start(&[]);
    assert_eq!(counted(&world, &target, &["--targets", "jsonl", "-p", "4"]), counts, "pipelined");
}

#[test]
fn wrong_lines_are_named_with_file_and_line() {
    let world = World::new();
    world.write("list", "GET /\nX: 1\n\nGET /\n@none\n\nGET ftp://h/\n");
    let said = world.prony(&["load", "http://127.0.0.1:1/", "--targets", "list"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    for line in ["--targets list, line 5: Its body \"none\"", "--targets list, line 7: ftp://"] {
        assert!(said.err.contains(line), "{}", said.err);
    }
}

#[test]
fn values_agree_with_the_ledger() {
    let world = World::new();
    world.write("users.csv", "name,note\nAnn,\"a \"\"b\"\"\"\nBob,c\n");
    world.write(
        "list",
        "POST /echo\nX-A: {{id}}\nContent-Type: application/json\n@body.json\n\nGET /\nX-A: {{id}}\n",
    );
    world.write("body.json", "{\"id\": {{id}}}");
    let id = ["--generate", "id=int:1..1000"];
    let data = ["--data", "users.csv", "-b", "{\"n\":\"{{name}}\",\"o\":\"{{note}}\"}"];
    for (flags, path, count) in [
        (&[&id[..], &["-H", "X-A: {{id}}"]].concat()[..], "/", 400),
        (&[&id[..], &["-H", "X-A: {{id}}", "-p", "4"]].concat(), "/", 400),
        (&[&id[..], &["-H", "X-A: {{id}}", "-R", "4000", "--no-keepalive"]].concat(), "/", 400),
        (&["--generate", "id=uuid", "--generate", "s=seq", "-H", "X-A: {{id}}-{{s}}"], "/", 400),
        (&["--generate", "id=choice:a|b", "--generate", "c=chars:16", "-H", "X-A: {{id}}{{c}}"], "/", 400),
        (&[&id[..], &["--targets", "list"]].concat(), "/echo", 200),
    ] {
        let target = TargetProcess::start(&[]);
        assert_eq!(counted(&world, &target, flags)[path], count, "{flags:?}");
    }
    let target = TargetProcess::start(&[]);
    let url = format!("{}echo", target.url());
    let said =
        world.prony(&[&["load", &url, "-n", "400", "-c", "4", "--json", "t.json"], &data[..]].concat());
    assert_eq!(
        (said.code, &target.ledger()["requests_by_path"]["/echo"]),
        (Some(0), &400.into()),
        "{said:?}"
    );
    let plan = &serde_json::from_str::<Value>(&world.read("t.json")).unwrap()["plan"];
    assert_eq!((&plan["data"]["rows"], &plan["data"]["columns"][1]), (&2.into(), &"note".into()));
    world.write("chunks", "{\"url\":\"/echo\",\"body\":\"{{id}}\",\"chunked\":true,\"weight\":1}\n");
    let said = world.prony(&[&["load", &target.url(), "--targets", "chunks"], &id[..]].concat());
    assert!(
        said.code == Some(2) && said.err.contains("A body in chunks cannot be used with --generate"),
        "{said:?}"
    );
    let said = world.prony(&["load", &target.url(), "--data", "x=1", "-b", "{{x}}"]);
    assert!(said.code == Some(2) && said.err.contains("a request's body is -b"), "{said:?}");
}

/// A server that answers each request and keeps its first line, its header X-A and its body.
fn kept() -> (String, Arc<Mutex<Vec<String>>>) {
    let all = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&all);
    let address = serve(0, move |stream| {
        let mut lines = BufReader::new(stream.try_clone().unwrap());
        let mut stream = stream;
        loop {
            let (mut head, mut length, mut shown) = (String::new(), 0, String::new());
            while lines.read_line(&mut head).is_ok_and(|read| read > 2) {}
            if head.is_empty() {
                return;
            }
            for line in head.lines() {
                match line.split_once(": ") {
                    None if shown.is_empty() => shown = line.to_owned(),
                    Some(("X-A", value)) => shown += &format!(" | {value}"),
                    Some(("Content-Length", value)) => length = value.parse().unwrap(),
                    _ => {}
                }
            }
            let mut body = vec![0; length];
            lines.read_exact(&mut body).unwrap();
            seen.lock().unwrap().push(format!("{shown} | {}", String::from_utf8(body).unwrap()));
            if stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").is_err() {
                return;
            }
        }
    });
    (format!("http://{address}"), all)
}

#[test]
fn each_request_has_the_values_of_its_number() {
    let world = World::new();
    world.write("users.csv", "name\nAnn \"A\"\nB&C\n");
    let (server, seen) = kept();
    let url = format!("{server}/{{{{s}}}}?n={{{{name}}}}");
    let body = ["-b", "{\"n\":\"{{name}}\",\"s\":{{s}}}", "-H", "X-A: {{s}}"];
    let values = ["--generate", "s=seq", "--data", "users.csv"];
    for flags in [&["-c", "1"][..], &["-c", "3", "-R", "5000", "-t", "3"], &["-c", "4", "-t", "2"]] {
        seen.lock().unwrap().clear();
        let line = [&["load", &url, "-n", "60"], flags, &body, &values].concat();
        let said = world.prony(&line);
        assert_eq!(said.code, Some(0), "{said:?}");
        let mut all = std::mem::take(&mut *seen.lock().unwrap());
        let mut expected: Vec<String> = (1..=60)
            .map(|s| match s % 2 {
                1 => format!(
                    "POST /{s}?n=Ann%20%22A%22 HTTP/1.1 | {s} | {{\"n\":\"Ann \\\"A\\\"\",\"s\":{s}}}"
                ),
                _ => format!("POST /{s}?n=B%26C HTTP/1.1 | {s} | {{\"n\":\"B&C\",\"s\":{s}}}"),
            })
            .collect();
        if flags[1] != "1" {
            all.sort();
            expected.sort();
        }
        assert_eq!(all, expected, "{flags:?}");
    }
}

#[test]
fn values_go_over_http2_too() {
    let world = World::new();
    world.write(
        "list",
        "{\"url\":\"/echo\",\"body\":\"{{id}}\"}\n{\"url\":\"/\",\"headers\":{\"X-A\":\"{{id}}\"}}\n",
    );
    let target = TargetProcess::start(&[]);
    for (flags, expected) in [
        (&["--targets", "list", "--targets-format", "jsonl", "-p", "8"][..], (200, 200)),
        (&["-b", "a{{id}}", "-H", "X-B: {{id}}", "--expect-status", "200"], (400, 0)),
    ] {
        let before = target.ledger()["requests_by_path"].clone();
        let url = if flags[0] == "-b" { format!("{}echo", target.url()) } else { target.url() };
        let line = ["load", &url, "--http2", "-n", "400", "-c", "4", "--generate", "id=chars:40"];
        let said = world.prony(&[&line[..], flags].concat());
        assert_eq!(said.code, Some(0), "{said:?}");
        let after = target.ledger()["requests_by_path"].clone();
        let count = |path: &str| after[path].as_u64().unwrap_or(0) - before[path].as_u64().unwrap_or(0);
        assert_eq!((count("/echo"), count("/")), expected, "{flags:?}");
    }
}
