//! From flags to a plan: defaults, units, files.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

use prony_lab::units::{most_connections, parse_duration, parse_rate, parse_stages};
use prony_load::plan::{Arrivals, Expect, Plan, Stop};
use prony_load::target::Target;
use prony_record::plan::from_environment;

use super::tls::tls;
use crate::cli::PlanArguments;
use crate::failure::Failure;

/// The largest body that is read from a file, for a request or to compare with.
const BODY_MAX_BYTES: u64 = 256 << 20;
/// Where nothing ends the load.
const DURATION: Duration = Duration::from_secs(10);
/// Each has tens of thousands of ports.
const SOURCES_MAX: usize = 1024;
/// The seed unless one is given.
const DEFAULT_SEED: u64 = 1;
/// The longest warm-up by default.
const WARMUP_MAX: Duration = Duration::from_secs(3);

/// The plan that the flags mean, for this target.
pub(crate) fn plan(arguments: &PlanArguments, target: Target) -> Result<Plan, Failure> {
    let arrivals = arrivals(arguments)?;
    let duration = arguments.duration.as_deref().map(parse_duration).transpose()?;
    let warmup = arguments.warmup.as_deref().map(parse_duration).transpose()?;
    let (stop, warmup) = if let Some(stages) = arrivals.stages() {
        let length: Duration = stages.iter().fold(Duration::ZERO, |sum, s| sum.saturating_add(s.duration));
        let warmup = warmup.unwrap_or_default();
        let window = length.saturating_sub(warmup);
        (Stop { duration: Some(window), requests: arguments.requests }, warmup)
    } else {
        let duration = duration.or((arguments.requests.is_none()).then_some(DURATION));
        let warmup = warmup.or(duration.map(|d| (d / 10).min(WARMUP_MAX))).unwrap_or_default();
        (Stop { duration, requests: arguments.requests }, warmup)
    };
    let body = arguments.body.as_deref().map(text_or_file).transpose()?.unwrap_or_default();
    let connections = match &arrivals {
        staged @ Arrivals::ConnectionStages(_) => most_connections(staged),
        open if open.are_open() => arguments.connections.unwrap_or(100),
        _ => arguments.connections.unwrap_or(50),
    };
    let tls = tls(arguments, &target)?;
    Ok(Plan {
        target,
        method: method(arguments).to_owned(),
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
            body: expected_body(arguments)?,
            sha256: expected_sha256(arguments)?,
        },
        cpus: Vec::new(),
        seed: arguments.seed.unwrap_or(DEFAULT_SEED),
        pipeline: arguments.pipeline.unwrap_or(1),
        spin: arguments.spin,
        user_clock: arguments.user_clock,
        samples_max: 0,
        tls,
        sources: arguments.source.as_deref().map_or(Ok(Vec::new()), sources)?,
        unix: arguments.unix.as_ref().map(PathBuf::from),
        list: None,
    })
}

/// The method of requests that name none themselves.
pub(crate) fn method(arguments: &PlanArguments) -> &str {
    let by_body = if arguments.body.is_some() { "POST" } else { "GET" };
    arguments.method.as_deref().unwrap_or(by_body)
}

fn arrivals(arguments: &PlanArguments) -> Result<Arrivals, Failure> {
    let rate = arguments.rate.as_deref().map(parse_rate).transpose()?;
    if !arguments.stages.is_empty() {
        return staged(arguments);
    }
    match (arguments.arrivals.as_deref(), rate) {
        (None, None) => Ok(Arrivals::Closed),
        (None | Some("constant"), Some(rate)) => Ok(Arrivals::Constant(rate)),
        (Some("poisson"), Some(rate)) => Ok(Arrivals::Poisson(rate)),
        (Some(kind @ ("constant" | "poisson")), None) => {
            Err(Failure::usage(format!("--arrivals {kind} needs a rate: give -R.")))
        }
        (Some(other), _) => {
            Err(Failure::usage(format!("{other:?} is no kind of arrivals: write constant or poisson.")))
        }
    }
}

fn staged(arguments: &PlanArguments) -> Result<Arrivals, Failure> {
    let beside = [
        ("-R", arguments.rate.is_some()),
        ("-d", arguments.duration.is_some()),
        ("--arrivals", arguments.arrivals.is_some()),
    ];
    if let Some((flag, _)) = beside.iter().find(|(_, given)| *given) {
        return Err(Failure::usage(format!(
            "{flag} does not go with --stage: the stages say how long and how much."
        )));
    }
    let arrivals = parse_stages(&arguments.stages)?;
    if matches!(arrivals, Arrivals::ConnectionStages(_)) && arguments.connections.is_some() {
        return Err(Failure::usage("-c does not go with stages of connections: the stages say how many."));
    }
    Ok(arrivals)
}

