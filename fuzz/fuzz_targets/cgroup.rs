#![no_main]

#[path = "../bodies/cgroup.rs"]
mod cgroup;

libfuzzer_sys::fuzz_target!(|input: &[u8]| cgroup::check(input));
