//! A line as `--generate` and the rest as `--data`: a plan whose requests can be put together, or a sentence.

use prony_model::Target;
use prony_model::options::LoadOptions;
use prony_model::values::Place;

pub fn check(input: &[u8]) {
    let (line, rest) = input.split_at(input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len()));
    let options = LoadOptions {
        generate: Some(vec![String::from_utf8_lossy(line).into_owned()]),
        data: (rest.len() > 1).then(|| "t.csv".to_owned()),
        body: Some("{\"a\": \"{{a}}{{b}}{{id}}\"}".to_owned()),
        ..LoadOptions::default()
    };
    let file = |_: &str, most: u64| {
        Ok(rest[1.min(rest.len())..][..rest.len().saturating_sub(1).min(most as usize)].to_vec())
    };
    let target = Target::parse("http://127.0.0.1/").expect("a URL");
    match options.plan(Some(target), &file) {
        Ok(plan) => {
            let body = plan.values.first(&plan.body, Place::Json, plan.seed);
            let read: serde_json::Value =
                serde_json::from_slice(&body).expect("values in JSON leave it JSON");
            assert!(read["a"].is_string());
        }
        Err(why) => {
            assert!(why.0.ends_with('.') && !why.0.contains(char::is_control), "{:?} is no sentence", why.0);
        }
    }
}
