//! Every parser on an output of its tool's shape, with figures invented so that each is seen in one place only.

use super::*;
use crate::peers::tools::TOOLS;

fn claim(tool: &str, text: &str) -> Option<Claim> {
    TOOLS.iter().find(|one| one.name == tool).unwrap().read.claim(text)
}

fn figures(claim: Option<Claim>) -> (Option<u64>, Option<u64>, Option<u64>, Option<u64>) {
    let claim = claim.expect("the output was not understood");
    (claim.requests, claim.p50_ns, claim.p75_ns, claim.p90_ns)
}

#[test]
fn wrk_prints_percentiles_with_units() {
    let text = "Running 2s test @ http://127.0.0.1:1/\n  1 threads and 100 connections\n  \
                Thread Stats   Avg      Stdev     Max   +/- Stdev\n    \
                Latency   611.01us  222.10us  9.99ms   75.01%\n    \
                Req/Sec   150.01k     4.02k  160.00k    68.75%\n  \
                Latency Distribution\n     50%  601.00us\n     75%    1.25ms\n     90%    1.50s \n     99%    1.10m \n  \
                300123 requests in 2.01s, 22.32MB read\nRequests/sec: 149314.93\nTransfer/sec:     11.11MB\n";
    assert_eq!(
        figures(claim("wrk", text)),
        (Some(300_123), Some(601_000), Some(1_250_000), Some(1_500_000_000))
    );
    assert_eq!(claim("wrk", "unable to connect to 127.0.0.1:1 Connection refused\n"), None);
}

#[test]
fn wrk2_has_more_digits_and_a_spectrum() {
    let text = "  Latency Distribution (HdrHistogram - Recorded Latency)\n 50.000%    1.02ms\n 75.000%    1.49ms\n \
                90.000%    2.11ms\n 99.000%    3.00ms\n100.000%    4.36ms\n\n  Detailed Percentile spectrum:\n       \
                Value   Percentile   TotalCount 1/(1-Percentile)\n\n       0.131     0.500000            1         1.00\n\
                #[Max     =        4.358, Total count    =         1980]\n\
                ----------------------------------------------------------\n  1981 requests in 2.00s, 150.90KB read\n";
    assert_eq!(figures(claim("wrk", text)), (Some(1_981), Some(1_020_000), Some(1_490_000), Some(2_110_000)));
}

#[test]
fn zrk_prints_json_in_microseconds() {
    let text = r#"{ "zrk_version": "1.4.2", "duration_s": 2.0, "requests": 2001,
        "latency_us": { "min": 50, "mean": 122.9, "p50": 108, "p75": 132, "p90": 179, "p99": 296 },
        "status_codes": { "2xx": 2001 } }"#;
    assert_eq!(figures(claim("zrk", text)), (Some(2_001), Some(108_000), Some(132_000), Some(179_000)));
}

#[test]
fn ab_counts_whole_milliseconds() {
    let text = "Concurrency Level:      100\nTime taken for tests:   2.000 seconds\nComplete requests:      310042\n\
                Failed requests:        0\nKeep-Alive requests:    310042\n\n\
                Percentage of the requests served within a certain time (ms)\n  50%      3\n  66%      4\n  75%      5\n  \
                80%      6\n  90%     23\n 100%     30 (longest request)\n";
    assert_eq!(
        figures(claim("ab", text)),
        (Some(310_042), Some(3_000_000), Some(5_000_000), Some(23_000_000))
    );
}

#[test]
fn hey_prints_seconds_and_statuses() {
    let text = "\nSummary:\n  Total:\t2.0011 secs\n  Requests/sec:\t31021.6855\n\nLatency distribution:\n  \
                10% in 0.0001 secs\n  50% in 0.0030 secs\n  75% in 0.0031 secs\n  90% in 0.0232 secs\n\n\
                Status code distribution:\n  [200]\t62000 responses\n  [503]\t78 responses\n";
    assert_eq!(
        figures(claim("hey", text)),
        (Some(62_078), Some(3_000_000), Some(3_100_000), Some(23_200_000))
    );
    assert_eq!(claim("hey", "usage: hey"), None);
}

#[test]
fn h2load_counts_only() {
    let text = "starting benchmark...\nfinished in 2.00s, 544592.00 req/s, 40.51MB/s\n\
                requests: 544592 total, 544752 started, 544590 done, 544590 succeeded, 0 failed, 0 errored, 0 timeout\n";
    assert_eq!(figures(claim("h2load", text)), (Some(544_590), None, None, None));
}

