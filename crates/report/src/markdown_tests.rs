use super::*;
use crate::fixtures;

#[test]
fn hostile_texts_are_escaped() {
    assert_eq!(text("a|b\nc"), r"a\|b c");
    assert_eq!(text("<script>&`x`"), r"&lt;script&gt;&amp;\`x\`");
    assert_eq!(text("@everyone see http://evil.example"), r"@<!-- -->everyone see http\://evil.example");
    assert_eq!(text("[a](b) amphp:jit+ev"), r"\[a\](b) amphp:jit+ev");
    assert_eq!(code("a `b` ``c``"), "``` a `b` ``c`` ```");
}

#[test]
fn all_rows_of_a_table_have_equally_many_cells() {
    let out = experiment(&fixtures::hostile());
    let bars = |line: &str| line.replace(r"\|", "").matches('|').count();
    let counts: Vec<usize> = out.lines().filter(|l| l.starts_with('|')).map(bars).collect();
    assert!(counts.len() >= 3 && counts.iter().all(|n| *n == counts[0]), "{out}");
}

#[test]
fn a_run_for_a_pull_request() {
    insta::assert_snapshot!(experiment(&fixtures::hostile()), @r#"
    ### &lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;

    **a\|b \`c\` &lt;img src=x onerror=alert(1)&gt; @<!-- -->everyone**

    4 candidates × 1 plan × 5 blocks = 20 trials: 10 valid, 4 suspect, 5 not counted, 1 missing  
    3 min 42 s · seed 1 · server and client not pinned · INTERRUPTED

    #### c"50' onload=x: 50 connections, closed loop, GET /

    Workers: 1 each

    | rank | server | req/s | ±95 % | vs nginx-fpm | p50 ms | p99 ms | CPU µs/req | peak MB | first byte p50 ms | first byte p99 ms | failed | trials |
    | :--- | :--- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
    | 1 | hyper | ≥ 81,240 | ±0.9 % | 9.42 ±1.2 % | 0.580 | 0.986 | 11.2 | 8.10 | – | – | 0 | 5/5 |
    | 2 | &lt;b onmouseover="x"&gt;\|\` &lt;/script&gt; �\[31m | 52,310 | ±1.3 % | 6.06 ±1.7 % | 0.820 | &gt; 2 s | 18.4 | 21.4 | – | – | 0 | 5/5 |
    | 3–4 | bjoern-bottle | 17,020 | ±2.1 % | 1.97 ±2.7 % | 2.88 | 3.74 | 57.1 | 34.9 | – | – | 0 | 5/5 |
    | – | node-http | – | – | – | – | – | – | 78.3 | – | – | 90,000 | 0/5 |

    - **hyper**: client saturated in 5 of 5 trials: a worker was outside epoll\_wait for 98 % of the window
    - **bjoern-bottle**: overloaded in 3 of 5 trials: the wait for a connection grew to the end
    - **node-http**: 0 of 5 trials count; broken in 5 of 5 trials: more than half of the requests failed; 90,000 of 90,010 requests failed (100 %); server died in 5 of 5 trials: it ended with &lt;signal 11&gt; after 2 s
    - at this noise, 5 blocks find a difference of 7.3 % in 4 of 5 runs; 2 % takes 39 blocks, 5 % takes 9, 10 % takes more than 1,000

    - Skipped: **nginx-unit**: there is no package of it for Debian 12. – `prony servers install nginx-unit`
    - Note: The run was interrupted once and resumed.
    - ± 95 % intervals by Student's t on the log figures of the trials, each on a fresh server; ratios are paired within blocks.

    Reproduce: `prony bench quickstart --seed 1`

    Host: AMD EPYC 7763 64-Core Processor, Linux 6.18.0, Debian GNU/Linux 12 (bookworm), 2 CPUs
    "#);
}

#[test]
fn interrupts_have_a_column_where_the_servers_host_is_another() {
    let shown = |log: &RunLog| experiment(&analyse(log));
    assert!(shown(&fixtures::on_two_hosts()).contains(" | first byte p99 ms | irq µs/req | failed | "));
    assert!(!shown(&fixtures::run()).contains("irq"));
}

#[test]
fn a_sources_figures_are_in_the_table() {
    let tables = |analysis: &ExperimentAnalysis| -> String {
        let shown = experiment(analysis);
        let lines =
            shown.lines().skip_while(|l| !l.starts_with("####")).take_while(|l| !l.starts_with("- Skip"));
        lines.collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(tables(&fixtures::with_times()), @r"
    #### c50: 50 connections, closed loop, GET /

    Workers: 1 each

    | rank | server | req/s | ±95 % | vs amphp:opcache | 2020 p99 | p50 ms | p99 ms | CPU µs/req | peak MB | first byte p50 ms | first byte p99 ms | failed | trials |
    | :--- | :--- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
    | 1 | amphp:opcache | ≥ 81,240 | ±0.9 % | 9.42 ±1.2 % | 1.00 × | 0.580 | 0.986 | 11.2 | 8.10 | – | – | 0 | 5/5 |
    | 2 | amphp:jit | 52,310 | ±1.3 % | 6.06 ±1.7 % | 0.605 × | 0.820 | 2.38 | 18.4 | 21.4 | – | – | 0 | 5/5 |
    | 3–4 | reactphp:opcache | 17,020 | ±2.1 % | 1.97 ±2.7 % | – | 2.88 | 3.74 | 57.1 | 34.9 | – | – | 0 | 5/5 |
    | 3–4 | reactphp:jit | 16,790 | ±2.4 % | 1.95 ±3.1 % | ? | 2.75 | 6.05 | 58.9 | 78.3 | – | – | 0 | 5/5 |

    - at this noise, 5 blocks find a difference of 7.3 % in 4 of 5 runs; 2 % takes 39 blocks, 5 % takes 9, 10 % takes more than 1,000

    #### PHP8.0 JIT Benchmarks for Async PHP, 2020 claims

    **What the source concluded**

    | claim | published |  | measured |
    | :--- | ---: | :--- | ---: |
    | RoadRunner is a win-win: faster than nginx and FPM | (1.40 ×) | HOLDS | 1.94 × |

    - Method: plow, 10,000 requests at each concurrency, median of 3
    - Facts: duration\_s 40; php 8.0 alpha
    - Not measured here: php-pm

    If your application uses 20 ms of CPU per request, the servers under c50 differ by at most 3.2 %.
    ");
    insta::assert_snapshot!(tables(&fixtures::with_ramp()), @r"
    #### c50: 50 connections, closed loop, GET /

    Workers: 4 each; node-http 1

    | rank | server | req/s | ±95 % | vs reactphp-socket | 2019 peak | 2019 failed | p50 ms | p99 ms | CPU µs/req | peak MB | first byte p50 ms | first byte p99 ms | failed | trials |
    | :--- | :--- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
    | 1 | reactphp-socket | ≥ 81,240 | ±0.9 % | 9.42 ±1.2 % | 3,475/s? | ≥ 80 %? | 0.580 | 0.986 | 11.2 | 8.10 | – | – | 0 | 5/5 |
    | 2 | reactphp-socket:ev | 52,310 | ±1.3 % | 6.06 ±1.7 % | – | – | 0.820 | 2.38 | 18.4 | 21.4 | – | – | 0 | 5/5 |
    | 3–4 | node-http | 17,020 | ±2.1 % | 1.97 ±2.7 % | – | – | 2.88 | 3.74 | 57.1 | 34.9 | – | – | 0 | 5/5 |

    - at this noise, 5 blocks find a difference of 7.3 % in 4 of 5 runs; 2 % takes 39 blocks, 5 % takes 9, 10 % takes more than 1,000

    #### ReactPHP HTTP server performance, 2019 claims

    **What the source concluded**

    | claim | published |  | measured |
    | :--- | ---: | :--- | ---: |
    | More than 80 % of the requests fail under the ramp | (≥ 80 %?) | HOLDS | 93 % |

    - Method: plow, 10,000 requests at each concurrency, median of 3
    - Facts: duration\_s 40; php 8.0 alpha
    - Not measured here: php-pm

    If your application uses 20 ms of CPU per request, the servers under c50 differ by at most 3.2 %.
    ");
}

#[test]
fn a_trial_for_a_pull_request() {
    insta::assert_snapshot!(trial(&fixtures::doubtful()), @r"
    **≥ 13,870? req/s ±0.4 %, p50 6.98 ms?, p99 –, 0 failed** – SUSPECT, INTERRUPTED

    GET / · 100 connections, closed loop · 4.2 s of 30.0 s after 3.0 s warm-up

    | ms | p50 | p75 | p90 | p95 | p99 | p99.9 | p99.99 | max |
    | :--- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
    | response | 6.98 | 7.31 | 7.86 | 8.40 | 9.61 | 14.2 | – | 56.0 |
    | service? | 6.98 | 7.31 | 7.86 | 8.40 | – | – | – | 56.0 |
    | first byte? | 6.98 | 7.31 | 7.86 | 8.40 | 9.61 | 14.2 | – | 56.0 |
    | client delay | 0.031 | 0.038 | 0.048 | 0.066 | 0.113 | 0.241 | – | 0.610 |

    - **client saturated**: a worker was outside epoll\_wait for 97 % of the window; 90 % is the limit. → Give the client more threads: -t 2.
    - **not steady**: throughput drifted −7.2 % over the window (95 %: −8.4 to −6.0 %), 5 % is allowed. → Give it a longer warm-up: --warmup 10s.
    ");
}

#[test]
fn a_broken_trial_lists_its_errors() {
    insta::assert_snapshot!(trial(&fixtures::broken()), @r"
    **31.3 req/s, p50 &gt; 2 s, p99 &gt; 2 s, 51,200 failed** – BROKEN, VALID

    GET / · 100 connections, closed loop · 30.0 s after 3.0 s warm-up

    | ms | p50 | p75 | p90 | p95 | p99 | p99.9 | p99.99 | max |
    | :--- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
    | response | &gt; 2 s | – | – | – | &gt; 2 s | – | – | 56.0 |
    | service | &gt; 2 s | – | – | – | &gt; 2 s | – | – | 56.0 |
    | first byte | 6.98 | 7.31 | 7.86 | 8.40 | 9.61 | 14.2 | – | 56.0 |

    - 3,200 × reset: Connection reset by peer (os error 104)
    - 48,000 × unexpected status: 502 Bad Gateway�\[2J
    - **errors**: 98 % of the requests failed; over 50 % is broken. → See what one request is told.
    ");
}

#[test]
fn a_twin_stands_below_its_plans_table() {
    let mut run = fixtures::experiment();
    run.plans[0].twin = Some(fixtures::twin());
    run.trials.planned = 50;
    let said =
        "twin of nginx-fpm: not told apart (±2.1 %); a planted 3 % would be found in 4 of 5 runs like this";
    let (markdown, terminal) = (experiment(&run), crate::terminal::experiment(&run, &Default::default()));
    assert!(markdown.contains(&format!("\n- {said}\n")), "{markdown}");
    assert!(markdown.contains("9 candidates and a twin × 1 plan × 5 blocks = 50 trials"), "{markdown}");
    let terminal = terminal.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(terminal.contains(said), "{terminal}");
}

#[test]
fn a_comparison_begins_with_its_answer_and_folds_the_unasked() {
    let compared = analyse(&fixtures::duet()).duet.unwrap();
    let terminal = |all| crate::terminal::comparison(&compared, all, &Default::default());
    let (folded, all) = (terminal(false), terminal(true));
    let answer = compared.headline.split_whitespace().next().unwrap();
    assert!(
        folded.starts_with(answer) && comparison(&compared, false).starts_with(&format!("**{answer}")),
        "{folded}"
    );
    let shown = |text: &str| text.contains("start-up ms");
    assert!(!shown(&folded) && shown(&all), "{folded}{all}");
    assert!(folded.contains("Also measured: startup") && folded.contains("(--all shows them)"), "{folded}");
    let markdown = comparison(&compared, false);
    let (above, below) = markdown.split_once("<details><summary>Also measured: startup").unwrap();
    assert!(!shown(above) && shown(below), "{markdown}");
}

#[test]
fn a_forced_comparison_says_loudly_and_first_that_it_is_none() {
    let mut forced = analyse(&fixtures::duet()).duet.unwrap();
    forced.not_comparable = vec!["the kernel is 6.1 in one and 6.2 in the other".to_owned()];
    let (markdown, terminal) =
        (comparison(&forced, false), crate::terminal::comparison(&forced, false, &Default::default()));
    let said = "\n\n- **NOT COMPARABLE, compared because of --force: the kernel is 6.1 in one and 6.2 in the other**\n\n";
    assert!(markdown.find(said).unwrap() < markdown.find("\n| ").unwrap(), "{markdown}");
    assert!(terminal.find("✗ NOT COMPARABLE").unwrap() < terminal.find("A/A").unwrap(), "{terminal}");
}

#[test]
fn plots_are_files_beside_the_markdown_that_shows_them() {
    let log = fixtures::run();
    let (with, files) = with_plots(&log, "three");
    assert_eq!(files[0].0, "three-1.svg");
    for (name, svg) in &files {
        assert!(with.contains(&format!("]({name})\n")), "{name}: {with}");
        assert!(roxmltree::Document::parse(svg).unwrap().root_element().has_tag_name("svg"));
    }
    // But for them it is the Markdown of the run.
    let pictures = |line: &&str| !line.starts_with("![");
    let without: Vec<&str> = with.lines().filter(pictures).filter(|line| !line.is_empty()).collect();
    let plain = experiment(&analyse(&log));
    let plain: Vec<&str> = plain.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(without, plain);
    assert!(!plain.iter().any(|line| line.contains(".svg")));
}
