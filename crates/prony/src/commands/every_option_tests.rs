//! Every option of a load, through every way in and out: `load`, `bench --candidate`, an experiment's plan, `capacity`,
//! the run log and the line that reproduces it.

use std::collections::BTreeSet;
use std::path::Path;

use clap::Parser;
use prony_lab::candidate::Layout;
use prony_lab::experiment::Experiment;
use prony_model::options::LoadOptions;
use prony_model::recorded_plan::RecordedPlan;
use prony_model::{Plan, Target};
use prony_report::command::command;

use super::{bench, capacity, plan};
use crate::cli::{Cli, Command};
use crate::failure::Failure;

/// An option as a flag, as a key of a file, and what else it needs.
pub(crate) struct Case {
    pub(crate) option: &'static str,
    pub(crate) flags: Vec<String>,
    toml: String,
    /// `https` for options of TLS.
    scheme: &'static str,
    /// Whether a search has no use for it.
    not_in_a_search: bool,
}

fn case(option: &'static str, flags: &[&str], toml: &str) -> Case {
    let flags = flags.iter().map(|word| (*word).to_owned()).collect();
    Case { option, flags, toml: toml.to_owned(), scheme: "http", not_in_a_search: false }
}

/// One case for every option; `folder` has files for those that name one.
pub(crate) fn cases(folder: &Path) -> Vec<Case> {
    // A new option does not compile until it stands here, and then not pass until it has a case below.
    let LoadOptions {
        threads: _,
        connections: _,
        duration: _,
        requests: _,
        rate: _,
        headers: _,
        method: _,
        body: _,
        timeout: _,
        warmup: _,
        keepalive: _,
        expect_status: _,
        expect_body: _,
        expect_json: _,
        arrivals: _,
        seed: _,
        pipeline: _,
        stages: _,
        source: _,
        unix: _,
        body_file: _,
        form: _,
        form_urlencoded: _,
        chunked: _,
        decode: _,
        requests_per_connection: _,
        connect_to: _,
        all_addresses: _,
        ipv4: _,
        ipv6: _,
        resolve_every: _,
        sni: _,
        spin: _,
        user_clock: _,
        protocol: _,
        generate: _,
        data: _,
        targets: _,
        targets_format: _,
        shuffle: _,
        replay: _,
        speed: _,
        looped: _,
        methods: _,
        cacert: _,
        cert: _,
        key: _,
        insecure: _,
        tls_resumption: _,
        // No options of a load: a flag without effect, and keys that say what a plan of a file is for.
        latency: _,
        name: _,
        capacity: _,
        workers: _,
        route: _,
        of: _,
        candidates: _,
    } = LoadOptions::default();
    let file = |name: &str| folder.join(name).display().to_string();
    let (pem, list, csv, log) = (file("both.pem"), file("list.txt"), file("data.csv"), file("access.log"));
    let tls = |case: Case| Case { scheme: "https", ..case };
    let not_in_a_search = |case: Case| Case { not_in_a_search: true, ..case };
    vec![
        case("threads", &["-t", "2"], "threads = 2"),
        case("connections", &["-c", "7"], "connections = 7"),
        case("duration", &["-d", "4s"], "duration = \"4s\""),
        not_in_a_search(case("requests", &["-n", "70"], "requests = 70")),
        case("rate", &["-R", "2k"], "rate = \"2k\""),
        case("headers", &["-H", "X-A: b"], "headers = { X-A = \"b\" }"),
        case("method", &["-m", "PUT"], "method = \"PUT\""),
        case("body", &["-b", "abc"], "body = \"abc\""),
        case("timeout", &["--timeout", "2s"], "timeout = \"2s\""),
        not_in_a_search(case("warmup", &["--warmup", "2s"], "warmup = \"2s\"")),
        case("keepalive", &["--no-keepalive"], "keepalive = false"),
        case("expect_status", &["--expect-status", "204"], "expect_status = 204"),
        case("expect_body", &["--expect-body", "abc"], "expect_body = \"abc\""),
        case(
            "expect_json",
            &["--expect-json", "/id=17", "--expect-json", "/a b/0=Ann's"],
            "expect_json = [\"/id=17\", \"/a b/0=Ann's\"]",
        ),
        case("arrivals", &["--arrivals", "poisson", "-R", "9"], "arrivals = \"poisson\"\nrate = 9"),
        case(
            "seed",
            &["--seed", "5", "-R", "9", "--arrivals", "poisson"],
            "seed = 5\nrate = 9\narrivals = \"poisson\"",
        ),
        not_in_a_search(case("pipeline", &["-p", "4"], "pipeline = 4")),
        not_in_a_search(case("stages", &["--stage", "3s:9/s"], "stages = [\"3s:9/s\"]")),
        case("source", &["--source", "127.0.0.2"], "source = \"127.0.0.2\""),
        case("unix", &["--unix", "/run/x.sock"], "unix = \"/run/x.sock\""),
        case("requests_per_connection", &["--requests-per-connection", "9"], "requests_per_connection = 9"),
        case("connect_to", &["--connect-to", "127.0.0.1:81"], "connect_to = [\"127.0.0.1:81\"]"),
        case("all_addresses", &["--all-addresses"], "all_addresses = true"),
        case("ipv4", &["-4"], "ipv4 = true"),
        case("ipv6", &["-6"], "ipv6 = true"),
        case("resolve_every", &["--resolve-every", "5s"], "resolve_every = \"5s\""),
        tls(case("sni", &["--sni", "other"], "sni = \"other\"")),
        case("body_file", &["--body-file", &list], &format!("body_file = {list:?}")),
        case("form", &["-F", "a=1"], "form = [\"a=1\"]"),
        case("form_urlencoded", &["--form-urlencoded", "a=1"], "form_urlencoded = [\"a=1\"]"),
        case("chunked", &["--chunked", "-b", "x"], "chunked = true\nbody = \"x\""),
        case("decode", &["--decode"], "decode = true"),
        case("spin", &["--spin"], "spin = true"),
        case("user_clock", &["--user-clock"], "user_clock = true"),
        case("http2", &["--http2"], "http2 = true"),
        case("targets", &["--targets", &list], &format!("targets = {list:?}")),
        case(
            "generate",
            &["--generate", "id=int:1..9", "-H", "X-A: {{id}}"],
            "generate = [\"id=int:1..9\"]\nheaders = { X-A = \"{{id}}\" }",
        ),
        case(
            "data",
            &["--data", &csv, "-H", "X-A: {{id}}"],
            &format!("data = {csv:?}\nheaders = {{ X-A = \"{{{{id}}}}\" }}"),
        ),
        case(
            "targets_format",
            &["--targets", &list, "--targets-format", "plain"],
            &format!("targets = {list:?}\ntargets_format = \"plain\""),
        ),
        case("shuffle", &["--targets", &list, "--shuffle"], &format!("targets = {list:?}\nshuffle = true")),
        not_in_a_search(case("replay", &["--replay", &log], &format!("replay = {log:?}"))),
        not_in_a_search(case(
            "speed",
            &["--replay", &log, "--speed", "2.5"],
            &format!("replay = {log:?}\nspeed = 2.5"),
        )),
        not_in_a_search(case(
            "loop",
            &["--replay", &log, "--loop", "-n", "7"],
            &format!("replay = {log:?}\nloop = true\nrequests = 7"),
        )),
        not_in_a_search(case(
            "methods",
            &["--replay", &log, "--methods", "GET,POST"],
            &format!("replay = {log:?}\nmethods = \"GET,POST\""),
        )),
        tls(case("cacert", &["--cacert", &pem], &format!("cacert = {pem:?}"))),
        tls(case("cert", &["--cert", &pem], &format!("cert = {pem:?}"))),
        tls(case("key", &["--cert", &pem, "--key", &pem], &format!("cert = {pem:?}\nkey = {pem:?}"))),
        tls(case("insecure", &["-k"], "insecure = true")),
        tls(case("tls_resumption", &["--tls-resumption", "off"], "tls_resumption = \"off\"")),
    ]
}

