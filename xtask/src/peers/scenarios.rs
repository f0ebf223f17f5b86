//! What is compared: each scenario's server, load, tools and figures.

use super::figures::Figure;
use super::lines::Load;
use super::server::Kind;

/// One tool in one way of using it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Subject {
    pub(super) label: &'static str,
    pub(super) tool: &'static str,
    /// Arguments that set this way apart.
    pub(super) extra: &'static [&'static str],
}

/// A tool as its line stands.
const fn plain(tool: &'static str) -> Subject {
    Subject { label: tool, tool, extra: &[] }
}

pub(super) const PRONY: Subject = plain("prony");
/// Prony, awake before each instant.
pub(super) const SPIN: Subject = Subject { label: "prony --spin", tool: "prony", extra: &["--spin"] };
/// Prony without the kernel's stamps.
pub(super) const USER_CLOCK: Subject =
    Subject { label: "prony --user-clock", tool: "prony", extra: &["--user-clock"] };
/// Prony, of a server whose certificate nobody vouches for.
const INSECURE: Subject = Subject { label: "prony", tool: "prony", extra: &["--insecure"] };
/// The floor, with the bodies dropped by the kernel.
pub(super) const FLOOR_DROP: Subject =
    Subject { label: "floor MSG_TRUNC", tool: "floor", extra: &["--drop-bodies"] };
/// The floor, with what a measurement of each request needs.
const FLOOR_MEASURING: Subject = Subject { label: "floor measuring", tool: "floor", extra: &["--measuring"] };
const OHA_CORRECTED: Subject =
    Subject { label: "oha --latency-correction", tool: "oha", extra: &["--latency-correction"] };

#[derive(Debug)]
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) server: Kind,
    pub(super) load: Load,
    pub(super) ours: &'static [Subject],
    /// Those that a bar names, or that are nearest: every round.
    pub(super) near: &'static [Subject],
    /// The others: [`Scenario::far_rounds`].
    pub(super) far: &'static [Subject],
    /// Most rounds of the near, for figures that hardly vary.
    pub(super) near_rounds_max: u32,
    /// Rounds of the far. From six on a median has an interval.
    pub(super) far_rounds: u32,
    /// The columns; the first is the one that ratios are of.
    pub(super) figures: &'static [Figure],
    /// A run counts if its client used at least this share of its CPU.
    pub(super) busy_min: Option<f64>,
    /// What a reader has to know.
    pub(super) note: &'static str,
}

const CLOSED: Load =
    Load { connections: 100, rate_per_s: None, pipeline: 1, keepalive: true, http2: false, seconds: 2 };
const OPEN: Load = Load { connections: 10, rate_per_s: Some(1_000), ..CLOSED };
/// Ten connections of 32 streams.
const STREAMS: Load = Load { connections: 10, pipeline: 32, http2: true, ..CLOSED };
/// A client that waits for its server has an idle client's cost.
const BUSY_MIN: f64 = 0.95;
/// No bound but the command line's.
const ALL: u32 = u32::MAX;

const OPEN_FIGURES: &[Figure] = &[
    Figure::P50,
    Figure::ServiceP50,
    Figure::TruthP50,
    Figure::ExcessP50,
    Figure::ServiceExcessP50,
    Figure::ResidenceP50,
    Figure::ServiceOverResidenceP50,
    Figure::SendLagP50,
];

/// What most scenarios have in common.
const SCENARIO: Scenario = Scenario {
    name: "",
    title: "",
    server: Kind::Counting,
    load: CLOSED,
    ours: &[PRONY],
    near: &[],
    far: &[],
    near_rounds_max: ALL,
    far_rounds: 0,
    figures: &[Figure::CpuPerRequest, Figure::RequestsPerSecond],
    busy_min: None,
    note: "",
};
/// The same of those of HTTP/2 over TLS.
const HTTP2_OVER_TLS: Scenario =
    Scenario { load: STREAMS, ours: &[INSECURE], near: &[plain("h2load"), plain("oha")], ..SCENARIO };

