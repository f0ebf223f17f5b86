//! The reference server: a server of HTTP/1.1 and HTTP/2 whose truth is known, to hold a tester's figures against.
//!
//! It answers every server's contract, and does with it exactly what its [`Config`] says: [`Delay`]s that are drawn from
//! a seed and counted from each request's arrival, regular [`Stall`]s of the whole server, a capacity. It keeps a
//! [`Ledger`] of what came in, what went out and how long it took, exact to the request. So a tester can be shown what
//! it should have measured: its counts must equal the ledger's, and its percentiles those of the schedule.
//!
//! Why not a framework: one puts executors, timer wheels of a millisecond and allocations between a request and its
//! answer, and what is to be known are these instants. Here a thread is one epoll loop, a request without delay costs one
//! `recv` and one `send`, and timers have the kernel's precision.
//!
//! | request | answer |
//! |---|---|
//! | `GET /` | `text/plain`, `Hello, World!` or `body_bytes` bytes |
//! | `GET /json` | `application/json`, `{"message":"Hello, World!"}` |
//! | `POST /echo` | its body, of up to 16 MiB |
//! | `GET /sleep?ms=N` | `Hello, World!`, N ms (up to 60,000) after everything else that delays it; nobody else waits |
//! | `GET /work?n=N` | the result of N steps of arithmetic, some 3 ns each, during which its event loop does nothing else |
//! | `GET /pipeline` | `ok` |
//! | `GET /baseline11?a=N&b=N`, `GET /baseline2?a=N&b=N` | the sum; `POST /baseline11` adds its body, a number |
//! | `GET /json/COUNT?m=N` | JSON of the first COUNT (1 to 50) rows, each with a `total`: price × quantity × N |
//! | `POST /upload` | how many bytes its body had |
//! | `GET /static/NAME` | one of 20 files of 3 to 120 kB |
//! | `GET /async-db?min=N&max=N&limit=N` | JSON of the first rows of these prices, 50 at most |
//! | `GET /crud/items?category=NAME&page=N&limit=N` | JSON of a page of rows |
//! | `GET`, `PUT /crud/items/ID`, `POST /crud/items` | JSON of a row (1 to 100,000); one that is written is checked and not kept |
//! | `GET /-/ledger` | the [`Ledger`] as JSON: never delayed, not counted itself |
//!
//! From `/pipeline` on they are the shapes of requests that public boards of servers use. JSON and text are compressed
//! for who accepts gzip; a request with a wrong parameter, header or body is answered by 400 or 404.
//!
//! A connection's first bytes decide what it speaks: HTTP/2 by prior knowledge (h2c), or HTTP/1. Routes, delays, stalls,
//! capacity and ledger are the same; in HTTP/2 each answer leaves when it is due, in whatever order, as far as the client's
//! windows allow. There it also misbehaves where its [`Http2Config`] says so.
//!
//! ```
//! use prony_target::{Config, Target};
//!
//! let config = Config { delay: "exp:2ms".parse()?, seed: 7, ..Config::default() };
//! let target = Target::start(&config)?;
//! println!("http://{}/", target.address());
//! assert_eq!(target.stop().requests_received, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! How true it is, on two virtual cores under Linux 6.18 (2026-11, wrk at 100 connections): 0.2 µs from a request's arrival
//! to its answer's departure, 4.4 µs of CPU a request, 0.4 of them outside the kernel; answers leave up to 0.07 ms (median)
//! after they are due, which is how late that kernel ends any wait. The ledger says what it was; as
//! `residence` it says how long requests were in the server's hands by the kernel's receive stamps, its waking up and its
//! writing included.
//!
//! Over TLS ([`Config::tls`]) it is the same server, with a certificate that it makes for itself when it starts; which
//! protocol is spoken is the client's choice by ALPN. Bytes are counted as they are inside of it.
//!
//! What it does not do: close idle connections, Unix sockets. Whatever a client sends, its connection holds less than
//! 100 MiB; an idle one holds about 300 bytes, 1 KiB in HTTP/2.

mod answer;
mod board;
mod config;
mod connection;
mod decoder;
mod http2;
mod ledger;
mod outbox;
mod query;
mod request;
mod server;
mod service;
mod sys;
mod target;
mod tls;
mod truth;

pub use config::{Config, ConfigError, Delay, Http2Config, Stall};
pub use ledger::{HistogramError, LEDGER_SCHEMA, LatencySummary, Ledger};
pub use target::{StartError, Stopper, Target, run};