pub(crate) fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n\
               -----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n";
    std::fs::write(folder.path().join("both.pem"), pem).unwrap();
    std::fs::write(folder.path().join("data.csv"), "id,name\n1,a\n").unwrap();
    std::fs::write(folder.path().join("list.txt"), "/a\nPOST /b\n").unwrap();
    let line = |second, request| {
        format!("192.0.2.1 - - [28/Nov/2026:12:36:{second} +0000] \"{request} HTTP/1.1\" 200 5\n")
    };
    let log = line("29", "GET /a") + &line("30", "POST /b") + &line("32", "GET /c");
    std::fs::write(folder.path().join("access.log"), log).unwrap();
    folder
}

fn parsed(words: &[&str], flags: &[String]) -> Command {
    let words = words.iter().map(|word| (*word).to_owned()).chain(flags.iter().cloned());
    Cli::try_parse_from(words).unwrap_or_else(|e| panic!("{flags:?}: {e}")).command
}

/// The plan of `prony load` with these flags.
fn loaded(url: &str, flags: &[String]) -> Plan {
    let Command::Load(arguments) = parsed(&["prony", "load", url], flags) else { panic!("it is a load") };
    plan::plan(&arguments.common.plan, &[], Some(Target::parse(url).unwrap())).unwrap()
}

