//! A run as a step summary of GitHub Actions: the answer and the tables, and the rest folded away.

use prony_analysis::experiment::ExperimentAnalysis;
use prony_model::Trial;
use prony_model::trial::{Outcome, Validity};

use crate::{format, markdown};

/// A step's summary may have 1 MiB (GitHub's documentation of workflow commands); several reports may be appended.
const BYTES_MAX: usize = 500_000;
/// Trials of `prony load` in a summary at most, the last ones.
const TRIALS_MAX: usize = 20;

pub fn experiment(analysis: &ExperimentAnalysis) -> String {
    let t = &analysis.trials;
    let mark = if t.valid + t.lower_bound + t.suspect == 0 {
        "❌"
    } else if t.void + t.missing + t.suspect > 0 || analysis.interrupted {
        "⚠️"
    } else {
        "✅"
    };
    let (answer, rest) = markdown::answer_and_details(analysis);
    bounded(&format!("{}\n{}", marked(&answer, mark), folded("Conditions, notes and the command", &rest)))
}

/// Trials of `prony load`, by name: the last ones.
pub fn trials(trials: &[(String, Trial)]) -> String {
    let left_out = trials.len().saturating_sub(TRIALS_MAX);
    let mut out = String::new();
    for (name, trial) in &trials[left_out..] {
        let mark = match (trial.verdict.validity, trial.outcome) {
            (Validity::Invalid, _) | (_, Outcome::Broken) => "❌",
            (Validity::Valid, Outcome::Carried) if !trial.interrupted => "✅",
            _ => "⚠️",
        };
        out.push_str(&format!("### {mark} {}\n\n{}\n", markdown::text(name), markdown::trial(trial)));
    }
    if left_out > 0 {
        let n = format::count(left_out as u64, "earlier trial", "earlier trials");
        out.push_str(&format!("\n{n} not shown.\n"));
    }
    bounded(&out)
}

fn marked(markdown: &str, mark: &str) -> String {
    markdown.replacen("### ", &format!("### {mark} "), 1)
}

/// `title` is our own words; an empty line lets Markdown begin again inside HTML.
fn folded(title: &str, markdown: &str) -> String {
    format!("<details>\n<summary>{title}</summary>\n\n{markdown}\n</details>\n")
}

/// Cut after a whole line where it is too long, with a note.
fn bounded(text: &str) -> String {
    if text.len() <= BYTES_MAX {
        return text.to_owned();
    }
    let mut end = BYTES_MAX;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let whole = text[..end].rfind('\n').map_or(0, |at| at + 1);
    format!("{}\nThe rest is too long for a step summary: see the run log.\n", &text[..whole])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn the_answer_comes_first_and_the_conditions_are_folded() {
        let text = experiment(&fixtures::experiment());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "### ⚠️ Which of these servers is fastest here?", "a trial is void");
        assert!(lines[2].starts_with("**hyper leads"), "{}", lines[2]);
        let fold = text.find("<details>").unwrap();
        assert!(text.find("| rank |").unwrap() < fold);
        assert!(fold < text.find("Reproduce:").unwrap() && fold < text.find("Skipped:").unwrap());
        assert!(text.ends_with("</details>\n"));
    }

    #[test]
    fn texts_from_outside_become_neither_tags_nor_mentions() {
        let text = experiment(&fixtures::hostile());
        assert!(!text.contains("<script") && !text.contains("<img") && !text.contains("<b "), "{text}");
        assert!(!text.contains("@everyone"));
    }

    #[test]
    fn only_the_last_trials_are_shown_and_a_cut_summary_says_so() {
        let many: Vec<_> = (0..25).map(|i| (format!("url · c50 · #{i}"), fixtures::closed())).collect();
        let text = trials(&many);
        assert!(text.contains("5 earlier trials not shown") && !text.contains("\\#4\n"), "{text}");
        assert!(text.starts_with("### ✅ url · c50 · \\#5\n"), "{text}");
        let cut = bounded(&"ä\n".repeat(BYTES_MAX));
        assert!(cut.len() < BYTES_MAX + 100 && cut.ends_with("see the run log.\n"));
    }
}
