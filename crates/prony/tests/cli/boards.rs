//! The plans of a public board's profiles: each runs against the reference server, whose account is theirs.

use std::collections::BTreeMap;
use std::path::Path;

use prony_target::{Config, Target};
use serde_json::Value;

use crate::world::{TargetProcess, World};

const FOLDER: &str = "experiments/httparena";
/// A multiple of every list's lines but that of 8, and of every connection's requests.
const REQUESTS: &str = "420";

fn from_root(path: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Copies a folder of the tree into the test's.
fn copy(world: &World, folder: &str) {
    std::fs::create_dir_all(world.path(folder)).unwrap();
    for entry in std::fs::read_dir(from_root(folder)).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{folder}/{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            copy(world, &path);
        } else {
            std::fs::copy(entry.path(), world.path(&path)).unwrap();
        }
    }
}

/// The names of the plans.
fn profiles() -> Vec<String> {
    let names = std::fs::read_dir(from_root(FOLDER)).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> =
        names.filter_map(|name| Some(name.strip_suffix(".toml")?.to_owned())).collect();
    names.sort();
    names
}

/// How the ledger calls a request's path.
fn path_of(request: &str) -> String {
    let path = request.split_once(' ').unwrap().1.split('?').next().unwrap();
    let (folder, _) = path.rsplit_once('/').unwrap();
    match folder {
        "/json" => "/json/COUNT".to_owned(),
        "/static" => "/static/NAME".to_owned(),
        "/crud/items" => folder.to_owned(),
        _ => path.to_owned(),
    }
}

fn counts_by_path(ledger: &Value) -> BTreeMap<String, u64> {
    let counts = ledger["requests_by_path"].as_object().unwrap();
    counts.iter().map(|(path, count)| (path.clone(), count.as_u64().unwrap())).collect()
}

#[test]
fn the_boards_profiles_run_and_agree_with_the_ledger() {
    let world = World::new();
    copy(&world, FOLDER);
    let start = |tls| Target::start(&Config { tls, threads: 2, ..Config::default() }).unwrap();
    let (open, tls) = (start(false), start(true));
    let profiles = profiles();
    assert_eq!(profiles.len(), 17, "{profiles:?}");
    for name in &profiles {
        let file = format!("{FOLDER}/{name}.toml");
        let text = world.read(&file);
        let target = if text.contains("https://") { &tls } else { &open };
        let at = target.address().to_string();
        world.write(&file, &text.replace("127.0.0.1:8080", &at).replace("127.0.0.1:8443", &at));
        let before = serde_json::to_value(target.ledger()).unwrap();
        let said = world.prony(&[
            "load", &file, "-n", REQUESTS, "-d", "1h", "--warmup", "0", "-c", "8", "--json", "t.json",
        ]);
        assert_eq!(said.code, Some(0), "{name} {said:?}");
        let json: Value = serde_json::from_str(&world.read("t.json")).unwrap();
        let requests = &json["requests"];
        assert_eq!((&requests["completed"], &requests["failed"]), (&420.into(), &0.into()), "{name}");
        let after = serde_json::to_value(target.ledger()).unwrap();
        let grown = |field: &str| after[field].as_u64().unwrap() - before[field].as_u64().unwrap();
        let total = |field: &str| json["run_total"][field].as_u64().unwrap();
        assert_eq!(grown("requests_received"), total("sent"), "{name}");
        assert_eq!(grown("requests_answered"), total("sent"), "{name}");
        assert_eq!((grown("requests_refused"), grown("streams_reset")), (0, 0), "{name}");
        assert_eq!(grown("connections_accepted"), total("connections"), "{name}");
        let mut sent = counts_by_path(&before);
        for row in json["targets"].as_array().into_iter().flatten() {
            let path = path_of(row["request"].as_str().unwrap());
            *sent.entry(path).or_default() += row["run_sent"].as_u64().unwrap();
        }
        if json["targets"].is_null() {
            let path = format!("GET {}", json["plan"]["url"].as_str().unwrap().split(&at).nth(1).unwrap());
            *sent.entry(path_of(&path)).or_default() += total("sent");
        }
        assert_eq!(sent, counts_by_path(&after), "{name}");
        let decodes = ["gateway-64", "json-comp", "static", "static-h2"].contains(&name.as_str());
        assert_eq!(json["plan"]["decode"] == true, decodes, "{name}");
    }
    // What crud wrote is there.
    for (id, name) in [(2, "Changed"), (888, "Changed"), (44_444, "Changed"), (100_001, "New"), (3, "Item 3")]
    {
        let url = format!("http://{}/crud/items/{id}", open.address());
        let expected = format!("/name={name}");
        let said = world.prony(&["load", &url, "-n", "1", "-c", "1", "--expect-json", &expected]);
        assert!(said.code == Some(0) && said.out.contains("completed 1 "), "{said:?}");
    }
}

#[test]
fn files_that_are_not_the_boards_are_found() {
    let (world, target) = (World::new(), TargetProcess::start(&[]));
    copy(&world, FOLDER);
    let file = format!("{FOLDER}/static.toml");
    world.write(&file, &world.read(&file).replace("http://127.0.0.1:8080/", &target.url()));
    let list = format!("{FOLDER}/static.jsonl");
    // The last two files, changed in one place of what their hash is of.
    let lines: Vec<String> = world.read(&list).lines().map(str::to_owned).collect();
    let wrong = |line: &String| line.replacen("\"sha256\": \"", "\"sha256\": \"0", 1).replacen("\"}}", "", 1);
    let shifted = |line: &String| wrong(line)[..wrong(line).len() - 1].to_owned() + "\"}}";
    let text = [&lines[..18], &lines[18..].iter().map(shifted).collect::<Vec<_>>()].concat().join("\n");
    world.write(&list, &text);
    let said = world
        .prony(&["load", &file, "-n", "200", "-d", "1h", "--warmup", "0", "-c", "4", "--json", "t.json"]);
    let json: Value = serde_json::from_str(&world.read("t.json")).unwrap();
    assert_eq!(json["requests"]["failed"], 20, "{said:?}");
}

#[test]
fn the_page_names_every_profile() {
    let page = std::fs::read_to_string(from_root("docs/coming-from.md")).unwrap();
    for name in profiles() {
        assert!(page.contains(&format!("| {name} |")), "{name} is in no row");
    }
}

#[test]
fn an_upload_of_megabytes_is_counted_by_the_target() {
    let (world, target) = (World::new(), TargetProcess::start(&[]));
    world.write_bytes("body", &vec![b'x'; 20_000_000]);
    let line = r#"{"method":"POST","url":"/upload","body_file":"body","expect":{"body":"20000000"}}"#;
    let chunked = line.replace("\"body_file\"", "\"chunked\":true,\"body_file\"");
    world.write("list.jsonl", &format!("{line}\n{chunked}\n"));
    for http2 in [&[][..], &["--http2"]] {
        let load =
            ["load", &target.url(), "--targets", "list.jsonl", "-n", "8", "-c", "2", "--json", "t.json"];
        let said = world.prony(&[&load, http2].concat());
        assert_eq!(said.code, Some(0), "{said:?}");
        let json: Value = serde_json::from_str(&world.read("t.json")).unwrap();
        assert_eq!(json["requests"]["completed"], 8, "{said:?}");
    }
    assert_eq!(target.ledger()["requests_by_path"]["/upload"], 16);
}