fn benched(scheme: &str, flags: &[String]) -> Plan {
    let candidate = ["prony", "bench", "--candidate", "a=./a {port}", "--https"];
    let candidate = if scheme == "https" { &candidate[..] } else { &candidate[..4] };
    let Command::Bench(arguments) = parsed(candidate, flags) else { panic!("it is a bench") };
    let layout = Layout::new(Path::new("unused")).unwrap();
    bench::candidates::experiment(&arguments, &layout).unwrap().0.plans[0].load.clone()
}

fn in_a_file(scheme: &str, toml: &str) -> Result<Plan, String> {
    let candidate = if scheme == "https" { "a:tls" } else { "a" };
    let text = format!("schema = \"prony.experiment/1\"\ncandidates = [{candidate:?}]\n[[plan]]\n{toml}\n");
    let read = Experiment::parse("x", "x.toml", &text).map_err(|why| why.to_string());
    read.map(|experiment| experiment.plans[0].load.clone())
}

fn searched(url: &str, flags: &[String]) -> Result<Plan, Failure> {
    let Command::Capacity(arguments) = parsed(&["prony", "capacity", url], flags) else {
        panic!("it is a search")
    };
    capacity::capacity_plan(&arguments, Some(Target::parse(url).unwrap())).map(|wanted| wanted.load)
}

#[test]
fn every_option_has_a_case() {
    let folder = folder();
    let had: BTreeSet<&str> = cases(folder.path()).iter().map(|case| case.option).collect();
    let flags = <LoadOptions as clap::Args>::augment_args(clap::Command::new("prony"));
    let all: BTreeSet<&str> = flags
        .get_arguments()
        .map(|argument| argument.get_id().as_str())
        .filter(|id| *id != "latency")
        .collect();
    assert_eq!(had, all);
}

#[test]
fn every_option_means_the_same_for_every_command() {
    let folder = folder();
    for Case { option, flags, toml, scheme, not_in_a_search } in cases(folder.path()) {
        let url = format!("{scheme}://127.0.0.1/");
        let plan = loaded(&url, &flags);
        assert_ne!(plan, Plan::closed(Target::parse(&url).unwrap()), "{option} changes nothing");
        let target = plan.target.clone();
        assert_eq!(Plan { target, ..benched(scheme, &flags) }, plan, "{option} of a candidate");
        match in_a_file(scheme, &toml) {
            // Which server and which port a candidate says.
            Ok(load) => assert_eq!(Plan { target: plan.target.clone(), ..load }, plan, "{option} in a file"),
            // Servers of the catalogue listen on their port; a run has one seed.
            Err(why) => {
                let said = [
                    ("unix", "listen on a port"),
                    ("connect_to", "where Prony starts them"),
                    ("seed", "the experiment's"),
                ];
                assert!(said.iter().any(|(o, words)| *o == option && why.contains(words)), "{option}: {why}");
            }
        }
        match searched(&url, &flags) {
            Err(why) => {
                let option = if flags.contains(&"--replay".to_owned()) { "replay" } else { option };
                let option = if flags.contains(&"--loop".to_owned()) { "requests" } else { option };
                let said = format!("{} cannot be used in a search", plan::flag(option));
                assert!(not_in_a_search && why.message.starts_with(&said), "{option}: {why:?}");
            }
            Ok(load) => {
                assert!(!not_in_a_search, "{option} is taken by a search");
                // The same load, but for its rate, its connections, its length and its warm-up where these are not said.
                let own = [
                    ["-c", "100"],
                    ["-d", "3s"],
                    ["-R", "1"],
                    ["--arrivals", "poisson"],
                    ["--warmup", "300ms"],
                ]
                .into_iter()
                .filter(|own| !flags.contains(&own[0].to_owned()));
                let own = own.flatten().map(str::to_owned).chain(flags.iter().cloned()).collect::<Vec<_>>();
                assert_eq!(load, loaded(&url, &own), "{option} in a search");
            }
        }
    }
}

