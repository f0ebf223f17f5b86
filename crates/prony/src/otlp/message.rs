//! An ExportMetricsServiceRequest in OTLP's JSON: field names in lowerCamelCase, 64-bit integers as texts, enums as numbers
//! (OTLP specification 1.9, *JSON Protobuf Encoding*). Names are those of OpenTelemetry's semantic conventions for HTTP
//! where these have one; else they begin with `prony.`.

use std::collections::BTreeMap;

use prony_load::durations::{BOUNDS_MS, Durations};
use prony_load::{LastSecond, Snapshot};
use prony_model::Plan;
use prony_model::measurement::ErrorKind;
use prony_model::plan::Protocol;
use prony_model::rate::Rate;
use prony_model::run_log::PlannedTrial;
use serde_json::{Value, json};

const CUMULATIVE: u32 = 2;
/// Methods that the conventions know; others are `_OTHER`.
const METHODS: [&str; 10] =
    ["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE"];
/// What the conventions have for an error or a method that is not told apart.
const OTHER: &str = "_OTHER";

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Load {
    method: String,
    /// Its address and port; none of a list that names several.
    server: Option<(String, u16)>,
    version: &'static str,
    rate_per_s: Option<f64>,
    /// In an experiment: candidate, plan, and the trial's number.
    place: Option<(String, String, u32)>,
}

/// A load's last snapshot. Times are nanoseconds since 1970.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) load: Load,
    pub(super) start_ns: u64,
    pub(super) at_ns: u64,
    pub(super) snapshot: Snapshot,
    /// The window's responses; empty while the load runs.
    pub(super) statuses: BTreeMap<String, u64>,
}

impl Load {
    pub(super) fn of(planned: Option<&PlannedTrial>, plan: &Plan) -> Load {
        let is_known = plan.work.list().is_none() && METHODS.contains(&plan.work.method());
        Load {
            method: if is_known { plan.work.method() } else { OTHER }.to_owned(),
            server: (plan.origins().len() == 1).then(|| (plan.target.name().to_owned(), plan.target.port)),
            version: match plan.protocol {
                Protocol::Http1 => "1.1",
                Protocol::Http2 => "2",
            },
            rate_per_s: plan.arrivals.rate().map(Rate::as_per_s),
            place: planned.map(|planned| (planned.who(), planned.plan.clone(), planned.index)),
        }
    }

    fn attributes(&self) -> Vec<Value> {
        let mut all = vec![attribute("http.request.method", text(&self.method))];
        if let Some((address, port)) = &self.server {
            all.push(attribute("server.address", text(address)));
            all.push(attribute("server.port", whole((*port).into())));
        }
        all.push(attribute("network.protocol.version", text(self.version)));
        if let Some((candidate, plan, trial)) = &self.place {
            all.push(attribute("prony.candidate", text(candidate)));
            all.push(attribute("prony.plan", text(plan)));
            all.push(attribute("prony.trial", whole((*trial).into())));
        }
        all
    }
}

fn attribute(key: &str, value: Value) -> Value {
    let fields = [("key".to_owned(), key.into()), ("value".to_owned(), value)];
    Value::Object(fields.into_iter().collect())
}

fn text(value: &str) -> Value {
    json!({ "stringValue": value })
}

fn whole(value: u64) -> Value {
    json!({ "intValue": value.to_string() })
}

type Point = (Option<Value>, Value);

enum Kind {
    Histogram,
    Sum { is_monotonic: bool },
    Gauge,
}

/// A metric: its name, unit, kind, and the points of a load. docs/exports.md says what each is.
type Metric = (&'static str, &'static str, Kind, fn(&Stream) -> Vec<Point>);

const COUNTER: Kind = Kind::Sum { is_monotonic: true };

