//! `--otlp`: a run's metrics at a collector.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::needs::{Need, has};
use crate::world::{Said, TargetProcess, World, interrupt, serve, wait_until};

/// What a collector is sent: each request's head, and its body.
type Sent = Arc<Mutex<Vec<(String, String)>>>;

/// A collector that answers everything with this status and JSON.
fn collector(status: &'static str, answer: &'static str) -> (SocketAddr, Sent) {
    let sent = Sent::default();
    let kept = Arc::clone(&sent);
    let address = serve(0, move |stream| take(stream, status, answer, &kept));
    (address, sent)
}

fn take(mut stream: TcpStream, status: &str, answer: &str, sent: &Sent) {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        bytes.push(byte[0]);
    }
    let head = String::from_utf8(bytes).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    sent.lock().unwrap().push((head, String::from_utf8(body).unwrap()));
    let length = answer.len();
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n{answer}").unwrap();
}

/// The points of a metric of this name in a request.
fn points(body: &str, name: &str) -> Vec<Value> {
    let request: Value = serde_json::from_str(body).unwrap();
    let metrics = request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array().unwrap();
    let metric = metrics.iter().find(|metric| metric["name"] == name);
    let data = |metric: &Value| {
        ["histogram", "sum", "gauge"].iter().find_map(|kind| metric[kind]["dataPoints"].as_array().cloned())
    };
    metric.and_then(data).unwrap_or_default()
}

fn attribute<'a>(point: &'a Value, key: &str) -> Option<&'a str> {
    let all = point["attributes"].as_array().unwrap();
    let value = &all.iter().find(|attribute| attribute["key"] == key)?["value"];
    value["stringValue"].as_str().or_else(|| value["intValue"].as_str())
}

fn number(value: &Value) -> u64 {
    value.as_str().unwrap().parse().unwrap()
}

/// Finished requests by a body's histograms, which must add up.
fn finished(body: &str) -> u64 {
    let all = points(body, "http.client.request.duration");
    for point in &all {
        let buckets = point["bucketCounts"].as_array().unwrap();
        assert_eq!(buckets.iter().map(number).sum::<u64>(), number(&point["count"]));
        assert_eq!(buckets.len(), point["explicitBounds"].as_array().unwrap().len() + 1);
        assert!(number(&point["startTimeUnixNano"]) <= number(&point["timeUnixNano"]));
    }
    all.iter().map(|point| number(&point["count"])).sum()
}

fn load(world: &World, url: &str, otlp: &str, more: &[&str]) -> Said {
    let line = ["load", url, "-q", "--json", "r.json", "--warmup", "0", "--otlp", otlp];
    world.prony(&[&line[..], more].concat())
}

#[test]
fn the_last_counts_at_a_collector_are_those_of_the_result() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    let (address, sent) = collector("200 OK", "{}");
    let otlp = format!("http://{address}");
    let line = ["load", &target.url(), "-R", "400", "-d", "600s", "--warmup", "0", "-q", "--json", "r.json"];
    let mut load = world.command(&[&line[..], &["--otlp", &otlp]].concat());
    let load = load.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("exports during the load", || sent.lock().unwrap().len() >= 2);
    interrupt(load.id());
    let said = Said::from(load.wait_with_output().unwrap());
    assert_eq!(said.code, Some(130), "{said:?}");
    assert!(said.err.contains(&format!("OTLP metrics: http://{address}/v1/metrics")), "{said:?}");
    let result: Value = serde_json::from_str(&world.read("r.json")).unwrap();
    let sent = sent.lock().unwrap();
    assert!(sent.len() >= 3, "the last one, too: {}", sent.len());
    for (head, _) in sent.iter() {
        assert!(head.starts_with("POST /v1/metrics HTTP/1.1\r\n"), "{head}");
        assert!(head.contains("\r\nContent-Type: application/json\r\n"), "{head}");
    }
    let counts: Vec<u64> = sent.iter().map(|(_, body)| finished(body)).collect();
    assert!(counts.is_sorted() && counts[0] > 0, "{counts:?}");
    let requests = &result["requests"];
    let ended = requests["completed"].as_u64().unwrap() + requests["failed"].as_u64().unwrap();
    assert_eq!(counts.last(), Some(&ended));
    let last = &sent.last().unwrap().1;
    let point = &points(last, "http.client.request.duration")[0];
    assert_eq!(attribute(point, "server.port"), Some(target.address.port().to_string().as_str()));
    assert_eq!(attribute(point, "http.request.method"), Some("GET"));
    let ok = &points(last, "prony.client.responses")[0];
    assert_eq!(attribute(ok, "http.response.status_code"), Some("200"));
    assert_eq!(number(&ok["asInt"]), result["status"]["200"].as_u64().unwrap());
    assert_eq!(points(last, "prony.client.rate.offered")[0]["asDouble"], 400.0);
    is_read_by_opentelemetry(last, ended);
}

