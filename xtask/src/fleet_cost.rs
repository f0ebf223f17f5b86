//! What a fleet costs:
//! `cargo run --release -p xtask -- fleet [--prony PATH] [--pairs N] [--agents N] [--seconds N] [--store]`.
//!
//! Three figures. CPU time per request of a load by one agent against the same load without a fleet, in pairs on one CPU, of
//! the whole process that loads: what carries an agent's messages is a cost of the client; and the service time's
//! percentiles, with the target on the other CPUs. No CPU sleeps meanwhile ([`Awake`]). The controller's CPU time and memory
//! while many agents load a little. And its CPU time for shares as full as a hundred thousand requests a second
//! make them, which are measured once and then heard from many agents, sealed, as they would come; and, beside it and held to
//! no limit, for those that this machine can fill. It is this program that hears them, which is built as a release is therefore.

use std::fmt::Write as _;
use std::fs;
use std::hint::black_box;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use prony_fleet::job::{FromAgent, Piece};
use prony_fleet::protocol::Up;
use prony_fleet::session::{Opening, Session, Side, new_key};
use prony_load::{Control, Gathered, Shard, WindowDelta, run_shard};
use prony_model::plan::Arrivals;
use prony_model::rate::Rate;
use prony_model::{Plan, Target};
use prony_stats::interval::{Interval, paired_ratio_interval};
use serde_json::Value;

use crate::hammer::commit;
use crate::peers::cpus;
use crate::soak::{host, start_target};
use crate::today::date;
use crate::truth::noise;

const USAGE: &str = "usage: cargo run --release -p xtask -- fleet [--prony PATH] [--pairs N] [--agents N] [--seconds N] [--store]";
/// The loads of the pairs, as flags.
const LOADS: [(&str, &str); 2] = [("closed", "-c 10"), ("open", "-c 20 -R 5000")];
/// What a fleet of one may cost.
const CPU_MAX: f64 = 1.04;
/// What a controller may take: of one core, and memory.
const CORE_MAX: f64 = 0.10;
const MEMORY_MAX_KB: u64 = 100_000;
/// A loop that ends with what started it, however that ends.
const WHILE_WE_LIVE: &str = "while kill -0 $PPID 2>/dev/null; do :; done";
/// Requests a second of the shares that are held to it.
const FULL_PER_S: f64 = 100_000.0;
/// Seconds that are replayed.
const REPLAYED_S: usize = 20;

struct Asked {
    prony: PathBuf,
    pairs: usize,
    agents: usize,
    seconds: u64,
    store: bool,
}

pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<(), String> {
    let asked = read(root, arguments)?;
    if cfg!(debug_assertions) {
        return Err(format!(
            "this build is not optimised, and what it hears full shares with is measured: {USAGE}"
        ));
    }
    let mut rows = Vec::new();
    let mut beyond = Vec::new();
    let (target, url) = start_target(&asked.prony, &[])?;
    let (cpu, others) = one_and_others()?;
    keep_to(target.pid(), &others)?;
    let awake = Awake::all(cpu, &others)?;
    for (name, flags) in LOADS {
        let (row, is_within) = pairs(&asked, &url, name, flags, cpu)?;
        println!("{row}");
        rows.push(row);
        if !is_within {
            beyond.push(format!(
                "{name}: CPU time beyond {CPU_MAX} or too noisy to tell, or a percentile that differs"
            ));
        }
    }
    drop(awake);
    let held = crowd(&asked, &url)?;
    println!("{}", held.row);
    beyond.extend((!held.is_within()).then(|| "the controller of many agents takes too much".to_owned()));
    let replayed = replay(&asked, &url, Some(FULL_PER_S))?;
    println!("{}", replayed.row);
    beyond.extend((!replayed.is_within()).then(|| "the controller of full shares takes too much".to_owned()));
    let fullest = replay(&asked, &url, None)?;
    println!("{}", fullest.row);
    rows.extend([held.row, replayed.row, fullest.row]);
    if asked.store {
        let scratch = root.join("target/fleet-cost");
        fs::create_dir_all(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
        let doctor = noise::doctor(&asked.prony, &scratch, true)?;
        let text = page(&host(&doctor["host"]), &commit(root), &rows);
        crate::stored::write(root, &format!("fleet-{}", date()), &[("md", &text)])?;
    }
    if beyond.is_empty() { Ok(()) } else { Err(beyond.join("; ")) }
}

fn read(root: &Path, arguments: &[String]) -> Result<Asked, String> {
    let mut asked =
        Asked { prony: root.join("target/release/prony"), pairs: 20, agents: 100, seconds: 60, store: false };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut next = || rest.next().ok_or(USAGE);
        match argument.as_str() {
            "--store" => asked.store = true,
            "--prony" => asked.prony = PathBuf::from(next()?),
            "--pairs" => asked.pairs = next()?.parse().map_err(|_| USAGE)?,
            "--agents" => asked.agents = next()?.parse().map_err(|_| USAGE)?,
            "--seconds" => asked.seconds = next()?.parse().map_err(|_| USAGE)?,
            other => return Err(format!("{other:?}: {USAGE}")),
        }
    }
    Ok(asked)
}

