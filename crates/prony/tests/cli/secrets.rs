//! A secret that is given wherever one can be is found in nothing that Prony writes, shows or starts.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use prony_host::process::descendants;

use crate::lab::Lab;
use crate::terminal::{ENTER, OnTerminal, frames};
use crate::world::{Said, TargetProcess, World, interrupt, wait_until};

/// The secret, whose form differs in a URL, in JSON, in HTML and in base64.
const MARK: &str = "zk+7%q9=m\"ark";
const IN_URL: &str = "zk%2B7%25q9%3Dm%22ark";
const IN_JSON: &str = "zk+7%q9=m\\\"ark";
const IN_HTML: &str = "zk+7%q9=m&quot;ark";
/// What base64 has of it behind 0, 1 and 2 bytes, modulo 3.
const IN_BASE64: [&str; 3] = ["emsrNyVxOT1tImFya", "prKzclcTk9bSJhcm", "6ays3JXE5PW0iYXJr"];
/// The variable that holds it.
const VARIABLE: &str = "PRONY_MARK";

/// Options that can be given a secret; a new one belongs here, with a way below, or among the others.
const TAKE_SECRETS: [&str; 16] = [
    "body",
    "candidate",
    "data",
    "expect-body",
    "expect-json",
    "form",
    "form-urlencoded",
    "generate",
    "header",
    "path",
    "redact",
    "replay",
    "reset",
    "service",
    "service-ready",
    "targets",
];
// args are tried with an image, by `cargo xtask containers`.
const OTHERS: &str = "agent-binary agents all-addresses allow-commands args arrivals blocks body-file budget cacert cert chunked connect-to \
                      connections controls decode disturbed dry-run duet duration expect-status export fleet fleet-key help http2 https \
                      insecure install ipv4 ipv6 json keep-service key loop memory method methods metrics nats-ca nats-nkey no-keepalive \
                      noise-of only otlp output pin pipeline plain plot port precision profile pull quiet rate repeat requests \
                      requests-per-connection reset-timeout resolution resolve-every resume runtime save scale seed server-cores \
                      server-host servers service-timeout shuffle skip slo sni source speed spin stage strict targets-format threads \
                      timeout tls-resumption unix user-clock wait warmup watch web \
                      workers yes";

#[track_caller]
fn assert_not_in(what: &str, text: &str) {
    let lower = IN_URL.to_lowercase();
    for form in [MARK, IN_URL, &lower, IN_JSON, IN_HTML].iter().chain(&IN_BASE64) {
        assert!(!text.contains(*form), "{form} stands in {what}: {text}");
    }
}

/// What a page has packed: JSON in zlib in base64, as a browser unpacks it where somebody looks at it.
fn unpacked(page: &str) -> Vec<String> {
    let chunks = page.split("<script type=\"text/plain\"").skip(1).map(|rest| {
        let packed = rest.split(['>', '<']).nth(1).unwrap_or_default();
        let mut json = String::new();
        let bytes = STANDARD.decode(packed.trim()).unwrap();
        ZlibDecoder::new(bytes.as_slice()).read_to_string(&mut json).unwrap();
        json
    });
    chunks.collect()
}

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => found.extend(files(&entry.path())),
            kind if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
    found
}

/// Nothing of it is in what was said, nor in any file of the world.
#[track_caller]
fn assert_silent(world: &World, said: &Said) {
    assert_not_in("stdout", &said.out);
    assert_not_in("stderr", &said.err);
    for file in files(&world.path("")) {
        let (name, text) = (file.display().to_string(), fs::read(&file).unwrap());
        let text = String::from_utf8_lossy(&text);
        assert_not_in(&name, &text);
        if name.ends_with(".html") {
            let chunks = unpacked(&text);
            let loaded = |json: &String| json.contains("\"url\":\"http://");
            assert!(chunks.iter().any(loaded) || !name.ends_with("load.jsonl.html"), "{name}: {chunks:?}");
            chunks.iter().for_each(|json| assert_not_in(&name, json));
        }
    }
}

fn prony(world: &World, words: &[&str]) -> Said {
    world.command(words).env(VARIABLE, MARK).output().unwrap().into()
}

