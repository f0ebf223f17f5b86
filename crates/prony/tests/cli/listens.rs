//! Commands that listen on a Unix socket or speak TLS, under `prony bench`: started, checked and loaded there.

use serde_json::Value;

use crate::world::{Said, World};

/// A world with the server and a certificate for 127.0.0.1.
fn world() -> World {
    let world = World::new();
    world.write("listens.py", include_str!("listens.py"));
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    world.write("cert.pem", &made.cert.pem());
    world.write("key.pem", &made.signing_key.serialize_pem());
    world
}

/// A bench of one block of 40 requests for each candidate.
fn bench(world: &World, flags: &[&str]) -> Said {
    let line = ["bench", "-n", "40", "-c", "4", "--blocks", "1", "-o", "r.jsonl", "-q"];
    world.prony(&[&line, flags].concat())
}

/// What the log says of each trial: what was completed, and where.
fn trials(world: &World) -> Vec<(Value, String)> {
    let of = |result: Value| {
        let counts = &result["trial"]["requests"]["completed"];
        (counts.clone(), result["trial"]["target"]["address"].as_str().unwrap_or_default().to_owned())
    };
    let mut trials: Vec<_> = world.lines("r.jsonl", "result").into_iter().map(of).collect();
    trials.sort_by(|a, b| a.1.cmp(&b.1));
    trials
}

#[test]
fn commands_that_speak_tls_are_checked_and_loaded_over_tls() {
    let world = world();
    let tls = ["--candidate", "a=python3 listens.py tls {port} cert.pem key.pem", "--https"];
    let said = bench(&world, &[&tls[..], &["--cacert", "cert.pem"]].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    let results = world.lines("r.jsonl", "result");
    assert_eq!(results[0]["trial"]["requests"]["completed"], 40);
    assert!(results[0]["trial"]["target"]["url"].as_str().unwrap().starts_with("https://127.0.0.1:"));
    assert_eq!(results[0]["trial"]["plan"]["tls"]["verify"], "cacert");
    let header = world.lines("r.jsonl", "header").remove(0);
    assert_eq!(header["candidates"][0]["settings"], serde_json::json!([{ "axis": "tls", "value": "on" }]));
    // A certificate that is not trusted is said, and not waited for: nothing is measured.
    std::fs::remove_file(world.path("r.jsonl")).unwrap();
    world.write("other.pem", &rcgen::generate_simple_self_signed(vec!["x".to_owned()]).unwrap().cert.pem());
    let said = bench(&world, &[&tls[..], &["--cacert", "other.pem"]].concat());
    assert_ne!(said.code, Some(0), "{said:?}");
    assert_not_trusted(&world);
}

/// What is said at once, and not as a server's that does not answer within 30 s.
fn assert_not_trusted(world: &World) {
    let failure = world.lines("r.jsonl", "result")[0]["failure"].to_string();
    let words = ["a is not trusted. No connection to", "certificate", "by --cacert"];
    assert!(words.iter().all(|words| failure.contains(words)), "{failure}");
}

#[test]
fn a_command_s_certificate_is_trusted_unless_another_is_named() {
    let world = world();
    let tls = ["--candidate", "a=python3 listens.py tls {port} {cert} {key}", "--https"];
    let said = bench(&world, &tls);
    assert_eq!(said.code, Some(0), "{said:?}");
    let results = world.lines("r.jsonl", "result");
    assert_eq!(results[0]["trial"]["requests"]["completed"], 40);
    assert_eq!(results[0]["trial"]["plan"]["tls"]["verify"], "cacert");
    std::fs::remove_file(world.path("r.jsonl")).unwrap();
    let said = bench(&world, &[&tls[..], &["--cacert", "cert.pem"]].concat());
    assert_ne!(said.code, Some(0), "{said:?}");
    assert_not_trusted(&world);
}

#[test]
fn commands_on_unix_sockets_are_checked_and_loaded_there() {
    let world = world();
    let command = |name: &str| format!("{name}=python3 listens.py unix {{run}}/app.sock");
    let (a, b) = (command("a"), command("b"));
    let said = bench(&world, &["--candidate", &a, "--candidate", &b, "--unix", "{run}/app.sock"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let trials = trials(&world);
    assert_eq!(trials.iter().map(|t| t.0.clone()).collect::<Vec<_>>(), [40, 40]);
    assert!(trials.iter().all(|t| t.1.starts_with("unix:") && t.1.ends_with("/app.sock")), "{trials:?}");
    assert_ne!(trials[0].1, trials[1].1, "each start has a folder of its own");
}

#[test]
fn a_socket_on_which_somebody_listens_already_is_not_loaded() {
    let world = world();
    let path = world.path("taken.sock");
    let _taken = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let path = path.display().to_string();
    let said = bench(&world, &["--candidate", "a=sleep 60", "--unix", &path]);
    assert_ne!(said.code, Some(0), "{said:?}");
    let failure = world.lines("r.jsonl", "result")[0]["failure"].to_string();
    assert!(failure.contains("Another process already listens") && failure.contains("{run}"), "{failure}");
}

#[test]
fn sockets_and_tls_that_cannot_be_meant_are_refused() {
    let world = world();
    let refused = |flags: &[&str], words: &[&str]| {
        let said = bench(&world, flags);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(words.iter().all(|word| said.err.contains(word)), "{words:?}: {}", said.err);
    };
    refused(
        &["--candidate", "u=http://127.0.0.1:1/", "--unix", "{run}/a.sock"],
        &["--unix {run}/a.sock", "u is a URL"],
    );
    refused(&["--candidate", "u=http://127.0.0.1:1/", "--https"], &["--https", "https:// into the URL"]);
    let two = ["--candidate", "a=./a", "--candidate", "b=./b", "-R", "10", "--duet"];
    refused(&[&two[..], &["--unix", "/run/a.sock"]].concat(), &["--duet", "/run/a.sock", "{run}"]);
    refused(&["--candidate", "a=./a {port}", "-k"], &["-k is for https://"]);
}
