//! `--targets`: lists of requests, from a file or standard input.

use serde_json::Value;

use crate::world::{Said, TargetProcess, World};

#[track_caller]
fn refused(said: &Said, words: &[&str]) {
    assert_eq!(said.code, Some(2), "{said:?}");
    for word in words {
        assert!(said.err.contains(word), "{word:?} is missing: {}", said.err);
    }
}

fn by_path(json: &Value) -> Value {
    let mut paths = serde_json::Map::new();
    for target in json["targets"].as_array().unwrap() {
        let path = target["request"].as_str().unwrap().split_once(' ').unwrap().1;
        let before = paths.get(path).map_or(0, |n| n.as_u64().unwrap());
        paths.insert(path.to_owned(), (before + target["run_sent"].as_u64().unwrap()).into());
    }
    Value::Object(paths)
}

#[test]
fn each_request_of_a_list_agrees_with_the_ledger() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    world.write("list.txt", "# three\n/\n/json\nHEAD /\n/\n");
    let said = world.prony(&[
        "load",
        &target.url(),
        "--targets",
        "list.txt",
        "-n",
        "4000",
        "-t",
        "2",
        "--json",
        "t.json",
        "-o",
        "r.jsonl",
        "--export",
        "jtl=r.jtl",
    ]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains("3 requests of 4 lines in turn · 50 connections"), "{}", said.out);
    assert!(said.out.contains("\n GET /json ") && said.out.contains("1,000      0\n"), "{}", said.out);
    let json: Value = serde_json::from_str(&world.read("t.json")).unwrap();
    let counts: Vec<_> = json["targets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| {
            (
                t["request"].as_str().unwrap(),
                t["lines"].as_u64().unwrap(),
                t["completed"].as_u64().unwrap(),
                t["response"]["count"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(counts, [("GET /", 2, 2000, 2000), ("GET /json", 1, 1000, 1000), ("HEAD /", 1, 1000, 1000)]);
    assert_eq!(by_path(&json), target.ledger()["requests_by_path"]);
    let t = &json["targets"][1];
    assert!(t["read_bytes"].as_u64().unwrap() > 0 && t["service"]["p50_ns"].is_u64() && t["failed"] == 0);
    assert!(
        t["response"]["ci95"].is_object() && t["response"]["hdr"].is_string() && t["status"]["200"] == 1000
    );
    let list = &json["plan"]["targets"];
    assert_eq!(
        (&list["lines"], &list["requests"], &list["order"]),
        (&4.into(), &3.into(), &"in_turn".into())
    );
    assert_eq!(json["plan"]["url"], target.url());
    let jtl = world.read("r.jtl");
    assert_eq!((jtl.matches(",GET /json,").count(), jtl.matches(",HEAD /,").count()), (1000, 1000));
    assert!(jtl.contains(&format!(",{}json,", target.url())));
    let kept = &world.lines("r.jsonl", "result")[0]["trial"];
    assert_eq!(kept["targets"].as_array().unwrap().len(), 3);
    assert_eq!(*kept, json, "judged from the log as it was judged live");
    let shown = world.prony(&["report", "r.jsonl", "--format", "markdown"]);
    assert!(shown.out.contains("| GET /json |"), "{}", shown.out);
}

#[test]
fn a_list_of_urls_can_come_from_standard_input_without_a_url() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    let line = format!(
        "printf 'GET http://me:s3cret@{0}/\\nPOST http://{0}/echo\\n' | prony load --targets - --shuffle --seed 7 -n 100 -R 2000 \
         -p 4 -b hello --json t.json -o r.jsonl",
        target.address
    );
    let said = world.shell(&line);
    assert_eq!(said.code, Some(0), "{said:?}");
    let json: Value = serde_json::from_str(&world.read("t.json")).unwrap();
    assert_eq!(json["targets"][1]["request"], "POST /echo");
    assert_eq!((&json["targets"][0]["run_sent"], &json["targets"][1]["run_sent"]), (&50.into(), &50.into()));
    assert_eq!((&json["plan"]["targets"]["order"], &json["plan"]["seed"]), (&"shuffled".into(), &7.into()));
    for text in [said.out, said.err, world.read("t.json"), world.read("r.jsonl")] {
        assert!(!text.contains("s3cret"), "{text}");
    }
}

#[test]
fn expectations_apply_to_every_request_of_a_list() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    world.write("list.txt", "/\n/json\n/nope\n");
    let of = |flags: &[&str]| {
        let line = ["load", &target.url(), "--targets", "list.txt", "-n", "300", "--json", "t.json"];
        world.prony(&[&line[..], flags].concat());
        let json: Value = serde_json::from_str(&world.read("t.json")).unwrap();
        json["targets"].as_array().unwrap().iter().map(|t| t["failed"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(of(&[]), [0, 0, 100]);
    assert_eq!(of(&["--expect-status", "404"]), [100, 100, 0]);
    assert_eq!(of(&["--expect-body", "Hello, World!"]), [0, 100, 100]);
    let json: Value = serde_json::from_str(&world.read("t.json")).unwrap();
    assert_eq!(json["targets"][1]["errors"]["body_mismatch"], 100);
    assert_eq!(json["targets"][2]["status"]["404"], 100);
}

#[test]
fn a_list_of_whole_urls_loads_several_servers() {
    let world = World::new();
    let targets = [0; 2].map(|_| TargetProcess::start(&[]));
    let [a, b] = targets.each_ref().map(TargetProcess::url);
    world.write("list.txt", &format!("{a}\n{b}json\n{a}json\n{b}json\n{a}\n"));
    let line = "load --targets list.txt -n 500 -R 5000 --json t.json -o r.jsonl --export jtl=r.jtl";
    let said = world.prony(&line.split(' ').collect::<Vec<_>>());
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(
        said.err.contains("The list names 2 servers, and each has as many threads: -t 2."),
        "{}",
        said.err
    );
    assert!(
        said.out.contains("3 requests of 5 lines to 2 servers in turn · 100 connections"),
        "{}",
        said.out
    );
    let json: Value = serde_json::from_str(&world.read("t.json")).unwrap();
    let counts: Vec<_> =
        json["targets"].as_array().unwrap().iter().map(|t| (&t["request"], &t["run_sent"])).collect();
    let names = [format!("GET {a}"), format!("GET {b}json"), format!("GET {a}json")].map(Value::from);
    assert_eq!(counts, [(&names[0], &200.into()), (&names[1], &200.into()), (&names[2], &100.into())]);
    assert_eq!(json["plan"]["targets"]["servers"], Value::from(vec![a.clone(), b.clone()]));
    let addresses = targets.each_ref().map(|target| target.address.to_string()).join(", ");
    assert_eq!((&json["plan"]["threads"], &json["target"]["address"]), (&2.into(), &addresses.into()));
    for (target, paths) in targets.iter().zip([r#"{"/":200,"/json":100}"#, r#"{"/json":200}"#]) {
        target.wait_for_requests(200);
        let expected: Value = serde_json::from_str(paths).unwrap();
        assert_eq!(target.ledger()["requests_by_path"], expected, "{}", target.url());
    }
    let jtl = world.read("r.jtl");
    assert_eq!(
        (jtl.matches(&format!(",GET {b}json,")).count(), jtl.matches(&format!(",{b}json,")).count()),
        (200, 200)
    );
    let header = &world.lines("r.jsonl", "header")[0];
    let again = header["reproduce"].as_str().unwrap();
    assert!(
        again.starts_with("prony load -c 100 -t 2 -R 5000") && again.contains("--targets FILE"),
        "{again}"
    );
    assert_eq!(
        world.lines("r.jsonl", "result")[0]["trial"],
        json,
        "judged from the log as it was judged live"
    );
}

#[test]
fn invalid_lists_are_refused() {
    let world = World::new();
    let load = |text: &[u8], flags: &[&str]| {
        std::fs::write(world.path("l"), text).unwrap();
        world.prony(&[&["load", "--targets", "l"], flags].concat())
    };
    refused(
        &load(b"/a", &[]),
        &["--targets l, line 1:", "no server is known", "http://127.0.0.1:8080 --targets"],
    );
    refused(&load(b"", &[]), &["--targets l: It holds no request"]);
    refused(&load(b"\n#\nhttp://h/\n/a\nhttp://i/\n", &[]), &["line 5:", "http://i", "write whole URLs"]);
    refused(&load(b"\nhttp://i/\n", &["http://h/"]), &["line 2:", "http://i", "a list without a URL"]);
    let several = b"http://h/\nhttp://i/\nhttp://j/\n";
    refused(&load(several, &["-c", "2"]), &["3 servers", "give -c at least 3"]);
    refused(&load(several, &["--stage", "1s:9c"]), &["Stages of connections load one server"]);
    refused(&load(several, &["--unix", "/run/x.sock"]), &["the list names several"]);
    refused(&world.prony(&["capacity", "--targets", "l"]), &["the highest rate of one server", "names 3"]);
    refused(&load(b"http://h/\xff", &[]), &["line 1:", "not UTF-8"]);
    refused(&load(b"http://h/\nB@D http://h/", &[]), &["line 2:", "not a method"]);
    refused(&load(b"http://me:s3cret@h/ x", &[]), &["line 1:", "follows the URL"]);
    refused(&load(&[b'/'; 20_000], &["http://h/"]), &["line 1:", "16384"]);
    refused(&load(b"/a", &["http://h/b"]), &["write http://h."]);
    refused(&world.prony(&["load", "http://h/", "--shuffle"]), &["--targets FILE"]);
    refused(&world.prony(&["load", "--targets", "/no/such/file"]), &["/no/such/file", "could not be read"]);
    refused(&world.prony(&["load", "--targets", "/dev/zero"]), &["256 MiB"]);
    refused(&world.prony(&["bench", "--targets", "l", "quickstart"]), &["--candidate"]);
}