/// Ways to give it to a load, one at a time, since what is known from one place is hidden in all: the option that is
/// tried, flags, and the URL with `AT` for the target's address.
fn ways(given: &World) -> Vec<(&'static str, Vec<String>, String)> {
    given.write("body", MARK);
    given.write("data.csv", &format!("id\n{MARK}\n"));
    given.write("list", &format!("/?token={IN_URL}\n/?a=b\n"));
    let line = |path| format!("192.0.2.1 - - [28/Nov/2026:12:36:29.5 +0000] \"GET {path} HTTP/1.1\" 200 5\n");
    given.write("log", &line(format!("/?token={IN_URL}")).repeat(20));
    let path = |name: &str| given.path(name).display().to_string();
    let json = format!("{{\"user\":\"me\",\"password\":\"{IN_JSON}\"}}");
    let way = |option, flags: &[&str], url: &str| {
        (option, flags.iter().map(|flag| (*flag).to_owned()).collect::<Vec<String>>(), url.to_owned())
    };
    let header = |name: &str| format!("{name}: {MARK}");
    let (root, echo) = ("http://AT/", "http://AT/echo");
    vec![
        way("url", &[], &format!("http://me:{MARK}@AT/")),
        way("url", &[], &format!("http://AT/?api_key={IN_URL}&a=b")),
        way("url", &[], &format!("http://AT/?a=@env:{VARIABLE}&b=c")),
        way("url", &[], &format!("http://me:@env:{VARIABLE}@AT/")),
        way("header", &["-H", &header("Authorization")], root),
        way("header", &["-H", &header("X-Auth")], root),
        way("header", &["-H", &format!("Authorization: Bearer {MARK}")], root),
        way("header", &["-H", &format!("Cookie: sid={MARK}; a=b")], root),
        way("header", &["-H", "X-Own: @env:PRONY_MARK"], root),
        way("redact", &["-H", &header("X-Own"), "--redact", "x-own"], root),
        way("body", &["-b", &json], echo),
        way("body", &["-b", &format!("user=me&password={IN_URL}")], echo),
        way("body", &["-b", "@env:PRONY_MARK"], echo),
        way("body", &["-b", &format!("@{}", path("body"))], echo),
        way("form", &["-F", &format!("password={MARK}")], echo),
        way("form", &["-F", "a=@env:PRONY_MARK"], echo),
        way("form-urlencoded", &["--form-urlencoded", &format!("password={MARK}")], echo),
        way("form-urlencoded", &["--form-urlencoded", "a=@env:PRONY_MARK"], echo),
        way("expect-body", &["--expect-body", "@env:PRONY_MARK"], root),
        way("expect-body", &["--expect-body", &json], root),
        way("expect-json", &["--expect-json", "/message=@env:PRONY_MARK"], root),
        way("expect-json", &["--expect-json", &format!("/password={MARK}")], "http://AT/json"),
        way("targets", &["--targets", &path("list")], root),
        way("generate", &["--generate", &format!("token=choice:{MARK}"), "-H", "X-A: {{token}}"], root),
        way("data", &["--data", &path("data.csv"), "-H", "X-A: {{id}}"], root),
        way("replay", &["--replay", &path("log")], root),
        way("targets", &["--targets", &path("list")], &format!("http://me:{MARK}@AT/")),
    ]
}

/// The flags of a command by its own help.
fn options(command: &str) -> BTreeSet<String> {
    let said = World::new().prony(&[command, "--help"]);
    // Descriptions are indented further, and what stands below the flags not at all.
    let is_flag = |line: &&str| line.starts_with(' ') && !line.starts_with("       ");
    let lines = said.out.lines().filter(is_flag).map(str::trim_start);
    let lines = lines.filter(|line| line.starts_with('-'));
    let long = lines.filter_map(|line| line.split_once("--")?.1.split([' ', '[', '=', '.']).next());
    long.map(str::to_owned).collect()
}

#[test]
fn every_option_is_known_to_take_a_secret_or_none() {
    let others: BTreeSet<String> = OTHERS.split_whitespace().map(str::to_owned).collect();
    let known: BTreeSet<String> = TAKE_SECRETS.map(str::to_owned).into_iter().chain(others).collect();
    let all: BTreeSet<String> = ["load", "bench", "capacity"].into_iter().flat_map(options).collect();
    assert_eq!(all, known);
    let given = World::new();
    // A command and its path are tried with a server that dies.
    let of_commands = ["candidate", "path", "reset", "service", "service-ready"];
    let tried: BTreeSet<&str> = ways(&given).iter().map(|(option, ..)| *option).chain(of_commands).collect();
    assert!(TAKE_SECRETS.iter().all(|option| tried.contains(option)), "{tried:?}");
}

