//! Servers that misbehave under `prony bench`: each is seen, said and survived, and leaves nothing.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::world::{Said, World};

/// What a busy machine may take for what is to come.
const PATIENCE: Duration = Duration::from_secs(30);

/// A test's folder with a recipe for the misbehaving server and an experiment of it.
struct Lab {
    world: World,
}

impl Lab {
    fn new(mode: &str, recipe: &str, plan: &str) -> Lab {
        let world = World::new();
        let folder = world.path("recipes").join(mode);
        for made in [folder.clone(), world.path("temporary"), world.path("meet")] {
            fs::create_dir_all(made).unwrap();
        }
        fs::write(folder.join("misbehave.py"), include_str!("misbehave.py")).unwrap();
        let text = format!(
            "schema = \"prony.server/1\"\ntitle = \"One that misbehaves\"\nlanguage = \"Python\"\n\
             kind = \"runtime\"\nroutes = [\"text\"]\nprocesses = \"single\"\nkeepalive = true\n{recipe}\
             [requires]\ncommands = [\"python3\"]\n\
             [start]\ncommand = [\"python3\", \"misbehave.py\", \"{mode}\", \"{{port}}\", {:?}]\n",
            world.path("meet").display().to_string()
        );
        fs::write(folder.join("server.toml"), text).unwrap();
        world.write(
            "e.toml",
            &format!(
                "schema = \"prony.experiment/1\"\ntitle = \"t\"\ncandidates = [\"{mode}\"]\nblocks = 1\n[[plan]]\n{plan}"
            ),
        );
        Lab { world }
    }

    fn command(&self) -> std::process::Command {
        let mut command =
            self.world.command(&["bench", "e.toml", "--servers", "recipes", "-q", "-o", "r.jsonl"]);
        command.env("TMPDIR", self.world.path("temporary"));
        command
    }

    fn bench(&self) -> Said {
        self.command().output().unwrap().into()
    }

    fn lines(&self, kind: &str) -> Vec<Value> {
        let text = self.world.read("r.jsonl");
        let parsed = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        parsed.filter(|line| line["type"] == kind).collect()
    }

    fn result(&self) -> Value {
        let mut results = self.lines("result");
        assert_eq!(results.len(), 1, "{results:?}");
        results.remove(0)
    }

