//! The line that applies a trial's load again.

use prony_record::plan::{PlanRecord, REDACTED, StageRecord};
use prony_record::trial::Trial;

use crate::format;

/// What `prony load` calls the target it starts itself.
const EMBEDDED: &str = "embedded target";

/// `prony load http://127.0.0.1:8080/ -c 100 -d 30s`: flags where they are not the defaults. What
/// the record does not hold (a body, a secret) stands in it as what is to be put there.
pub(super) fn line(trial: &Trial, candidate: &str) -> String {
    let plan = &trial.plan;
    let mut words = vec!["prony load".to_owned()];
    // The embedded target has another port each time, and is what is loaded without a URL.
    if candidate != EMBEDDED {
        words.push(quoted(&plan.url));
    }
    words.extend(load(plan));
    words.extend(request(plan));
    words.extend(client(plan));
    words.join(" ")
}

/// How much, when and how long.
fn load(plan: &PlanRecord) -> Vec<String> {
    let mut words = vec![format!("-c {}", plan.connections)];
    if plan.threads != 1 {
        words.push(format!("-t {}", plan.threads));
    }
    if let Some(rate) = plan.rate_per_s {
        words.push(format!("-R {rate}"));
    }
    if plan.arrivals == "poisson" {
        words.push(format!("--arrivals poisson --seed {}", plan.seed));
    }
    words.extend(plan.stages.iter().map(stage));
    if let Some(n) = plan.requests {
        words.push(format!("-n {n}"));
    }
    if plan.stages.is_empty() {
        words.extend(plan.duration_ns.map(|ns| format!("-d {}", time(ns))));
    }
    words.push(format!("--warmup {}", time(plan.warmup_ns)));
    words
}

/// What is asked, and what answer is right.
fn request(plan: &PlanRecord) -> Vec<String> {
    let mut words = Vec::new();
    let usual = if plan.body_bytes > 0 { "POST" } else { "GET" };
    if plan.method != usual {
        words.push(format!("-m {}", quoted(&plan.method)));
    }
    for (name, value) in &plan.headers {
        let value = if value == REDACTED { "@env:SECRET" } else { value };
        words.push(format!("-H {}", quoted(&format!("{name}: {value}"))));
    }
    if plan.body_bytes > 0 {
        words.push("-b @BODY".to_owned());
    }
    if let Some(list) = &plan.targets {
        words.push(
            if list.order == "shuffled" { "--targets FILE --shuffle" } else { "--targets FILE" }.to_owned(),
        );
    }
    if let Some(status) = plan.expect_status {
        words.push(format!("--expect-status {status}"));
    }
    if plan.expect_body {
        words.push("--expect-body @EXPECTED".to_owned());
    }
    words
}

/// How the client goes about it.
fn client(plan: &PlanRecord) -> Vec<String> {
    let mut words = Vec::new();
    if plan.timeout_ns != 10_000_000_000 {
        words.push(format!("--timeout {}", time(plan.timeout_ns)));
    }
    if !plan.keepalive {
        words.push("--no-keepalive".to_owned());
    }
    if plan.pipeline > 1 {
        words.push(format!("-p {}", plan.pipeline));
    }
    if plan.spin {
        words.push("--spin".to_owned());
    }
    if !plan.sources.is_empty() {
        words.push(format!("--source {}", quoted(&plan.sources.join(","))));
    }
    if !plan.cpus.is_empty() {
        let cpus: Vec<String> = plan.cpus.iter().map(ToString::to_string).collect();
        words.push(format!("--pin {}", cpus.join(",")));
    }
    match plan.tls.as_ref().map(|tls| tls.verify.as_str()) {
        Some("none") => words.push("-k".to_owned()),
        Some("cacert") => words.push("--cacert FILE".to_owned()),
        _ => {}
    }
    words
}

fn stage(stage: &StageRecord) -> String {
    match (stage.to_rate_per_s, stage.to_connections) {
        (Some(rate), _) => format!("--stage {}:{rate}/s", time(stage.duration_ns)),
        (None, connections) => format!("--stage {}:{}c", time(stage.duration_ns), connections.unwrap_or(0)),
    }
}

/// A duration as flags take it, in whole milliseconds where it is not in whole seconds.
fn time(ns: u64) -> String {
    match ns {
        0 => "0".to_owned(),
        ns if ns.is_multiple_of(1_000_000_000) => format!("{}s", ns / 1_000_000_000),
        ns => format!("{}ms", ns / 1_000_000),
    }
}

/// A word of a shell's line.
fn quoted(word: &str) -> String {
    let word = format::printable(word);
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn a_closed_loop_and_a_rate() {
        assert_eq!(
            line(&fixtures::closed(), "a"),
            "prony load http://127.0.0.1:8080/ -c 100 -d 30s --warmup 3s"
        );
        assert_eq!(line(&fixtures::closed(), EMBEDDED), "prony load -c 100 -d 30s --warmup 3s");
        let line = line(&fixtures::overloaded(), "a");
        assert_eq!(line, "prony load http://127.0.0.1:8080/ -c 500 -R 21000 -d 30s --warmup 3s");
    }

    #[test]
    fn what_is_not_in_the_record_is_asked_for_and_the_shell_is_not_fooled() {
        let mut trial = fixtures::closed();
        trial.plan.url = "http://h/?a=1&b=$(x)'".into();
        trial.plan.headers = vec![("Authorization".into(), REDACTED.into())];
        trial.plan.body_bytes = 3;
        trial.plan.method = "POST".into();
        let line = line(&trial, "a");
        assert!(line.starts_with(r"prony load 'http://h/?a=1&b=$(x)'\''' -c"), "{line}");
        assert!(line.ends_with("-H 'Authorization: @env:SECRET' -b @BODY"), "{line}");
    }

    #[test]
    fn a_ramp_is_its_stages() {
        let mut trial = fixtures::closed();
        trial.plan.stages =
            vec![StageRecord { duration_ns: 1_500_000_000, to_rate_per_s: None, to_connections: Some(40) }];
        assert!(line(&trial, "a").contains(" --stage 1500ms:40c --warmup 3s"), "{}", line(&trial, "a"));
    }
}