fn pairs(asked: &Asked, url: &str, name: &str, flags: &str, cpu: usize) -> Result<(String, bool), String> {
    let mut costs = Vec::new();
    let mut latencies = [Vec::new(), Vec::new()];
    for number in 0..asked.pairs {
        let mut pair = [[0.0; 3]; 2];
        for side in if number.is_multiple_of(2) { [0, 1] } else { [1, 0] } {
            pair[side] = one(&asked.prony, url, flags, cpu, side == 1)?;
        }
        costs.push((pair[1][0], pair[0][0]));
        for (percentile, pairs) in latencies.iter_mut().enumerate() {
            pairs.push((pair[1][percentile + 1], pair[0][percentile + 1]));
        }
    }
    let ratio =
        paired_ratio_interval(&costs, prony_stats::CONFIDENCE).ok_or("an interval needs two pairs")?;
    let median = |values: &[f64]| prony_stats::trend::median(values).unwrap_or(f64::NAN);
    let sides: [Vec<f64>; 2] =
        [costs.iter().map(|pair| pair.1).collect(), costs.iter().map(|pair| pair.0).collect()];
    let mut row = format!(
        "| {name}: CPU time per request, `prony load {flags}`, alone and by `--fleet local:1` | {:.0} ns, {:.0} ns | {} | {CPU_MAX} \
         |",
        median(&sides[0]),
        median(&sides[1]),
        shown(&ratio),
    );
    let mut is_within = ratio.high <= CPU_MAX;
    for (percentile, pairs) in ["p50", "p99"].iter().zip(&latencies) {
        let ratio =
            paired_ratio_interval(pairs, prony_stats::CONFIDENCE).ok_or("an interval needs two pairs")?;
        row.push_str(&format!(
            "\n| {name}: {percentile} of service, by the fleet over alone | | {} | 1 within |",
            shown(&ratio)
        ));
        is_within &= ratio.low <= 1.0 && 1.0 <= ratio.high;
    }
    Ok((row, is_within))
}

fn shown(Interval { point, low, high, .. }: &Interval) -> String {
    format!("{point:.4} ({low:.4} to {high:.4})")
}

/// A loop of the lowest priority on each CPU, which gives way to any other program at once and keeps the CPU from
/// sleeping. How long a sleeping CPU of a virtual machine takes to wake depends on how often it slept just before; a
/// fleet's messages change that, and it would be taken for what the fleet costs.
struct Awake(Vec<Child>);

