//! Whether the machine is quiet enough to tell, by `prony doctor` before and after a known answer, and by its limits.

use std::path::Path;
use std::process::Command;

use prony_analysis::verdict::{OTHERS_MAX, STEAL_MAX};
use prony_host::{Beside, Taken};
use serde::Serialize;
use serde_json::Value;

use crate::programs;

/// Findings of the doctor's that may move any figure. Not its pressure: that looks back over 10 s of this task's load.
const NOISE: [&str; 4] = ["other_load", "steal", "cpu_quota", "cpus"];

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

/// What went on beside this task's own processes since this reading, as sentences.
pub(crate) fn since(begun: &Beside) -> Vec<String> {
    said_of(begun.until(&Beside::read(), begun, &[]))
}

/// By the limits that a load's verdicts have.
fn said_of(taken: Taken) -> Vec<String> {
    let others = format!("other programs {:.0} % of a core", taken.others * 100.0);
    let stolen = format!("stolen time {:.1} %", taken.steal * 100.0);
    let said = [(taken.others > OTHERS_MAX, others), (taken.steal > STEAL_MAX, stolen)];
    said.into_iter().filter_map(|(is_too_much, said)| is_too_much.then_some(said)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_of_other_programs_and_stolen_time_are_reported() {
        let said = |others, steal| said_of(Taken { others, steal });
        assert!(said(0.05, 0.01).is_empty());
        assert_eq!(said(0.2, 0.0), ["other programs 20 % of a core"]);
        assert_eq!(said(0.0, 0.05), ["stolen time 5.0 %"]);
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
