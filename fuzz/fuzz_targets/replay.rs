#![no_main]

#[path = "../bodies/replay.rs"]
mod replay;

libfuzzer_sys::fuzz_target!(|input: &[u8]| replay::check(input));
