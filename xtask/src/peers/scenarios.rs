//! What is compared: each scenario's server, load, tools and figures.

use super::figures::Figure;
use super::lines::Load;
use super::server::Kind;

/// Of a subject, which is a tool's name with a flag or with what stands for one.
pub(super) fn tool_of(subject: &str) -> &str {
    subject.split(' ').next().unwrap_or_default()
}

pub(super) fn flag_of(subject: &str) -> Option<&str> {
    subject.split(' ').nth(1).map(|word| match word {
        // The bodies are dropped by the kernel.
        "MSG_TRUNC" => "--drop-bodies",
        // With what a measurement of each request needs.
        "measuring" => "--measuring",
        flag => flag,
    })
}

#[derive(Debug)]
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) server: Kind,
    pub(super) load: Load,
    pub(super) ours: &'static [&'static str],
    /// Those that a bar names, or that are nearest: every round.
    pub(super) near: &'static [&'static str],
    /// The others: [`Scenario::far_rounds`].
    pub(super) far: &'static [&'static str],
    /// Most rounds of the near, for figures that hardly vary.
    pub(super) near_rounds_max: u32,
    /// Rounds of the far. From six on a median has an interval.
    pub(super) far_rounds: u32,
    /// The columns; the first is the one that ratios are of.
    pub(super) figures: &'static [Figure],
    /// A run counts if its client used at least this share of its CPU.
    pub(super) busy_min: Option<f64>,
    pub(super) note: &'static str,
}

const CLOSED: Load =
    Load { connections: 100, rate_per_s: None, pipeline: 1, keepalive: true, http2: false, seconds: 2 };
const OPEN: Load = Load { connections: 10, rate_per_s: Some(1_000), ..CLOSED };
const STREAMS: Load = Load { connections: 10, pipeline: 32, http2: true, ..CLOSED };
/// A client that waits for its server has an idle client's cost.
const BUSY_MIN: f64 = 0.95;
const ALL: u32 = u32::MAX;

const BODY_FIGURES: &[Figure] =
    &[Figure::BYTES_PER_CORE_SECOND, Figure::CPU_PER_REQUEST, Figure::REQUESTS_PER_SECOND];
const OPEN_FIGURES: &[Figure] = &[
    Figure::P50,
    Figure::SERVICE_P50,
    Figure::TRUTH_P50,
    Figure::EXCESS_P50,
    Figure::SERVICE_EXCESS_P50,
    Figure::RESIDENCE_P50,
    Figure::SERVICE_OVER_RESIDENCE_P50,
    Figure::SEND_LAG_P50,
];

const SCENARIO: Scenario = Scenario {
    name: "",
    title: "",
    server: Kind::Counting,
    load: CLOSED,
    ours: &["prony"],
    near: &[],
    far: &[],
    near_rounds_max: ALL,
    far_rounds: 0,
    figures: &[Figure::CPU_PER_REQUEST, Figure::REQUESTS_PER_SECOND],
    busy_min: None,
    note: "",
};
const HTTP2_OVER_TLS: Scenario = Scenario { load: STREAMS, near: &["h2load", "oha"], ..SCENARIO };

const AT_A_RATE: Scenario = Scenario {
    server: Kind::Target(&[]),
    load: OPEN,
    ours: &["prony", "prony --spin"],
    near: &["oha", "zrk"],
    far: &["floor", "wrk2", "vegeta", "k6", "bombardier", "plow", "hey"],
    far_rounds: 2,
    figures: OPEN_FIGURES,
    note: OPEN_NOTE,
    ..SCENARIO
};
const BODIES: Scenario =
    Scenario { near: &["floor MSG_TRUNC", "wrk", "oha", "h2load"], figures: BODY_FIGURES, ..SCENARIO };