    /// No process, port, cgroup or temporary file is left of the run.
    fn assert_nothing_left(&self) {
        // What names the meeting place is the server of this test, in whatever session it hides.
        let mark = self.world.path("meet").display().to_string();
        let until = Instant::now() + PATIENCE;
        while !processes_naming(&mark).is_empty() {
            assert!(Instant::now() < until, "left: {:?}", processes_naming(&mark));
            thread::sleep(Duration::from_millis(20));
        }
        for result in self.lines("result") {
            let Some(address) = result["trial"]["target"]["address"].as_str() else { continue };
            let address: SocketAddr = address.parse().unwrap();
            assert!(TcpStream::connect(address).is_err(), "somebody listens at {address}");
        }
        let left = |folder: PathBuf| -> Vec<PathBuf> {
            fs::read_dir(folder).map_or_else(|_| Vec::new(), |all| all.flatten().map(|e| e.path()).collect())
        };
        assert_eq!(left(self.world.path("temporary")), Vec::<PathBuf>::new());
        assert_eq!(left(self.world.path(".prony/journal")), Vec::<PathBuf>::new());
        // A cgroup is its guard's; other tests' guards are at work and end in their own time.
        let orphans = || -> Vec<PathBuf> { cgroups().into_iter().filter(|c| !guard_lives(c)).collect() };
        let until = Instant::now() + PATIENCE;
        while !orphans().is_empty() {
            assert!(Instant::now() < until, "left: {:?}", orphans());
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn processes_naming(mark: &str) -> Vec<String> {
    let own = std::process::id().to_string();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.bytes().all(|b| b.is_ascii_digit()) && *name != own)
        .filter_map(|pid| fs::read(format!("/proc/{pid}/cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(mark))
        .collect()
}

/// Folders named `prony-PID` where the lab makes cgroups: at most two levels below a hierarchy's root.
fn cgroups() -> Vec<PathBuf> {
    let below = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter(|e| e.file_type().is_ok_and(|t| t.is_dir())).map(|e| e.path()).collect()
    };
    let root = below(Path::new("/sys/fs/cgroup"));
    let two: Vec<PathBuf> = root.iter().flat_map(|folder| below(folder)).collect();
    let three: Vec<PathBuf> = two.iter().flat_map(|folder| below(folder)).collect();
    root.into_iter().chain(two).chain(three).filter(|path| guard_of(path).is_some()).collect()
}

fn guard_of(cgroup: &Path) -> Option<u32> {
    cgroup.file_name()?.to_str()?.strip_prefix("prony-")?.parse().ok()
}

fn guard_lives(cgroup: &Path) -> bool {
    // Numbers over the kernel's highest pid are those of the cgroups' own test.
    guard_of(cgroup).is_some_and(|pid| pid > 4_194_304 || Path::new(&format!("/proc/{pid}")).exists())
}

fn reason<'a>(result: &'a Value, code: &str) -> Option<&'a Value> {
    result["trial"]["verdict"]["reasons"].as_array()?.iter().find(|reason| reason["code"] == code)
}

/// A text without what wraps its lines.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

const COUNTED: &str = "connections = 4\nduration = \"60s\"\nwarmup = \"0s\"\nrequests = 20000\n";
const TIMED: &str = "connections = 4\nduration = \"1500ms\"\nwarmup = \"0s\"\n";

#[test]
fn a_server_killed_in_mid_trial_voids_it() {
    let lab = Lab::new("die", "", COUNTED);
    let said = lab.bench();
    assert_eq!(said.code, Some(3), "{said:?}");
    let result = lab.result();
    let died = reason(&result, "server_died").unwrap();
    assert_eq!(died["effect"], "invalid");
    assert!(died["detail"].as_str().unwrap().starts_with("die was ended by signal 9 while it was loaded"));
    assert!(words(&said.out).contains("server died in 1 of 1 trial"), "{}", said.out);
    lab.assert_nothing_left();
}

#[test]
fn a_worker_started_again_voids_the_trial_and_a_steady_one_does_not() {
    let lab = Lab::new("restart", "", TIMED);
    let said = lab.bench();
    assert_eq!(said.code, Some(3), "{said:?}");
    let result = lab.result();
    let restarted = reason(&result, "server_restarted").unwrap_or_else(|| panic!("{result}"));
    assert_eq!(
        (&restarted["effect"], &result["trial"]["verdict"]["validity"]),
        (&"invalid".into(), &"invalid".into())
    );
    let detail = restarted["detail"].as_str().unwrap();
    assert!(detail.starts_with("1 process of restart ended and another took its place: "), "{detail}");
    assert!(words(&said.out).contains("server restarted in 1 of 1 trial"), "{}", said.out);
    lab.assert_nothing_left();

    // The same server once more: its worker has had its accident, and lives.
    fs::remove_file(lab.world.path("r.jsonl")).unwrap();
    let said = lab.bench();
    assert_eq!(said.code, Some(0), "{said:?}");
    let result = lab.result();
    assert_eq!((reason(&result, "server_restarted"), reason(&result, "worker_lost")), (None, None));
    lab.assert_nothing_left();
}

#[test]
fn a_server_that_executes_itself_anew_voids_the_trial() {
    let lab = Lab::new("anew", "", TIMED);
    let said = lab.bench();
    assert_eq!(said.code, Some(3), "{said:?}");
    let result = lab.result();
    let restarted = reason(&result, "server_restarted").unwrap_or_else(|| panic!("{result}"));
    assert_eq!(restarted["effect"], "invalid");
    let detail = restarted["detail"].as_str().unwrap();
    assert!(
        detail.starts_with("1 process of anew ended and another took its place: ")
            && detail.contains("by itself, executed anew"),
        "{detail}"
    );
    lab.assert_nothing_left();
}

#[test]
fn a_worker_exchanged_as_its_recipe_says_is_a_note() {
    let lab = Lab::new("restart", "recycles = true\n", TIMED);
    lab.bench();
    let result = lab.result();
    assert_eq!(reason(&result, "server_restarted").unwrap()["effect"], "note", "{result}");
    lab.assert_nothing_left();
}

/// The test takes the port between its choice and the server's bind, and answers rightly.
#[test]
fn a_port_filled_beforehand_is_not_loaded_in_the_servers_place() {
    let lab = Lab::new("squatted", "", TIMED);
    let bench = lab.command().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let told = lab.world.path("meet/port");
    let until = Instant::now() + PATIENCE;
    while !told.exists() {
        assert!(Instant::now() < until, "the server never began");
        thread::sleep(Duration::from_millis(5));
    }
    let port: u16 = fs::read_to_string(&told).unwrap().parse().unwrap();
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    thread::spawn(move || {
        let answer =
            b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!";
        for stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let (mut stream, mut piece) = (stream, [0; 4096]);
                while stream.read(&mut piece).is_ok_and(|n| n > 0) && stream.write_all(answer).is_ok() {}
            });
        }
    });
    fs::write(lab.world.path("meet/taken"), "").unwrap();
    let said: Said = bench.wait_with_output().unwrap().into();
    assert_eq!(said.code, Some(3), "{said:?}");
    let result = lab.result();
    assert_eq!(result["trial"], Value::Null, "nothing was loaded");
    let failure = result["failure"].as_str().unwrap();
    let expected = format!("squatted was not loaded: process {} (", std::process::id());
    assert!(failure.starts_with(&expected) && failure.contains(&format!("its port {port}")), "{failure}");
    lab.assert_nothing_left();
}

#[test]
fn one_wrong_answer_in_ten_thousand_voids_the_trial() {
    let lab = Lab::new("wrong", "", COUNTED);
    let said = lab.bench();
    assert_eq!(said.code, Some(3), "{said:?}");
    let result = lab.result();
    let wrong = reason(&result, "wrong_answer").unwrap_or_else(|| panic!("{result}"));
    assert_eq!(wrong["effect"], "invalid");
    // 20,000 requests and those of the check: the 10,000th and the 20,000th are wrong.
    let mismatches = result["trial"]["errors"]["body_mismatch"].as_u64().unwrap();
    assert!((1..=2).contains(&mismatches), "{mismatches}");
    assert!(words(&said.out).contains("wrong answer in 1 of 1 trial"), "{}", said.out);
    lab.assert_nothing_left();
}

