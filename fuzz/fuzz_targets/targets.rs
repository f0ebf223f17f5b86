#![no_main]

#[path = "../bodies/targets.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|input: &[u8]| targets::check(input));
