//! Experiments end to end, over servers that are this binary's own target.

use crate::lab::Lab;
use crate::world::{BINARY, Said, World, interrupt, processes_naming, wait_until};

/// A bench of one server under two names: no difference to find, and none to fear.
fn bench(flags: &[&str]) -> Vec<String> {
    let mut line = vec!["bench".to_owned()];
    for name in ["one", "two"] {
        line.extend([
            "--candidate".to_owned(),
            format!("{name}={BINARY} target --port {{port}} --delay 1ms"),
        ]);
    }
    line.extend(["-c", "4", "-d", "300ms", "--warmup", "0", "-o", "r.jsonl"].map(str::to_owned));
    line.extend(flags.iter().map(|f| (*f).to_owned()));
    line
}

fn run(world: &World, line: &[String]) -> Said {
    world.prony(&line.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn two_candidates_are_compared_and_reported_in_every_format() {
    let world = World::new();
    let said = run(&world, &bench(&["--blocks", "3"]));
    assert_eq!(said.code, Some(0), "{said:?}");
    for words in ["one", "two", "req/s", "Student's t", "Reproduce  prony bench"] {
        assert!(said.out.contains(words), "{words:?}: {}", said.out);
    }
    let results = world.lines("r.jsonl", "result");
    assert_eq!((results.len(), world.lines("r.jsonl", "trial_start").len()), (6, 6));
    for result in &results {
        assert_eq!(result["trial"]["window"]["duration_ns"], 300_000_000);
        assert_eq!(result["trial"]["errors"], serde_json::json!({}));
        assert!(result["server"]["startup_ns"].as_u64().unwrap() > 0);
        assert!(result["server"]["peak_memory_bytes"].as_u64().unwrap() > 100_000);
    }
    if prony_report::page::available().is_ok() {
        assert!(said.out.contains("Report:  r.html"), "{}", said.out);
        assert!(world.read("r.html").contains("prony.page/1"));
    } else {
        // Built without Node: everything but the page, and a sentence.
        assert!(said.err.contains("make build"), "{}", said.err);
    }
    for format in ["terminal", "markdown", "json", "csv"] {
        let shown = world.prony(&["report", "r.jsonl", "--format", format]);
        assert_eq!(shown.code, Some(0));
        assert!(shown.out.contains("one") && shown.out.contains("two"), "{format}: {}", shown.out);
    }
    // What is there is not overwritten.
    let again = run(&world, &bench(&["--blocks", "3"]));
    assert_eq!(again.code, Some(2), "{again:?}");
    assert!(again.err.contains("exists already") && again.err.contains("--resume"), "{}", again.err);
}

#[test]
fn controls_run_in_each_block_and_are_in_every_format() {
    let world = World::new();
    let said = run(&world, &bench(&["--controls", "--blocks", "2", "--dry-run"]));
    assert!(said.out.contains("2 candidates and a twin of one × 1 plan × 2 blocks = 6 trials"), "{said:?}");
    let said = run(&world, &bench(&["--controls", "--blocks", "2"]));
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains(" twin of one: "), "{}", said.out);
    let counted = || {
        let log = world.read("r.jsonl");
        let lines = log.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let results: Vec<_> = lines.filter(|line| line["type"] == "result").collect();
        let twins = results.iter().filter(|result| result["control"] == "twin");
        (results.len(), twins.inspect(|twin| assert_eq!(twin["candidate"], "one")).count())
    };
    assert_eq!(counted(), (6, 2));
    for format in ["terminal", "markdown"] {
        let shown = world.prony(&["report", "r.jsonl", "--format", format]);
        assert!(shown.out.contains("twin of one"), "{format}: {}", shown.out);
    }
    let json = world.prony(&["report", "r.jsonl", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    let (rows, twin) = (&json["plans"][0]["rows"], &json["plans"][0]["twin"]);
    assert_eq!((rows.as_array().unwrap().len(), &twin["of"]), (2, &"one".into()));
    assert_eq!((&twin["row"]["trials"], &twin["planted"]["difference"]), (&2.into(), &0.03.into()));
    let refused = run(&world, &bench(&["--blocks", "3", "--resume", "--controls=false"]));
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("--controls: the run was begun with them"), "{}", refused.err);
    let more = run(&world, &bench(&["--blocks", "3", "--resume"]));
    assert_eq!((more.code, counted()), (Some(0), (9, 3)), "{more:?}");
}

#[test]
fn controls_that_would_be_none_are_refused_with_what_to_do() {
    let world = World::new();
    let of = |line: &[&str]| {
        let said = world.prony(&[&["bench", "--controls", "--dry-run"], line].concat());
        assert_eq!(said.code, Some(2), "{said:?}");
        said.err
    };
    let url = of(&["--candidate", "there=http://127.0.0.1:1/"]);
    assert!(url.contains("there") && url.contains("whose server Prony does not start"), "{url}");
    let two = ["--candidate", "a=x {port}", "--candidate", "b=x {port}", "--duet", "-R", "100"];
    let duet = of(&two);
    // With one CPU there is no duet, with controls or without.
    let refused = ["--duet runs two candidates at once", "may use only one CPU"];
    assert!(refused.iter().any(|why| duet.contains(why)), "{duet}");
    let head = "schema = \"prony.experiment/1\"\ncandidates = [\"node-http\"]\ncontrols = true\n";
    world.write("e.toml", &format!("{head}[[plan]]\ncapacity = \"p99<50ms\"\n"));
    let said = world.prony(&["bench", "e.toml", "--dry-run"]);
    // Where node-http cannot run here, there is no twin to refuse.
    assert!(said.code == Some(0) || said.err.contains("every plan searches for a capacity"), "{said:?}");
    world.write("e.toml", &format!("{head}[[plan]]\n"));
    let without = world.prony(&["bench", "e.toml", "--controls=false", "--dry-run"]);
    assert!(without.code == Some(0) && !without.out.contains("twin"), "{without:?}");
}

/// A bench of six trials. In the second the server stops answering in mid load, until it is told to go on.
fn held() -> Lab {
    let plan = "connections = 4\nduration = \"1h\"\nwarmup = \"0s\"\nrequests = 300\ntimeout = \"10m\"\n";
    Lab::of(&["one", "two"], "held-2", 3, "", plan)
}

#[test]
fn a_killed_run_leaves_no_process_and_can_be_resumed() {
    let lab = held();
    let mut child = lab.start_and_wait_in_mid_load(&[]);
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();
    let measured = lab.world.lines("r.jsonl", "result");
    assert_eq!(measured.len(), 1);
    wait_until("the killed run's servers are gone", || processes_naming(&lab.mark()).is_empty());
    let said = lab.go_on();
    assert_eq!(said.code, Some(0), "{said:?}");
    let after = lab.world.lines("r.jsonl", "result");
    assert_eq!(after.len(), 6, "the plan is completed");
    assert_eq!(after[..1], measured[..], "nothing measured is lost");
    assert_eq!((processes_naming(&lab.mark()), lab.guards()), (Vec::new(), 0));
}

#[test]
fn an_interrupted_run_prints_the_command_that_resumes_it() {
    let lab = held();
    let child = lab.start_and_wait_in_mid_load(&[]);
    interrupt(child.id());
    let said: Said = child.wait_with_output().unwrap().into();
    assert_eq!(said.code, Some(130), "{said:?}");
    assert!(said.err.contains("--resume r.jsonl"), "{}", said.err);
    assert!(lab.world.lines("r.jsonl", "event").iter().any(|event| event["what"] == "interrupted"));
    let said = lab.go_on();
    assert_eq!(said.code, Some(0), "{said:?}");
    let results = lab.world.lines("r.jsonl", "result");
    let whole = results.iter().filter(|result| result["trial"]["interrupted"] == false);
    assert!(whole.clone().all(|result| result["trial"]["requests"]["completed"] == 300));
    assert_eq!(whole.count(), 6);
}

/// What a run log holds is said by its header's own field, and by no name that an experiment may have.
#[test]
fn an_experiment_named_like_a_command_is_still_an_experiment() {
    let plan = "connections = 2\nduration = \"1h\"\nwarmup = \"0s\"\nrequests = 50\ntimeout = \"10m\"\n";
    for name in ["load", "capacity"] {
        let Lab { world } = Lab::of(&["one", "two"], "well", 1, "", plan);
        let file = format!("{name}.toml");
        std::fs::rename(world.path("e.toml"), world.path(&file)).unwrap();
        let bench = |flags: &[&str]| world.prony(&[&["bench", "--servers", "recipes", "-q"], flags].concat());
        let said = bench(&[&file, "-o", "r.jsonl"]);
        assert_eq!((said.code, world.lines("r.jsonl", "result").len()), (Some(0), 2), "{said:?}");
        // As if it had been killed after its first trial.
        let text = world.read("r.jsonl");
        let first = text.lines().position(|line| line.starts_with("{\"type\":\"result\"")).unwrap();
        world.write("r.jsonl", &text.split_inclusive('\n').take(first + 1).collect::<String>());
        let said = bench(&["--resume", "r.jsonl"]);
        assert_eq!((said.code, world.lines("r.jsonl", "result").len()), (Some(0), 2), "{said:?}");
        let shown = world.prony(&["report", "r.jsonl", "--format", "json"]);
        let shown: serde_json::Value = serde_json::from_str(&shown.out).unwrap();
        assert_eq!((&shown["schema"], &shown["name"]), (&"prony.analysis/1".into(), &name.into()));
        // A single load does not belong in it.
        let load = world.prony(&["load", "http://127.0.0.1:1/", "-n", "1", "-o", "r.jsonl"]);
        assert!(load.code == Some(2) && load.err.contains("run log of the experiment"), "{load:?}");
    }
}

#[test]
fn the_output_of_a_server_that_exits_at_its_start_is_shown() {
    let world = World::new();
    let said = world.prony(&[
        "bench",
        "--candidate",
        "dead=echo no licence for port {port} >&2; exit 7",
        "-d",
        "200ms",
        "--blocks",
        "1",
        "-o",
        "r.jsonl",
    ]);
    assert_eq!(said.code, Some(3), "{said:?}");
    let all = format!("{}{}", said.out, said.err);
    assert!(all.contains("no licence for port") && all.contains('7'), "{all}");
    assert!(!all.contains("panicked"), "{all}");
}

#[test]
fn a_server_with_an_unexpected_body_is_not_measured() {
    let world = World::new();
    let said = world.prony(&[
        "bench",
        "--candidate",
        &format!("wrong={BINARY} target --port {{port}}"),
        "--expect-body",
        "something else",
        "-n",
        "200",
        "--blocks",
        "1",
        "-o",
        "r.jsonl",
    ]);
    assert_eq!(said.code, Some(3), "{said:?}");
}

#[test]
fn a_dry_run_runs_nothing() {
    let world = World::new();
    let said = run(&world, &bench(&["--blocks", "4", "--dry-run"]));
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains("8 trials"), "{}", said.out);
    assert!(!world.path("r.jsonl").exists());
}

#[test]
fn a_wrong_experiment_is_refused_with_line_and_nearest_key() {
    let world = World::new();
    let experiment = |body: &str| {
        format!("schema = \"prony.experiment/1\"\ntitle = \"t\"\ncandidates = [\"node-http\"]\n{body}")
    };
    for (body, words) in [
        ("[[plan]]\nconections = 5\n", vec!["e.toml:5", "conections", "connections"]),
        ("[[plan]]\nconnections = \"many\"\n", vec!["e.toml:5", "connections"]),
        ("[[plan]]\nconnections = 0\n", vec!["e.toml:5"]),
        ("[[plan]]\nrate = \"fast\"\n", vec!["e.toml:5", "fast"]),
        ("[[plan]]\ncapacity = \"fast\"\n", vec!["e.toml:5", "fast", "p99<50ms"]),
        ("blocks = 0\n[[plan]]\n", vec!["e.toml:4", "blocks"]),
        ("baseline = \"caddy-fpm\"\n[[plan]]\n", vec!["e.toml:4", "caddy-fpm"]),
        ("[[plan\n", vec!["e.toml:4"]),
    ] {
        world.write("e.toml", &experiment(body));
        let said = world.prony(&["bench", "e.toml", "--dry-run"]);
        assert_eq!(said.code, Some(2), "{body}: {said:?}");
        for word in words {
            assert!(said.err.contains(word), "{body}: {word:?} is missing: {}", said.err);
        }
    }
    let unknown = |candidate: &str, words: &[&str]| {
        world.write("e.toml", &experiment("[[plan]]\n").replace("node-http", candidate));
        let said = world.prony(&["bench", "e.toml", "--dry-run"]);
        assert_eq!(said.code, Some(2), "{said:?}");
        for word in words {
            assert!(said.err.contains(word), "{word:?} is missing: {}", said.err);
        }
    };
    unknown("node-htp", &["node-htp", "node-http"]);
    unknown("node-http:clustr", &["clustr", "cluster"]);
    let said = world.prony(&["bench", "quickstrt"]);
    assert!(said.code == Some(2) && said.err.contains("quickstart"), "{said:?}");
    let said = world.prony(&["bench", "no/such.toml"]);
    assert!(said.code == Some(2) && said.err.contains("no/such.toml"), "{said:?}");
}

#[test]
fn every_server_has_the_limit_of_open_files_that_prony_had() {
    let world = World::new();
    let candidate = |name: &str| {
        format!(
            "{name}=sh -c 'ulimit -Sn >> {}; exec {BINARY} target --port {{port}}'",
            world.path("limits").display()
        )
    };
    let line = format!(
        "ulimit -Sn 300; exec prony bench --candidate {} --candidate {} -c 4 -d 100ms --warmup 0 --blocks 2 -o r.jsonl -q",
        shlex::try_quote(&candidate("a")).unwrap(),
        shlex::try_quote(&candidate("b")).unwrap(),
    );
    let said = world.shell(&line);
    assert!(matches!(said.code, Some(0 | 3)), "{said:?}");
    // Its loads raise its own.
    assert_eq!(world.read("limits"), "300\n".repeat(4));
    let log = prony_analysis::run_log::read(&world.path("r.jsonl")).unwrap();
    assert_eq!(log.header.host.open_files_soft, 300);
}