#[test]
fn bombardier_prints_json_in_microseconds() {
    let text = r#"{"spec":{"numberOfConnections":10},"result":{"bytesRead":9,"req1xx":0,"req2xx":87416,"req3xx":0,
        "req4xx":2,"req5xx":0,"others":1,"latency":{"mean":113.3,"percentiles":{"50":103,"75":142,"90":180}}}}"#;
    assert_eq!(
        figures(claim("bombardier", text)),
        (Some(87_419), Some(103_000), Some(142_000), Some(180_000))
    );
}

#[test]
fn oha_prints_json_in_seconds() {
    let text = r#"{"summary":{"successRate":1.0},"latencyPercentiles":{"p10":0.1,"p50":0.000118196,"p75":0.000164205,
        "p90":0.0001999},"statusCodeDistribution":{"200":51859,"500":1},"errorDistribution":{"aborted":10}}"#;
    assert_eq!(figures(claim("oha", text)), (Some(51_860), Some(118_196), Some(164_205), Some(199_900)));
}

#[test]
fn rewrk_has_no_percentile_worth_the_name() {
    let text = r#"{"latency_avg":0.17,"latency_max":6.7,"requests_avg":58662.9,"requests_total":58503}"#;
    assert_eq!(figures(claim("rewrk", text)), (Some(58_503), None, None, None));
}

#[test]
fn plow_prints_json_with_units() {
    let text = "Benchmarking http://127.0.0.1:1/ for 2s using 10 connection(s).\n{\n  \"Summary\": { \"Count\": 86163 },\n  \
                \"Percentiles\": { \"P50\": \"83µs\", \"P75\": \"1.124ms\", \"P90\": \"2s\", \"P99.9\": \"4.31ms\" }\n}\n";
    assert_eq!(
        figures(claim("plow", text)),
        (Some(86_163), Some(83_000), Some(1_124_000), Some(2_000_000_000))
    );
}

#[test]
fn autocannon_prints_json_in_whole_milliseconds() {
    let text = r#"{"url":"http://127.0.0.1:1/","2xx":45611,"3xx":0,"latency":{"p2_5":0,"p50":3,"p75":4,"p90":23},
        "requests":{"total":45611,"sent":45621}}"#;
    assert_eq!(
        figures(claim("autocannon", text)),
        (Some(45_611), Some(3_000_000), Some(4_000_000), Some(23_000_000))
    );
}

#[test]
fn vegeta_prints_json_in_nanoseconds() {
    let text = r#"{"latencies":{"total":66,"mean":19,"50th":156310,"90th":315752,"95th":371389},"requests":34310,
        "status_codes":{"0":8,"200":34302},"errors":["EOF"]}"#;
    assert_eq!(figures(claim("vegeta", text)), (Some(34_302), Some(156_310), None, Some(315_752)));
}

#[test]
fn k6_writes_json_in_milliseconds() {
    let text = r#"{"root_group":{},"metrics":{"http_reqs":{"count":19179,"rate":9.5},
        "http_req_duration":{"p(50)":0.296562,"p(75)":0.490161,"p(90)":0.8612142}}}"#;
    assert_eq!(figures(claim("k6", text)), (Some(19_179), Some(296_562), Some(490_161), Some(861_214)));
}

#[test]
fn prony_has_more_to_say() {
    let text = r#"{"schema":"prony.trial/1","run_total":{"sent":9,"completed":8},"latency":{
        "response":{"clock":"kernel","p50_ns":70000,"p75_ns":80000,"p90_ns":null},
        "service":{"clock":"kernel","p50_ns":12000},"send_lag":{"clock":"user","p50_ns":400}}}"#;
    let claim = claim("prony", text).unwrap();
    assert_eq!((claim.requests, claim.p50_ns, claim.p90_ns), (Some(8), Some(70_000), None));
    assert_eq!((claim.service_p50_ns, claim.send_lag_p50_ns), (Some(12_000), Some(400)));
    assert_eq!(claim.clock.as_deref(), Some("kernel"));
}

#[test]
fn the_floor_has_a_median_where_it_has_a_rate() {
    assert_eq!(figures(claim("floor", "{\"requests\": 12}\n")), (Some(12), None, None, None));
    assert_eq!(
        figures(claim("floor", "{\"requests\": 12, \"p50_ns\": 41000}\n")),
        (Some(12), Some(41_000), None, None)
    );
}

#[test]
fn an_output_of_something_else_is_none() {
    for tool in &TOOLS {
        for text in ["", "error: no such option\n", "{}", "{\"requests\"", "[1, 2"] {
            assert_eq!(tool.read.claim(text), None, "{} of {text:?}", tool.name);
        }
    }
}
