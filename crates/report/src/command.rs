//! The lines that apply the loads of a report again; [`prony_model::command`] has what one is made of.

use std::collections::HashSet;

use prony_model::trial::Trial;

pub(crate) use prony_model::command::{capacity, next};
pub use prony_model::command::{command, shell_word};

use crate::format;

const LINES_MAX: usize = 8;

/// [`command`] of a trial.
pub fn line(trial: &Trial, candidate: &str) -> String {
    let flags = fleet_flags(trial).map(|flag| format!(" {}", shell_word(flag)));
    command(&trial.plan, &trial.target.address, candidate) + &flags.collect::<String>()
}

/// The flags that make a trial's fleet; none without one.
pub(crate) fn fleet_flags(trial: &Trial) -> impl Iterator<Item = &String> {
    trial.fleet.iter().flat_map(|fleet| &fleet.flags)
}

/// The different lines of several trials, one below the other, in the order in which they were run.
pub(crate) fn lines<'a>(trials: impl Iterator<Item = (&'a Trial, &'a str)>) -> String {
    let mut known = HashSet::new();
    let all = trials.map(|(trial, candidate)| line(trial, candidate));
    let mut different: Vec<String> = all.filter(|line| known.insert(line.clone())).collect();
    let more = different.len().saturating_sub(LINES_MAX);
    different.truncate(LINES_MAX);
    if more > 0 {
        let more = format::count(more as u64, "more load", "more loads");
        different.push(format!("# and {more}: each trial's own line is on its sheet"));
    }
    different.join("\n")
}

#[cfg(test)]
mod tests {
    use prony_model::command::EMBEDDED;
    use prony_model::recorded_plan::{RecordedStage, RecordedTls};
    use prony_model::secret::REDACTED;

    use super::*;
    use crate::fixtures;

    #[test]
    fn the_command_of_a_closed_loop_and_of_a_rate() {
        assert_eq!(
            line(&fixtures::closed(), "a"),
            "prony load http://127.0.0.1:8080/ -c 100 -d 30s --warmup 3s"
        );
        assert_eq!(line(&fixtures::closed(), EMBEDDED), "prony load -c 100 -d 30s --warmup 3s");
        let line = line(&fixtures::overloaded(), "a");
        assert_eq!(line, "prony load http://127.0.0.1:8080/ -c 500 -R 21000 -d 30s --warmup 3s");
    }

    #[test]
    fn redacted_values_are_placeholders_and_arguments_are_quoted() {
        let mut trial = fixtures::closed();
        trial.plan.url = "http://h/?a=1&b=$(x)'".into();
        trial.plan.headers = vec![("Authorization".into(), REDACTED.into())];
        trial.plan.body_bytes = 3;
        trial.plan.method = "POST".into();
        let line = line(&trial, "a");
        assert!(line.starts_with(r"prony load 'http://h/?a=1&b=$(x)'\''' -c"), "{line}");
        assert!(line.ends_with("-H 'Authorization: @env:AUTHORIZATION' -b @BODY"), "{line}");
        // What was redacted because it was asked for is asked for again.
        trial.plan.headers = vec![("X-Own".into(), REDACTED.into())];
        let line = super::line(&trial, "a");
        assert!(line.contains("-H 'X-Own: @env:X_OWN' --redact X-Own"), "{line}");
    }

    #[test]
    fn a_unix_socket_and_tls_options_are_in_the_command() {
        let mut trial = fixtures::closed();
        trial.target.address = "unix:/run/my app.sock".into();
        assert!(line(&trial, "a").ends_with("--unix '/run/my app.sock'"), "{}", line(&trial, "a"));
        let mut trial = fixtures::closed();
        trial.plan.tls = Some(RecordedTls {
            verify: prony_model::tls::VerifyKind::None,
            resumption: "off".into(),
            alpn: prony_model::plan::ProtocolId::Http1,
            client_certificate: true,
        });
        assert!(line(&trial, "a").ends_with("-k --cert FILE --tls-resumption off"), "{}", line(&trial, "a"));
    }

    #[test]
    fn several_loads_are_listed_once_each_up_to_a_limit() {
        let (closed, open) = (fixtures::closed(), fixtures::overloaded());
        let both = lines([(&closed, "a"), (&closed, "a"), (&open, "a")].into_iter());
        assert_eq!(both, format!("{}\n{}", line(&closed, "a"), line(&open, "a")));
        let many: Vec<Trial> = (1..=LINES_MAX as u32 + 3)
            .map(|connections| {
                let mut trial = fixtures::closed();
                trial.plan.connections = connections;
                trial
            })
            .collect();
        let many = lines(many.iter().map(|trial| (trial, "a")));
        assert_eq!(many.lines().count(), LINES_MAX + 1);
        assert!(many.ends_with("# and 3 more loads: each trial's own line is on its sheet"), "{many}");
    }

    #[test]
    fn a_ramp_is_written_as_stages() {
        let mut trial = fixtures::closed();
        trial.plan.stages =
            vec![RecordedStage { duration_ns: 1_500_000_000, to_rate_per_s: None, to_connections: Some(40) }];
        assert_eq!(line(&trial, "a"), "prony load http://127.0.0.1:8080/ --stage 1500ms:40c --warmup 3s");
        trial.plan.stages[0] =
            RecordedStage { duration_ns: 500_000, to_rate_per_s: Some(40.0), to_connections: None };
        assert!(
            line(&trial, "a").contains(" -c 100 --stage 500us:40/s --warmup 3s"),
            "{}",
            line(&trial, "a")
        );
    }
}
