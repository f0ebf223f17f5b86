//! From flags to a plan: defaults, units, files.

use std::time::Duration;

use prony_lab::units::{parse_duration, parse_rate};
use prony_load::plan::{Arrivals, Expect, Plan, Stop};
use prony_load::target::Target;

use super::tls::tls;
use crate::cli::PlanArguments;
use crate::failure::Failure;

/// The largest body that is read from a file, for a request or to compare with.
const BODY_MAX_BYTES: u64 = 256 << 20;
/// Where nothing ends the load.
const DURATION: Duration = Duration::from_secs(10);
/// The longest warm-up by default.
const WARMUP_MAX: Duration = Duration::from_secs(3);

/// The plan that the flags mean, for this target.
pub(crate) fn plan(arguments: &PlanArguments, target: Target) -> Result<Plan, Failure> {
    let arrivals = match &arguments.rate {
        Some(rate) => Arrivals::Constant(parse_rate(rate)?),
        None => Arrivals::Closed,
    };
    check_arrivals(arguments)?;
    let duration = arguments.duration.as_deref().map(parse_duration).transpose()?;
    let stop = Stop {
        duration: duration.or((arguments.requests.is_none()).then_some(DURATION)),
        requests: arguments.requests,
    };
    let warmup = match (&arguments.warmup, stop.duration) {
        (Some(text), _) => parse_duration(text)?,
        (None, Some(duration)) => (duration / 10).min(WARMUP_MAX),
        (None, None) => Duration::ZERO,
    };
    let body = arguments.body.as_deref().map(text_or_file).transpose()?.unwrap_or_default();
    let default_method = if arguments.body.is_some() { "POST" } else { "GET" };
    let connections = arguments.connections.unwrap_or(match arrivals {
        Arrivals::Closed => 50,
        Arrivals::Constant(_) => 100,
    });
    let tls = tls(arguments, &target)?;
    Ok(Plan {
        target,
        method: arguments.method.clone().unwrap_or_else(|| default_method.to_owned()),
        headers: arguments.headers.iter().map(|text| header(text)).collect::<Result<_, _>>()?,
        body,
        connections,
        threads: arguments.threads.unwrap_or(1),
        arrivals,
        stop,
        warmup,
        timeout: arguments.timeout.as_deref().map_or(Ok(Duration::from_secs(10)), parse_duration)?,
        keepalive: !arguments.no_keepalive,
        expect: Expect {
            status: arguments.expect_status,
            body: arguments.expect_body.as_deref().map(text_or_file).transpose()?,
        },
        cpus: Vec::new(),
        seed: arguments.seed,
        tls,
    })
}

fn check_arrivals(arguments: &PlanArguments) -> Result<(), Failure> {
    match arguments.arrivals.as_deref() {
        None => Ok(()),
        Some("constant") if arguments.rate.is_some() => Ok(()),
        Some("constant") => Err(Failure::usage("--arrivals constant needs a rate: give -R.")),
        Some("poisson") => {
            Err(Failure::usage("--arrivals poisson: this version of Prony does not have it yet."))
        }
        Some(other) => Err(Failure::usage(format!("{other:?} is no kind of arrivals: write constant."))),
    }
}

/// `TEXT`, or `@FILE`'s bytes.
fn text_or_file(text: &str) -> Result<Vec<u8>, Failure> {
    let Some(path) = text.strip_prefix('@') else { return Ok(text.as_bytes().to_vec()) };
    let refused = |reason: String| Failure::usage(format!("The body {path} could not be read: {reason}."));
    let metadata = std::fs::metadata(path).map_err(|e| refused(e.to_string()))?;
    if !metadata.is_file() {
        return Err(refused("it is not a file".to_owned()));
    }
    if metadata.len() > BODY_MAX_BYTES {
        return Err(refused(format!("it is larger than {} MiB", BODY_MAX_BYTES >> 20)));
    }
    std::fs::read(path).map_err(|e| refused(e.to_string()))
}

/// `Name: value`, the value possibly from the environment.
fn header(text: &str) -> Result<(String, String), Failure> {
    let Some((name, value)) = text.split_once(':') else {
        return Err(Failure::usage(format!("-H {text:?} has no colon: write -H 'Name: value'.")));
    };
    let value = value.trim();
    let value = match value.strip_prefix("@env:") {
        None => value.to_owned(),
        Some(variable) => std::env::var(variable).map_err(|_| {
            Failure::usage(format!(
                "-H {name}: the environment has no variable {variable} (or it is not text)."
            ))
        })?,
    };
    Ok((name.trim().to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(arguments: &PlanArguments) -> Plan {
        plan(arguments, Target::parse("http://h/").unwrap()).unwrap()
    }

    #[test]
    fn defaults_are_those_of_the_design() {
        let p = of(&PlanArguments::default());
        assert_eq!(
            (p.connections, p.threads, p.stop.duration, p.stop.requests),
            (50, 1, Some(DURATION), None)
        );
        assert_eq!((p.warmup, p.method.as_str(), p.keepalive), (Duration::from_secs(1), "GET", true));

        let open = of(&PlanArguments {
            rate: Some("20k".to_owned()),
            duration: Some("60".to_owned()),
            ..Default::default()
        });
        assert_eq!((open.connections, open.warmup), (100, Duration::from_secs(3)));
        assert!(matches!(open.arrivals, Arrivals::Constant(rate) if rate.as_per_s() == 20_000.0));

        let counted = of(&PlanArguments { requests: Some(10), ..Default::default() });
        assert_eq!((counted.stop.duration, counted.warmup), (None, Duration::ZERO));

        let posted = of(&PlanArguments { body: Some("x".to_owned()), ..Default::default() });
        assert_eq!((posted.method.as_str(), posted.body.as_slice()), ("POST", b"x".as_slice()));
    }

    #[test]
    fn headers_are_read_or_refused() {
        assert_eq!(header("A: b: c").unwrap(), ("A".to_owned(), "b: c".to_owned()));
        assert!(header("nothing").unwrap_err().sentence.contains("colon"));
        assert!(
            header("A: @env:PRONY_NO_SUCH_VARIABLE").unwrap_err().sentence.contains("PRONY_NO_SUCH_VARIABLE")
        );
    }
}
