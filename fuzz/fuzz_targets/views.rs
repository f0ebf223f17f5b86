#![no_main]

#[path = "../bodies/views.rs"]
mod views;

libfuzzer_sys::fuzz_target!(|input: &[u8]| views::check(input));
