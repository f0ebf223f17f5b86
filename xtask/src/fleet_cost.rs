//! What a fleet costs:
//! `cargo run --release -p xtask -- fleet [--prony PATH] [--pairs N] [--agents N] [--seconds N] [--store]`. CPU time
//! per request of a load by one agent against the same load without a fleet, in pairs on one CPU, and the service
//! time's percentiles, with the target on the other CPUs, none of which sleeps meanwhile ([`awake`]). The controller's
//! CPU time and memory while many agents load a little. And its CPU time for shares as full as a hundred thousand
//! requests a second make them, measured once and then heard from many agents, sealed; beside it and held to no limit,
//! for those that this machine can fill. This program hears them, which is built as a release is therefore.

use std::fs;
use std::hint::black_box;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use clap::Parser;
use nix::sys::resource::{UsageWho, getrusage};
use prony_fleet::job::{FromAgent, Piece};
use prony_fleet::protocol::Up;
use prony_fleet::session::{Opening, Session, Side, new_key};
use prony_load::{Control, Gathered, Shard, WindowDelta, run_shard};
use prony_model::plan::Arrivals;
use prony_model::rate::Rate;
use prony_model::{Plan, Target};
use serde_json::Value;

use crate::median::{self, real};
use crate::page::{NONE, date, host, or_none, table};
use crate::programs::{self, Running, commit, target};
use crate::truth::noise;
use crate::{built, files, own_prony};

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
const REPLAYED_S: usize = 20;

#[derive(Parser)]
pub(crate) struct Asked {
    #[arg(long)]
    prony: Option<PathBuf>,
    #[arg(long, default_value_t = 20)]
    pairs: usize,
    #[arg(long, default_value_t = 100)]
    agents: usize,
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Keep the results in docs/benchmarks/
    #[arg(long)]
    store: bool,
}

type Row = [String; 4];

pub(crate) fn run(root: &Path, asked: &Asked) -> Result<(), String> {
    if cfg!(debug_assertions) {
        return Err("this build is not optimised, and what it hears full shares with is measured: \
                    cargo run --release -p xtask -- fleet"
            .to_owned());
    }
    let prony = asked.prony.clone().map_or_else(|| own_prony(root), built)?;
    let (target, url) = target(&prony, &[])?;
    let bench = Bench { asked, prony: &prony, url: &url };
    let (mut rows, mut beyond): (Vec<Row>, Vec<String>) = Default::default();
    let mut take = |more: Vec<Row>, is_within: bool, what: String| {
        more.iter().for_each(|row| println!("| {} |", row.join(" | ")));
        rows.extend(more);
        beyond.extend((!is_within).then_some(what));
    };
    let (cpu, others) = one_and_others()?;
    keep_to(target.pid(), &others)?;
    let awake = awake(cpu, &others)?;
    for (name, flags) in LOADS {
        let (more, is_within) = bench.pairs(name, flags, cpu)?;
        let what =
            format!("{name}: CPU time beyond {CPU_MAX} or too noisy to tell, or a percentile that differs");
        take(more, is_within, what);
    }
    drop(awake);
    let held = bench.crowd()?;
    take(vec![held.row.clone()], held.is_within(), "the controller of many agents takes too much".to_owned());
    let replayed = bench.replay(Some(FULL_PER_S))?;
    let what = "the controller of full shares takes too much".to_owned();
    take(vec![replayed.row.clone()], replayed.is_within(), what);
    take(vec![bench.replay(None)?.row], true, String::new());
    if asked.store {
        let scratch = root.join("target/fleet-cost");
        files::make(&scratch)?;
        let doctor = noise::doctor(&prony, &scratch, true)?;
        let text = page(&host(&doctor["host"]), &commit(root), &rows);
        crate::page::store(root, &format!("fleet-{}", date()), &text, None)?;
    }
    if beyond.is_empty() { Ok(()) } else { Err(beyond.join("; ")) }
}

struct Bench<'a> {
    asked: &'a Asked,
    prony: &'a Path,
    url: &'a str,
}

