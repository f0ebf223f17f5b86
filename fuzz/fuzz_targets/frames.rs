#![no_main]

#[path = "../bodies/frames.rs"]
mod frames;

libfuzzer_sys::fuzz_target!(|input: &[u8]| frames::check(input));
