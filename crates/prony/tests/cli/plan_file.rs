//! Plan files: a load, a search and a comparison whose flags stand in a file.

use serde_json::Value;

use crate::world::{Said, TargetProcess, World};

const EXAMPLE: &str = include_str!("../../../../examples/plan.toml");

fn refused(world: &World, text: &str, flags: &[&str]) -> Said {
    world.write("plan.toml", text);
    let said = world.prony(&[&["load", "plan.toml"], flags].concat());
    assert_eq!(said.code, Some(2), "{text} {said:?}");
    said
}

#[test]
fn the_example_plan_is_loaded_and_flags_override_it() {
    let (world, target) = (World::new(), TargetProcess::start(&[]));
    world.write("plan.toml", &EXAMPLE.replace("http://127.0.0.1:8080/", &target.url()));
    let flags = ["-d", "300ms", "-R", "100", "--slo", "errors<99%", "-o", "run.jsonl", "-q"];
    let said = world.prony(&[&["load", "plan.toml"], &flags[..]].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    let trial: Value = serde_json::from_str(&world.read("result.json")).unwrap();
    let plan = &trial["plan"];
    assert_eq!((&plan["connections"], &plan["rate_per_s"]), (&50.into(), &100.0.into()), "{plan}");
    assert_eq!(plan["expect_status"], 200);
    assert_eq!(trial["slo"].as_array().unwrap().len(), 1, "those of the line: {}", trial["slo"]);
    assert!(world.read("seconds.csv").lines().count() > 1);
    assert_eq!(world.lines("run.jsonl", "result")[0]["plan"], "steady");
}

#[test]
fn a_command_is_saved_and_loaded_again_from_its_file() {
    let (world, target) = (World::new(), TargetProcess::start(&[]));
    let url = target.url();
    let flags = [
        "-c",
        "3",
        "-n",
        "30",
        "-H",
        "authorization: @env:TOKEN",
        "--export",
        "csv=a.csv",
        "--save",
        "a.toml",
    ];
    let run =
        |words: &[&str]| -> Said { world.command(words).env("TOKEN", "t0ken").output().unwrap().into() };
    let said = run(&[&["load", &url, "--json", "a.json"], &flags[..]].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    let text = world.read("a.toml");
    assert!(text.contains("authorization = \"@env:TOKEN\"") && !text.contains("t0ken"), "{text}");
    assert_eq!(run(&["load", "a.toml", "--json", "b.json"]).code, Some(0));
    let plan = |name: &str| serde_json::from_str::<Value>(&world.read(name)).unwrap()["plan"].take();
    assert_eq!(plan("b.json"), plan("a.json"));
    let again = run(&["load", "a.toml", "--save", "a.toml"]);
    assert!(again.code == Some(2) && again.err.contains("--save a.toml: there is such a file"), "{again:?}");
    assert_eq!(world.read("a.toml"), text);
    assert_eq!(target.ledger()["requests_received"], 60, "nothing is loaded where nothing is saved");
}

#[test]
fn a_secret_that_is_written_out_is_neither_saved_nor_read() {
    let world = World::new();
    for (flags, says) in [
        (&["-H", "authorization: s3cret"][..], "--header 'authorization: @env:NAME'"),
        (&["-H", "X-Own: s3cret", "--redact", "x-own"], "--header 'X-Own: @env:NAME'"),
        (&["-H", "Referer: http://me:s3cret@h/"], "\"headers\" has a part that is secret"),
        (&["-b", "password=s3cret"], "\"body\" has a part that is secret"),
        (&["http://me:s3cret@127.0.0.1:1/"], "\"url\" has a part that is secret"),
        (&["http://127.0.0.1:1/?token=s3cret"], "\"url\" has a part that is secret"),
        (&["--fleet", "nats://me:s3cret@127.0.0.1"], "\"fleet\" has a part that is secret"),
    ] {
        let said = world.prony(&[&["load", "--save", "a.toml"], flags].concat());
        assert!(said.code == Some(2) && said.err.contains(says) && !said.err.contains("s3cret"), "{said:?}");
        assert!(!world.path("a.toml").exists());
    }
    for (key, what) in [
        ("headers = { Authorization = \"s3cret\" }", "Authorization is secret"),
        ("redact = [\"x-own\"]\nheaders = { X-Own = \"s3cret\" }", "X-Own is secret"),
        ("headers = { X-Next = \"http://h/?token=s3cret\" }", "\"headers\" has a part that is secret"),
        ("body = \"password=s3cret\"", "\"body\" has a part that is secret"),
        ("url = \"http://h/?token=[redacted]\"", "\"url\" has a part that is secret"),
        ("url = \"http://me:s3cret@h/\"", "\"url\" has a part that is secret"),
        ("form = [\"token=s3cret\"]", "\"form\" has a part that is secret"),
        ("generate = [\"token=choice:s3cret|s3cret\"]", "a column of the file of \"data\""),
        // These are none.
        (
            "generate = [\"key=int:1..9\"]\nform = [\"token=@no-such-file\"]",
            "-F @no-such-file could not be read",
        ),
    ] {
        let said = refused(&world, &format!("schema = \"prony.plan/1\"\n[[plan]]\n{key}\n"), &[]);
        assert!(
            said.err.contains(what) && said.err.contains("plan.toml:") && !said.err.contains("s3cret"),
            "{said:?}"
        );
    }
}

#[test]
fn what_is_wrong_in_a_file_is_told_with_its_line() {
    let world = World::new();
    for (keys, line, says) in [
        ("conections = 2", 4, "unknown key \"conections\" in [[plan]]: did you mean \"connections\"?"),
        ("slos = \"p99<5ms\"", 4, "did you mean \"slo\"?"),
        ("quiet = true", 4, "unknown key \"quiet\""),
        ("workers = 3", 4, "unknown key \"workers\""),
        ("connections = \"many\"", 4, "\"connections\" must be a whole number"),
        ("connections = 0", 4, "give -c at least 1"),
        ("rate = [1, 2]", 4, "\"rate\" cannot be [1.0,2.0]"),
        ("duration = \"1s\"\ntimeout = \"0\"", 5, "--timeout"),
        ("arrivals = \"often\"", 4, "is not a kind of arrivals"),
        ("slo = [\"p99<\"]", 4, "p99<"),
        ("repeat = 0", 4, "invalid value '0'"),
        ("strict = 3", 4, "\"strict\" cannot be 3"),
        ("plot = \"yes\"", 4, "\"plot\" cannot be"),
        ("json = [\"a\"]", 4, "\"json\" cannot be"),
        ("export = \"xls=a\"", 4, "not a format of --export"),
        ("export = { a = 1 }", 4, "\"export\" cannot be"),
        ("pin = \"x\"", 4, "--pin"),
        ("body = \"@nowhere\"", 4, "nowhere"),
        ("http2 = true\nprotocol = \"http1\"", 5, "say the same"),
        ("url = 3", 3, "\"url\" cannot be 3"),
        ("name = \"a b\"", 4, "cannot be a plan's name"),
        ("[[plan]]", 4, "one [[plan]], and this one 2"),
        ("[lod]", 4, "unknown key \"lod\" in the file"),
    ] {
        let url = if keys.starts_with("url") { "" } else { "url = \"http://127.0.0.1:1/\"\n" };
        let said = refused(&world, &format!("schema = \"prony.plan/1\"\n[[plan]]\n{url}{keys}\n"), &[]);
        let at = format!("plan.toml:{line}: ");
        assert!(said.err.contains(&at) && said.err.contains(says), "{keys} {said:?}");
        assert_eq!(said.err.matches("plan.toml:").count(), 1, "{said:?}");
    }
    for (text, says) in [
        ("", "plan.toml:1: the file has no \"schema\""),
        ("schema = \"prony.plan/1\"", "the file has no \"plan\""),
        ("schema = \"prony.plan/1\"\nplan = []", "plan.toml:2: a plan file has one [[plan]], and this one 0"),
        (
            "schema = \"prony.experiment/1\"\ncandidates = []",
            "plan.toml:2: unknown key \"candidates\" in the file",
        ),
        ("[[plan", "this is not TOML"),
        (&" ".repeat(2 << 20), "longer than 1048576 bytes"),
    ] {
        let said = refused(&world, text, &[]);
        assert!(said.err.contains(says), "{said:?}");
    }
    let said = world.prony(&["load", "nowhere.toml"]);
    assert!(said.code == Some(2) && said.err.contains("nowhere.toml cannot be read"), "{said:?}");
    // What the line says wrong is not the file's.
    let said = refused(&world, "schema = \"prony.plan/1\"\n[[plan]]\nslo = \"p99<9s\"", &["--slo", "p99<"]);
    assert!(!said.err.contains("plan.toml:"), "{said:?}");
}

#[test]
fn a_search_takes_a_file_and_says_what_of_it_it_does_not_use() {
    let (world, target) = (World::new(), TargetProcess::start(&[]));
    let keys =
        "warmup = \"1s\"\nrepeat = 3\nrate = 10\nslo = \"max<1ns\"\nresolution = \"50%\"\nconnections = 2";
    world
        .write("a.toml", &format!("schema = \"prony.plan/1\"\n[[plan]]\nurl = {:?}\n{keys}\n", target.url()));
    let said = world.prony(&["capacity", "a.toml", "-d", "200ms", "--json", "a.json"]);
    assert_eq!(said.code, Some(3), "no maximum is below a nanosecond: {said:?}");
    assert!(said.err.contains("a.toml:4: \"warmup\" is not used here"), "{said:?}");
    assert!(said.err.contains("a.toml:5: \"repeat\" is not used here"), "{said:?}");
    let found: Value = serde_json::from_str(&world.read("a.json")).unwrap();
    assert_eq!(found["plan"]["connections"], 2, "{found}");
}
