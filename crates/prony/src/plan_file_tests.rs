//! Every flag of a load, into a file and back.

use super::*;
use crate::cli::LoadArguments;
use crate::commands::every_option_tests::{cases, folder};

fn line(words: &[&str]) -> Vec<String> {
    ["prony", "load"].iter().chain(words).map(|word| (*word).to_owned()).collect()
}

/// What a line means, the file that it may name included.
fn meant(line: &[String]) -> Result<LoadArguments, String> {
    let printer = Printer::new();
    let given = Given::of(line, &printer).map_err(|why| why.message)?;
    let words = given.as_ref().map_or(line, |given| &given.words);
    let matches = Cli::command().try_get_matches_from(words).map_err(|why| why.to_string())?;
    let mut cli = Cli::from_arg_matches(&matches).unwrap();
    complete(&mut cli, &matches, given.as_ref()).map_err(|why| why.message)?;
    let Command::Load(arguments) = cli.command else { panic!("it is a load") };
    Ok(*arguments)
}

/// Lines that give each flag once, by its name in the code; it needs the others of its line.
fn lines(folder: &std::path::Path) -> Vec<(String, Vec<String>)> {
    let others: [&[&str]; 20] = [
        &["url", "http://me:@env:PW@h/a?b=c"],
        &["json", "--json", "-"],
        &["output", "-o", "a b.jsonl"],
        &["redact", "--redact", "X-A", "--redact", "X-B"],
        &["pin", "--pin", "0"],
        &["watch", "--watch", ":80"],
        &["fleet", "--fleet", "local:2"],
        &["agents", "--fleet", "nats://h", "--agents", "2"],
        &["agent_binary", "--agent-binary", "/a"],
        &["fleet_key", "--fleet", "nats://h", "--fleet-key", "k"],
        &["nats_nkey", "--nats-nkey", "k"],
        &["nats_ca", "--nats-ca", "c"],
        &["export", "--export", "csv=a", "--export", "hlog=b"],
        &["web", "--web"],
        &["metrics", "--metrics", "9464"],
        &["otlp", "--otlp", "http://h:4318"],
        &["plot", "--plot"],
        &["slo", "--slo", "p99<50ms", "--slo=errors<0.1%"],
        &["strict", "--slo", "p99<50ms", "--strict"],
        &["repeat", "--repeat", "3"],
    ];
    let others = others.map(|words| (words[0].to_owned(), line(&words[1..])));
    let options = cases(folder).into_iter().map(|case| {
        let flags: Vec<&str> = case.flags.iter().map(String::as_str).collect();
        (case.option.to_owned(), line(&flags))
    });
    options.chain(others).collect()
}

#[test]
fn every_flag_of_a_load_is_one_of_a_file_or_of_one_invocation() {
    let folder = folder();
    let lines = lines(folder.path());
    let mut had: Vec<&str> = lines.iter().map(|(id, _)| id.as_str()).collect();
    had.extend(OF_ONE_INVOCATION);
    let mut load = command("load");
    load.build();
    for flag in load.get_arguments() {
        assert!(
            had.contains(&flag.get_id().as_str()),
            "{} has no key in a plan file and no line in this test",
            flag.get_id()
        );
    }
    for id in OF_ONE_INVOCATION {
        assert!(load.get_arguments().any(|flag| flag.get_id() == id), "{id}");
    }
}

#[test]
fn every_flag_of_a_load_is_written_into_a_file_and_read_back() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name).display().to_string();
    for (number, (id, line)) in lines(folder.path()).into_iter().enumerate() {
        let file = path(&format!("{number}.toml"));
        let saved = [&line[..], &["--save".to_owned(), file.clone()]].concat();
        let mut given = meant(&saved).unwrap_or_else(|why| panic!("{id}: {why}"));
        let text = given.common.saved.take().unwrap();
        given.common.save = None;
        std::fs::write(&file, &text).unwrap();
        let read = meant(&[&line[..2], &[file]].concat()).unwrap_or_else(|why| panic!("{id}: {why}\n{text}"));
        assert_eq!(format!("{read:?}"), format!("{given:?}"), "{id}:\n{text}");
        assert!(text.contains(&id), "{id} is no key:\n{text}");
        // The same on the line overrides it.
        let both = meant(&[&line[..2], &[path(&format!("{number}.toml"))], &line[2..]].concat());
        if id != "url" {
            assert_eq!(format!("{:?}", both.unwrap()), format!("{given:?}"), "{id}:\n{text}");
        }
    }
}

#[test]
fn a_flag_without_its_value_is_true_in_a_file() {
    let folder = folder();
    let file = folder.path().join("web.toml");
    std::fs::write(&file, "schema = \"prony.plan/1\"\n[[plan]]\nurl = \"http://127.0.0.1/\"\nweb = true\n")
        .unwrap();
    let words = |rest: &str| ["prony", "load", rest].map(str::to_owned);
    let of_file = meant(&words(&file.display().to_string())).unwrap();
    let typed = meant(&[&words("http://127.0.0.1/")[..], &["--web".to_owned()]].concat()).unwrap();
    assert_eq!(of_file.web, typed.web);
}

#[test]
fn services_and_the_reset_of_a_file_are_those_of_a_comparison() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.toml").display().to_string();
    let text = "schema = \"prony.plan/1\"\nreset = \"fill {db_port}\"\n\
        [service.db]\nservice = \"postgresql\"\nsettings = { fsync = \"off\" }\nkeep = true\n\
        [service.cache]\ncommand = \"cache {port} {db_port}\"\nready = \"ping {port}\"\n\
        [[plan]]\nurl = \"http://127.0.0.1/\"\n";
    std::fs::write(&path, text).unwrap();
    let of = |typed: &[&str], services: &[&str]| {
        let typed: Vec<String> = typed.iter().map(|word| (*word).to_owned()).collect();
        for_bench(&path, &typed, services, &Printer::new()).unwrap()
    };
    let cache = ["--service=cache=cache {port} {db_port}", "--service-ready=cache=ping {port}"];
    let db = ["--service=db=postgresql fsync=off", "--keep-service=db"];
    let reset = ["--reset=fill {db_port}", "--reset-timeout=1m"];
    assert_eq!(of(&[], &[]), [db, cache, reset].concat());
    let own = ["--service=db=d {port}", cache[0], cache[1], "--service=x=x {port}"];
    assert_eq!(of(&["--reset=true"], &["x=x {port}", "db=d {port}"]), own, "in their places");
    std::fs::write(&path, text.replace("fill {db_port}", "fill {nosuch_port}")).unwrap();
    let why = for_bench(&path, &[], &[], &Printer::new()).unwrap_err().message;
    assert!(why.contains("p.toml:2") && why.contains("The reset has {nosuch_port}"), "{why}");
}

#[test]
fn the_options_of_a_line_are_words_for_another_command() {
    let line = "prony bisect --good a --serve x -c 50 -d5s --http2 --no-keepalive -k --path /p";
    let mut line: Vec<String> = line.split(' ').map(str::to_owned).collect();
    line.extend(["-H", "A: b c", "-H", "D: e", "-b", "@f"].map(str::to_owned));
    let mut words = options_of(&line);
    words.sort();
    let expected = [
        "--body=@f",
        "--connections=50",
        "--duration=5s",
        "--header=A: b c",
        "--header=D: e",
        "--http2",
        "--insecure",
        "--no-keepalive",
    ];
    assert_eq!(words, expected);
}
