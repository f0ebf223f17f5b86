#![no_main]

#[path = "../bodies/plan.rs"]
mod plan;

libfuzzer_sys::fuzz_target!(|input: &[u8]| plan::check(input));
