use std::time::Duration;

use super::meaning::sources;
use super::*;
use crate::plan::{DURATION, Plan};
use crate::request;
use crate::target::Target;
use crate::tls::{Tls, Verify};

fn no_files(_: &str, _: u64) -> Result<Vec<u8>, String> {
    Err("there are no files here".to_owned())
}

fn target(url: &str) -> Option<Target> {
    Some(Target::parse(url).unwrap())
}

fn plan(options: &LoadOptions) -> Plan {
    options.plan(target("http://h/"), &no_files).unwrap()
}

fn refused(options: &LoadOptions) -> String {
    options.plan(target("http://h/"), &no_files).unwrap_err().0
}

fn duration(text: &str) -> Option<WindowValue> {
    Some(text.parse().unwrap())
}

fn rate(text: &str) -> Option<OneOrMany<RateValue>> {
    Some(text.parse().unwrap())
}

#[test]
fn defaults_are_those_of_the_documentation() {
    let p = plan(&LoadOptions::default());
    assert_eq!((p.connections, p.threads, p.stop.duration, p.stop.requests), (50, 1, Some(DURATION), None));
    assert_eq!((p.warmup, p.work.method(), p.keepalive), (Duration::from_secs(1), "GET", true));

    let open = plan(&LoadOptions { rate: rate("20k"), duration: duration("60"), ..Default::default() });
    assert_eq!((open.connections, open.warmup), (100, Duration::from_secs(3)));
    assert!(matches!(open.arrivals, Arrivals::Constant(rate) if rate.as_per_s() == 20_000.0));

    let counted = plan(&LoadOptions { requests: Some(10), ..Default::default() });
    assert_eq!((counted.stop.duration, counted.warmup), (None, Duration::ZERO));

    let posted = plan(&LoadOptions { body: Some("x".to_owned()), ..Default::default() });
    assert_eq!((posted.work.method(), posted.body.as_slice()), ("POST", b"x".as_slice()));
}

