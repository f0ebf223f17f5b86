#![no_main]

#[path = "../bodies/recipe.rs"]
mod recipe;

libfuzzer_sys::fuzz_target!(|input: &[u8]| recipe::check(input));
