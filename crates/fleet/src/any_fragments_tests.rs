//! The fuzz target over pieces of messages (fuzz/), a second of it on the stable compiler.

#![allow(unreachable_pub, clippy::expect_used, reason = "bodies that the fuzzer's binaries share")]

#[path = "../../../fuzz/bodies/fragments.rs"]
mod body;
#[path = "../../../fuzz/bodies/mutate.rs"]
mod mutate;

#[test]
fn any_pieces_leave_room_for_an_honest_message() {
    mutate::play("fragments", 150, body::check);
}