#[test]
fn auto_is_a_window_in_flags_and_files_that_a_pilot_replaces() {
    let auto = LoadOptions { duration: duration("auto"), ..Default::default() };
    let of_file: LoadOptions = serde_json::from_str(r#"{"duration": "auto"}"#).unwrap();
    assert_eq!((of_file, auto.or(&LoadOptions::default()).unwrap()), (auto.clone(), auto.clone()));
    assert!(refused(&auto).contains("give a time here"));
    let second = Duration::from_secs(1);
    let mut plan = plan(&auto.pilot(second, false).unwrap().unwrap());
    assert_eq!(plan.stop.duration, Some(second));
    plan.measure_for(5 * second, None);
    assert_eq!((plan.stop.duration, plan.warmup), (Some(5 * second), second / 2));
    assert_eq!(LoadOptions::default().pilot(second, true).unwrap(), None);
    let counted = LoadOptions { requests: Some(5), ..auto.clone() };
    assert!(counted.pilot(second, false).unwrap_err().to_string().contains("-n"));
    assert!(auto.pilot(second, true).unwrap_err().to_string().contains("--fleet"));
    assert!(LoadOptions { rate: rate("5k"), ..auto }.pilot(second, true).unwrap().is_some());
}

#[test]
fn the_default_plan_of_the_engine_has_the_same_defaults() {
    assert_eq!(plan(&LoadOptions::default()), Plan::closed(Target::parse("http://h/").unwrap()));
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
    let stages = |texts: &[&str]| LoadOptions {
        stages: Some(texts.iter().map(|text| (*text).to_owned()).collect()),
        ..Default::default()
    };
    let p = plan(&stages(&["60s:5000c", "10m:5000c"]));
    assert_eq!(
        (p.connections, p.stop.duration, p.warmup),
        (5000, Some(Duration::from_secs(660)), Duration::ZERO)
    );
    let p = plan(&stages(&["0s:1k/s", "30s:20k/s", "10s:0/s"]));
    assert_eq!((p.connections, p.arrivals.stages().unwrap()[1].to), (100, 20_000_000_000));
    for (texts, says) in [
        (&["30s"][..], "no colon"),
        (&["30s:500"], "no unit"),
        (&["30s:-5c"], "whole number"),
        (&["30s:10c", "30s:10/s"], "some of connections"),
    ] {
        let said = refused(&stages(texts));
        assert!(said.contains(says), "{texts:?}: {said}");
    }
    assert!(refused(&LoadOptions { rate: rate("5k"), ..stages(&["1s:10/s"]) }).contains("-R"));
}

#[test]
fn an_expected_body_is_text_or_a_hash() {
    let expecting = |text: &str| LoadOptions { expect_body: Some(text.to_owned()), ..Default::default() };
    let expect = plan(&expecting("sha256 is a hash")).expect;
    assert_eq!((expect.body.as_deref(), expect.sha256), (Some(&b"sha256 is a hash"[..]), None));
    let expect = plan(&expecting(&format!("sha256:0fA1{}", "5c".repeat(30)))).expect;
    assert_eq!((expect.body, expect.sha256.map(|h| (h[0], h[1], h[31]))), (None, Some((0x0f, 0xa1, 0x5c))));
    let (no_digits, not_ascii) =
        (format!("sha256:{}", "g".repeat(64)), format!("sha256:{}ä", "a".repeat(62)));
    for wrong in ["sha256:", "sha256:12", &no_digits, &not_ascii] {
        let said = refused(&expecting(wrong));
        assert!(said.contains("64 hexadecimal"), "{said}");
    }
}

#[test]
fn a_body_from_the_environment_is_a_secret() {
    // What every test process has.
    let path = std::env::var("PATH").unwrap();
    let asked = || Some("@env:PATH".to_owned());
    let p = plan(&LoadOptions { body: asked(), expect_body: asked(), ..Default::default() });
    assert_eq!((p.body.as_slice(), p.expect.body.as_deref()), (path.as_bytes(), Some(path.as_bytes())));
    assert_eq!(crate::secret::redacted(&format!("got <{path}>")), "got <@env:PATH>");
    let unset = LoadOptions { body: Some("@env:PRONY_NO_SUCH_VARIABLE".to_owned()), ..Default::default() };
    assert!(refused(&unset).contains("-b needs the environment variable PRONY_NO_SUCH_VARIABLE,"));
}

#[test]
fn headers_are_read_or_refused() {
    assert_eq!("A: b: c".parse(), Ok(Header { name: "A".to_owned(), value: Some("b: c".to_owned()) }));
    let said =
        refused(&LoadOptions { headers: Some(vec!["Token s3cret".parse().unwrap()]), ..Default::default() });
    assert!(said.contains("colon") && !said.contains("s3cret"), "{said}");
    let given = |name: &str| request::check_header(name, "").unwrap_err().0;
    let chunked = given("transfer-encoding");
    assert!(chunked.contains("writes the header transfer-encoding itself"), "{chunked}");
    assert!(given("Content-Length").contains("itself, from -b"));
}

#[test]
fn a_unix_socket_takes_no_local_addresses() {
    let socket = LoadOptions {
        unix: Some("/run/x.sock".to_owned()),
        source: Some("127.0.0.2".to_owned()),
        ..LoadOptions::default()
    };
    assert!(refused(&socket).contains("--unix and --source cannot be used together"));
}

#[test]
fn options_of_tls_need_a_target_that_speaks_it() {
    let of = |options: &LoadOptions, url: &str| options.plan(target(url), &no_files).map(|plan| plan.tls);
    let insecure = LoadOptions { insecure: Some(true), ..Default::default() };
    assert_eq!(of(&insecure, "https://h/").unwrap().verify, Verify::Nothing);
    assert!(refused(&insecure).contains("ab's -k"));
    let off = LoadOptions { tls_resumption: Some("off".to_owned()), ..Default::default() };
    assert!(!of(&off, "https://h/").unwrap().resumption);
    assert!(refused(&off).contains("--tls-resumption is for https://"));
    assert_eq!(of(&LoadOptions::default(), "http://h/").unwrap(), Tls::default());
}

#[test]
fn files_and_words_that_cannot_be_used_are_named() {
    let with = |change: fn(&mut LoadOptions), content: &'static [u8]| {
        let mut options = LoadOptions::default();
        change(&mut options);
        let read = |_: &str, most: u64| {
            Ok(content.iter().copied().cycle().take(most.min(17 << 20) as usize).collect())
        };
        options.plan(target("https://h/"), if content.is_empty() { &no_files } else { &read }).unwrap_err().0
    };
    let cacert = |o: &mut LoadOptions| o.cacert = Some("ca.pem".to_owned());
    assert!(with(cacert, b"").contains("--cacert ca.pem could not be read: there are no files"));
    assert!(with(cacert, b"x").contains("larger than 16 MiB"));
    assert!(with(|o| o.tls_resumption = Some("maybe".to_owned()), b"").contains("on or off"));
    assert!(with(|o| o.key = Some("key.pem".to_owned()), b"").contains("--cert"));
    assert!(
        with(|o| (o.insecure, o.cacert) = (Some(true), Some("ca.pem".to_owned())), b"")
            .contains("one of them")
    );
}

