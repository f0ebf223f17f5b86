#![no_main]

#[path = "../bodies/response.rs"]
mod response;

libfuzzer_sys::fuzz_target!(|input: &[u8]| response::check(input));