/// All of them, in the order in which they run.
pub(super) static SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "closed",
        title: "Closed loop, 100 connections, keep-alive, 13-byte answers",
        server: Kind::Counting,
        load: CLOSED,
        ours: &[PRONY, USER_CLOCK],
        near: &[
            plain("floor"),
            plain("wrk"),
            plain("zrk"),
            plain("wrk2"),
            plain("ab"),
            plain("h2load"),
            plain("oha"),
        ],
        far: &[
            plain("bombardier"),
            plain("plow"),
            plain("rewrk"),
            plain("autocannon"),
            plain("hey"),
            plain("vegeta"),
            plain("k6"),
        ],
        far_rounds: 6,
        figures: &[Figure::CpuPerRequest, Figure::RequestsPerSecond],
        busy_min: Some(BUSY_MIN),
        note: "Only rounds in which both clients used at least 95 % of their CPU count.",
        ..SCENARIO
    },
    Scenario {
        name: "pipelined",
        title: "Pipelined by 16, 100 connections, 13-byte answers",
        server: Kind::Counting,
        load: Load { pipeline: 16, ..CLOSED },
        ours: &[PRONY],
        near: &[plain("floor"), plain("wrk"), plain("h2load"), plain("autocannon")],
        figures: &[Figure::RequestsPerCoreSecond, Figure::CpuPerRequest, Figure::RequestsPerSecond],
        ..SCENARIO
    },
    Scenario {
        name: "body-64k",
        title: "Closed loop, 100 connections, bodies of 64 KiB",
        server: Kind::Target(&["--body", "65536"]),
        load: CLOSED,
        ours: &[PRONY],
        near: &[FLOOR_DROP, plain("wrk"), plain("oha"), plain("h2load")],
        figures: &[Figure::BytesPerCoreSecond, Figure::CpuPerRequest, Figure::RequestsPerSecond],
        ..SCENARIO
    },
    Scenario {
        name: "body-1m",
        title: "Closed loop, 100 connections, bodies of 1 MiB",
        server: Kind::Target(&["--body", "1048576"]),
        load: CLOSED,
        ours: &[PRONY],
        near: &[FLOOR_DROP, plain("wrk"), plain("oha"), plain("h2load")],
        figures: &[Figure::BytesPerCoreSecond, Figure::CpuPerRequest, Figure::RequestsPerSecond],
        ..SCENARIO
    },
    Scenario {
        name: "memory-8000",
        title: "Closed loop, 8,000 connections",
        server: Kind::Target(&[]),
        load: Load { connections: 8_000, seconds: 3, ..CLOSED },
        ours: &[PRONY],
        near: &[plain("wrk"), plain("oha"), plain("zrk")],
        far: &[
            plain("floor"),
            plain("ab"),
            plain("h2load"),
            plain("bombardier"),
            plain("plow"),
            plain("hey"),
            plain("vegeta"),
            plain("autocannon"),
        ],
        near_rounds_max: 3,
        far_rounds: 1,
        figures: &[Figure::PeakMemory, Figure::Connections, Figure::RequestsPerSecond],
        note: "Peak resident memory of the whole process, by getrusage(2); connections as the server accepted them.",
        ..SCENARIO
    },
    Scenario {
        name: "open-1k",
        title: "Open, 1,000 req/s, 10 connections, a server without delay",
        server: Kind::Target(&[]),
        load: OPEN,
        ours: &[PRONY, SPIN],
        near: &[plain("oha"), plain("zrk")],
        far: &[
            plain("floor"),
            plain("wrk2"),
            plain("vegeta"),
            plain("k6"),
            plain("bombardier"),
            plain("plow"),
            plain("hey"),
        ],
        far_rounds: 2,
        figures: OPEN_FIGURES,
        note: OPEN_NOTE,
        ..SCENARIO
    },
    Scenario {
        name: "open-10k",
        title: "Open, 10,000 req/s, 10 connections, a server without delay",
        server: Kind::Target(&[]),
        load: Load { rate_per_s: Some(10_000), ..OPEN },
        ours: &[PRONY, SPIN],
        near: &[plain("oha"), plain("zrk")],
        far: &[
            plain("floor"),
            plain("wrk2"),
            plain("vegeta"),
            plain("k6"),
            plain("bombardier"),
            plain("plow"),
            plain("hey"),
        ],
        far_rounds: 2,
        figures: OPEN_FIGURES,
        note: OPEN_NOTE,
        ..SCENARIO
    },
    Scenario {
        name: "stall",
        title: "Open, 1,000 req/s, 10 connections, a server that is silent for 150 ms of each second",
        server: Kind::Target(&["--stall", "150ms/1s"]),
        load: Load { seconds: 4, ..OPEN },
        ours: &[PRONY],
        near: &[
            plain("wrk2"),
            plain("zrk"),
            plain("oha"),
            OHA_CORRECTED,
            plain("k6"),
            plain("vegeta"),
            plain("hey"),
        ],
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
        ours: &[PRONY],
        near: &[
            plain("wrk"),
            plain("ab"),
            plain("oha"),
            plain("bombardier"),
            plain("plow"),
            plain("autocannon"),
            plain("hey"),
            plain("k6"),
        ],
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
        ours: &[PRONY],
        near: &[plain("wrk"), plain("ab"), plain("oha")],
        figures: &[Figure::CpuPerRequest, Figure::RequestsPerSecond],
        note: "The server closes each connection after its answer.",
        ..SCENARIO
    },
    Scenario {
        name: "tls",
        title: "Closed loop, 100 connections, keep-alive over TLS 1.3, 13-byte answers",
        server: Kind::Tls,
        load: CLOSED,
        ours: &[INSECURE],
        near: &[plain("wrk"), plain("oha"), plain("h2load")],
        figures: &[Figure::CpuPerRequest, Figure::RequestsPerSecond],
        note: "The server is nginx in one process; TLS_AES_128_GCM_SHA256.",
        ..SCENARIO
    },
    Scenario {
        name: "h2c-streams",
        title: "HTTP/2 by prior knowledge, closed loop, 10 connections of 32 streams, 13-byte answers",
        server: Kind::Counting,
        load: STREAMS,
        ours: &[PRONY],
        near: &[plain("floor"), FLOOR_MEASURING, plain("h2load"), plain("oha")],
        figures: &[Figure::CpuPerRequest, Figure::RequestsPerRead, Figure::RequestsPerSecond],
        note: "Requests per read are the server's: how many a client's write brings it. The floor counts bytes and reads \
               no clock for a request; the floor measuring decodes each response's header block, finds its stream, and \
               counts its duration in a histogram.",
        ..SCENARIO
    },
    Scenario {
        name: "h2c-connections",
        title: "HTTP/2 by prior knowledge, closed loop, 100 connections of one stream, 13-byte answers",
        server: Kind::Counting,
        load: Load { http2: true, ..CLOSED },
        ours: &[PRONY],
        near: &[plain("floor"), plain("h2load"), plain("oha")],
        figures: &[Figure::CpuPerRequest, Figure::RequestsPerRead, Figure::RequestsPerSecond],
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
        ours: &[PRONY],
        near: &[plain("floor"), FLOOR_DROP, plain("h2load"), plain("oha")],
        figures: &[Figure::BytesPerCoreSecond, Figure::CpuPerRequest, Figure::RequestsPerSecond],
        note: "The floor copies 64 KiB at a time and counts bytes; with MSG_TRUNC it drops them in the kernel, which a client \
               that has to find the frames' headers among them cannot.",
        ..SCENARIO
    },
    Scenario {
        name: "h2c-memory",
        title: "HTTP/2 by prior knowledge, closed loop, 1,000 connections of 32 streams",
        server: Kind::Counting,
        load: Load { connections: 1_000, ..STREAMS },
        ours: &[PRONY],
        near: &[plain("h2load"), plain("oha")],
        near_rounds_max: 6,
        figures: &[Figure::PeakMemory, Figure::Connections, Figure::RequestsPerSecond],
        note: "Peak resident memory of the whole process, by getrusage(2); connections as the server accepted them.",
        ..SCENARIO
    },
    Scenario {
        name: "h2c-open-10k",
        title: "HTTP/2 by prior knowledge, open, 10,000 req/s, 10 connections of 10 streams, a server without delay",
        server: Kind::Target(&[]),
        load: Load { rate_per_s: Some(10_000), pipeline: 10, ..STREAMS },
        ours: &[PRONY],
        near: &[plain("oha")],
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
