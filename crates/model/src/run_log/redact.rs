//! What a log has written out that is secret by today's rules (docs/decisions/0030): an older Prony wrote it.

use super::{Header, Line, PlannedTrial};
use crate::secret::{redacted, redacted_command, typed_again};

impl Line {
    pub(super) fn redact(&mut self) {
        match self {
            Line::Header(header) => header.redact(),
            Line::TrialStart(start) => start.planned.redact(),
            Line::Result(raw) => {
                raw.planned.redact();
                raw.failure.iter_mut().for_each(redact);
                raw.capacity.iter_mut().filter_map(|found| found.void.as_mut()).for_each(redact);
                let Some(observed) = &mut raw.observed else { return };
                observed.plan.redact();
                redact_name(&mut observed.life.candidate);
                observed.life.died.iter_mut().for_each(redact);
                observed.measurement.by_request.iter_mut().for_each(|of| redact(&mut of.request));
                observed.measurement.errors.values_mut().for_each(|tally| redact(&mut tally.first));
            }
            Line::Profile(profile) => {
                redact_name(&mut profile.candidate);
                profile.frames.iter_mut().for_each(redact);
            }
            Line::Event(event) => {
                redact(&mut event.detail);
                event.found.iter_mut().for_each(|found| redact_name(&mut found.candidate));
            }
        }
    }
}

impl Header {
    /// The experiment's file stays as it is: nothing shows it, and who resumes the run is told what is secret in it.
    fn redact(&mut self) {
        self.reproduce = typed_again(&self.reproduce);
        self.baseline.iter_mut().for_each(redact_name);
        self.order.iter_mut().for_each(PlannedTrial::redact);
        for candidate in &mut self.candidates {
            redact_name(&mut candidate.label);
            redact_name(&mut candidate.facts.title);
        }
        for service in &mut self.services {
            redact_name(&mut service.command);
            service.ready.iter_mut().for_each(redact_name);
        }
        self.reset.iter_mut().for_each(redact_name);
        for skipped in &mut self.skipped {
            redact_name(&mut skipped.candidate);
            redact(&mut skipped.reason);
        }
        for named in &mut self.plans {
            redact(&mut named.describe);
            named.plan.redact();
            // An older Prony stored what stood in for it until it was known.
            if named.capacity.is_some() || named.share.is_some() {
                named.plan.rate_per_s = None;
            }
        }
    }
}

impl PlannedTrial {
    fn redact(&mut self) {
        redact_name(&mut self.candidate);
    }
}

fn redact(text: &mut String) {
    *text = redacted(text);
}

/// A label may be a URL or a command, and have settings (`opt=jit`), which are no fields.
fn redact_name(name: &mut String) {
    *name = redacted_command(name);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::{ErrorKind, ErrorTally};
    use crate::observed::Observed;
    use crate::recorded_plan::RecordedPlan;
    use crate::run_log::{CandidateRecord, Event, NamedPlan, RawResult, TrialStart};

    #[test]
    fn a_placeholder_for_a_rate_to_be_found_is_left_out_on_reading() {
        let plan = RecordedPlan { rate_per_s: Some(1.0), ..RecordedPlan::default() };
        let mut header = Header {
            plans: [None, Some("default".to_owned())]
                .map(|capacity| NamedPlan { plan: plan.clone(), capacity, ..NamedPlan::default() })
                .to_vec(),
            ..Header::default()
        };
        header.redact();
        assert_eq!(
            header.plans.iter().map(|named| named.plan.rate_per_s).collect::<Vec<_>>(),
            [Some(1.0), None]
        );
    }

    #[test]
    fn secrets_in_older_logs_are_redacted_on_reading() {
        let url = "http://h/?api_key=s3cret&a=b";
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let headers = vec![
            pair("X-Session", "s3cret"),
            pair("Referer", "http://me:s3cret@h/"),
            pair("X-Token", "@env:TOKEN"),
            pair("Accept", "text/html"),
        ];
        let expect_json = vec!["/api_key=\"s3cret\"".to_owned(), "/id=17".to_owned()];
        let plan = RecordedPlan { url: url.to_owned(), headers, expect_json, ..RecordedPlan::default() };
        let named = NamedPlan {
            name: "p".to_owned(),
            describe: "1 connection, GET /?api_key=s3cret".to_owned(),
            plan: plan.clone(),
            group: None,
            share: None,
            capacity: None,
            workers: None,
        };
        let planned = PlannedTrial::one_by_one(0, url, "p");
        let header = Header {
            reproduce: format!("prony bench --candidate 'a={url}' -H 'X-Session: s3cret'"),
            candidates: vec![CandidateRecord::named(url)],
            plans: vec![named],
            order: vec![planned.clone()],
            ..Header::default()
        };
        let mut observed = Observed { plan, ..Observed::default() };
        observed.life.died = Some("It wrote: postgres://me:s3cret@h/".to_owned());
        let tally = ErrorTally { count: 1, first: "no answer to /?token=s3cret".to_owned() };
        observed.measurement.errors.insert(ErrorKind::Tls, tally);
        let raw =
            RawResult { planned: planned.clone(), observed: Some(observed), failure: None, capacity: None };
        let (at, what, detail) = (String::new(), "check_failed".to_owned(), r#"{"jwt":"s3cret"}"#.to_owned());
        let event = Event { at: at.clone(), what, detail, found: None };
        for line in [
            Line::Header(header),
            Line::TrialStart(TrialStart { planned, at }),
            Line::Result(raw),
            Line::Event(event),
        ] {
            let text = serde_json::to_string(&line).unwrap();
            let read = Line::read(text.as_bytes()).unwrap();
            let shown = serde_json::to_string(&read).unwrap();
            assert!(text.contains("s3cret") && !shown.contains("s3cret"), "{shown}");
            assert_eq!(Line::read(shown.as_bytes()).unwrap(), read, "the same when it is read again");
            let kept = ["http://h/?api_key=[redacted]&a=b", "[\"X-Token\",\"@env:TOKEN\"]", "text/html"];
            let is_event = matches!(line, Line::Event(_) | Line::TrialStart(_));
            assert!(is_event || kept.iter().all(|kept| shown.contains(kept)), "{shown}");
        }
    }
}