/// Addresses, and ranges of IPv4 addresses, separated by commas.
fn sources(text: &str) -> Result<Vec<IpAddr>, Failure> {
    let wrong = |part: &str| {
        Failure::usage(format!(
            "--source {part:?} is neither an address nor a range: write 127.0.0.2 or 127.0.0.2-127.0.0.9."
        ))
    };
    let mut all = Vec::new();
    for part in text.split(',').map(str::trim) {
        match part.split_once('-') {
            None => all.push(part.parse().map_err(|_| wrong(part))?),
            Some((first, last)) => {
                let number =
                    |text: &str| text.trim().parse::<Ipv4Addr>().map(u32::from).map_err(|_| wrong(part));
                let range = number(first)?..=number(last)?;
                if range.is_empty() {
                    return Err(wrong(part));
                }
                all.extend(range.take(SOURCES_MAX + 1).map(|address| IpAddr::from(Ipv4Addr::from(address))));
            }
        }
        if all.len() > SOURCES_MAX {
            return Err(Failure::usage(format!("--source: give at most {SOURCES_MAX} addresses.")));
        }
    }
    Ok(all)
}

/// What `--expect-body` says before a hash.
const SHA256: &str = "sha256:";

/// The body of `--expect-body`, unless that is a hash.
fn expected_body(arguments: &PlanArguments) -> Result<Option<Vec<u8>>, Failure> {
    let text = arguments.expect_body.as_deref().filter(|text| !text.starts_with(SHA256));
    text.map(text_or_file).transpose()
}

/// The hash of `--expect-body sha256:HEX`.
fn expected_sha256(arguments: &PlanArguments) -> Result<Option<[u8; 32]>, Failure> {
    let Some(hex) = arguments.expect_body.as_deref().and_then(|text| text.strip_prefix(SHA256)) else {
        return Ok(None);
    };
    let wrong = || {
        Failure::usage(format!(
            "--expect-body {SHA256}{hex:?} is no SHA-256, which has 64 hexadecimal digits: write what \
             `curl -s URL | sha256sum` prints. A body that begins so is given as @FILE."
        ))
    };
    let digits: Vec<u8> = hex.chars().map_while(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    if digits.len() != 64 || hex.len() != 64 {
        return Err(wrong());
    }
    let mut hash = [0; 32];
    for (byte, pair) in hash.iter_mut().zip(digits.chunks(2)) {
        *byte = pair[0] << 4 | pair[1];
    }
    Ok(Some(hash))
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
        // Its first word only: what follows may be a secret.
        let first = text.split_whitespace().next().unwrap_or_default();
        return Err(Failure::usage(format!("-H {first:?} … has no colon: write -H 'Name: value'.")));
    };
    let value = value.trim();
    Ok((name.trim().to_owned(), from_environment(name.trim(), value).map_err(Failure::usage)?))
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
    fn sources_are_addresses_and_ranges() {
        let said = |text| sources(text).map(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(said("127.0.0.2-127.0.0.4, ::1").unwrap(), ["127.0.0.2", "127.0.0.3", "127.0.0.4", "::1"]);
        for wrong in ["", "x", "127.0.0.9-127.0.0.2", "10.0.0.0-10.255.255.255", "1.2.3.4-"] {
            assert!(sources(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn stages_say_how_long_and_how_much() {
        let stages = |texts: &[&str]| PlanArguments {
            stages: texts.iter().map(|text| (*text).to_owned()).collect(),
            ..Default::default()
        };
        let p = of(&stages(&["60s:5000c", "10m:5000c"]));
        assert_eq!(
            (p.connections, p.stop.duration, p.warmup),
            (5000, Some(Duration::from_secs(660)), Duration::ZERO)
        );
        let p = of(&stages(&["0s:1k/s", "30s:20k/s", "10s:0/s"]));
        assert_eq!((p.connections, p.arrivals.stages().unwrap()[1].to), (100, 20_000_000_000));
        let refused =
            |texts: &[&str]| plan(&stages(texts), Target::parse("http://h/").unwrap()).unwrap_err().sentence;
        for (texts, says) in [
            (&["30s"][..], "no colon"),
            (&["30s:500"], "no unit"),
            (&["30s:-5c"], "whole number"),
            (&["30s:10c", "30s:10/s"], "some of connections"),
        ] {
            assert!(refused(texts).contains(says), "{texts:?}: {}", refused(texts));
        }
        let beside = PlanArguments { rate: Some("5k".to_owned()), ..stages(&["1s:10/s"]) };
        assert!(plan(&beside, Target::parse("http://h/").unwrap()).unwrap_err().sentence.contains("-R"));
    }

    #[test]
    fn an_expected_body_is_text_or_a_hash() {
        let expecting =
            |text: &str| PlanArguments { expect_body: Some(text.to_owned()), ..Default::default() };
        let expect = of(&expecting("sha256 is a hash")).expect;
        assert_eq!((expect.body.as_deref(), expect.sha256), (Some(&b"sha256 is a hash"[..]), None));
        let expect = of(&expecting(&format!("sha256:0fA1{}", "5c".repeat(30)))).expect;
        assert_eq!(
            (expect.body, expect.sha256.map(|h| (h[0], h[1], h[31]))),
            (None, Some((0x0f, 0xa1, 0x5c)))
        );
        for wrong in [
            "sha256:",
            "sha256:12",
            &format!("sha256:{}", "g".repeat(64)),
            &format!("sha256:{}ä", "a".repeat(62)),
        ] {
            let refused = plan(&expecting(wrong), Target::parse("http://h/").unwrap()).unwrap_err();
            assert!(refused.sentence.contains("64 hexadecimal"), "{}", refused.sentence);
        }
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
