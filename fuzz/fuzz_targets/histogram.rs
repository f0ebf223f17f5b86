#![no_main]

#[path = "../bodies/histogram.rs"]
mod histogram;

libfuzzer_sys::fuzz_target!(|input: &[u8]| histogram::check(input));