#[test]
fn what_a_plan_says_replaces_what_its_defaults_say() {
    let defaults = LoadOptions {
        duration: duration("3s"),
        rate: rate("5k"),
        connections: Some(OneOrMany::Many(vec![5, 6])),
        keepalive: Some(false),
        headers: Some(vec!["A: b".parse().unwrap()]),
        ..Default::default()
    };
    let own = LoadOptions { duration: duration("1m"), ..Default::default() };
    assert_eq!(own.or(&defaults).unwrap(), LoadOptions { duration: duration("1m"), ..defaults.clone() });
    let staged = LoadOptions { stages: Some(vec!["1s:5c".to_owned()]), ..Default::default() };
    let merged = staged.or(&defaults).unwrap();
    assert_eq!((merged.rate.clone(), merged.duration, merged.connections.clone()), (None, None, None));
    assert_eq!((merged.keepalive, merged.headers), (Some(false), defaults.headers));
    let at_a_rate = LoadOptions { rate: rate("1k"), ..Default::default() };
    assert_eq!(at_a_rate.or(&staged).unwrap().stages, None);
}

#[test]
fn options_that_exclude_each_other_are_refused_never_dropped() {
    let defaults = LoadOptions { connections: Some(OneOrMany::One(7)), ..Default::default() };
    let own = LoadOptions { headers: Some(vec!["no colon".parse().unwrap()]), ..Default::default() };
    for refused in [own.or(&defaults), own.without("duration")] {
        assert!(refused.unwrap_err().0.contains("cannot be put together"));
    }
}

#[test]
fn a_file_names_the_protocol_or_sets_the_flag() {
    let read = |value: serde_json::Value| {
        serde_json::from_value::<LoadOptions>(value).map(|options| options.protocol)
    };
    for (given, http2) in [
        (serde_json::json!({}), None),
        (serde_json::json!({"http2": true}), Some(Protocol::Http2)),
        (serde_json::json!({"protocol": "http2"}), Some(Protocol::Http2)),
        (serde_json::json!({"protocol": "http1"}), Some(Protocol::Http1)),
    ] {
        assert_eq!(read(given.clone()).unwrap(), http2, "{given}");
    }
    let another = read(serde_json::json!({"protocol": "http3"})).unwrap_err().to_string();
    assert_eq!(another, "protocol is \"http1\" or \"http2\", and http2 true or false");
    let both = read(serde_json::json!({"protocol": "http1", "http2": true})).unwrap_err().to_string();
    assert!(both.contains("duplicate field"), "{both}");
}

