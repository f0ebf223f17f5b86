//! Whether the machine is quiet enough to tell, by `prony doctor` before and after a known answer, and by its limits.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use serde::Serialize;
use serde_json::Value;

use crate::programs;

/// Findings of the doctor's that may move any figure. Not its pressure: that looks back over 10 s of this task's load.
const NOISE: [&str; 4] = ["other_load", "steal", "cpu_quota", "cpus"];
/// The doctor's own limits (`crates/lab/src/doctor/others.rs`): of a core's time, by other programs and stolen.
const OTHERS_MAX: f64 = 0.05;
const STEAL_MAX: f64 = 0.01;
/// So /proc/stat counts.
const TICKS_PER_S: f64 = 100.0;

/// What the machine did beside a known answer, each a sentence; nothing on a quiet one.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Noise {
    pub(crate) before: Vec<String>,
    pub(crate) meanwhile: Vec<String>,
    pub(crate) after: Vec<String>,
}

impl Noise {
    pub(crate) fn is_quiet(&self) -> bool {
        self.before.is_empty() && self.meanwhile.is_empty() && self.after.is_empty()
    }

    pub(crate) fn said(&self) -> String {
        let parts = [("before", &self.before), ("meanwhile", &self.meanwhile), ("after", &self.after)];
        let said: Vec<String> = parts
            .into_iter()
            .filter(|(_, what)| !what.is_empty())
            .map(|(when, what)| format!("{when}: {}", what.join(", ")))
            .collect();
        if said.is_empty() { "quiet".to_owned() } else { said.join("; ") }
    }
}

pub(crate) fn doctor(prony: &Path, folder: &Path, quick: bool) -> Result<Value, String> {
    let mut command = Command::new(prony);
    command.args(["doctor", "--format", "json"]).args(quick.then_some("--quick"));
    programs::json(command.current_dir(folder))
}

/// What it measured (the A/A noise, the client's floor and its ceiling) and what distorts.
pub(crate) fn kept(doctor: &Value) -> Value {
    let [measured, why] = ["measured", "not_measured"].map(|name| doctor[name].clone());
    serde_json::json!({"measured": measured, "not_measured": why, "distorting": distorting(doctor)})
}

/// What of it may move any figure, as sentences.
pub(crate) fn distorting(doctor: &Value) -> Vec<String> {
    let findings = doctor["findings"].as_array().map_or(&[][..], Vec::as_slice);
    let is_noise = |finding: &&Value| {
        finding["state"] == "distorts" && finding["code"].as_str().is_some_and(|code| NOISE.contains(&code))
    };
    let said = |finding: &Value| {
        let word = |name: &str| finding[name].as_str().unwrap_or("?").to_owned();
        // `node (process 7) 12 %`: who, but not by a number that is another one tomorrow.
        format!("{} {}", word("what"), word("value").split(':').next().unwrap_or("?"))
    };
    findings.iter().filter(is_noise).map(said).collect()
}

/// One reading of what the machine and this task's own processes have done since the start.
#[derive(Debug, Clone)]
pub(crate) struct Reading {
    at: Instant,
    /// By CPU: ticks of programs (user, nice, system), stolen, and all.
    cpus: BTreeMap<String, [u64; 3]>,
    /// This process and those children that it has waited for.
    own_s: f64,
}

impl Reading {
    pub(crate) fn now() -> Reading {
        Reading {
            at: Instant::now(),
            cpus: cpus(&fs::read_to_string("/proc/stat").unwrap_or_default()),
            own_s: used_s(UsageWho::RUSAGE_SELF) + used_s(UsageWho::RUSAGE_CHILDREN),
        }
    }

    /// What went on between this and a later reading, as sentences.
    pub(crate) fn until(&self, later: &Reading) -> Vec<String> {
        let span_s = (later.at - self.at).as_secs_f64();
        went_on(&self.cpus, &later.cpus, later.own_s - self.own_s, span_s)
    }
}

/// CPU time of this process, or of its children, in seconds.
#[expect(clippy::cast_precision_loss, reason = "microseconds below a million, seconds of a day")]
pub(crate) fn used_s(who: UsageWho) -> f64 {
    let seconds = |time: TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    getrusage(who).map_or(0.0, |usage| seconds(usage.user_time()) + seconds(usage.system_time()))
}

