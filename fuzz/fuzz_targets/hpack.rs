#![no_main]

#[path = "../bodies/hpack.rs"]
mod hpack;

libfuzzer_sys::fuzz_target!(|input: &[u8]| hpack::check(input));
