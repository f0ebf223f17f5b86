#![no_main]

#[path = "../bodies/run_log.rs"]
mod run_log;

libfuzzer_sys::fuzz_target!(|input: &[u8]| run_log::check(input));
