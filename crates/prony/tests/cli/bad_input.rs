//! Bad input gets a clear sentence, exit 2 or 3, and no panic.

use std::ffi::OsStr;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::Stdio;

use crate::world::{Said, TargetProcess, World};

/// The line fails with this code, and its sentence has these words.
#[track_caller]
fn refused(said: &Said, code: i32, words: &[&str]) {
    assert_eq!(said.code, Some(code), "{said:?}");
    assert!(!said.err.contains("panicked"), "{}", said.err);
    for word in words {
        assert!(said.err.contains(word), "{word:?} is missing: {}", said.err);
    }
}

#[test]
fn unreachable_and_malformed_urls_are_refused() {
    let world = World::new();
    // Nobody listens there: a port that was just free may be another test's now.
    let closed = "http://127.0.0.1:1/".to_owned();
    refused(
        &world.prony(&["load", "http://no-such-host.invalid/"]),
        3,
        &["no-such-host.invalid", "resolved"],
    );
    refused(&world.prony(&["load", &closed]), 3, &[&closed, "refused", "Is the server started"]);
    let tls = closed.replace("http://", "https://");
    refused(&world.prony(&["load", &tls, "-k"]), 3, &[&tls, "refused", "Is the server started"]);
    refused(&world.prony(&["load", "localhost:8080"]), 2, &["no scheme", "http://localhost:8080"]);
    refused(&world.prony(&["load", "ftp://h/"]), 2, &["ftp://"]);
    refused(&world.prony(&["load", "http://h:0/"]), 2, &["1 to 65535"]);
}

#[test]
fn invalid_flag_values_are_refused() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    let load = |flags: &[&str]| world.prony(&[&["load", &target.url()], flags].concat());
    refused(&load(&["-c", "0"]), 2, &["0 connections", "-c"]);
    refused(&load(&["-d", "0"]), 2, &["0 s", "-d"]);
    refused(&load(&["-n", "0"]), 2, &["0 requests"]);
    refused(&load(&["-d", "soon"]), 2, &["soon", "30s"]);
    refused(&load(&["-d", "48h"]), 2, &["24h"]);
    refused(&load(&["-R", "0"]), 2, &["rate"]);
    refused(&load(&["-R", "fast"]), 2, &["fast"]);
    refused(&load(&["-t", "0"]), 2, &["threads"]);
    refused(&load(&["-t", "9", "-c", "3"]), 2, &["9 threads", "3 connections"]);
    refused(&load(&["-H", "no colon"]), 2, &["colon"]);
    refused(&load(&["-m", "GE T"]), 2, &["not a method"]);
    refused(&load(&["-b", "@/no/such/file"]), 2, &["/no/such/file"]);
    refused(&load(&["--pin", "4095"]), 2, &["CPU 4095"]);
    refused(&load(&["--pin", "x"]), 2, &["not a list of CPUs"]);
    refused(&load(&["-n", "10", "--warmup", "1h", "-d", "1ms"]), 3, &["before the warm-up was over"]);
    refused(&load(&["--no-such-flag"]), 2, &["--no-such-flag"]);
    refused(&load(&["--stage", "60s:5000"]), 2, &["60s:5000", "no unit", "30s:20k/s"]);
    refused(&load(&["--stage", "0s:50c"]), 2, &["Stages", "0 s"]);
    refused(&load(&["--stage", "60s:50c", "-d", "5s"]), 2, &["-d", "--stage"]);
    refused(&load(&["-p", "0"]), 2, &["-p", "1024"]);
    refused(&load(&["-p", "4", "--no-keepalive"]), 2, &["-p", "--no-keepalive"]);
    refused(&load(&["--arrivals", "poisson"]), 2, &["poisson", "-R"]);
    refused(&load(&["-z", "10s"]), 2, &["-d"]);
    refused(&load(&["-q", "100"]), 2, &["-R"]);
    refused(&load(&["-k", "-n", "100"]), 2, &["https://", "default here"]);
    refused(&load(&["--cacert", "ca.pem"]), 2, &["--cacert", "https://"]);
    refused(&load(&["--key", "key.pem"]), 2, &["--cert"]);
    refused(&world.prony(&["load", "-k"]), 2, &["https://"]);
}

#[test]
fn more_connections_than_open_files_are_refused() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    let said = world.shell(&format!("ulimit -n 256; prony load {} -c 100000", target.url()));
    refused(&said, 2, &["100000 connections", "limit here is 256", "ulimit -n"]);
}

