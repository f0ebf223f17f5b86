//! The fuzz targets over what an HTTP/2 server sends (fuzz/), a second of each on the stable compiler.
#![allow(unreachable_pub, clippy::expect_used, reason = "bodies that the fuzzer's binaries share")]

#[path = "../../../fuzz/bodies/frames.rs"]
mod frames;
#[path = "../../../fuzz/bodies/hpack.rs"]
mod hpack;
#[path = "../../../fuzz/bodies/http2.rs"]
mod http2;
#[path = "../../../fuzz/bodies/mutate.rs"]
mod mutate;

#[test]
fn any_bytes_in_any_pieces_are_the_same_frames() {
    mutate::play("frames", 30_000, frames::check);
}

#[test]
fn any_header_blocks_are_what_others_read_in_them() {
    mutate::play("hpack", 30_000, hpack::check);
}

#[test]
fn any_bytes_in_any_pieces_are_the_same_steps_of_a_connection() {
    mutate::play("http2", 30_000, http2::check);
}
