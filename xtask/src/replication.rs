//! A published comparison, shortened, with the servers that happen to be installed: what its report must have then.

use std::path::Path;

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

/// Whether a report in Markdown has each candidate, measured or skipped with a reason, and the source's figures and claims.
pub(crate) fn is_whole(candidates: &[String], markdown: &str) -> Result<(), String> {
    for name in candidates {
        let row = markdown.lines().any(|line| line.split(" | ").nth(1) == Some(name));
        let reason = markdown.lines().any(|line| {
            line.split_once(&format!("Skipped: **{name}**: "))
                .is_some_and(|(_, reason)| !reason.trim().is_empty())
        });
        if row == reason {
            return Err(format!("{name} is neither measured nor skipped with a reason, or both"));
        }
    }
    let column = markdown.lines().any(|line| line.starts_with("| rank |") && line.contains(" 2023 |"));
    let claims = markdown.contains("| claim |");
    if column && claims { Ok(()) } else { Err(format!("the source's figures: {column}, claims: {claims}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_without_any_of_it_is_not_whole() {
        let whole = "| rank | server | req/s | 2023 |\n| 1 | a | 100 | 90 |\n| claim |\n- Skipped: **b**: Not installed.\n";
        let judged = |markdown: &str| is_whole(&["a".to_owned(), "b".to_owned()], markdown);
        assert_eq!(judged(whole), Ok(()));
        for (from, to, said) in [
            ("**b**", "**c**", "b is neither"),
            ("| 1 | a |", "| 1 | b |", "a is neither"),
            (": Not installed.", ": ", "b is neither"),
            (" 2023 ", "", "figures: false"),
            ("| claim |", "", "claims: false"),
        ] {
            let error = judged(&whole.replace(from, to)).unwrap_err();
            assert!(error.contains(said), "{from}: {error}");
        }
    }

    #[test]
    fn the_experiment_names_its_candidates() {
        let candidates = candidates(&crate::root()).unwrap();
        assert_eq!((candidates.len(), candidates[0].as_str()), (19, "nginx-fpm"));
        assert!(candidates.contains(&"frankenphp".to_owned()), "{candidates:?}");
    }
}