#[test]
fn unwritable_and_unreadable_files_are_refused() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    let load = |flags: &[&str]| world.prony(&[&["load", &target.url(), "-n", "10"], flags].concat());
    refused(&load(&["--json", "/dev/full"]), 2, &["/dev/full", "No space left"]);
    refused(&load(&["--json", "/no/such/folder/t.json"]), 2, &["/no/such/folder/t.json"]);
    refused(&world.prony(&["report", "none.jsonl"]), 2, &["none.jsonl"]);
    world.write("empty.jsonl", "");
    refused(&world.prony(&["report", "empty.jsonl"]), 2, &["empty.jsonl", "empty"]);
    world.write("text.jsonl", "hello\n");
    refused(&world.prony(&["report", "text.jsonl"]), 2, &["not a run log"]);
    world.write("other.jsonl", "{\"type\":\"header\",\"schema\":\"prony.run/9\"}\n");
    refused(&world.prony(&["report", "other.jsonl"]), 2, &["prony.run/9", "prony.run/2"]);
    refused(&load(&["-o", "text.jsonl"]), 2, &["not a run log"]);
}

#[test]
fn pipes_and_devices_are_refused_where_a_file_is_named() {
    let world = World::new();
    // Nobody writes into them: to open one would wait for ever.
    assert_eq!(world.shell("mkfifo log.jsonl plan.toml").code, Some(0));
    for line in ["report log.jsonl", "compare log.jsonl a b", "bench ./plan.toml", "report /dev/zero"] {
        let words: Vec<&str> = line.split(' ').collect();
        refused(&world.prony(&words), 2, &[words[1], "not a regular file"]);
    }
}

#[test]
fn a_truncated_run_log_is_read_with_a_note() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    for _ in 0..2 {
        world.prony(&["load", &target.url(), "-n", "10", "-o", "r.jsonl"]);
    }
    let text = world.read("r.jsonl");
    world.write("r.jsonl", &text[..text.len() - 100]);
    let said = world.prony(&["report", "r.jsonl"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.err.contains("cut off"), "{said:?}");
    // And one broken in the middle is refused with the line.
    let mut lines: Vec<&str> = text.lines().collect();
    lines.insert(1, "{\"type\":\"result\",");
    world.write("r.jsonl", &lines.join("\n"));
    refused(&world.prony(&["report", "r.jsonl"]), 2, &["r.jsonl:2"]);
}

