//! The fuzz target over what an HTTP/2 server sends (fuzz/), a second of it on the stable compiler.
#![allow(unreachable_pub, clippy::expect_used, reason = "bodies that the fuzzer's binaries share")]

#[path = "../../../fuzz/bodies/http2.rs"]
mod http2;
#[path = "../../../fuzz/bodies/mutate.rs"]
mod mutate;

#[test]
fn any_bytes_in_any_pieces_are_the_same_steps_of_a_connection() {
    mutate::play("http2", 30_000, http2::check);
}
