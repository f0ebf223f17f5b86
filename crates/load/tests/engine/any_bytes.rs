//! The fuzz targets over answers and lists of requests (fuzz/), a second of each on the stable compiler.
#![allow(clippy::expect_used, reason = "bodies that the fuzzer's binaries share")]

#[path = "../../../../fuzz/bodies/mutate.rs"]
mod mutate;
#[path = "../../../../fuzz/bodies/replay.rs"]
mod replay;
#[path = "../../../../fuzz/bodies/response.rs"]
mod response;
#[path = "../../../../fuzz/bodies/targets.rs"]
mod targets;
#[path = "../../../../fuzz/bodies/values.rs"]
mod values;

#[test]
fn any_bytes_in_any_pieces_are_the_same_answers() {
    mutate::play("response", 200_000, response::check);
}

#[test]
fn any_bytes_are_a_list_of_requests_or_a_sentence() {
    mutate::play("targets", 30_000, targets::check);
}

#[test]
fn any_bytes_are_values_or_a_sentence() {
    mutate::play("values", 30_000, values::check);
}

#[test]
fn any_bytes_are_a_log_to_replay_or_a_sentence() {
    mutate::play("replay", 30_000, replay::check);
}