#[test]
fn each_of_several_servers_has_threads_and_connections() {
    let of = |change: &dyn Fn(&mut LoadOptions)| {
        let mut options = LoadOptions { targets: Some("l".to_owned()), ..Default::default() };
        change(&mut options);
        options.plan(None, &|_, _| Ok(b"http://h/\nhttps://i/\nhttp://h:81/\n".to_vec())).map_err(|why| why.0)
    };
    let plan = of(&|_| {}).unwrap();
    assert_eq!((plan.threads, plan.origins().len(), plan.speaks_tls()), (3, 3, true));
    assert_eq!(of(&|options| options.threads = Some(4)).unwrap().threads, 6);
    assert_eq!(of(&|options| options.threads = Some(6)).unwrap().threads, 6);
    let at_rate = |connections, agents| {
        let plan = of(&|options| {
            (options.connections, options.rate) = (Some(OneOrMany::One(connections)), rate("1k"));
        });
        plan.and_then(|plan| plan.check_threads(agents).map_err(|why| why.0))
    };
    assert_eq!((at_rate(4, 1), at_rate(8, 2)), (Ok(()), Ok(())));
    assert!(at_rate(9, 2).unwrap_err().contains("Give -c a multiple of 2"));
    let stages = |level: &str| Some(vec![format!("1s:{level}")]);
    of(&|options| options.stages = stages("10/s")).unwrap();
    let refused = |change: &dyn Fn(&mut LoadOptions)| of(change).unwrap_err();
    let few = refused(&|options| options.connections = Some(OneOrMany::One(2)));
    assert!(few.contains("3 servers, and each has connections of its own: give -c at least 3"), "{few}");
    assert!(refused(&|options| options.unix = Some("/run/x.sock".to_owned())).contains("--unix"));
    assert!(refused(&|options| options.stages = stages("10c")).contains("Stages of connections"));
}