impl Bench<'_> {
    fn pairs(&self, name: &str, flags: &str, cpu: u32) -> Result<(Vec<Row>, bool), String> {
        let pairs = median::pairs(self.asked.pairs, |side| self.one(flags, cpu, side == 1))?;
        let of = |at: usize| pairs.iter().map(move |pair| pair.each_ref().map(|figures| figures[at]));
        let ratio = median::ratio(of(0))?;
        let [alone, fleet] = [0, 1].map(|side| {
            let costs: Vec<f64> = of(0).map(|pair| pair[side]).collect();
            prony_stats::trend::median(&costs).unwrap_or(f64::NAN)
        });
        let what =
            format!("{name}: CPU time per request, `prony load {flags}`, alone and by `--fleet local:1`");
        let costs = format!("{alone:.0} ns, {fleet:.0} ns");
        let mut rows = vec![[what, costs, median::shown(&ratio), CPU_MAX.to_string()]];
        let mut is_within = ratio.high <= CPU_MAX;
        for (at, percentile) in [(1, "p50"), (2, "p99")] {
            let ratio = median::ratio(of(at))?;
            let what = format!("{name}: {percentile} of service, by the fleet over alone");
            rows.push([what, String::new(), median::shown(&ratio), "1 within".to_owned()]);
            is_within &= ratio.low <= 1.0 && 1.0 <= ratio.high;
        }
        Ok((rows, is_within))
    }

    /// CPU time of the process that loads, per request, and p50 and p99 of service, in nanoseconds.
    fn one(&self, flags: &str, cpu: u32, fleet: bool) -> Result<[f64; 3], String> {
        let cpu = cpu.to_string();
        let mut command = Command::new("taskset");
        command.args(["--cpu-list", &cpu]).arg(self.prony).args(["load", self.url, "--pin", &cpu]);
        command.args(["-q", "--json", "-", "-t", "1", "-d", "2s", "--warmup", "300ms"]);
        command.args(flags.split(' '));
        let trial = programs::json(command.args(fleet.then_some("--fleet=local:1")))?;
        let number = |path: &str| {
            trial.pointer(path).and_then(Value::as_f64).ok_or_else(|| format!("the result has no {path}"))
        };
        Ok([
            number("/client/process_cpu_ns")? / number("/requests/completed")?,
            number("/latency/service/p50_ns")?,
            number("/latency/service/p99_ns")?,
        ])
    }

    fn crowd(&self) -> Result<Taken, String> {
        let Asked { agents, seconds, .. } = *self.asked;
        let rate = agents * 10;
        let line = format!(
            "load {} -q --fleet local:{agents} -c {agents} -t 1 -R {rate} -d {seconds}s --warmup 0 --json -",
            self.url
        );
        let mut command = Command::new(self.prony);
        command.args(line.split(' ')).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut controller = Running::start(&mut command)?;
        let found = watched(controller.pid(), seconds);
        let out = controller.0.stdout.take().ok_or("the load has no output")?;
        let trial = std::io::read_to_string(out).map_err(|e| e.to_string())?;
        let (cores, memory_kb) = found?;
        let trial: Value = serde_json::from_str(&trial).map_err(|_| "the load gave no result".to_owned())?;
        let sent = trial["run_total"]["sent"].as_u64().unwrap_or(0);
        let what = format!(
            "the controller of {agents} agents at 10 requests/s each for {seconds} s ({sent} of {} requests sent)",
            rate as u64 * seconds
        );
        let took = format!("{:.1} % of a core, {memory_kb} kB", cores * 100.0);
        Ok(Taken { row: [what, took, NONE.to_owned(), most()], cores, memory_kb })
    }

    /// Shares of a load at this rate, or as fast as this machine can, heard from many agents a second.
    fn replay(&self, rate: Option<f64>) -> Result<Taken, String> {
        let agents = self.asked.agents;
        let (plan, shares) = recorded(self.url, rate)?;
        let share =
            shares.iter().max_by_key(|share| share.requests.completed).ok_or("no second was measured")?;
        let heard = sealed(agents, share)?;
        let bytes = heard.first().map_or(0, |(_, message)| message.len());
        let mut gathered = Gathered::new(&plan, agents);
        let (before, _) = used()?;
        for second in 0..REPLAYED_S {
            for (agent, (session, message)) in heard.iter().enumerate() {
                let text = session.open(message.clone()).ok_or("a message does not open")?;
                let said: FromAgent = serde_json::from_slice(&text).map_err(|e| e.to_string())?;
                let Up::Piece { what: Piece::Part { mut share, .. }, .. } = said else { continue };
                share.check()?;
                let later = second as u64 * (share.end_ns - share.start_ns);
                (share.start_ns, share.end_ns) = (share.start_ns + later, share.end_ns + later);
                gathered.add(agent, *share, second + 1 == REPLAYED_S);
            }
            // As often as an observer is called.
            (0..10).for_each(|_| {
                black_box(gathered.snapshot());
            });
        }
        let (after, memory_kb) = used()?;
        let cores = (after - before) / real(REPLAYED_S as u64);
        let completed = share.requests.completed;
        let what = format!(
            "shares of {completed} requests a second, {bytes} bytes each, from {agents} agents every second"
        );
        let took = format!("{:.1} % of a core, {memory_kb} kB with the load that made them", cores * 100.0);
        let row = [what, took, NONE.to_owned(), or_none(rate, |_| most())];
        Ok(Taken { row, cores, memory_kb })
    }
}