#[test]
fn a_secret_in_any_option_is_written_nowhere() {
    let (given, target) = (World::new(), TargetProcess::start(&[]));
    let mut searched = BTreeSet::new();
    for (option, flags, url) in ways(&given) {
        let world = World::new();
        let url = url.replace("AT", &target.address.to_string());
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let tried = |words: &[&str]| {
            let said = prony(&world, &[words, &flags[..]].concat());
            assert!(matches!(said.code, Some(0 | 3)), "{option}: {said:?}");
            assert_silent(&world, &said);
        };
        let exports = ["--export", "csv=l.csv", "--export", "jtl=l.jtl", "--export", "openmetrics=l.txt"];
        let load = ["load", &url, "-n", "20", "-c", "2", "--json", "l.json", "-o", "load.jsonl"];
        tried(&[&load[..], &exports].concat());
        tried(&["load", &url, "--http2", "-n", "20", "-c", "2", "--json", "h2.json", "-o", "h2.jsonl"]);
        let (a, b) = (format!("a={url}"), format!("b={url}"));
        let bench = ["bench", "--candidate", &a, "--candidate", &b, "-n", "20", "-c", "1", "--blocks", "1"];
        tried(&[&bench[..], &["-o", "bench.jsonl"]].concat());
        let search = ["capacity", &url, "--json", "c.json", "-o", "capacity.jsonl", "-q"];
        let short = ["-d", "200ms", "-c", "2", "-R", "10", "--resolution", "50%", "--slo", "max<1ns"];
        // A search refuses a log.
        if option != "replay" && searched.insert(option) {
            tried(&[&search[..], &short].concat());
            let search =
                [&search[..3], &["c2.json", "-o", "capacity2.jsonl", "-q", "--http2"], &short].concat();
            tried(&search);
            for log in ["load.jsonl", "h2.jsonl", "bench.jsonl", "capacity.jsonl", "capacity2.jsonl"] {
                assert_reports_are_silent(&world, log);
            }
        }
        // What was no secret is there: the search finds what there is to be found.
        assert!(world.read("load.jsonl").contains(&target.address.to_string()));
    }
}

fn assert_reports_are_silent(world: &World, log: &str) {
    let formats = "terminal markdown json trials html csv junit github openmetrics hgrm hlog monitor bmf gab gab-throughput";
    for format in formats.split(' ') {
        let said = prony(world, &["report", log, "--format", format, "-o", &format!("{log}.{format}")]);
        assert_silent(world, &said);
    }
    assert_silent(world, &prony(world, &["report", log]));
    assert_silent(world, &prony(world, &["history", log]));
}

#[test]
fn a_failed_check_and_a_server_that_dies_tell_no_secret() {
    let (world, target) = (World::new(), TargetProcess::start(&[]));
    let echo = format!("a=http://me:{MARK}@{}/echo?api_key={IN_URL}", target.address);
    let failing = ["bench", "--candidate", &echo, "--expect-status", "418", "-o", "failed.jsonl", "-n", "9"];
    let body = format!("{{\"password\":\"{IN_JSON}\"}}");
    for flags in [["-b", &body], ["-b", "@env:PRONY_MARK"], ["-H", "X-Own: @env:PRONY_MARK"]] {
        let said = prony(&world, &[&failing[..], &flags].concat());
        assert_eq!(said.code, Some(3), "{said:?}");
        assert!(world.read("failed.jsonl").contains("[redacted]"));
        assert_silent(&world, &said);
        fs::remove_file(world.path("failed.jsonl")).unwrap();
    }
    let words = format!("asked {MARK} of postgres://me:{MARK}@h/ {IN_URL} {IN_HTML} emsrNyVxOT1tImFyaw==");
    let command = format!("dead=echo '{words}' >&2; exit 7 # {{port}}");
    let path = format!("/?api_key={IN_URL}");
    let (service, reset) =
        (format!("db=echo '{words}' >&2; exit 7 # {{port}}"), format!("echo '{words}' >&2; exit 7"));
    let unready = format!("db=echo '{words}'; exit 1");
    let waits =
        ["--service", "db=sleep 600 # {port}", "--service-timeout", "db=1s", "--service-ready", &unready];
    for flags in [
        &[][..],
        &["-H", "X-Own: @env:PRONY_MARK", "--path", &path],
        &["--service", &service],
        &["--reset", &reset],
        &waits,
    ] {
        let line = ["bench", "--candidate", &command, "-d", "200ms", "--blocks", "1", "-o", "dead.jsonl"];
        let said = prony(&world, &[&line[..], flags].concat());
        assert_eq!(said.code, Some(3), "{said:?}");
        assert!(world.read("dead.jsonl").contains("It wrote:"), "its last words are kept");
        assert_silent(&world, &said);
        fs::remove_file(world.path("dead.jsonl")).unwrap();
    }
}

