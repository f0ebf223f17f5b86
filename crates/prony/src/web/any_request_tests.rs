//! The fuzz target over requests for pages (fuzz/), a second of it on the stable compiler.

#![allow(unreachable_pub, clippy::expect_used, reason = "bodies that the fuzzer's binaries share")]

#[path = "../../../../fuzz/bodies/page_request.rs"]
mod page_request;

use crate::mutate;
// Where the body looks for the parser.
use super::http;

#[test]
fn any_bytes_are_parsed_or_refused_alike_wherever_they_are_cut() {
    mutate::play("page_request", 10_000, page_request::check);
}
