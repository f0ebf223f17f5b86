#![no_main]

#[path = "../bodies/fragments.rs"]
mod body;
// Only the crate itself joins pieces: its file is compiled here as it stands.
#[allow(dead_code, reason = "only what joins is played")]
#[path = "../../crates/fleet/src/fragments.rs"]
mod fragments;

libfuzzer_sys::fuzz_target!(|input: &[u8]| body::check(input));