#[test]
fn an_experiment_asks_the_environment_again_when_it_is_resumed() {
    let plan = "connections = 2\nduration = \"1h\"\nwarmup = \"0s\"\nrequests = 50\ntimeout = \"10m\"\n\
                headers = { X-Session = \"@env:PRONY_MARK\", X-Own = \"@env:PRONY_MARK\" }\n";
    let lab = Lab::new("well", "", plan);
    let said: Said = lab.command().env(VARIABLE, MARK).output().unwrap().into();
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_silent(&lab.world, &said);
    assert!(lab.world.read("r.jsonl").contains("[\"X-Session\",\"@env:PRONY_MARK\"]"));
    let resume = ["bench", "--servers", "recipes", "-q", "--resume", "r.jsonl"];
    let unset: Said = lab.world.command(&resume).env_remove(VARIABLE).output().unwrap().into();
    assert!(matches!(&unset, Said { code: Some(2), err, .. } if err.contains(VARIABLE)), "{unset:?}");
    let said = prony(&lab.world, &resume);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_silent(&lab.world, &said);
}

#[test]
fn a_resumed_run_of_urls_says_which_secret_to_give_again() {
    let (world, target) = (World::new(), TargetProcess::start(&[]));
    let at = target.address;
    let bench = |candidate: &str, more: &[&str]| {
        let line = ["bench", "--candidate", candidate, "-n", "20", "-c", "1", "--blocks", "1", "-q"];
        let said = prony(&world, &[&line[..], more].concat());
        assert_silent(&world, &said);
        said
    };
    let whole = format!("a=http://me:{MARK}@{at}/?api_key={IN_URL}&b=c");
    let shown = format!("a=http://[redacted]@{at}/?api_key=[redacted]&b=c");
    assert_eq!(bench(&whole, &["-o", "r.jsonl"]).code, Some(0));
    let header = world.lines("r.jsonl", "header").remove(0);
    assert!(header["reproduce"].as_str().unwrap().contains(&shown), "{header}");
    assert_eq!(bench(&whole, &["--resume", "r.jsonl"]).code, Some(0));
    let as_shown = bench(&shown, &["--resume", "r.jsonl"]);
    assert_eq!(as_shown.code, Some(2), "{as_shown:?}");
    assert!(
        as_shown.err.contains(&shown) && as_shown.err.contains("write the secret there again"),
        "{as_shown:?}"
    );
    let without = bench(&format!("a=http://{at}/"), &["--resume", "r.jsonl"]);
    assert_eq!(without.code, Some(2), "{without:?}");
    // What the environment holds is filled in by the line that was printed.
    let url = format!("http://{at}/?a=@env:{VARIABLE}");
    let said = prony(&world, &["load", &url, "-n", "9", "-o", "l.jsonl"]);
    assert_silent(&world, &said);
    let again = world.lines("l.jsonl", "header").remove(0)["reproduce"].as_str().unwrap().to_owned();
    assert!(again.contains(&url), "{again}");
}

#[test]
fn what_is_started_has_no_secret_among_its_arguments() {
    let world = World::new();
    // A server that never answers is looked at while it is waited for.
    let command = format!("a=: 'postgres://me:{MARK}@h/'; sleep 600 # {{port}}");
    let line = ["bench", "--candidate", &command, "-H", "X-Own: @env:PRONY_MARK", "-q", "-o", "r.jsonl"];
    let mut bench = world.command(&line);
    let mut bench = bench.env(VARIABLE, MARK).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let lines = || -> Vec<String> {
        let children = descendants(bench.id());
        let read = children.iter().filter_map(|child| fs::read(format!("/proc/{}/cmdline", child.pid)).ok());
        read.map(|line| String::from_utf8_lossy(&line).replace('\0', " ")).collect()
    };
    wait_until("the command runs", || lines().iter().any(|line| line.starts_with("sleep 600")));
    let seen = lines();
    assert!(seen.iter().any(|line| line.contains("PRONY_COMMAND")), "{seen:?}");
    seen.iter().for_each(|line| assert_not_in("arguments", line));
    interrupt(bench.id());
    bench.wait().unwrap();
    assert_silent(&world, &Said { code: None, out: String::new(), err: String::new() });
}

