#![no_main]

#[path = "../bodies/http2.rs"]
mod http2;

libfuzzer_sys::fuzz_target!(|input: &[u8]| http2::check(input));