const METRICS: [Metric; 9] = [
    ("http.client.request.duration", "s", Kind::Histogram, durations),
    ("http.client.active_requests", "{request}", Kind::Sum { is_monotonic: false }, |stream| {
        int(Some(stream.snapshot.in_flight))
    }),
    ("prony.client.requests.sent", "{request}", COUNTER, |stream| int(Some(stream.snapshot.sent))),
    ("prony.client.requests.failed", "{request}", COUNTER, |stream| {
        let all = ErrorKind::ALL.iter().zip(stream.snapshot.failed_by_kind).filter(|(_, count)| *count > 0);
        all.map(|(kind, count)| (Some(attribute("error.type", text(kind.name()))), as_int(count))).collect()
    }),
    ("prony.client.responses", "{response}", COUNTER, |stream| {
        let own = |status: &String| attribute("http.response.status_code", json!({ "intValue": status }));
        stream.statuses.iter().map(|(status, count)| (Some(own(status)), as_int(*count))).collect()
    }),
    ("prony.client.requests.unsent", "{request}", Kind::Gauge, |stream| {
        int(last(stream).map(|second| second.never_sent))
    }),
    ("prony.client.lateness.mean", "s", Kind::Gauge, |stream| {
        real(last(stream).map(|second| seconds(second.lateness_mean_ns)))
    }),
    ("prony.client.response.p99", "s", Kind::Gauge, |stream| {
        real(last(stream).and_then(|second| second.p99_ns).map(seconds))
    }),
    ("prony.client.rate.offered", "{request}/s", Kind::Gauge, |stream| real(stream.load.rate_per_s)),
];

/// Response times of the window's finished seconds, of completed and of failed requests.
fn durations(stream: &Stream) -> Vec<Point> {
    let error = Some(attribute("error.type", text(OTHER)));
    let all = [(None, &stream.snapshot.durations), (error, &stream.snapshot.failed_durations)];
    let point = |of: &Durations| {
        json!({
            "count": of.count().to_string(),
            "sum": seconds(of.sum_ns),
            "bucketCounts": of.counts.map(|count| count.to_string()),
            "explicitBounds": BOUNDS_MS.map(|ms| ms as f64 / 1e3),
        })
    };
    all.into_iter().filter(|(_, of)| of.count() > 0).map(|(own, of)| (own, point(of))).collect()
}

