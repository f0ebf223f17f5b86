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
        headers: Some(vec!["X-A: {{a}}{{b}}{{id}}".parse().expect("a header")]),
        ..LoadOptions::default()
    };
    let file = |_: &str, most: u64| {
        Ok(rest[1.min(rest.len())..][..rest.len().saturating_sub(1).min(most as usize)].to_vec())
    };
    let target = Target::parse("http://127.0.0.1/").expect("a URL");
    match options.plan(Some(target), &file) {
        Ok(plan) => {
            for number in [0, 1, 7, 1_000_003, u64::MAX] {
                let written = |place| {
                    let mut out = Vec::new();
                    for (before, value) in plan.values.split(&plan.body) {
                        out.extend_from_slice(before);
                        if let Some(value) = value {
                            plan.values.write(value, place, plan.seed, number, &mut out);
                        }
                    }
                    out
                };
                let read: serde_json::Value =
                    serde_json::from_slice(&written(Place::Json)).expect("values in JSON leave it JSON");
                assert!(read["a"].is_string());
                // The body's own characters are no part of a URL.
                let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~%{}\": ".contains(byte);
                assert!(written(Place::Url).iter().all(plain), "a URL's value is encoded");
                // Each stands in a header, too.
                let header = written(Place::Text);
                assert!(header.iter().all(|byte| *byte == b'\t' || (*byte >= b' ' && *byte != 0x7f)));
            }
        }
        Err(why) => {
            assert!(why.0.ends_with('.') && !why.0.contains(char::is_control), "{:?} is no sentence", why.0);
        }
    }
}