#[test]
fn a_log_says_what_is_requested_when_and_how_long() {
    let log: String = (0..4).map(|s| format!("{{\"time\":{s}.5,\"path\":\"/{s}\"}}\n")).collect();
    let read = |_: &str, _: u64| Ok(log.clone().into_bytes());
    let target = || Some(Target::parse("http://h/").unwrap());
    let options = LoadOptions { replay: Some("a.log".to_owned()), ..Default::default() };
    let of = |options: &LoadOptions| options.plan(target(), &read);
    let said = |options: LoadOptions| of(&options).unwrap_err().to_string();
    let p = of(&options).unwrap();
    assert_eq!((p.stop.duration, p.stop.requests, p.warmup), (None, Some(4), Duration::ZERO));
    assert_eq!((p.connections, p.arrivals.replay().unwrap().due_ns(3)), (100, Some(3_000_000_000)));
    let timed = of(&LoadOptions { duration: duration("2"), speed: Some(0.5), ..options.clone() }).unwrap();
    assert_eq!((timed.stop.duration, timed.stop.requests), (Some(Duration::from_secs(2)), Some(4)));
    assert_eq!(timed.arrivals.replay().unwrap().due_ns(1), Some(2_000_000_000));
    let looped = |requests| LoadOptions { looped: Some(true), requests, ..options.clone() };
    assert_eq!(of(&looped(Some(9))).unwrap().arrivals.replay().unwrap().due_ns(8), Some(8_000_000_000));
    assert!(said(looped(None)).contains("-d, -n or both"));
    assert!(
        said(LoadOptions { requests: Some(5), ..options.clone() })
            .contains("The log has 4 requests to replay")
    );
    for (wrong, flag) in [
        (LoadOptions { rate: rate("5k"), ..options.clone() }, "-R cannot be used with --replay"),
        (LoadOptions { stages: Some(vec!["1s:1/s".to_owned()]), ..options.clone() }, "--stage cannot"),
        (LoadOptions { arrivals: Some("poisson".to_owned()), ..options.clone() }, "--arrivals cannot"),
        (LoadOptions { targets: Some("list".to_owned()), ..options.clone() }, "--targets cannot"),
        (LoadOptions { shuffle: Some(true), ..options.clone() }, "--shuffle cannot"),
        (LoadOptions { method: Some("PUT".to_owned()), ..options.clone() }, "-m cannot"),
        (LoadOptions { body: Some("x".to_owned()), ..options.clone() }, "-b cannot"),
        (LoadOptions { speed: Some(0.0), ..options.clone() }, "--speed 0 is out of range"),
        (LoadOptions { speed: Some(f64::NAN), ..options.clone() }, "--speed NaN is out of range"),
        (
            LoadOptions { methods: Some("GET,".to_owned()), ..options.clone() },
            "--methods: \"\" is not a method",
        ),
        (
            LoadOptions { replay: None, speed: Some(2.0), ..options.clone() },
            "--speed is for the requests of a log",
        ),
        (LoadOptions { replay: None, looped: Some(true), ..options.clone() }, "--loop is for"),
        (
            LoadOptions { replay: None, methods: Some("GET".to_owned()), ..options.clone() },
            "--methods is for",
        ),
    ] {
        assert!(said(wrong).starts_with(flag), "{flag}");
    }
    let other = Target::parse("http://h/path").unwrap();
    assert!(options.plan(Some(other), &read).unwrap_err().0.ends_with("write http://h."));
    assert!(options.plan(None, &read).unwrap_err().0.contains("give its URL"));
    let auto = LoadOptions { duration: duration("auto"), ..options.clone() };
    assert!(auto.pilot(Duration::from_secs(1), false).unwrap_err().0.ends_with("leave -d out."));
    let looped = LoadOptions { looped: Some(true), ..auto };
    assert!(looped.pilot(Duration::from_secs(1), false).unwrap_err().0.ends_with("give a time, as 10s."));
    let spread = LoadOptions { all_addresses: Some(true), ..options.clone() };
    assert!(said(spread).contains("leave out --replay"));
    let at_a_rate = LoadOptions { rate: rate("1k"), ..Default::default() };
    assert_eq!(at_a_rate.or(&options).unwrap(), at_a_rate);
    assert_eq!(options.or(&at_a_rate).unwrap(), options);
    let form = LoadOptions { form: Some(vec!["a=b".to_owned()]), chunked: Some(true), ..Default::default() };
    assert_eq!(options.or(&form).unwrap(), options);
    let said = options.plan(target(), &|_: &str, _: u64| Ok(b"x\ny".to_vec())).unwrap_err().0;
    let places: Vec<&str> = said.lines().map(|line| line.split(':').next().unwrap()).collect();
    assert_eq!(places, ["--replay a.log, line 1", "--replay a.log, line 2"]);
}

#[test]
fn what_is_given_replaces_defaults_that_contradict_it() {
    let body = LoadOptions { body: Some("a".to_owned()), ..Default::default() };
    let form = LoadOptions { form_urlencoded: Some(vec!["a=b".to_owned()]), ..Default::default() };
    let [closing, none] =
        [(Some(5), None), (None, Some(false))].map(|(requests_per_connection, keepalive)| LoadOptions {
            requests_per_connection,
            keepalive,
            ..Default::default()
        });
    let [v4, v6] = [(Some(true), None), (None, Some(true))].map(|(ipv4, ipv6)| LoadOptions {
        ipv4,
        ipv6,
        ..Default::default()
    });
    for (own, other) in [(&body, &form), (&closing, &none), (&v4, &v6)] {
        assert_eq!((own.or(other).unwrap(), other.or(own).unwrap()), (own.clone(), other.clone()));
    }
}

#[test]
fn chunks_need_a_body() {
    let of = |body: Option<&str>| {
        let options =
            LoadOptions { chunked: Some(true), body: body.map(str::to_owned), ..Default::default() };
        options.plan(Some(Target::parse("http://h/").unwrap()), &|_, _| Err(String::new()))
    };
    assert!(of(Some("a")).unwrap().chunked);
    assert!(of(None).unwrap_err().0.starts_with("--chunked is how a body is sent"));
}
