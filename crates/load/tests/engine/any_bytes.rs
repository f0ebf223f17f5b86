//! The fuzz target over answers (fuzz/), a second of it on the stable compiler.
#![allow(clippy::expect_used, reason = "bodies that the fuzzer's binaries share")]

#[path = "../../../../fuzz/bodies/mutate.rs"]
mod mutate;
#[path = "../../../../fuzz/bodies/response.rs"]
mod response;

#[test]
fn any_bytes_in_any_pieces_are_the_same_answers() {
    mutate::play("response", 200_000, response::check);
}