fn last(stream: &Stream) -> Option<&LastSecond> {
    stream.snapshot.last_second.as_ref()
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn as_int(value: u64) -> Value {
    json!({ "asInt": value.to_string() })
}

fn int(value: Option<u64>) -> Vec<Point> {
    value.map(|value| (None, as_int(value))).into_iter().collect()
}

fn real(value: Option<f64>) -> Vec<Point> {
    value.map(|value| (None, json!({ "asDouble": value }))).into_iter().collect()
}

/// The whole request. `instance` tells this Prony from others.
pub(super) fn request(instance: &str, streams: &[&Stream]) -> Value {
    let version = env!("CARGO_PKG_VERSION");
    let metrics: Vec<Value> = METRICS.iter().filter_map(|metric| with_points(metric, streams)).collect();
    let resource =
        [("service.name", "prony"), ("service.version", version), ("service.instance.id", instance)];
    json!({ "resourceMetrics": [{
        "resource": { "attributes": resource.map(|(key, value)| attribute(key, text(value))) },
        "scopeMetrics": [{ "scope": { "name": "prony", "version": version }, "metrics": metrics }],
    }] })
}

/// A metric with the points that it has of these loads; `None` without any.
fn with_points((name, unit, kind, points_of): &Metric, streams: &[&Stream]) -> Option<Value> {
    let mut points = Vec::new();
    for stream in streams {
        for (own, mut point) in points_of(stream) {
            let attributes: Vec<Value> = stream.load.attributes().into_iter().chain(own).collect();
            point["attributes"] = attributes.into();
            point["startTimeUnixNano"] = stream.start_ns.to_string().into();
            point["timeUnixNano"] = stream.at_ns.to_string().into();
            points.push(point);
        }
    }
    let (kind, mut data) = match kind {
        Kind::Gauge => ("gauge", json!({})),
        Kind::Histogram => ("histogram", json!({ "aggregationTemporality": CUMULATIVE })),
        Kind::Sum { is_monotonic } => {
            ("sum", json!({ "aggregationTemporality": CUMULATIVE, "isMonotonic": is_monotonic }))
        }
    };
    let is_any = !points.is_empty();
    data["dataPoints"] = points.into();
    is_any.then(|| json!({ "name": name, "unit": unit, kind: data }))
}

#[cfg(test)]
pub(super) mod tests {
    use prony_model::Target;
    use prony_model::plan::Work;

    use super::*;

    pub(crate) fn load(trial: Option<u32>) -> Load {
        let plan = Plan::closed(Target::parse("http://me:pw@h:8080/?token=x").unwrap());
        let place = trial.map(|trial| ("a".to_owned(), "c50".to_owned(), trial));
        Load { place, ..Load::of(None, &plan) }
    }

    fn stream() -> Stream {
        let mut failed_by_kind = [0; ErrorKind::ALL.len()];
        failed_by_kind[ErrorKind::RequestTimeout as usize] = 1;
        let mut counts = [0; BOUNDS_MS.len() + 1];
        (counts[0], counts[14]) = (2, 1);
        let snapshot = Snapshot {
            sent: 9,
            in_flight: 5,
            failed_by_kind,
            durations: Durations { counts, sum_ns: 11_500_000_000 },
            ..Snapshot::default()
        };
        Stream { load: load(None), start_ns: 1, at_ns: u64::MAX, snapshot, statuses: BTreeMap::new() }
    }

    fn metric<'a>(request: &'a Value, name: &str) -> Option<&'a Value> {
        let metrics = request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array().unwrap();
        metrics.iter().find(|metric| metric["name"] == name)
    }

    #[test]
    fn a_request_is_as_otlp_has_it_in_json() {
        let stream = stream();
        let request = request("1-2", &[&stream]);
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(
            request["resourceMetrics"][0]["resource"],
            json!({ "attributes": [
                { "key": "service.name", "value": { "stringValue": "prony" } },
                { "key": "service.version", "value": { "stringValue": version } },
                { "key": "service.instance.id", "value": { "stringValue": "1-2" } },
            ] })
        );
        let own = [
            json!({ "key": "http.request.method", "value": { "stringValue": "GET" } }),
            json!({ "key": "server.address", "value": { "stringValue": "h" } }),
            json!({ "key": "server.port", "value": { "intValue": "8080" } }),
            json!({ "key": "network.protocol.version", "value": { "stringValue": "1.1" } }),
        ];
        let duration = metric(&request, "http.client.request.duration").unwrap();
        assert_eq!(
            duration["histogram"],
            json!({
                "aggregationTemporality": 2,
                "dataPoints": [{
                    "attributes": own,
                    "startTimeUnixNano": "1",
                    "timeUnixNano": "18446744073709551615",
                    "count": "3",
                    "sum": 11.5,
                    "bucketCounts": ["2", "0", "0", "0", "0", "0", "0", "0", "0", "0", "0", "0", "0", "0", "1"],
                    "explicitBounds":
                        [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0],
                }],
            })
        );
        assert_eq!(duration["unit"], "s");
        let failed = metric(&request, "prony.client.requests.failed").unwrap();
        let points = failed["sum"]["dataPoints"].as_array().unwrap();
        assert_eq!((points.len(), &points[0]["asInt"]), (1, &json!("1")));
        let name = ErrorKind::RequestTimeout.name();
        let kind = json!({ "key": "error.type", "value": { "stringValue": name } });
        assert_eq!(points[0]["attributes"].as_array().unwrap().last(), Some(&kind));
        let active = metric(&request, "http.client.active_requests").unwrap();
        assert_eq!(active["sum"]["isMonotonic"], false);
        assert_eq!(metric(&request, "prony.client.rate.offered"), None, "the arrivals are closed");
        assert!(!request.to_string().contains("token"), "{request}");
    }

    #[test]
    fn failed_requests_and_ended_trials_have_points() {
        let mut ended = stream();
        ended.snapshot.failed_durations.counts[3] = 4;
        ended.snapshot.last_second = Some(LastSecond { never_sent: 7, ..LastSecond::default() });
        ended.statuses = BTreeMap::from([("200".to_owned(), 3), ("404".to_owned(), 1)]);
        ended.load = load(Some(2));
        let request = request("", &[&ended, &stream()]);
        let points = |name: &str, kind: &str| {
            metric(&request, name).unwrap()[kind]["dataPoints"].as_array().unwrap().clone()
        };
        let durations = points("http.client.request.duration", "histogram");
        let counts: Vec<&Value> = durations.iter().map(|point| &point["count"]).collect();
        assert_eq!(counts, ["3", "4", "3"]);
        let attributes = durations[1]["attributes"].to_string();
        for part in ["\"_OTHER\"", "\"prony.candidate\"", "\"c50\"", "{\"intValue\":\"2\"}"] {
            assert!(attributes.contains(part), "{part}: {attributes}");
        }
        let responses = points("prony.client.responses", "sum");
        assert!(responses[1]["attributes"].to_string().contains("{\"intValue\":\"404\"}"), "{responses:?}");
        assert_eq!(points("prony.client.requests.unsent", "gauge")[0]["asInt"], "7");
    }

    #[test]
    fn methods_without_a_convention_are_other() {
        let mut plan = Plan::closed(Target::parse("http://h/").unwrap());
        plan.work = Work::Request("PURGE".to_owned());
        assert_eq!(Load::of(None, &plan).method, OTHER);
    }
}
