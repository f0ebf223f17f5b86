use super::*;
use crate::list::{ERRORS_MAX, TargetList};
use crate::target::Target;
use proptest::prelude::*;

fn server() -> Target {
    Target::parse("http://h/").unwrap()
}

fn asked(server: &Target) -> Asked<'_> {
    Asked { server, methods: vec!["GET".to_owned(), "HEAD".to_owned()], speed: 1.0, looped: false, seed: 1 }
}

fn of(text: impl AsRef<[u8]>) -> (TargetList, Replay) {
    read(text.as_ref(), &asked(&server())).unwrap_or_else(|errors| panic!("{errors:?}"))
}

/// What is replayed, in its order, each with its instant in milliseconds.
fn played(text: impl AsRef<[u8]>) -> Vec<(u64, String)> {
    let (list, replay) = of(text);
    let name = |line: usize| list.requests[list.lines[line] as usize].name();
    (0..list.lines.len()).map(|k| (replay.due_ns(k as u64).unwrap() / 1_000_000, name(k))).collect()
}

fn refused(text: impl AsRef<[u8]>) -> Vec<String> {
    let errors = read(text.as_ref(), &asked(&server())).unwrap_err();
    errors.iter().map(ToString::to_string).collect()
}

/// A line of a combined log.
fn line(time: &str, request: &str, more: &str) -> String {
    format!("192.0.2.1 - - [28/Nov/2026:{time}] \"{request}\" 200 5 \"-\" \"agent \\\" 1.234\"{more}\n")
}

fn names(text: impl AsRef<[u8]>) -> Vec<String> {
    played(text).into_iter().map(|(_, name)| name).collect()
}

#[test]
fn lines_of_a_second_are_spread_within_it_by_seed_and_line() {
    let text =
        line("12:00:00 +0000", "GET /a HTTP/1.1", "") + &line("12:00:09 +0000", "HEAD /b HTTP/2.0", "");
    let spread = |line| crate::plan::seed_of(1, line) % 1_000_000_000;
    let (list, replay) = of(&text);
    assert_eq!(replay.due_ns(1), Some(9_000_000_000 + spread(2) - spread(1)));
    assert_eq!(
        (list.requests.len(), replay.log.entries, replay.log.spread, replay.log.request_times),
        (2, 2, 2, 0)
    );
    assert_eq!(replay.log.length_ns, replay.due_ns(1).unwrap());
    let server = server();
    let other = read(text.as_bytes(), &Asked { seed: 2, ..asked(&server) }).unwrap().1;
    assert_ne!(other.due_ns(1), replay.due_ns(1));
    assert_eq!((replay.log.spread_seed, other.log.spread_seed), (Some(1), Some(2)));
    assert_eq!(other.log.fingerprint, replay.log.fingerprint);
    let fast = read(text.as_bytes(), &Asked { speed: 2.0, looped: true, ..asked(&server) }).unwrap().1;
    assert_eq!((fast.due_ns(1), fast.is_looped()), (replay.due_ns(1).map(|due| due / 2), true));
    assert_eq!(fast.log.length_ns, replay.log.length_ns);
}

#[test]
fn nginx_logs_the_end_and_its_request_time_is_taken_off() {
    let at = |time: &str, path: &str, took: &str| line(time, &format!("GET {path} HTTP/1.1"), took);
    let text =
        at("12:00:00.500 +0000", "/short", " 0.010") + &at("12:00:00.600 +0000", "/long", " 0.350 0.349");
    assert_eq!(played(text), [(0, "GET /long".to_owned()), (240, "GET /short".to_owned())]);
    let named = at("12:00:00.500 +0000", "/a", " \"-\" rt=0.250 uct=\"0.001\"");
    let other = at("12:00:00.400 +0000", "/b", " request_time=0.100 p");
    assert_eq!(played(named + &other), [(0, "GET /a".to_owned()), (50, "GET /b".to_owned())]);
    // Apache's %D and %T are whole numbers, and its times those of the beginning.
    let (_, replay) = of(at("12:00:00 +0000", "/a", " 123456") + &at("12:00:00 +0000", "/b", " 2"));
    assert_eq!(replay.log.request_times, 0);
}

#[test]
fn logs_without_referrer_and_of_virtual_hosts_are_read_and_zones_count() {
    let text = "h:80 192.0.2.1 - me [28/Nov/2026:12:00:00 +0000] \"GET /a HTTP/1.1\" 200 5\n\
                2001:db8::1 - user [x [28/Nov/2026:14:00:20 +0200] \"GET /c HTTP/1.1\" 200 -\n\
                192.0.2.1 - - [28/Nov/2026:11:00:10 -0100] \"GET /b HTTP/1.1\" 304 0\n";
    assert_eq!(names(text), ["GET /a", "GET /b", "GET /c"]);
}