/// The CPUs of /proc/stat (proc(5)): user, nice, system, idle, iowait, irq, softirq, steal.
fn cpus(stat: &str) -> BTreeMap<String, [u64; 3]> {
    let one = |line: &str| {
        let (name, rest) = line.split_once(' ')?;
        let is_one = name.strip_prefix("cpu")?.parse::<u32>().is_ok();
        let ticks: Vec<u64> = rest.split_ascii_whitespace().map_while(|n| n.parse().ok()).collect();
        let at = |i: usize| ticks.get(i).copied().unwrap_or(0);
        let all = ticks.iter().take(8).sum();
        is_one.then(|| (name.to_owned(), [at(0) + at(1) + at(2), at(7), all]))
    };
    stat.lines().filter_map(one).collect()
}

#[expect(clippy::cast_precision_loss, reason = "ticks of an hour")]
fn went_on(
    first: &BTreeMap<String, [u64; 3]>,
    last: &BTreeMap<String, [u64; 3]>,
    own_s: f64,
    span_s: f64,
) -> Vec<String> {
    let moved = |cpu: &String, i: usize| -> f64 {
        let (first, last) = (first.get(cpu), last.get(cpu));
        first.zip(last).map_or(0.0, |(first, last)| last[i].saturating_sub(first[i]) as f64)
    };
    let mut said = Vec::new();
    let busy_s: f64 = last.keys().map(|cpu| moved(cpu, 0)).sum::<f64>() / TICKS_PER_S;
    let others = (busy_s - own_s).max(0.0) / span_s.max(f64::MIN_POSITIVE);
    if others > OTHERS_MAX {
        said.push(format!("other programs {:.0} % of a core", others * 100.0));
    }
    let stolen = last.keys().map(|cpu| moved(cpu, 1) / moved(cpu, 2).max(1.0)).fold(0.0, f64::max);
    if stolen > STEAL_MAX {
        said.push(format!("stolen time {:.1} %", stolen * 100.0));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str =
        "cpu  300 0 0 300 0 0 0 0 0 0\ncpu0 100 0 100 0 0 0 0 0 0 0\ncpu1 50 0 50 100 0 0 0 0 0 0\nintr 5\n";

    /// What went on in 10 s in which own processes ran for so long, and of CPU 1 so many ticks were stolen.
    fn after(busy: u64, own_s: f64, stolen: u64) -> Vec<String> {
        let idle = 2_000 - busy - stolen;
        let last = format!(
            "cpu0 {} 0 100 {} 0 0 0 0 0 0\ncpu1 50 0 50 {} 0 0 0 {stolen} 0 0\n",
            100 + busy,
            idle / 2,
            100 + 1_000 - stolen
        );
        went_on(&cpus(FIRST), &cpus(&last), own_s, 10.0)
    }

    #[test]
    fn cpu_time_of_other_programs_and_stolen_time_are_reported() {
        assert!(after(700, 6.9, 5).is_empty(), "{:?}", after(700, 6.9, 5));
        assert_eq!(after(700, 5.0, 0), ["other programs 20 % of a core"]);
        assert_eq!(after(0, 0.0, 50), ["stolen time 5.0 %"]);
        // Children's time is counted when they are waited for: more than was used in between is no noise.
        assert!(after(100, 9.0, 0).is_empty());
        assert!(went_on(&BTreeMap::new(), &BTreeMap::new(), 0.0, 0.0).is_empty(), "no /proc/stat");
    }

    #[test]
    fn findings_of_the_doctor_that_move_any_figure_are_noise() {
        let finding = |code: &str, state: &str| {
            let value = "60 % of a used core: cc (process 9) 58 %";
            serde_json::json!({"code": code, "state": state, "what": "other programs", "value": value})
        };
        let doctor = serde_json::json!({"findings": [
            finding("other_load", "distorts"), finding("steal", "good"), finding("somaxconn", "distorts"),
            finding("cpu_pressure", "distorts"),
        ]});
        assert_eq!(distorting(&doctor), ["other programs 60 % of a used core"]);
        assert!(distorting(&Value::Null).is_empty());
        let kept = kept(&doctor);
        assert_eq!(kept["distorting"], serde_json::json!(["other programs 60 % of a used core"]));
        assert!(!kept.to_string().contains("process 9"), "{kept}");
    }

    #[test]
    fn noise_at_any_time_is_noise() {
        let quiet = Noise::default();
        assert!(quiet.is_quiet() && quiet.said() == "quiet");
        let what = || vec!["stolen time 5.0 %".to_owned()];
        let noisy = Noise { before: what(), after: what(), ..Noise::default() };
        assert_eq!(noisy.said(), "before: stolen time 5.0 %; after: stolen time 5.0 %");
        for noisy in [noisy, Noise { meanwhile: what(), ..Noise::default() }] {
            assert!(!noisy.is_quiet());
        }
    }
}
