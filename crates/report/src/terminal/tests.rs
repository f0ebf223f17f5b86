//! What people see, whole.

use super::*;
use crate::fixtures;
use prony_model::histogram::SparseHistogram;
use prony_model::list::Order;
use prony_model::recorded_plan::RecordedList;

fn plain() -> TerminalOptions {
    TerminalOptions::default()
}

fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

#[test]
fn a_valid_trial_in_closed_arrivals() {
    insta::assert_snapshot!(trial(&fixtures::closed(), &plain()), @"
    13,870 req/s ±0.4 %    p50 6.98 ms    p99 9.61 ms    0 failed    VALID
    GET / · 100 connections, closed loop · 30.0 s after 3.0 s warm-up

     ms           p50     p90     p99   p99.9     max    mean
     service     6.98    7.86    9.61    14.2    56.0    7.14  kernel clock
       95 % ±   0.028   0.059    0.18    0.68
     1st byte    6.98    7.86    9.61    14.2    56.0    7.14  part of service
     client     0.031   0.048   0.113   0.241   0.610   0.035  client's own delay
     req/s  ▇▇▇▇▇▇▇▇▇▇▇▇▇█▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇   13.6k – 14.1k per second

     completed 416,100   200: 416,100   failed 0   in flight at the end 100
     read 49.6 MB (1.65 MB/s), sent 16.5 MB (551 kB/s)
     client 7.9 % of one core, 5.70 µs per request
     – p99.99 needs 100 samples beyond it and has 42: use -d 75s
     – stalls beyond 56.0 ms, up to one per 10.0 s (30.0 s ÷ 3) cannot be excluded
     Next  prony load http://127.0.0.1:8080/ -c 100 -R 10000 -d 30s
           prony capacity http://127.0.0.1:8080/ -c 100 --slo 'p99<20ms'
    ");
}

#[test]
fn a_trial_over_tls_names_cipher_and_unverified_certificate() {
    let mut t = fixtures::closed();
    t.plan.url = "https://127.0.0.1:8443/".into();
    t.plan.tls = Some(prony_model::recorded_plan::RecordedTls {
        verify: prony_model::tls::VerifyKind::None,
        resumption: "on".into(),
        alpn: prony_model::plan::ProtocolId::Http1,
        client_certificate: false,
    });
    t.tls = Some(prony_model::trial::TlsRecord {
        version: Some("TLSv1.3".into()),
        cipher: Some("TLS_AES_256_GCM_SHA384".into()),
        key_exchange: Some("X25519".into()),
        alpn: Some("http/1.1".into()),
        handshakes_full: 100,
        handshakes_resumed: 1_204,
    });
    let shown = trial(&t, &plain());
    let lines: Vec<&str> =
        shown.lines().filter(|line| line.contains("TLS") || line.contains("Next")).collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    GET / · 100 connections, closed loop · TLS 1.3, UNVERIFIED · 30.0 s after 3.0 s
     TLS_AES_256_GCM_SHA384, X25519 · 100 full handshakes, 1,204 resumed
     Next  prony load https://127.0.0.1:8443/ -c 100 -R 10000 -d 30s -k
    ");
}

#[test]
fn an_overloaded_trial_in_open_arrivals() {
    insta::assert_snapshot!(trial(&fixtures::overloaded(), &plain()), @"
    OVERLOADED
    completed 19,880 of 21,000 req/s ±0.3 %; queueing delay grows by 53 ms a second
    GET / · 500 connections, constant 21,000/s · 30.0 s after 3.0 s warm-up

     ms           p50     p90      p99    p99.9   p99.99     max    mean
     response     812   1,440 > 1.53 s > 1.53 s > 1.53 s   1,590     801
       95 % ±     3.2      11
     service     24.1    27.2     33.0     47.1     61.0    70.2    24.4
     wait         788   1,412    1,540    1,560    1,565   1,566     776
     1st byte    6.98    7.86     9.61     14.2        –    56.0    7.14
     req/s  ▇▇▇▇▇▇▇▇▇▇▇▇▇█▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇   13.6k – 14.1k per second

     due 630,000 = completed 596,400 + failed 0 + in flight 500 + never sent 33,100
     by status  200: 596,400
     read 49.6 MB (1.65 MB/s), sent 16.5 MB (551 kB/s)
     client 7.9 % of one core, 5.70 µs per request
     – stalls beyond 1.59 s, up to one per 10.0 s (30.0 s ÷ 3) cannot be excluded
     · overload: the wait for a connection grew 53 ms a second, to 1.57 s at the end
       → Ask for a rate that it carries, or give it more connections.
     Next  prony load http://127.0.0.1:8080/ -c 500 -R 18000 -d 30s
    ");
}

#[test]
fn a_broken_trial() {
    insta::assert_snapshot!(trial(&fixtures::broken(), &plain()), @"
    BROKEN  98 % failed: 51,200 of 52,140; completed 31.3 req/s
    GET / · 100 connections, closed loop · 30.0 s after 3.0 s warm-up

     ms           p50     p90     p99   p99.9     max    mean
     service    > 2 s       –   > 2 s       –    56.0    7.14  kernel clock
     1st byte    6.98    7.86    9.61    14.2    56.0    7.14  part of service
     req/s  ██▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁   0 – 470 per second

     completed 940   failed 51,200   in flight at the end 100
     by status  200: 940, 502: 48,000
     read 117 kB (3.90 kB/s), sent 39.0 kB (1.30 kB/s)
     client 7.9 % of one core, 5.70 µs per request
     failed 51,200 (98 %)
       unexpected status     48,000  502 Bad Gateway�[2J
       reset                  3,200  Connection reset by peer (os error 104)
     – no interval for req/s: most requests failed
     – stalls beyond 56.0 ms, up to one per 10.0 s (30.0 s ÷ 3) cannot be excluded
     · errors: 98 % of the requests failed; over 50 % is broken.
       → See what one request is told.
     Next  prony load http://127.0.0.1:8080/ -c 1 -n 1
    ");
}

#[test]
fn a_load_with_error_responses_alone_says_so_in_line_one() {
    let mut trial = fixtures::broken();
    trial.requests.completed = 0;
    trial.requests.failed = 5_000;
    trial.status = [("404".to_owned(), 5_000)].into();
    trial.errors = [("unexpected_status".to_owned(), 5_000)].into();
    let first = |trial: &prony_model::Trial| super::trial(trial, &plain()).lines().next().unwrap().to_owned();
    assert_eq!(first(&trial), "BROKEN  100 % failed: 5,000 of 5,000; every response has status 404");
    trial.status = [("404".to_owned(), 4_000), ("503".to_owned(), 1_000)].into();
    assert!(first(&trial).ends_with("every response has status 404 or 503"), "{}", first(&trial));
    trial.status = [("200".to_owned(), 1), ("404".to_owned(), 5_000)].into();
    assert!(!first(&trial).contains("every"), "{}", first(&trial));
}

#[test]
fn a_server_that_never_responds_is_said_to_be_one() {
    let mut t = fixtures::broken();
    (t.requests.completed, t.requests.failed) = (0, 0);
    let shown = trial(&t, &plain());
    assert!(shown.starts_with("BROKEN  no response to any of 100 requests in 30"), "{shown}");
}

#[test]
fn a_failure_is_said_to_its_end() {
    let mut t = fixtures::broken();
    let said =
        "the server wants a client's certificate and says so after the handshake: give --cert and --key";
    t.first_errors.insert("reset".to_owned(), said.to_owned());
    let shown = trial(&t, &plain());
    assert!(shown.split_whitespace().collect::<Vec<_>>().join(" ").contains(said), "{shown}");
}

#[test]
fn the_address_of_a_name_is_shown() {
    let mut t = fixtures::broken();
    assert!(!trial(&t, &plain()).contains(" to 127.0.0.1"));
    (t.target.url, t.target.address) = ("http://localhost:8080/".into(), "[::1]:8080".into());
    let shown = trial(&t, &plain());
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("· to [::1]:8080"), "{shown}");
}

#[test]
fn a_suspect_trial_shows_its_reasons_and_advice() {
    insta::assert_snapshot!(trial(&fixtures::doubtful(), &plain()), @"
    ≥ 13,870? req/s ±0.4 %  p50 6.98 ms?  p99 –  0 failed  SUSPECT, INTERRUPTED
    GET / · 100 connections, closed loop · 4.2 s of 30.0 s after 3.0 s warm-up

     ms            p50     p90     p99   p99.9     max    mean
     service?     6.98    7.86       –       –    56.0    7.14  kernel clock
       95 % ±    0.028   0.059
     1st byte?    6.98    7.86    9.61    14.2    56.0    7.14  part of service
     client      0.031   0.048   0.113   0.241   0.610   0.035  client's own delay
     req/s  ▇▇▇█   13.9k – 14.1k per second, not steady

     completed 416,100   200: 416,100   failed 0   in flight at the end 100
     read 6.94 MB (1.65 MB/s), sent 2.31 MB (551 kB/s)
     client 56 % of one core, 5.70 µs per request
     – fewer than 100 samples beyond p99 (use -d 12s), p99.9 (use -d 120s), p99.99
       (use -d 1200s)
     – stalls beyond 56.0 ms, up to one per 1.40 s (4.20 s ÷ 3) cannot be excluded
     ? not steady (service, throughput): throughput drifted −7.2 % over the window
       (95 %: −8.4 to −6.0 %), 5 % is allowed.
       → Give it a longer warm-up: --warmup 10s.
     ≥ client saturated (throughput): a worker was outside epoll_wait for 97 % of
       the window; 90 % is the limit.
       → Give the client more threads: -t 2.
    ");
}

#[test]
fn failures_come_first_when_they_are_a_reason() {
    let mut t = fixtures::closed();
    t.requests.failed = 12_400;
    t.errors = [("request_timeout".to_owned(), 12_400)].into();
    t.verdict.reasons =
        vec![fixtures::reason(prony_model::code::Code::Errors, &[], prony_model::trial::Effect::Note)];
    let out = trial(&t, &plain());
    assert!(out.starts_with("2.9 % FAILED    13,870 req/s"), "{out}");
}

#[test]
fn the_next_command_after_a_sustained_rate_is_a_higher_rate() {
    let mut t = fixtures::overloaded();
    t.outcome = prony_model::trial::Outcome::Carried;
    t.verdict.reasons.clear();
    let out = trial(&t, &TerminalOptions { target: Some(String::new()), ..plain() });
    assert!(out.ends_with(" Next  prony load -c 500 -R 32000 -d 30s\n"), "{out}");
}

#[test]
fn after_a_closed_load_of_a_list_a_search_by_it_is_named() {
    let mut trial = fixtures::closed();
    let list = RecordedList {
        format: prony_model::list::Format::Plain,
        lines: 2,
        requests: 2,
        order: Order::InTurn,
        fingerprint: "0".to_owned(),
        expecting: 0,
        servers: Vec::new(),
    };
    trial.plan.targets = Some(list);
    let shown = super::trial(&trial, &plain());
    assert!(shown.contains("prony capacity ") && shown.matches("--targets FILE").count() == 2, "{shown}");
}

#[test]
fn the_next_command_has_placeholders_for_redacted_headers() {
    let mut t = fixtures::closed();
    t.plan.headers = vec![("Authorization".into(), "[redacted]".into())];
    let out = trial(&t, &plain());
    assert!(out.contains(" -R 10000 -d 30s \\\n       -H 'Authorization: @env:AUTHORIZATION'\n"), "{out}");
}

#[test]
fn a_run() {
    insta::assert_snapshot!(experiment(&fixtures::experiment(), &plain()), @r"
    hyper leads: at least 9.4 × nginx-fpm at 50 connections
    9 candidates × 1 plan × 5 blocks = 45 trials: 39 valid, 5 lower bounds, 1 not
    counted
    3 min 42 s · seed 1 · server on CPU 1, client on CPU 0

     c50  50 connections, closed loop, GET /
     workers: 1 each
     rank    server            req/s  ±95 % vs nginx-fpm  p99 ms µs/req    MB
     1       hyper          ≥ 81,240  0.9 %         9.42   0.986   11.2  8.10
     2       go-net-http      52,310  1.3 %         6.06    2.38   18.4  21.4
     3–4     bjoern-bottle    17,020  2.1 %         1.97    3.74   57.1  34.9
     3–4     node-http        16,790  2.4 %         1.95    6.05   58.9  78.3
     5       nginx-fpm         8,628  1.2 %            1    9.14    114  58.2
     6–7     caddy-fpm         6,104  1.9 %        0.707    16.6    161  92.5
     6–7   ? apache-fpm        5,980  2.8 %        0.693    20.9    166  88.0
     8     ! php-server        5,322  1.7 %        0.617    11.1    187  29.7
     9       gunicorn          1,412  3.4 %        0.164       –    706  46.3
     ≥ hyper: client saturated in 5 of 5 trials: a worker was outside epoll_wait for
       98 % of the window
     ? apache-fpm: 4 of 5 trials count; host noisy in 1 of 5 trials: the hypervisor
       took 3.1 % of a core; 1 % is the limit
     ! php-server: 312 of 319,632 requests failed (0.1 %)
     at this noise, 5 blocks find a difference of 7.3 % in 4 of 5 runs; 2 % takes 39
     blocks, 5 % takes 9, 10 % takes more than 1,000

     skipped  nginx-unit: there is no package of it for Debian 12.
              prony servers install nginx-unit
     note  The run was interrupted once and resumed.
     ± 95 % intervals by Student's t on the log figures of the trials, each on a
       fresh server; ratios are paired within blocks.
     Reproduce  prony bench quickstart --seed 1
    ");
}

#[test]
fn a_run_with_a_published_source() {
    insta::assert_snapshot!(experiment(&fixtures::with_published(), &plain()), @r"
    hyper leads: at least 9.4 × nginx-fpm at 50 connections
    9 candidates × 1 plan × 5 blocks = 45 trials: 39 valid, 5 lower bounds, 1 not
    counted
    3 min 42 s · seed 1 · server on CPU 1, client on CPU 0

     c50  50 connections, closed loop, GET /
     workers: 1 each
     rank    server            req/s  ±95 % vs base    2023  p99 ms µs/req    MB
     1       hyper          ≥ 81,240  0.9 %    9.42       –   0.986   11.2  8.10
     2       go-net-http      52,310  1.3 %    6.06       –    2.38   18.4  21.4
     3–4     bjoern-bottle    17,020  2.1 %    1.97       –    3.74   57.1  34.9
     3–4     node-http        16,790  2.4 %    1.95    1.50    6.05   58.9  78.3
     5       nginx-fpm         8,628  1.2 %       1    1.00    9.14    114  58.2
     6–7     caddy-fpm         6,104  1.9 %   0.707       –    16.6    161  92.5
     6–7   ? apache-fpm        5,980  2.8 %   0.693       ?    20.9    166  88.0
     8     ! php-server        5,322  1.7 %   0.617       –    11.1    187  29.7
     9       gunicorn          1,412  3.4 %   0.164       –       –    706  46.3
     ≥ hyper: client saturated in 5 of 5 trials: a worker was outside epoll_wait for
       98 % of the window
     ? apache-fpm: 4 of 5 trials count; host noisy in 1 of 5 trials: the hypervisor
       took 3.1 % of a core; 1 % is the limit
     ! php-server: 312 of 319,632 requests failed (0.1 %)
     at this noise, 5 blocks find a difference of 7.3 % in 4 of 5 runs; 2 % takes 39
     blocks, 5 % takes 9, 10 % takes more than 1,000

     Fast & Furious: PHP, 2023 claims                  published            measured
     What the source concluded
     RoadRunner is a win-win: faster than nginx and     (1.40 ×)  HOLDS     1.94 ×
       FPM
     Our readings of its table
     Apache with FPM falls apart at a thousand         (0.200 ×)  FAILS     0.930 ×
       connections
     PHP-PM leaks memory                                     (–)  UNDECIDED
       php-pm did not run
     rank correlation with the source under c50: Kendall's tau-b 0.71 (0.31 to
     0.90), 7 candidates, 1 doubtful left out
     doubtful  apache-fpm: the author's own samples are 3,164, 1,409 and 1,423
     method  plow, 10,000 requests at each concurrency, median of 3
     not measured here  php-pm

     If your application uses 20 ms of CPU per request, the servers under c50 differ
     by at most 3.2 %.
     skipped  nginx-unit: there is no package of it for Debian 12.
              prony servers install nginx-unit
     note  The run was interrupted once and resumed.
     ± 95 % intervals by Student's t on the log figures of the trials, each on a
       fresh server; ratios are paired within blocks.
     Reproduce  prony bench quickstart --seed 1
    ");
}

/// What stands between the head and what is said of every run.
fn middle(analysis: &prony_analysis::experiment::ExperimentAnalysis) -> String {
    let shown = experiment(analysis, &plain());
    let lines: Vec<&str> = shown.lines().skip(4).take_while(|line| !line.contains("skipped")).collect();
    lines.join("\n")
}

#[test]
fn a_source_without_throughput_has_a_column_of_its_figure() {
    insta::assert_snapshot!(middle(&fixtures::with_times()), @r"
    c50  50 connections, closed loop, GET /
    workers: 1 each
    rank    server               req/s  ±95 % vs base 2020 p99  p99 ms µs/req    MB
    1       amphp:opcache     ≥ 81,240  0.9 %    9.42   1.00 ×   0.986   11.2  8.10
    2       amphp:jit           52,310  1.3 %    6.06  0.605 ×    2.38   18.4  21.4
    3–4     reactphp:opcache    17,020  2.1 %    1.97        –    3.74   57.1  34.9
    3–4     reactphp:jit        16,790  2.4 %    1.95        ?    6.05   58.9  78.3
    at this noise, 5 blocks find a difference of 7.3 % in 4 of 5 runs; 2 % takes 39
    blocks, 5 % takes 9, 10 % takes more than 1,000

    PHP8.0 JIT Benchmarks for Async PHP, 2020 claims  published            measured
    What the source concluded
    RoadRunner is a win-win: faster than nginx and     (1.40 ×)  HOLDS     1.94 ×
      FPM
    method  plow, 10,000 requests at each concurrency, median of 3
    facts  duration_s 40; php 8.0 alpha
    not measured here  php-pm

    If your application uses 20 ms of CPU per request, the servers under c50 differ
    by at most 3.2 %.
    ");
    insta::assert_snapshot!(middle(&fixtures::with_ramp()), @r"
    c50  50 connections, closed loop, GET /
    workers: 4 each; node-http 1
    rank    server              req/s  ±95 % vs base 2019 peak  p99 ms µs/req    MB
    1       reactphp-socket  ≥ 81,240  0.9 %    9.42  3,475/s?   0.986   11.2  8.10
    2       reactph…cket:ev    52,310  1.3 %    6.06         –    2.38   18.4  21.4
    3–4     node-http          17,020  2.1 %    1.97         –    3.74   57.1  34.9
    2019 failed  reactphp-socket ≥ 80 %?
    at this noise, 5 blocks find a difference of 7.3 % in 4 of 5 runs; 2 % takes 39
    blocks, 5 % takes 9, 10 % takes more than 1,000

    ReactPHP HTTP server performance, 2019 claims     published            measured
    What the source concluded
    More than 80 % of the requests fail under the     (≥ 80 %?)  HOLDS     93 %
      ramp
    method  plow, 10,000 requests at each concurrency, median of 3
    facts  duration_s 40; php 8.0 alpha
    not measured here  php-pm

    If your application uses 20 ms of CPU per request, the servers under c50 differ
    by at most 3.2 %.
    ");
}

#[test]
fn labels_that_differ_in_their_middle_stay_distinct() {
    let mut a = fixtures::with_ramp();
    for (row, in_the_middle) in a.plans[0].rows.iter_mut().zip(["ev", "uv"]) {
        row.candidate = format!("reactphp-socket:{in_the_middle}+opcache+tls");
    }
    let shown = middle(&a);
    let label = |rank: &str| {
        shown.lines().find(|line| line.trim_start().starts_with(rank))?.split_whitespace().nth(1)
    };
    let labels = ["1 ", "2 "].map(label);
    assert!(labels.iter().all(|label| label.is_some_and(|label| label.contains('…'))), "{shown}");
    assert_ne!(labels[0], labels[1], "{shown}");
}

#[test]
fn a_run_with_hostile_labels_and_a_candidate_without_figures() {
    insta::assert_snapshot!(experiment(&fixtures::hostile(), &plain()), @r#"
    a|b `c` <img src=x onerror=alert(1)> @everyone
    4 candidates × 1 plan × 5 blocks = 20 trials: 10 valid, 4 suspect, 5 not
    counted, 1 missing
    3 min 42 s · seed 1 · server and client not pinned · INTERRUPTED

     c"50' onload=x  50 connections, closed loop, GET /
     workers: 1 each
     rank    server                        req/s  ±95 % vs base  p99 ms µs/req    MB
     1       hyper                      ≥ 81,240  0.9 %    9.42   0.986   11.2  8.10
     2       <b onmouseov…cript> �[31m    52,310  1.3 %    6.06   > 2 s   18.4  21.4
     3–4   ! bjoern-bottle                17,020  2.1 %    1.97    3.74   57.1  34.9
     –     ✗ node-http                         –              –       –      –  78.3
     ≥ hyper: client saturated in 5 of 5 trials: a worker was outside epoll_wait for
       98 % of the window
     ! bjoern-bottle: overloaded in 3 of 5 trials: the wait for a connection grew to
       the end
     ✗ node-http: 0 of 5 trials count; broken in 5 of 5 trials: more than half of
       the requests failed; 90,000 of 90,010 requests failed (100 %); server died in
       5 of 5 trials: it ended with <signal 11> after 2 s
     at this noise, 5 blocks find a difference of 7.3 % in 4 of 5 runs; 2 % takes 39
     blocks, 5 % takes 9, 10 % takes more than 1,000

     skipped  nginx-unit: there is no package of it for Debian 12.
              prony servers install nginx-unit
     note  The run was interrupted once and resumed.
     ± 95 % intervals by Student's t on the log figures of the trials, each on a
       fresh server; ratios are paired within blocks.
     Reproduce  prony bench quickstart --seed 1
    "#);
}

#[test]
fn everything_fits_80_columns() {
    let beside = experiment(&fixtures::with_published(), &plain());
    assert!(widest(&beside) <= 80, "{beside}");
    let trials = [fixtures::closed(), fixtures::overloaded(), fixtures::broken(), fixtures::doubtful()];
    for text in trials.iter().map(|t| trial(t, &plain())) {
        assert!(widest(&text) <= 80, "{text}");
    }
    for a in [fixtures::experiment(), fixtures::hostile(), fixtures::with_times(), fixtures::with_ramp()] {
        let text = experiment(&a, &plain());
        assert!(widest(&text) <= 80, "{text}");
    }
}

#[test]
fn colour_does_not_change_the_layout() {
    let colored = TerminalOptions { color: true, ..plain() };
    let strip = |text: &str| {
        let mut parts = text.split('\x1b');
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |all, part| all + part.split_once('m').map_or(part, |(_, rest)| rest))
    };
    for t in [fixtures::closed(), fixtures::overloaded(), fixtures::broken(), fixtures::doubtful()] {
        let text = trial(&t, &colored);
        assert!(text.contains("\x1b[1"), "{text}");
        assert_eq!(strip(&text), trial(&t, &plain()));
    }
    let a = fixtures::experiment();
    assert_eq!(strip(&experiment(&a, &colored)), experiment(&a, &plain()));
}

#[test]
fn a_percentile_withheld_in_stages_advises_longer_stages() {
    let mut t = fixtures::closed();
    t.plan.stages = vec![prony_model::recorded_plan::RecordedStage {
        duration_ns: 33_000_000_000,
        to_rate_per_s: None,
        to_connections: Some(100),
    }];
    let shown = trial(&t, &plain());
    let unwrapped = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(unwrapped.contains("beyond it and has 42: use longer stages, 78s in total"), "{shown}");
    assert!(!shown.contains("-d "), "{shown}");
}

#[test]
fn a_watched_servers_host_has_its_interrupts_beside_it() {
    let watched = fixtures::on_two_hosts().results.swap_remove(0).server;
    let line = server_line(&prony_model::Trial { server: watched, ..fixtures::closed() }).unwrap();
    assert!(line.contains(", its host's interrupts ") && line.ends_with(" per request"), "{line}");
}

#[path = "plot_tests.rs"]
mod plot;
