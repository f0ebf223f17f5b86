#![no_main]

// The binary is no library: its parser is compiled here as it stands.
#[allow(dead_code, reason = "only its parser is played")]
#[path = "../../crates/prony/src/web/http.rs"]
mod http;
#[path = "../bodies/page_request.rs"]
mod page_request;

libfuzzer_sys::fuzz_target!(|input: &[u8]| page_request::check(input));