/// The addresses that a command says, and the rest of what it says, which has to stay open.
fn addresses<R: Read>(said: R, count: usize) -> (Vec<String>, BufReader<R>) {
    let (mut said, mut found) = (BufReader::new(said), Vec::new());
    while found.len() < count {
        let mut line = String::new();
        assert!(said.read_line(&mut line).unwrap() > 0, "no address was said");
        assert_not_in("what is said", &line);
        let address = line.split_once("http://").and_then(|(_, rest)| rest.split(['/', ' ']).next());
        found.extend(address.map(str::to_owned));
    }
    (found, said)
}

/// The first bytes of an answer, at most so many.
fn got(address: &str, path: &str, most: u64) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.take(most).read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn pages_and_metrics_show_no_secret() {
    let (world, target) = (World::new(), TargetProcess::start(&[]));
    let url = format!("http://me:{MARK}@{}/echo?api_key={IN_URL}", target.address);
    let body = format!("{{\"password\":\"{IN_JSON}\"}}");
    // A load that takes no whole core: pages are drawn when nobody else runs.
    let flags = ["-b", &body, "-H", "X-Own: @env:PRONY_MARK", "-c", "1", "-R", "100"];
    let has_page = prony_report::page::available().is_ok();
    let web: &[&str] = if has_page { &["--web"] } else { &[] };
    let candidate = format!("a={url}");
    let load = ["load", &url];
    let bench = ["bench", "--candidate", &candidate, "--blocks", "1000", "-o", "r.jsonl"];
    for what in [&load[..], &bench] {
        let line = [what, &["-d", "600s", "--warmup", "0", "-q", "--metrics", ":0"], web, &flags].concat();
        let mut command = world.command(&line);
        let mut child =
            command.env(VARIABLE, MARK).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let (found, said) = addresses(child.stderr.take().unwrap(), 1 + web.len());
        for address in &found {
            // The live page has events without an end, of which the first say what is run.
            for (path, most) in [("/", u64::MAX), ("/metrics", u64::MAX), ("/events", 200)] {
                let answer = got(address, path, most);
                assert!(answer.starts_with("HTTP/1.1 "), "{answer}");
                assert_not_in(&format!("{path} of {address}"), &answer);
            }
        }
        end(child);
        drop(said);
    }
    let kept = prony(&world, &[&load[..], &["-n", "9", "-o", "l.jsonl"], &flags].concat());
    assert_eq!(kept.code, Some(0), "{kept:?}");
    if has_page {
        let mut serving = world.command(&["serve", "l.jsonl"]).stdout(Stdio::piped()).spawn().unwrap();
        let (found, said) = addresses(serving.stdout.take().unwrap(), 1);
        for path in ["/", "/runs/l", "/history"] {
            assert_not_in(path, &got(&found[0], path, u64::MAX));
        }
        end(serving);
        drop(said);
    }
    assert_silent(&world, &Said { code: None, out: String::new(), err: String::new() });
}

#[test]
fn the_view_on_a_terminal_shows_no_secret() {
    let (world, target) = (World::new(), TargetProcess::start(&[]));
    let url = format!("http://me:{MARK}@{}/echo?api_key={IN_URL}", target.address);
    let candidate = format!("a={url}");
    let load = ["load", &url];
    let bench = ["bench", "--candidate", &candidate, "--blocks", "1", "-o", "r.jsonl"];
    let search = ["capacity", &url, "--slo", "max<1ns", "--resolution", "50%"];
    let body = format!("user=me&password={IN_URL}");
    let flags = ["-b", &body, "-H", "X-Own: @env:PRONY_MARK", "-c", "1", "-R", "100", "-d", "1500ms"];
    for what in [&load[..], &bench, &search] {
        let line = [what, &flags].concat();
        let terminal = OnTerminal::start(&world, (190, 40), &line, &[(VARIABLE, MARK)]);
        let (code, seen) = terminal.end();
        assert!(matches!(code, Some(0 | 3)) && seen.contains(ENTER), "{what:?}: {code:?} {seen:?}");
        // As it was written, and cell by cell, as somebody saw it.
        assert_not_in("what was written", &seen);
        let frames = frames(&seen);
        assert!(frames.iter().any(|frame| frame.contains("echo") || frame.contains("req/s")), "{frames:?}");
        frames.iter().for_each(|frame| assert_not_in("the view", frame));
    }
}