#[test]
fn json_lines_and_csv_have_named_columns() {
    let json = "{\"time\":\"2026-11-28T12:00:00.250Z\",\"method\":\"HEAD\",\"path\":\"/b?c=1\",\"other\":[1]}\n\
                {\"time\":1795867200.125,\"url\":\"http://elsewhere:81/a\"}\n\
                {\"ts\":1795867201000,\"request\":\"GET /c HTTP/1.1\",\"request_time\":\"0.500\"}\n";
    let expected = [(0, "GET /a"), (125, "HEAD /b?c=1"), (375, "GET /c")];
    let expected: Vec<_> = expected.map(|(at, name)| (at, name.to_owned())).into();
    assert_eq!(played(json), expected);
    let csv = "id, Time ,method,path,note\r\n\
               1,2026-11-28T13:00:00.250+01:00,HEAD,/b?c=1,\"a, \"\"b\"\"\"\r\n\
               2,1795867200125000,,/a,\r\n\
               3,1795867200500000000,GET,/c,\r\n";
    let (_, replay) = of(csv);
    assert_eq!(replay.log.left_out, [("no_request".to_owned(), 1)].into(), "the method is empty");
    let csv = csv.replace(",,/a", ",GET,/a");
    assert_eq!(played(format!("\u{feff}{csv}")), expected);
    for (text, why) in [
        ("{\"path\":\"/a\"}", "line 1: It has no time"),
        ("{\"time\":1}", "line 1: It has no request and no path"),
        ("{\"time\":\"2026-11-28 12:00:00\",\"path\":\"/\"}", "line 1: Its time cannot be read"),
        ("{\"time\":1,\"path\":\"/\",\"request_time\":\"soon\"}", "line 1: Its request_time is no number"),
        ("{\"time\":1", "line 1: It is no request: it is not JSON"),
        ("time,path\n1", "line 2: It has 1 columns, and the first line names 2."),
        ("time,path\n1,\"/", "line 2: It opens a quote"),
        ("time,path\n", "It holds no request by GET or HEAD"),
        ("hello", "line 1: It is no line of an access log"),
        ("", "It holds no request by GET or HEAD"),
    ] {
        let said = refused(text);
        assert!(said[0].starts_with(why), "{text}: {said:?}");
    }
}

#[test]
fn what_is_not_replayed_is_counted_by_reason() {
    let requests = [
        "GET /a HTTP/1.1",
        "POST /a HTTP/1.1",
        "POST /b HTTP/1.0",
        "PROPFIND / HTTP/1.1",
        "BREW /pot HTCPCP/1.0",
        "-",
        "",
        "\\x16\\x03\\x01\\x00",
        "GET /a b HTTP/1.1",
        "OPTIONS * HTTP/1.1",
        "CONNECT h:443 HTTP/1.1",
    ];
    let text: String = requests.iter().map(|request| line("12:00:00 +0000", request, "")).collect();
    let (list, replay) = of(&text);
    let left_out = [("POST", 2), ("other methods", 1), ("no_request", 7)];
    let left_out: BTreeMap<_, _> = left_out.map(|(reason, lines)| (reason.to_owned(), lines)).into();
    assert_eq!((&replay.log.left_out, replay.log.entries, list.lines.len()), (&left_out, 1, 1));
    let server = server();
    let methods = vec!["POST".to_owned()];
    let (list, replay) = read(text.as_bytes(), &Asked { methods, ..asked(&server) }).unwrap();
    assert_eq!((list.requests[0].name(), replay.entries()), ("POST /a".to_owned(), 2));
    assert!(
        refused(line("12:00:00 +0000", "POST / HTTP/1.1", ""))[0]
            .contains("1 lines without one or by others")
    );
}

#[test]
fn a_log_does_not_choose_the_server_and_bytes_are_encoded() {
    let requests =
        ["GET http://evil:99/a?b HTTP/1.1", "GET /caf\\xC3\\xA9\\x22 HTTP/1.1", "GET /\\\"\\\\ HTTP/1.1"];
    let text: String =
        (0..).zip(requests).map(|(at, r)| line(&format!("12:00:0{at}.000 +0000"), r, "")).collect();
    assert_eq!(names(&text), ["GET /a?b", "GET /caf%C3%A9%22", "GET /%22%5C"]);
    // What could end a request's line is encoded by whoever logs it, and is no end of ours.
    let split = line("12:00:00 +0000", "GET /a\\x0d\\x0aX:y\\x00 HTTP/1.1", "");
    assert_eq!(names(split), ["GET /a%0d%0aX:y%00"]);
    // What is not UTF-8 does not matter but in a path.
    let mut bytes = text.clone().into_bytes();
    bytes[0] = 0xff;
    assert_eq!(names(&bytes).len(), 3);
    let at = text.find("/a?b").unwrap();
    bytes[at + 1] = 0xff;
    let raw = [line("12:00:00 +0000", "GET /nul\0 HTTP/1.1", "").into_bytes(), bytes].concat();
    let (_, replay) = of(&raw);
    assert_eq!((replay.entries(), replay.log.left_out["no_request"]), (2, 2));
}