/// Has OpenTelemetry's own messages read a body, strictly.
fn is_read_by_opentelemetry(body: &str, finished: u64) {
    if !has("a request of --otlp, read by OpenTelemetry's messages", &[Need::Otlp]) {
        return;
    }
    const PROGRAM: &str = "
import sys
from google.protobuf.json_format import Parse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest as Request
from opentelemetry.proto.metrics.v1.metrics_pb2 import AGGREGATION_TEMPORALITY_CUMULATIVE
[of] = Parse(sys.stdin.read(), Request()).resource_metrics
assert {a.key: a.value.string_value for a in of.resource.attributes}['service.name'] == 'prony'
[scope] = of.scope_metrics
[duration] = [m.histogram for m in scope.metrics if m.name == 'http.client.request.duration']
assert duration.aggregation_temporality == AGGREGATION_TEMPORALITY_CUMULATIVE
print(sum(p.count for p in duration.data_points))
";
    let read = |body: &str| {
        let mut python = Command::new("python3");
        let python = python.args(["-c", PROGRAM]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut python = python.stderr(Stdio::piped()).spawn().unwrap();
        python.stdin.take().unwrap().write_all(body.as_bytes()).unwrap();
        python.wait_with_output().unwrap()
    };
    let right = read(body);
    assert_eq!(String::from_utf8_lossy(&right.stdout).trim(), finished.to_string(), "{right:?}");
    let wrong = read(&body.replace("\"bucketCounts\"", "\"buckets\""));
    assert!(!wrong.status.success(), "{wrong:?}");
}

#[test]
fn failed_requests_have_a_histogram_and_their_kind() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    let (address, sent) = collector("200 OK", "{\"partialSuccess\":{}}");
    let said =
        load(&world, &target.url(), &format!("http://{address}"), &["-n", "60", "--expect-status", "204"]);
    // Nothing was completed.
    assert_eq!(said.code, Some(3), "{said:?}");
    let sent = sent.lock().unwrap();
    let body = &sent.last().unwrap().1;
    assert_eq!(finished(body), 60);
    let [duration] = &points(body, "http.client.request.duration")[..] else { panic!("{body}") };
    assert_eq!(attribute(duration, "error.type"), Some("_OTHER"));
    let [failed] = &points(body, "prony.client.requests.failed")[..] else { panic!("{body}") };
    assert_eq!(number(&failed["asInt"]), 60);
    assert!(!said.err.contains("failed"), "{said:?}");
}

#[test]
fn a_collector_that_does_not_take_them_costs_one_note() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    // Nobody listens on a port that was free a moment ago.
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (unwell, _) = collector("503 Service Unavailable", "{}");
    let rejecting = "{\"partialSuccess\":{\"rejectedDataPoints\":\"7\",\"errorMessage\":\"too many\"}}";
    let (rejecting, _) = collector("200 OK", rejecting);
    for (address, why) in [
        (free, "connection refused"),
        (unwell, "It responded with status 503."),
        (rejecting, "It rejected 7 data points: too many."),
    ] {
        let otlp = format!("http://me:s3cretword@{address}");
        let said = load(&world, &target.url(), &otlp, &["-n", "100"]);
        assert_eq!(said.code, Some(0), "{said:?}");
        let expected = format!("exports to http://{address}/v1/metrics failed. The last time: ");
        assert_eq!(said.err.matches(&expected).count(), 1, "{said:?}");
        assert!(said.err.contains(why), "{said:?}");
        assert!(!said.err.contains("s3cretword"), "{said:?}");
        let result: Value = serde_json::from_str(&world.read("r.json")).unwrap();
        assert_eq!(result["requests"]["completed"], 100);
    }
}

#[test]
fn a_silent_collector_holds_up_the_end_for_a_bounded_time() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    // Its listener's queue takes the connection, and nobody reads.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let otlp = format!("http://{}", silent.local_addr().unwrap());
    let said = load(&world, &target.url(), &otlp, &["-n", "100"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.err.contains("No complete response within 2 s."), "{said:?}");
}

#[test]
fn credentials_of_the_url_are_sent_and_wrong_urls_refused() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    let (address, sent) = collector("200 OK", "{}");
    let otlp = format!("http://me:@env:OTLP_PASSWORD@{address}/otlp/v1/metrics");
    let mut command = world.command(&["load", &target.url(), "-n", "50", "-q", "--otlp", &otlp]);
    let said = Said::from(command.env("OTLP_PASSWORD", "pw").output().unwrap());
    assert_eq!(said.code, Some(0), "{said:?}");
    let (head, _) = &sent.lock().unwrap()[0];
    assert!(head.starts_with("POST /otlp/v1/metrics HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("\r\nAuthorization: Basic bWU6cHc=\r\n"), "{head}");
    let before = target.ledger()["requests_received"].clone();
    let url = target.url();
    for (line, why) in [
        (&["load", &url, "-n", "10", "--otlp", "grpc://h:4317"][..], "--otlp: grpc:// is not a scheme"),
        (
            &["bench", "--candidate", &format!("a={url}"), "-n", "10", "--otlp", "h"],
            "--otlp: \"h\" has no scheme",
        ),
        (&["load", &url, "-n", "10", "--repeat", "2", "--otlp", "http://h"], "--otlp shows one load"),
    ] {
        let said = world.prony(line);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.err.contains(why), "{said:?}");
    }
    assert_eq!(target.ledger()["requests_received"], before);
}

#[test]
fn each_trial_of_a_bench_ends_with_its_own_counts() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    let (address, sent) = collector("200 OK", "{}");
    let (a, b) = (format!("a={}", target.url()), format!("b={}", target.url()));
    let otlp = format!("http://{address}");
    let line = ["bench", "--candidate", &a, "--candidate", &b, "-n", "200", "-c", "2", "--blocks", "2"];
    let said = world.prony(&[&line[..], &["-q", "-o", "r.jsonl", "--otlp", &otlp]].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    let sent = sent.lock().unwrap();
    for result in world.lines("r.jsonl", "result") {
        let trial = result["index"].to_string();
        let of_it = |point: &Value| attribute(point, "prony.trial") == Some(&trial);
        let mut all = sent.iter().flat_map(|(_, body)| points(body, "http.client.request.duration"));
        let last = all.rfind(of_it).unwrap();
        assert_eq!(attribute(&last, "prony.candidate"), result["candidate"].as_str());
        assert_eq!(number(&last["count"]), result["trial"]["requests"]["completed"].as_u64().unwrap());
    }
}
