#![no_main]

#[path = "../bodies/values.rs"]
mod values;

libfuzzer_sys::fuzz_target!(|input: &[u8]| values::check(input));