fn most() -> String {
    format!("{:.0} %, {MEMORY_MAX_KB} kB", CORE_MAX * 100.0)
}

/// Of the lowest priority: gives way at once and keeps the CPU from sleeping. How long a sleeping virtual CPU takes to
/// wake depends on how often it slept just before, which a fleet's messages change.
fn awake(one: u32, others: &[String]) -> Result<Vec<Running>, String> {
    let start = |cpu: String| {
        let mut command = Command::new("taskset");
        command.args(["--cpu-list", &cpu, "chrt", "--idle", "0", "sh", "-c", WHILE_WE_LIVE]);
        Running::start(command.stdin(Stdio::null()))
    };
    others.iter().cloned().chain([one.to_string()]).map(start).collect()
}

/// The CPU of everything of a load, what carries a fleet's messages included, and the target's: a controller beside the
/// target would keep its CPU awake, and the fleet's responses would come sooner.
fn one_and_others() -> Result<(u32, Vec<String>), String> {
    match prony_host::cpus::allowed().as_slice() {
        [one, others @ ..] if !others.is_empty() => Ok((*one, others.iter().map(u32::to_string).collect())),
        _ => Err("the target needs a CPU of its own: this machine has one".to_owned()),
    }
}

/// All threads of a process, from now on.
fn keep_to(pid: u32, cpus: &[String]) -> Result<(), String> {
    let line = ["--all-tasks", "--cpu-list", "--pid", &cpus.join(","), &pid.to_string()];
    programs::text(Command::new("taskset").args(line)).map(drop)
}

struct Taken {
    row: Row,
    cores: f64,
    memory_kb: u64,
}

impl Taken {
    fn is_within(&self) -> bool {
        self.cores <= CORE_MAX && self.memory_kb <= MEMORY_MAX_KB
    }
}

/// CPU time over the middle of the load, in cores, and the most memory.
fn watched(pid: u32, seconds: u64) -> Result<(f64, u64), String> {
    // All agents start within seconds; what that takes is no part of a load.
    sleep(Duration::from_secs(seconds / 3));
    let (began, before) = (Instant::now(), cpu_ticks(pid)?);
    sleep(Duration::from_secs(seconds / 2));
    let (took, after) = (began.elapsed(), cpu_ticks(pid)?);
    let status = fs::read_to_string(format!("/proc/{pid}/status")).map_err(|e| e.to_string())?;
    let peak = prony_host::memory_field(&status, "VmHWM").map(|bytes| bytes / 1024);
    // A tick is a hundredth of a second.
    let cores = (after - before) as f64 / 100.0 / took.as_secs_f64();
    Ok((cores, peak.ok_or("the controller's memory is not known")?))
}

fn cpu_ticks(pid: u32) -> Result<u64, String> {
    let stat = prony_host::process::stat(pid).ok_or("the load ended early")?;
    Ok(stat.cpu_ticks)
}

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

/// CPU time of this process, in seconds, and the most memory that it had, in kB.
fn used() -> Result<(f64, u64), String> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).map_err(|e| e.to_string())?;
    let times = [usage.user_time(), usage.system_time()];
    let seconds = times.iter().map(|time| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6).sum();
    Ok((seconds, u64::try_from(usage.max_rss()).unwrap_or(0)))
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

fn page(host: &str, commit: &str, rows: &[Row]) -> String {
    let about = format!(
        "# What a fleet costs, {}\n\n{host}.\n\n`cargo run --release -p xtask -- fleet --store` at commit {commit}. CPU time per request is of the whole process \
         that loads, what\ncarries its messages included; its ratio is the geometric mean over pairs of loads of 2 s on one CPU, with its\n\
         interval at 95 %, whose upper end is held to the limit. A loop of idle priority on each CPU keeps it from sleeping\n\
         during the pairs.\n\n",
        date()
    );
    about + &table("what | figure | ratio | limit", "---|---|---|---", rows)
}