impl Awake {
    fn all(one: usize, others: &[String]) -> Result<Awake, String> {
        let mut loops = Awake(Vec::new());
        for cpu in others.iter().cloned().chain([one.to_string()]) {
            let mut command = Command::new("taskset");
            command.args(["--cpu-list", &cpu, "chrt", "--idle", "0", "sh", "-c", WHILE_WE_LIVE]);
            let child = command.stdin(Stdio::null()).spawn();
            loops.0.push(child.map_err(|e| format!("taskset and chrt, of util-linux: {e}"))?);
        }
        Ok(loops)
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The CPU on which everything of a load runs, what carries a fleet's messages included, and the others, the target's: a
/// controller beside the target would keep its CPU awake, and the fleet's responses would come sooner.
fn one_and_others() -> Result<(usize, Vec<String>), String> {
    match cpus().as_slice() {
        [one, others @ ..] if !others.is_empty() => Ok((*one, others.iter().map(usize::to_string).collect())),
        _ => Err("the target needs a CPU of its own: this machine has one".to_owned()),
    }
}

/// All threads of a process, from now on.
fn keep_to(pid: u32, cpus: &[String]) -> Result<(), String> {
    let kept = Command::new("taskset")
        .args(["--all-tasks", "--cpu-list", "--pid", &cpus.join(","), &pid.to_string()])
        .stdout(Stdio::null())
        .status();
    match kept {
        Ok(status) if status.success() => Ok(()),
        other => Err(format!("taskset, of util-linux: {other:?}")),
    }
}

/// CPU time of the process that loads, per request, and p50 and p99 of service, in nanoseconds.
fn one(prony: &Path, url: &str, flags: &str, cpu: usize, fleet: bool) -> Result<[f64; 3], String> {
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", &cpu.to_string()]).arg(prony);
    command.args(["load", url, "-q", "--json", "-", "--pin", &cpu.to_string(), "-t", "1", "-d", "2s"]);
    command.args(["--warmup", "300ms"]).args(flags.split(' '));
    if fleet {
        command.args(["--fleet", "local:1"]);
    }
    let output = command.stdin(Stdio::null()).output().map_err(|e| format!("{}: {e}", prony.display()))?;
    let trial: Value = serde_json::from_slice(&output.stdout)
        .map_err(|_| String::from_utf8_lossy(&output.stderr).trim().to_owned())?;
    let number = |path: &str| {
        trial.pointer(path).and_then(Value::as_f64).ok_or_else(|| format!("the result has no {path}"))
    };
    Ok([
        number("/client/process_cpu_ns")? / number("/requests/completed")?,
        number("/latency/service/p50_ns")?,
        number("/latency/service/p99_ns")?,
    ])
}

struct Taken {
    row: String,
    cores: f64,
    memory_kb: u64,
}

impl Taken {
    fn is_within(&self) -> bool {
        self.cores <= CORE_MAX && self.memory_kb <= MEMORY_MAX_KB
    }
}

/// Agents that each send ten requests a second.
fn crowd(asked: &Asked, url: &str) -> Result<Taken, String> {
    let (agents, rate) = (asked.agents, asked.agents * 10);
    let mut controller = Command::new(&asked.prony)
        .args([
            "load",
            url,
            "-q",
            "--fleet",
            &format!("local:{agents}"),
            "-c",
            &agents.to_string(),
            "-t",
            "1",
        ])
        .args(["-R", &rate.to_string(), "-d", &format!("{}s", asked.seconds), "--warmup", "0", "--json", "-"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| format!("{}: {e}", asked.prony.display()))?;
    let found = watched(&mut controller, asked.seconds);
    let output = controller.wait_with_output().map_err(|e| e.to_string())?;
    let (cores, memory_kb) = found?;
    let trial: Value =
        serde_json::from_slice(&output.stdout).map_err(|_| "the load gave no result".to_owned())?;
    let sent = trial["run_total"]["sent"].as_u64().unwrap_or(0);
    let row = format!(
        "| the controller of {agents} agents at 10 requests/s each for {} s ({sent} of {} requests sent) | {:.1} % of a core, \
         {memory_kb} kB | – | {:.0} %, {MEMORY_MAX_KB} kB |",
        asked.seconds,
        rate as u64 * asked.seconds,
        cores * 100.0,
        CORE_MAX * 100.0,
    );
    Ok(Taken { row, cores, memory_kb })
}

/// CPU time over the middle of the load, in cores, and the most memory.
fn watched(controller: &mut Child, seconds: u64) -> Result<(f64, u64), String> {
    let pid = controller.id();
    // All agents start within seconds; what that takes is no part of a load.
    sleep(Duration::from_secs(seconds / 3));
    let (began, before) = (Instant::now(), cpu_ticks(pid)?);
    sleep(Duration::from_secs(seconds / 2));
    let (took, after) = (began.elapsed(), cpu_ticks(pid)?);
    let status = fs::read_to_string(format!("/proc/{pid}/status")).map_err(|e| e.to_string())?;
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse().ok());
    // A tick is a hundredth of a second.
    let cores = (after - before) as f64 / 100.0 / took.as_secs_f64();
    Ok((cores, peak.ok_or("the controller's memory is not known")?))
}

/// User and system time of a process.
fn cpu_ticks(pid: u32) -> Result<u64, String> {
    let stat =
        fs::read_to_string(format!("/proc/{pid}/stat")).map_err(|_| "the load ended early".to_owned())?;
    let fields: Vec<&str> = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
    let at = |n: usize| fields.get(n).and_then(|field| field.parse::<u64>().ok());
    at(11).zip(at(12)).map(|(user, system)| user + system).ok_or_else(|| "stat is none".to_owned())
}

/// Shares of a load at this rate, or as fast as this machine can, heard from many agents a second.
fn replay(asked: &Asked, url: &str, rate: Option<f64>) -> Result<Taken, String> {
    let (plan, shares) = recorded(url, rate)?;
    let share = shares.iter().max_by_key(|share| share.requests.completed).ok_or("no second was measured")?;
    let heard = sealed(asked.agents, share)?;
    let bytes = heard.first().map_or(0, |(_, message)| message.len());
    let mut gathered = Gathered::new(&plan, asked.agents);
    let before = own_cpu()?;
    for second in 0..REPLAYED_S {
        for (agent, (session, message)) in heard.iter().enumerate() {
            let text = session.open(message.clone()).ok_or("a message does not open")?;
            let said: FromAgent = serde_json::from_slice(&text).map_err(|e| e.to_string())?;
            let Up::Piece { what: Piece::Part { mut share, .. }, .. } = said else { continue };
            share.check()?;
            let length = share.end_ns - share.start_ns;
            (share.start_ns, share.end_ns) =
                (share.start_ns + second as u64 * length, share.end_ns + second as u64 * length);
            gathered.add(agent, *share, second + 1 == REPLAYED_S);
        }
        // As often as an observer is called.
        (0..10).for_each(|_| {
            black_box(gathered.snapshot());
        });
    }
    let cores = (own_cpu()? - before).as_secs_f64() / REPLAYED_S as f64;
    let memory_kb =
        u64::try_from(getrusage(UsageWho::RUSAGE_SELF).map_err(|e| e.to_string())?.max_rss()).unwrap_or(0);
    let row = format!(
        "| shares of {} requests a second, {bytes} bytes each, from {} agents every second | {:.1} % of a core, {memory_kb} kB with \
         the load that made them | – | {} |",
        share.requests.completed,
        asked.agents,
        cores * 100.0,
        rate.map_or("–".to_owned(), |_| format!("{:.0} %, {MEMORY_MAX_KB} kB", CORE_MAX * 100.0)),
    );
    Ok(Taken { row, cores, memory_kb })
}

/// The shares of a load of some seconds.
fn recorded(url: &str, rate: Option<f64>) -> Result<(Plan, Vec<WindowDelta>), String> {
    let mut plan = Plan::closed(Target::parse(url).map_err(|e| e.to_string())?);
    (plan.connections, plan.pipeline, plan.threads) = (100, 4, 1);
    if let Some(rate) = rate.and_then(Rate::per_s) {
        plan.arrivals = Arrivals::Constant(rate);
    }
    (plan.stop.duration, plan.warmup) = (Some(Duration::from_secs(4)), Duration::ZERO);
    let address: SocketAddr =
        url.trim_start_matches("http://").trim_end_matches('/').parse().map_err(|_| "no address")?;
    let mut shares = Vec::new();
    let mut take = |share: &WindowDelta, _| shares.push(share.clone());
    let control = Control::leased(&[address]);
    control.lend(u64::MAX);
    let starts = control.clone();
    let starter = std::thread::spawn(move || {
        while !starts.is_ready() {
            sleep(Duration::from_millis(1));
        }
        starts.start_at(prony_host::monotonic_ns() + 10_000_000);
    });
    let shard = Shard { first: 0, count: 1, of: 1 };
    run_shard(&plan, shard, Some(&mut take), &control, &mut |_| {}).map_err(|e| e.to_string())?;
    starter.join().map_err(|_| "the load did not start".to_owned())?;
    Ok((plan, shares))
}

/// The controller's session with each agent, and what that agent says.
fn sealed(agents: usize, share: &WindowDelta) -> Result<Vec<(Session, Vec<u8>)>, String> {
    let said: FromAgent = Up::Piece {
        trial: 1,
        sequence: 0,
        is_last: false,
        what: Piece::Part { share: Box::new(share.clone()), is_last: false, host: None },
    };
    let text = serde_json::to_vec(&said).map_err(|e| e.to_string())?;
    let (controller, agent) = (new_key()?, new_key()?);
    let mut all = Vec::new();
    for number in 0..agents as u32 {
        let channel = format!("run/{number}");
        let (theirs, ours) =
            (Opening::new(Side::Agent, &channel)?, Opening::new(Side::Controller, &channel)?);
        let hello = theirs.greeting(&agent.0, "", &[])?;
        let welcome = ours.greeting(&controller.0, "", &hello.key)?;
        let message = theirs.agree(&welcome, &controller.1)?.seal(text.clone())?;
        all.push((ours.agree(&hello, &agent.1)?, message));
    }
    Ok(all)
}

fn own_cpu() -> Result<Duration, String> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).map_err(|e| e.to_string())?;
    let of = |time: nix::sys::time::TimeVal| {
        Duration::from_micros((time.tv_sec() * 1_000_000 + time.tv_usec()) as u64)
    };
    Ok(of(usage.user_time()) + of(usage.system_time()))
}

fn page(host: &str, commit: &str, rows: &[String]) -> String {
    let mut page = format!(
        "# What a fleet costs, {}\n\n{host}.\n\n`cargo run --release -p xtask -- fleet --store` at commit {commit}. CPU time per request is of the whole process \
         that loads, what\ncarries its messages included; its ratio is the geometric mean over pairs of loads of 2 s on one CPU, with its\n\
         interval at 95 %, whose upper end is held to the limit. A loop of idle priority on each CPU keeps it from sleeping\n\
         during the pairs.\n\n| what | figure | ratio | limit |\n|---|---|---|---|\n",
        date()
    );
    for row in rows {
        // Writing to a String cannot fail.
        let _ = writeln!(page, "{row}");
    }
    page
}
