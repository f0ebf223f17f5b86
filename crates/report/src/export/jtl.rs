//! JTL: JMeter's result log as CSV, a line per request, in the columns and their order that JMeter 5.6 writes by
//! default. No line is made up: what Prony doesn't keep (the reason phrase, the data type) is empty. JMeter counts
//! whole milliseconds.

use std::borrow::Cow;
use std::io::{self, Write};

use prony_model::measurement::{ErrorKind, Measurement, Sample};
use prony_model::recorded_plan::RecordedPlan;
use prony_model::target::path_of;

use super::field;

const COLUMNS: &str = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,\
                       failureMessage,bytes,sentBytes,grpThreads,allThreads,URL,Latency,IdleTime,Connect";

/// What JMeter puts before the reason where there was no answer with a status; its readers look for it.
const NO_STATUS: &str = "Non HTTP response code: ";

/// Writes a line of names, and a line per single request that was measured under the plan, in the order in which they ended.
pub fn write(plan: &RecordedPlan, measured: &Measurement, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{COLUMNS}")?;
    let whole = (format!("{} {}", plan.method, path_of(&plan.url)), measured.request_bytes);
    // A list's target is its server, whose URL ends in the path `/`.
    let server = plan.url.trim_end_matches('/');
    for sample in &measured.samples {
        let time_stamp = measured.started_at_ns.saturating_add(sample.intended_ns) / 1_000_000;
        // As JMeter has it: the users at the end of the request.
        let threads = plan.users_at(sample.end_ns());
        let elapsed = rounded(sample.response_ns, 1_000_000);
        let worker = u32::from(sample.worker) + 1;
        let listed = measured.listed.get(sample.request as usize);
        let (label, length) = listed.unwrap_or(&whole);
        let url = match listed.and_then(|(name, _)| name.split_once(' ')) {
            Some((_, path)) if path.starts_with('/') => Cow::Owned(format!("{server}{path}")),
            // One of several servers is named.
            Some((_, url)) => Cow::Borrowed(url),
            None => Cow::Borrowed(plan.url.as_str()),
        };
        let (label, url) = (field(label), field(&url));
        let sent_bytes = if was_sent(sample) { *length } else { 0 };
        let latency = rounded(u64::from(sample.first_byte_us), 1000);
        let connect = rounded(u64::from(sample.connect_wait_us), 1000);
        let failure = sample.failure.map_or("", ErrorKind::name);
        write!(out, "{time_stamp},{elapsed},{label},")?;
        match (sample.status, sample.failure) {
            (0, _) => write!(out, "{NO_STATUS}{failure},{failure}")?,
            (status, _) => write!(out, "{status},")?,
        }
        writeln!(
            out,
            ",prony 1-{worker},,{},{failure},{},{sent_bytes},{threads},{threads},{url},{latency},0,{connect}",
            sample.failure.is_none(),
            sample.read_bytes,
        )?;
    }
    Ok(())
}

fn was_sent(sample: &Sample) -> bool {
    !sample.failure.is_some_and(ErrorKind::is_before_sending)
}