#[test]
fn every_option_is_in_the_run_log_and_the_reproducing_command() {
    let folder = folder();
    for Case { option, flags, scheme, .. } in cases(folder.path()) {
        let url = format!("{scheme}://127.0.0.1/");
        let plan = loaded(&url, &flags);
        let record = RecordedPlan::of(&plan);
        let usual = RecordedPlan::of(&Plan::closed(Target::parse(&url).unwrap()));
        // The socket stands in the trial's address, and a key goes with its certificate.
        assert!(record != usual || option == "unix", "{option} leaves no trace in the log");
        let address =
            plan.unix.as_ref().map_or("127.0.0.1:80".to_owned(), |path| format!("unix:{}", path.display()));
        // The user fills in what the record does not hold.
        let body = folder.path().join("body");
        std::fs::write(&body, &plan.body).unwrap();
        let body = format!("@{}", body.display());
        let files = [
            ("@BODY", &*body),
            ("--body-file BODY", "--body-file list.txt"),
            ("@EXPECTED", "abc"),
            ("--targets FILE", "--targets list.txt"),
            ("--replay FILE", "--replay access.log"),
            ("--data FILE.csv", "--data data.csv"),
            (" FILE", " both.pem"),
        ];
        let line = files
            .into_iter()
            .fold(command(&record, &address, "h"), |line, (from, to)| line.replace(from, to));
        let words = line.replace("list.txt", &folder.path().join("list.txt").display().to_string());
        let words = words.replace("access.log", &folder.path().join("access.log").display().to_string());
        let words = words.replace("data.csv", &folder.path().join("data.csv").display().to_string());
        let words = words.replace("both.pem", &folder.path().join("both.pem").display().to_string());
        let again = loaded(&url, &shlex::split(&words).unwrap()[3..]);
        assert_eq!(RecordedPlan::of(&again), record, "{option}: {line}");
        assert_eq!(again.unix, plan.unix, "{option}: {line}");
    }
}

#[test]
fn a_later_blocks_replay_has_the_same_instants_again() {
    let folder = folder();
    let path = folder.path().join("seconds.log");
    let line =
        |second| format!("192.0.2.1 - - [28/Nov/2026:12:36:{second} +0000] \"GET / HTTP/1.1\" 200 5\n");
    std::fs::write(&path, line(10) + &line(11)).unwrap();
    let of = |seed: &str| {
        let flags = ["--replay", &path.display().to_string(), "--seed", seed].map(str::to_owned);
        loaded("http://127.0.0.1/", &flags)
    };
    let record = RecordedPlan { seed: 99, ..RecordedPlan::of(&of("5")) };
    assert!(command(&record, "127.0.0.1:80", "h").contains(" --seed 5 "), "not the block's");
    assert_ne!(of("5").arrivals, of("99").arrivals);
}

#[test]
fn a_search_by_a_list_of_whole_urls_loads_their_server() {
    let folder = folder();
    let path = folder.path().join("urls.txt");
    std::fs::write(&path, "http://127.0.0.2:81/a\nPOST http://127.0.0.2:81/b\n").unwrap();
    let flags = ["--targets".to_owned(), path.display().to_string()];
    let Command::Capacity(arguments) = parsed(&["prony", "capacity"], &flags) else {
        panic!("it is a search")
    };
    assert!(!arguments.common.is_embedded());
    let load = capacity::capacity_plan(&arguments, None).unwrap().load;
    assert_eq!((load.target.host.as_str(), load.target.port), ("127.0.0.2", 81));
}

#[test]
fn a_search_with_uneven_threads_is_refused_before_any_load() {
    let flags = ["-t", "8", "-c", "50"].map(str::to_owned);
    assert_eq!(loaded("http://127.0.0.1/", &flags).threads, 8, "a closed load");
    let refused = searched("http://127.0.0.1/", &flags).unwrap_err();
    assert!(refused.code == 2 && refused.message.contains("evenly"), "{refused:?}");
}