#[test]
fn hostile_lines_are_refused_by_their_numbers() {
    let good = line("12:00:00 +0000", "GET /a HTTP/1.1", "");
    let long = line("12:00:00 +0000", &format!("GET /{} HTTP/1.1", "a".repeat(1 << 20)), "");
    let text = format!("{good}\n{long}\0\n# a comment\n[28/Nov/2026 \"GET\n{good}");
    let said = refused(&text);
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(said[0].starts_with("line 3: It has 1048"), "{said:?}");
    assert!(said[1].starts_with("line 4: ") && said[2].starts_with("line 6: "), "{said:?}");
    let many = refused("x\n".repeat(50));
    assert_eq!((many.len(), many[9].split(':').next().unwrap()), (ERRORS_MAX, "line 10"));
    // Longer than a request may be, but no longer than a line.
    let (_, replay) =
        of(good + &line("12:00:00 +0000", &format!("GET /{} HTTP/1.1", "a".repeat(20_000)), ""));
    assert_eq!(replay.log.left_out, [("no_request".to_owned(), 1)].into());
}

#[test]
fn time_may_run_back_by_an_hour_and_not_by_more() {
    let at = |time: &str| format!("{{\"time\":\"{time}\",\"path\":\"/{}\"}}\n", time.len());
    let text = at("2026-11-28T12:00:00.0Z") + &at("2026-11-28T11:00:00Z");
    assert_eq!(names(&text)[0], "GET /20", "sorted");
    let said = refused(text + &at("2026-11-28T10:59:59Z") + &at("2026-11-28T12:30:00Z"));
    assert_eq!(
        said,
        [
            "line 3: Its time is 1h1s before that of line 1, and may be 1h behind: sort the lines of several logs by their time."
        ]
    );
    // A log in which the year 9999 and the one of 1970 meet, of either order.
    let (old, far) = (at("1970-01-01T00:00:00Z"), at("9999-12-30T00:00:00Z"));
    assert!(refused(format!("{old}{far}"))[0].contains("over 90 days apart"));
    assert!(refused(format!("{far}{old}"))[0].contains("line 2: Its time is"));
    assert!(
        refused(at("9999-12-31T23:59:59Z"))[0].contains("Its time cannot be read"),
        "beyond what a clock has"
    );
    assert_eq!(names(far), ["GET /20"]);
    // Summer time ends: the clock of the wall goes back by an hour, and the offset says so.
    let autumn = "192.0.2.1 - - [25/Oct/2026:02:59:59.9 +0200] \"GET /a HTTP/1.1\" 200 5\n\
                  192.0.2.1 - - [25/Oct/2026:02:00:00.0 +0100] \"GET /b HTTP/1.1\" 200 5\n";
    assert_eq!(played(autumn), [(0, "GET /a".to_owned()), (100, "GET /b".to_owned())]);
}

#[test]
fn a_million_requests_are_replayed_and_no_more() {
    let of_lines = |count: usize| {
        let mut text = "time,path\n".to_owned();
        (0..count).for_each(|i| text.push_str(&format!("{}.5,/{}\n", 1_795_867_200 + i / 10_000, i % 7)));
        read(text.as_bytes(), &asked(&server())).map(|(list, replay)| (list.requests.len(), replay.entries()))
    };
    assert_eq!(of_lines(LINES_MAX), Ok((7, LINES_MAX as u64)));
    let said = of_lines(LINES_MAX + 1).unwrap_err()[0].to_string();
    assert_eq!(said, "A log may have at most 1000000 requests to replay: give a part of it.");
}

proptest! {
    #[test]
    fn any_order_within_the_bound_is_played_in_time(times in prop::collection::vec(0u64..3_600_000, 1..50)) {
        let text: String = times.iter().map(|ms| format!("{{\"time\":{},\"path\":\"/{ms}\"}}\n", 1_795_867_200_000 + ms)).collect();
        let mut sorted = times.clone();
        sorted.sort_unstable();
        let expected: Vec<_> = sorted.iter().map(|ms| (ms - sorted[0], format!("GET /{ms}"))).collect();
        prop_assert_eq!(played(text), expected);
    }

    #[test]
    fn any_time_is_an_instant_or_none(text in "\\PC{0,30}|[0-9.]{0,25}|[0-9]{2}/[A-Z][a-z]{2}/[0-9]{4}:[0-9:]{8} [+-][0-9]{4}") {
        let _ = instant::instant(&text);
    }
}