pub(super) static SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "closed",
        title: "Closed loop, 100 connections, keep-alive, 13-byte answers",
        ours: &["prony", "prony --user-clock"],
        near: &["floor", "wrk", "zrk", "wrk2", "ab", "h2load", "oha"],
        far: &["bombardier", "plow", "rewrk", "autocannon", "hey", "vegeta", "k6"],
        far_rounds: 6,
        busy_min: Some(BUSY_MIN),
        note: "Only rounds in which both clients used at least 95 % of their CPU count.",
        ..SCENARIO
    },
    Scenario {
        name: "pipelined",
        title: "Pipelined by 16, 100 connections, 13-byte answers",
        load: Load { pipeline: 16, ..CLOSED },
        near: &["floor", "wrk", "h2load", "autocannon"],
        figures: &[Figure::REQUESTS_PER_CORE_SECOND, Figure::CPU_PER_REQUEST, Figure::REQUESTS_PER_SECOND],
        ..SCENARIO
    },
    Scenario {
        name: "body-64k",
        title: "Closed loop, 100 connections, bodies of 64 KiB",
        server: Kind::Target(&["--body", "65536"]),
        ..BODIES
    },
    Scenario {
        name: "body-1m",
        title: "Closed loop, 100 connections, bodies of 1 MiB",
        server: Kind::Target(&["--body", "1048576"]),
        ..BODIES
    },
    Scenario {
        name: "memory-8000",
        title: "Closed loop, 8,000 connections",
        server: Kind::Target(&[]),
        load: Load { connections: 8_000, seconds: 3, ..CLOSED },
        near: &["wrk", "oha", "zrk"],
        far: &["floor", "ab", "h2load", "bombardier", "plow", "hey", "vegeta", "autocannon"],
        near_rounds_max: 3,
        far_rounds: 1,
        figures: &[Figure::PEAK_MEMORY, Figure::CONNECTIONS, Figure::REQUESTS_PER_SECOND],
        note: "Peak resident memory of the whole process, by getrusage(2); connections as the server accepted them.",
        ..SCENARIO
    },
    Scenario {
        name: "open-1k",
        title: "Open, 1,000 req/s, 10 connections, a server without delay",
        ..AT_A_RATE
    },
    Scenario {
        name: "open-10k",
        title: "Open, 10,000 req/s, 10 connections, a server without delay",
        load: Load { rate_per_s: Some(10_000), ..OPEN },
        ..AT_A_RATE
    },
    Scenario {
        name: "stall",
        title: "Open, 1,000 req/s, 10 connections, a server that is silent for 150 ms of each second",
        server: Kind::Target(&["--stall", "150ms/1s"]),
        load: Load { seconds: 4, ..OPEN },
        near: &["wrk2", "zrk", "oha", "oha --latency-correction", "k6", "vegeta", "hey"],
        near_rounds_max: 2,
        figures: &[Figure::P90, Figure::P50],
        note: "The true p90 is 50 ms: 15 % of requests are due in a silence, the one due t before its end waits t, \
               and 10 % wait longer than 50 ms.",
        ..SCENARIO
    },
    Scenario {
        name: "bimodal",
        title: "Closed loop, 10 connections, 3 ms and every tenth time 23 ms",
        server: Kind::Target(&["--delay", "bimodal:3ms,23ms,0.1"]),
        load: Load { connections: 10, ..CLOSED },
        near: &["wrk", "ab", "oha", "bombardier", "plow", "autocannon", "hey", "k6"],
        near_rounds_max: 2,
        figures: &[Figure::P75, Figure::P50],
        note: "The true p75 is 3 ms.",
        ..SCENARIO
    },
    Scenario {
        name: "close",
        title: "Closed loop, 100 connections, connect, one request, close",
        server: Kind::Target(&["--close"]),
        load: Load { keepalive: false, ..CLOSED },
        near: &["wrk", "ab", "oha"],
        note: "The server closes each connection after its answer.",
        ..SCENARIO
    },
    Scenario {
        name: "tls",
        title: "Closed loop, 100 connections, keep-alive over TLS 1.3, 13-byte answers",
        server: Kind::Tls,
        near: &["wrk", "oha", "h2load"],
        note: "The server is nginx in one process; TLS_AES_128_GCM_SHA256.",
        ..SCENARIO
    },
    Scenario {
        name: "h2c-streams",
        title: "HTTP/2 by prior knowledge, closed loop, 10 connections of 32 streams, 13-byte answers",
        load: STREAMS,
        near: &["floor", "floor measuring", "h2load", "oha"],
        figures: &[Figure::CPU_PER_REQUEST, Figure::REQUESTS_PER_READ, Figure::REQUESTS_PER_SECOND],
        note: "Requests per read are the server's: how many a client's write brings it. The floor counts bytes and reads \
               no clock for a request; the floor measuring decodes each response's header block, finds its stream, and \
               counts its duration in a histogram.",
        ..SCENARIO
    },
    Scenario {
        name: "h2c-connections",
        title: "HTTP/2 by prior knowledge, closed loop, 100 connections of one stream, 13-byte answers",
        load: Load { http2: true, ..CLOSED },
        near: &["floor", "h2load", "oha"],
        figures: &[Figure::CPU_PER_REQUEST, Figure::REQUESTS_PER_READ, Figure::REQUESTS_PER_SECOND],
        ..SCENARIO
    },
    Scenario {
        name: "h2-tls",
        title: "HTTP/2 over TLS 1.3, closed loop, 10 connections of 32 streams, 13-byte answers",
        server: Kind::Target(&["--tls"]),
        note: "The server answers what one read brought by one write, as the server of h2c-streams does; TLS_AES_128_GCM_SHA256 \
               by every client.",
        ..HTTP2_OVER_TLS
    },
    Scenario {
        name: "h2-tls-nginx",
        title: "HTTP/2 over TLS 1.3 against nginx, closed loop, 10 connections of 32 streams, 13-byte answers",
        server: Kind::Tls,
        note: "The server is nginx in one process, TLS_AES_128_GCM_SHA256. It writes each response as a record of its own, and is \
               what ends the rate: how many responses one read brings is how long a client lets them gather.",
        ..HTTP2_OVER_TLS
    },
    Scenario {
        name: "h2c-body-64k",
        title: "HTTP/2 by prior knowledge, closed loop, 10 connections of 10 streams, bodies of 64 KiB",
        server: Kind::Target(&["--body", "65536"]),
        load: Load { pipeline: 10, ..STREAMS },
        near: &["floor", "floor MSG_TRUNC", "h2load", "oha"],
        figures: BODY_FIGURES,
        note: "The floor copies 64 KiB at a time and counts bytes; with MSG_TRUNC it drops them in the kernel, which a client \
               that has to find the frames' headers among them cannot.",
        ..SCENARIO
    },
    Scenario {
        name: "h2c-memory",
        title: "HTTP/2 by prior knowledge, closed loop, 1,000 connections of 32 streams",
        load: Load { connections: 1_000, ..STREAMS },
        near: &["h2load", "oha"],
        near_rounds_max: 6,
        figures: &[Figure::PEAK_MEMORY, Figure::CONNECTIONS, Figure::REQUESTS_PER_SECOND],
        note: "Peak resident memory of the whole process, by getrusage(2); connections as the server accepted them.",
        ..SCENARIO
    },
    Scenario {
        name: "h2c-open-10k",
        title: "HTTP/2 by prior knowledge, open, 10,000 req/s, 10 connections of 10 streams, a server without delay",
        server: Kind::Target(&[]),
        load: Load { rate_per_s: Some(10_000), pipeline: 10, ..STREAMS },
        near: &["oha"],
        figures: OPEN_FIGURES,
        ..SCENARIO
    },
];

const OPEN_NOTE: &str = "p50 is what the tool reports as its latency (Prony: response). The server's own p50 is from the \
                         read of a request to the write of its answer, so the kernel's part of either way, and \
                         the server's own waking up, is in the difference. The server's p50 with its waking is from \
                         the kernel's stamp of the request's arrival to the end of the write of its answer: how \
                         long the request was in the server's hands. Over loopback the write delivers the answer, \
                         and is not over before the client's kernel has stamped it. The floor is a client that never \
                         sleeps.";

impl Scenario {
    /// How many rounds the near and the far have where the command line says `rounds`.
    pub(super) fn rounds(&self, rounds: u32) -> (u32, u32) {
        (rounds.min(self.near_rounds_max), rounds.min(self.far_rounds))
    }
}
