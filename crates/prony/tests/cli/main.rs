//! The binary as a user meets it: lines in, sentences, figures and exit codes out.
#![allow(clippy::unwrap_used, unreachable_pub, reason = "a test's helpers panic as its assertions do")]

mod bad_input;
mod bench;
mod capacity;
mod ci;
mod coming_from;
mod compare;
mod compatibility;
mod doctor;
mod duet;
mod export;
mod fleet;
mod fleet_hosts;
mod fleet_pool;
mod fleet_ssh;
mod foreign;
mod formats;
#[path = "../../../model/src/openmetrics/grammar_tests.rs"]
mod grammar;
mod history;
mod hosts;
mod lab;
mod ledger;
mod listens;
mod many;
mod metrics;
mod misbehaviour;
mod own;
mod ports;
mod repeat;
mod schema;
mod search;
mod secrets;
mod server_host;
mod servers;
mod signals;
mod targets;
mod terminal;
mod tls;
mod tolerated;
mod tutorial;
mod tutorial_page;
mod view;
mod watch;
mod web;
mod world;