#[test]
fn plan_flags_with_an_experiment_are_refused() {
    let world = World::new();
    for flags in [["-c", "10"], ["-d", "1s"], ["--warmup", "1s"], ["-H", "A: b"]] {
        let said = world.prony(&["bench", "quickstart", "--dry-run", flags[0], flags[1]]);
        refused(&said, 2, &[flags[0], "whose file says its plans"]);
    }
    refused(
        &world.prony(&["bench", "quickstart", "--watch", "a=:9"]),
        2,
        &["--watch", "cannot be used with"],
    );
    for flag in ["--only", "--skip", "--scale", "--servers"] {
        let said = world.prony(&["bench", "--candidate", "a=./a {port}", flag, "x", "--dry-run"]);
        refused(&said, 2, &[flag, "cannot be used with"]);
    }
    refused(&world.prony(&["bench", "quickstart", "--budget", "0", "--dry-run"]), 2, &["--budget 0"]);
    let said = world.prony(&["bench", "quickstart", "--dry-run", "--seed", "77"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains("seed 77"), "{}", said.out);
}

#[test]
fn a_target_on_a_port_in_use_is_refused() {
    let world = World::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    refused(&world.prony(&["target", "--port", &port]), 3, &[&port, "end what listens there"]);
}

#[test]
fn impossible_options_of_the_target_are_refused() {
    let world = World::new();
    for flags in [
        ["--stall", "2s/1s"],
        ["--delay", "-2ms"],
        ["--delay", "soon"],
        ["--capacity", "0"],
        ["--stall", "1s"],
    ] {
        let said = world.prony(&["target", "--port", "0", flags[0], flags[1]]);
        refused(&said, 2, &[]);
        assert!(said.err.len() > 20, "a sentence: {}", said.err);
    }
}

#[test]
fn an_unwritable_result_is_an_error() {
    let world = World::new();
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let line = ["load", "-n", "20", "-c", "2", "--json", "-"];
    let lost = world.command(&line).stdout(full()).stderr(Stdio::null()).status().unwrap();
    assert_eq!(lost.code(), Some(2));
    // What cannot be written is found before the load.
    refused(
        &world.prony(&["load", "-d", "60s", "--json", "none/x.json"]),
        2,
        &["none/x.json could not be written"],
    );
    refused(&world.prony(&["load", "-d", "60s", "--json", "x", "-o", "./x"]), 2, &["named twice"]);
}

#[test]
fn a_run_log_without_a_finished_trial_is_not_reported() {
    let world = World::new();
    let said = world.prony(&["load", "-n", "20", "-c", "2", "-q", "-o", "r.jsonl"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let header = world.read("r.jsonl").lines().next().unwrap().to_owned();
    world.write("empty.jsonl", &format!("{header}\n"));
    for format in ["terminal", "json", "junit"] {
        refused(&world.prony(&["report", "empty.jsonl", "--format", format]), 3, &["no finished trial"]);
    }
}

#[test]
fn a_run_log_has_one_writer() {
    let world = World::new();
    let line = ["load", "-n", "20", "-c", "2", "-q", "-o", "r.jsonl"];
    assert_eq!(world.prony(&line).code, Some(0));
    let held = std::fs::File::open(world.path("r.jsonl")).unwrap();
    held.lock().unwrap();
    refused(&world.prony(&line), 2, &["r.jsonl: another prony is writing it"]);
    // Closing it would not do: a process that another test is just starting still has a copy until it executes.
    held.unlock().unwrap();
    assert_eq!(world.prony(&line).code, Some(0));
    assert_eq!(world.read("r.jsonl").matches("\"type\":\"result\"").count(), 2);
}

#[test]
fn wrong_server_flags_are_refused_before_the_host_is_asked() {
    let world = World::new();
    for (flags, says) in [
        (["--memory", "much"], "--memory \"much\" is not a size"),
        (["--runtime", "jail"], "--runtime \"jail\" is not known"),
    ] {
        let said =
            world.prony(&[&["bench", "quickstart", "--server-host", "ssh:nowhere"][..], &flags].concat());
        assert_eq!((said.code, said.err.contains(says)), (Some(2), true), "{said:?}");
    }
}

#[test]
fn error_messages_contain_no_secrets() {
    let world = World::new();
    world.write("list", "FOO BAR http://u:s3cret@127.0.0.1:1/a\n");
    for line in [
        &["load", "http://127.0.0.1:1/", "-H", "Authorization Bearer s3cret"][..],
        &["load", "http://127.0.0.1:1/", "http://u:s3cret@127.0.0.1:1/"],
        &["load", "http://u:s3cret/x@127.0.0.1:1/"],
        &["load", "--targets", "list"],
        &["bench", "--server-host", "u:s3cret@127.0.0.1", "--candidate", "a=true {port}", "-n", "1"],
        &["bench", "--server-host", "ssh:u:s3cret@127.0.0.1", "--candidate", "a=true {port}", "-n", "1"],
        &["load", "http://127.0.0.1:1/", "--fleet", "ssh:u:s3cret@127.0.0.1"],
        &["load", "http://127.0.0.1:1/", "--watch", "ssh:u:s3cret@127.0.0.1"],
        &["doctor", "--host", "ssh:u:s3cret@127.0.0.1"],
    ] {
        let said = world.prony(line);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(!said.err.contains("s3cret") && !said.err.is_empty(), "{}", said.err);
    }
}

/// `prony ci` gives its child the words of the load so: nobody else sees them.
#[test]
fn a_command_line_may_come_over_standard_input() {
    let world = World::new();
    let said = |input: &str| -> Said {
        let mut command = world.command(&["__words"]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap().into()
    };
    let version = said(r#"["--version"]"#);
    assert_eq!((version.code, version.out.starts_with("prony ")), (Some(0), true), "{version:?}");
    let refused = said(r#"["load", "http://h/", "-R", "fast"]"#);
    assert_eq!((refused.code, refused.err.contains("not a rate")), (Some(2), true), "{refused:?}");
    assert_eq!(said("no list").code, Some(2));
}

#[test]
fn an_argument_that_is_no_text_is_refused_and_writes_no_file() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    let odd = OsStr::from_bytes(b"odd\xff.jsonl");
    let load = ["load", &target.url(), "-n", "10", "-q", "-o"];
    refused(&world.command(&load).arg(odd).output().unwrap().into(), 2, &["not UTF-8", "odd\\xFF.jsonl"]);
    refused(&world.command(&[]).arg(odd).output().unwrap().into(), 2, &["not UTF-8"]);
    assert_eq!(
        world.path(".").read_dir().unwrap().filter(|at| at.as_ref().unwrap().path().is_file()).count(),
        0
    );
    // What it is called itself is nothing to it.
    let said: Said = world.command(&["schema", "plan"]).arg0(odd).output().unwrap().into();
    assert!(!said.err.contains("panicked") && said.code.is_some(), "{said:?}");
}

#[test]
fn an_error_steers_no_terminal() {
    let world = World::new();
    let said = world.prony(&["report", "a\u{1b}]0;owned\u{7}\u{9b}2J.jsonl"]);
    refused(&said, 2, &["owned"]);
    assert!(!said.err.trim_end().contains(|c: char| c.is_control()), "{said:?}");
}

#[test]
fn an_experiment_that_opens_ssh_needs_the_flag() {
    let world = World::new();
    let plan = "[[plan]]\nconnections = 1\nduration = \"100ms\"\n";
    world.write(
        "e.toml",
        &format!("schema = \"prony.experiment/1\"\ntitle = \"t\"\nserver_host = \"ssh:nobody.invalid\"\ncandidates = [\"node-http\"]\nblocks = 1\n{plan}"),
    );
    let said = world.prony(&["bench", "e.toml", "-o", "r.jsonl"]);
    refused(&said, 2, &["ssh:nobody.invalid", "with your keys", "--server-host ssh:nobody.invalid"]);
}
