//! The fuzz targets over texts (fuzz/), a second of each on the stable compiler.
#![allow(unreachable_pub, clippy::expect_used, reason = "bodies that the fuzzer's binaries share")]

#[path = "../../../fuzz/bodies/mutate.rs"]
mod mutate;
#[path = "../../../fuzz/bodies/plan.rs"]
mod plan;
#[path = "../../../fuzz/bodies/published.rs"]
mod published;
#[path = "../../../fuzz/bodies/recipe.rs"]
mod recipe;

use prony_lab::catalogue::Recipe;
use prony_lab::experiment::Experiment;

#[test]
fn any_text_is_a_plan_or_a_sentence() {
    mutate::play("plan", 30_000, plan::check);
}

#[test]
fn any_text_is_a_recipe_or_a_sentence() {
    mutate::play("recipe", 30_000, recipe::check);
}

#[test]
fn any_text_is_a_published_comparison_or_a_sentence() {
    mutate::play("published", 20_000, published::check);
}

#[test]
fn the_fuzz_seeds_are_valid() {
    let text = |path: &str| {
        std::fs::read_to_string(format!("{}/../../fuzz/seeds/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
    };
    for seed in ["small", "axes", "check"] {
        Recipe::parse("seed", &text(&format!("recipe/{seed}.toml"))).unwrap();
    }
    for seed in ["small", "conclusions"] {
        prony_lab::experiment::parse_published("seed", &text(&format!("published/{seed}.toml"))).unwrap();
    }
    for seed in ["small", "sweep"] {
        Experiment::parse("seed", "seed", &text(&format!("plan/{seed}.toml"))).unwrap();
    }
}
