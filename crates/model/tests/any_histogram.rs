//! The fuzz target over histograms (fuzz/), a second of it on the stable compiler.
#![allow(unreachable_pub, clippy::expect_used, reason = "bodies that the fuzzer's binaries share")]

#[path = "../../../fuzz/bodies/histogram.rs"]
mod histogram;
#[path = "../../../fuzz/bodies/mutate.rs"]
mod mutate;

#[test]
fn any_bytes_are_a_histogram_or_an_error() {
    mutate::play("histogram", 1_000, histogram::check);
}
