//! A published comparison, shortened, with the servers that happen to be installed: what its report must have then.

use std::path::Path;

use serde_json::Value;

use crate::files;

/// The comparison with the most servers.
pub(crate) const EXPERIMENT: &str = "fast-and-furious-2023";
/// The one plan of its short scale that is run: at most 19 trials of 3 s after 0.5 s of warm-up, a minute and a half.
pub(crate) const PLAN: &str = "c100";

pub(crate) fn candidates(root: &Path) -> Result<Vec<String>, String> {
    let path = root.join("experiments").join(EXPERIMENT).with_extension("toml");
    let file = files::toml(&path)?;
    let named = file.get("candidates").and_then(toml::Value::as_array);
    let named = named.ok_or_else(|| format!("{} names no candidates", path.display()))?;
    Ok(named.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect())
}

/// Whether the report has each candidate, measured or skipped with a reason, and the source's figures and conclusions.
pub(crate) fn is_whole(candidates: &[String], json: &str, markdown: &str) -> Result<(), String> {
    let analysis: Value = serde_json::from_str(json).map_err(|e| format!("its report: {e}"))?;
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let of = |list: &[Value], name: &str| list.iter().find(|one| one["candidate"] == name).cloned();
    let (rows, skipped) = (list(&analysis["plans"][0]["rows"]), list(&analysis["skipped"]));
    for name in candidates {
        match (of(&rows, name), of(&skipped, name)) {
            (Some(row), None) => {
                let ours = row["requests_per_s"]["point"].as_f64().is_some_and(|v| v > 0.0);
                // The source printed no row of a server with another setting.
                let theirs = name.contains(':') || row["published"]["figures"]["requests_per_s"].is_number();
                if !ours || !theirs {
                    return Err(format!("{name}: measured {ours}, published figure beside it {theirs}"));
                }
            }
            (None, Some(skipped)) => {
                let reason = skipped["reason"].as_str().unwrap_or_default();
                if reason.is_empty() || !markdown.contains(&format!("**{name}**: ")) {
                    return Err(format!("{name} was skipped, and its report does not say so with a reason"));
                }
            }
            (row, _) => return Err(format!("{name} is neither measured nor skipped, or both: {row:?}")),
        }
    }
    let published = &analysis["published"];
    let source = published["source"].as_str().unwrap_or_default();
    let conclusions = list(&published["conclusions"]).len();
    if source.is_empty() || conclusions == 0 || !markdown.contains("| claim |") {
        return Err(format!("it has {conclusions} conclusions of the source {source:?}"));
    }
    let column = markdown.lines().any(|line| line.starts_with("| rank |") && line.contains(" 2023 |"));
    if column { Ok(()) } else { Err("its table has no column of the source's figures".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str = r#"{
        "plans": [{"rows": [{
            "candidate": "a",
            "requests_per_s": {"point": 100.0},
            "published": {"figures": {"requests_per_s": 90.0}}
        }]}],
        "skipped": [{"candidate": "b", "reason": "Not installed."}],
        "published": {"source": "A source, 2023", "conclusions": [{"text": "a is fast"}]}
    }"#;
    const MARKDOWN: &str =
        "| rank | server | req/s | 2023 |\n| 1 | a | 100 | 90 |\n| claim |\n- **b**: Not installed.\n";

    fn judged(json: &str, markdown: &str) -> Result<(), String> {
        is_whole(&["a".to_owned(), "b".to_owned()], json, markdown)
    }

    #[test]
    fn a_report_without_any_of_it_is_not_whole() {
        assert_eq!(judged(JSON, MARKDOWN), Ok(()));
        for (from, to, said) in [
            ("\"candidate\": \"b\"", "\"candidate\": \"c\"", "b is neither"),
            ("\"candidate\": \"b\"", "\"candidate\": \"a\"", "or both"),
            ("Not installed.", "", "b was skipped"),
            ("100.0", "0.0", "a: measured false"),
            ("90.0", "null", "beside it false"),
            ("[{\"text\": \"a is fast\"}]", "[]", "0 conclusions"),
        ] {
            let error = judged(&JSON.replace(from, to), MARKDOWN).unwrap_err();
            assert!(error.contains(said), "{from}: {error}");
        }
        for (from, said) in
            [("2023", "no column"), ("**b**", "b was skipped"), ("| claim |", "1 conclusions")]
        {
            let error = judged(JSON, &MARKDOWN.replace(from, "")).unwrap_err();
            assert!(error.contains(said), "{from}: {error}");
        }
    }

    #[test]
    fn the_experiment_names_its_candidates() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let candidates = candidates(&root).unwrap();
        assert_eq!((candidates.len(), candidates[0].as_str()), (19, "nginx-fpm"));
        assert!(candidates.contains(&"frankenphp".to_owned()), "{candidates:?}");
    }
}