/// The nearest whole number of `unit`s. It keeps order, so that a latency is never longer than its elapsed time.
fn rounded(value: u64, unit: u64) -> u64 {
    value.saturating_add(unit / 2) / unit
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_model::Trial;
    use prony_model::recorded_plan::RecordedStage;
    use prony_model::testing;

    const S: u64 = 1_000_000_000;

    fn sample(intended_ns: u64, response_ns: u64) -> Sample {
        Sample {
            intended_ns,
            response_ns,
            first_byte_us: 2_400,
            connect_wait_us: 1_500,
            read_bytes: 130,
            status: 200,
            failure: None,
            worker: 0,
            request: 0,
        }
    }

    fn written(trial: &Trial, samples: &[Sample]) -> Vec<String> {
        written_of(trial, samples, &[])
    }

    fn written_of(trial: &Trial, samples: &[Sample], listed: &[(String, u64)]) -> Vec<String> {
        let measured = Measurement {
            listed: listed.to_vec(),
            samples: samples.to_vec(),
            started_at_ns: 1_795_262_400_000_000_000,
            request_bytes: 38,
            ..Measurement::default()
        };
        let mut bytes = Vec::new();
        let plan = RecordedPlan { url: trial.target.url.clone(), ..trial.plan.clone() };
        write(&plan, &measured, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn each_request_is_a_line_with_jmeters_columns() {
        let trial = testing::trial(&[&[1], &[1]]);
        let failed = |failure| Sample { failure: Some(failure), ..sample(2 * S, S) };
        let lines = written(
            &trial,
            &[
                // Due in the warm-up, answered in the window.
                sample(S, 500_500_000),
                Sample { status: 503, worker: 1, ..failed(ErrorKind::UnexpectedStatus) },
                Sample { status: 0, first_byte_us: 0, ..failed(ErrorKind::RequestTimeout) },
                Sample { status: 0, first_byte_us: 0, read_bytes: 0, ..failed(ErrorKind::ConnectRefused) },
            ],
        );
        let expected = [
            "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,\
             bytes,sentBytes,grpThreads,allThreads,URL,Latency,IdleTime,Connect",
            "1795262401000,501,GET /a?b=1,200,,prony 1-1,,true,,130,38,50,50,http://h/a?b=1,2,0,2",
            "1795262402000,1000,GET /a?b=1,503,,prony 1-2,,false,unexpected_status,130,38,50,50,http://h/a?b=1,2,0,2",
            "1795262402000,1000,GET /a?b=1,Non HTTP response code: request_timeout,request_timeout,prony 1-1,,\
             false,request_timeout,130,38,50,50,http://h/a?b=1,0,0,2",
            "1795262402000,1000,GET /a?b=1,Non HTTP response code: connect_refused,connect_refused,prony 1-1,,\
             false,connect_refused,0,0,50,50,http://h/a?b=1,0,0,2",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn every_line_has_as_many_fields_as_the_first() {
        let mut trial = testing::trial(&[&[1]]);
        trial.target.url = "http://h/?list=1,2&q=\"x\"".to_owned();
        let lines = written(&trial, &[sample(S, 1)]);
        // Split at commas outside quotes.
        let fields = |line: &str| {
            let mut quoted = false;
            line.chars()
                .filter(|c| {
                    quoted ^= *c == '"';
                    *c == ',' && !quoted
                })
                .count()
        };
        assert_eq!((fields(&lines[0]), fields(&lines[1])), (16, 16), "{}", lines[1]);
        assert!(lines[1].contains(",\"GET /?list=1,2&q=\"\"x\"\"\","), "{}", lines[1]);
    }

    #[test]
    fn a_request_of_a_list_has_its_own_label_url_and_length() {
        let mut trial = testing::trial(&[&[1]]);
        trial.target.url = "http://h:81/".to_owned();
        let listed = [("GET /a,b".to_owned(), 38), ("HEAD /".to_owned(), 40)];
        let samples = [Sample { request: 1, ..sample(S, 1) }, sample(S, 1)];
        let lines = written_of(&trial, &samples, &listed);
        assert!(
            lines[1].contains(",HEAD /,") && lines[1].contains(",40,50,50,http://h:81/,"),
            "{}",
            lines[1]
        );
        assert!(
            lines[2].contains(",\"GET /a,b\",") && lines[2].contains(",\"http://h:81/a,b\","),
            "{}",
            lines[2]
        );
    }

    #[test]
    fn in_a_ramp_the_threads_are_those_of_the_instant() {
        let mut trial = testing::trial(&[&[1]]);
        let to = |to| RecordedStage { duration_ns: 10 * S, to_rate_per_s: None, to_connections: Some(to) };
        trial.plan.stages = vec![to(100), to(0)];
        let at = |second: u64| sample(second * S, S / 2);
        let lines = written(&trial, &[at(0), at(4), at(10), at(14), at(30)]);
        let threads: Vec<&str> = lines[1..].iter().map(|line| line.split(',').nth(12).unwrap()).collect();
        // 5, 45, 95, 55 and 0 by the level; a level that rises has begun the next.
        assert_eq!(threads, ["6", "46", "95", "55", "0"]);
    }

    #[test]
    fn without_requests_only_the_names_are_written() {
        assert_eq!(written(&testing::trial(&[]), &[]).len(), 1);
    }
}
