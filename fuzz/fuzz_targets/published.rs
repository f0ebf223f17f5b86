#![no_main]

#[path = "../bodies/published.rs"]
mod published;

libfuzzer_sys::fuzz_target!(|input: &[u8]| published::check(input));