#[test]
fn daemons_are_measured_and_ended() {
    let lab = Lab::new("daemon", "", TIMED);
    let said = lab.bench();
    assert_eq!(said.code, Some(0), "{said:?}");
    let result = lab.result();
    assert!(result["trial"]["requests"]["completed"].as_u64().unwrap() > 0, "{result}");
    // The one that serves and the one that sleeps, both in sessions of their own.
    assert_eq!(result["server"]["processes"], 2, "{}", result["server"]);
    assert!(result["server"]["window_cpu_ns"].as_u64().unwrap() > 0);
    lab.assert_nothing_left();
}

#[test]
fn a_server_deaf_to_sigterm_is_killed_and_said() {
    let lab = Lab::new("deaf", "", TIMED);
    let said = lab.bench();
    assert_eq!(said.code, Some(0), "{said:?}");
    let events = lab.lines("event");
    let killed = events.iter().find(|event| event["what"] == "killed").unwrap();
    let expected = "deaf did not end within 3s of SIGTERM and was ended by SIGKILL.";
    assert_eq!(killed["detail"], expected);
    lab.assert_nothing_left();
}

#[test]
fn a_leak_is_a_figure_and_is_said() {
    // 64 KiB for every fourth request: 20,000 requests keep 320 MB.
    let lab = Lab::new("leak", "", COUNTED);
    let said = lab.bench();
    assert_eq!(said.code, Some(0), "{said:?}");
    let result = lab.result();
    let rss: Vec<u64> = result["server"]["columns"]["rss_bytes"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_u64)
        .collect();
    assert!(rss.last().unwrap() - rss.first().unwrap() > 200_000_000, "{rss:?}");
    assert!(result["server"]["peak_memory_bytes"].as_u64().unwrap() > 200_000_000);
    if result["trial"]["window"]["duration_ns"].as_u64().unwrap() >= 1_000_000_000 {
        let grows = reason(&result, "memory_grows").unwrap_or_else(|| panic!("{result}"));
        assert_eq!(grows["effect"], "note");
        assert!(grows["detail"].as_str().unwrap().contains("MB a second"), "{grows}");
    }
    // The used CPUs over time, beside it.
    let columns = &result["server"]["columns"];
    let cores = columns["cores"].as_array().unwrap().len();
    assert_eq!(columns["core_busy_ns"].as_array().unwrap().len(), cores);
    assert!(cores > 0 && columns["core_busy_ns"][0].as_array().unwrap().len() == rss.len());
    lab.assert_nothing_left();
}

#[test]
fn a_second_bench_waits_for_the_first_and_says_for_whom() {
    let first = Lab::new("daemon", "", "connections = 1\nduration = \"60s\"\nwarmup = \"0s\"\n");
    let turn = first.world.path("turn");
    let mut running = first.command().stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let until = Instant::now() + PATIENCE;
    while prony_lab::turn::holder(&turn).is_none() {
        assert!(Instant::now() < until, "the first bench took no turn");
        thread::sleep(Duration::from_millis(10));
    }
    let second = Lab::new("daemon", "", TIMED);
    let in_turn = |flags: &[&str]| {
        let mut command = second.command();
        command.args(flags).env(prony_lab::turn::VARIABLE, &turn);
        command
    };
    let refused: Said = in_turn(&["--wait", "0"]).output().unwrap().into();
    assert_eq!(refused.code, Some(3), "{refused:?}");
    let who = format!("process {}, \"e\"", running.id());
    assert!(
        refused.err.contains("another bench runs on this machine") && refused.err.contains(&who),
        "{refused:?}"
    );
    assert!(!second.world.path("r.jsonl").exists(), "nothing was begun");
    // A load beside it is told.
    let mut load = second.world.command(&["load", "-n", "10", "-q"]);
    let said: Said = load.env(prony_lab::turn::VARIABLE, &turn).output().unwrap().into();
    assert!(said.code == Some(0) && said.err.contains("A bench runs on this machine"), "{said:?}");
    // Unasked, it waits; the first one's end, even by SIGKILL, is its turn.
    let waiting = in_turn(&[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    thread::sleep(Duration::from_millis(300));
    running.kill().unwrap();
    running.wait().unwrap();
    let said: Said = waiting.wait_with_output().unwrap().into();
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.err.contains("Another bench runs on this machine") && said.err.contains(&who), "{said:?}");
    assert!(
        said.out.contains("under load for") && said.out.contains("% of the time, warm-ups included"),
        "{}",
        said.out
    );
    second.assert_nothing_left();
    let mark = first.world.path("meet").display().to_string();
    let until = Instant::now() + PATIENCE;
    while !processes_naming(&mark).is_empty() {
        assert!(Instant::now() < until, "the killed bench's server lives");
        thread::sleep(Duration::from_millis(20));
    }
}
