//! Two candidates side by side, for a pull request.

use prony_analysis::compare::Finding;
use prony_analysis::comparison::{Comparison, FigureComparison};

use super::{code, push_head, push_row, text};
use crate::words::comparison as words;

/// What a gate could not judge: what stands first.
pub fn not_judged(said: &[String]) -> String {
    said.iter().map(|why| format!("**NOT JUDGED** {}\n\n", text(why))).collect()
}

/// A comparison as a comment on a pull request: the answer, a table per plan, what qualifies it.
pub fn comparison(comparison: &Comparison) -> String {
    let (a, b) = words::sides(comparison);
    let mut out = format!("### {} against {}\n\n**{}**\n", text(&b), text(&a), text(&comparison.headline));
    out.push_str(&below(comparison));
    out
}

/// All of a comparison but its heading and its answer.
pub(super) fn below(comparison: &Comparison) -> String {
    let (a, b) = words::sides(comparison);
    let mut out = String::new();
    for difference in &comparison.not_comparable {
        out.push_str(&format!("\n**Not comparable, compared because of --force:** {}\n", text(difference)));
    }
    for plan in &comparison.plans {
        let amount = words::amount(plan, comparison);
        out.push_str(&format!("\n{}: {} · {amount}\n\n", text(&plan.name), text(&plan.describe)));
        let head = ["", &text(&a), &text(&b), "change", "95 %", "A/A", "verdict"];
        push_head(&mut out, head, |column| column == 0 || column == 6);
        for found in &plan.figures {
            push_row(&mut out, words::cells(found).into_iter().chain([verdict(found, comparison.paired)]));
        }
        let whys: Vec<String> = plan
            .figures
            .iter()
            .filter_map(|f| Some(format!("- {}: {}\n", f.figure, text(f.why.as_ref()?))))
            .collect();
        if !whys.is_empty() {
            out.push('\n');
            out.extend(whys);
        }
        if let Some(tail) = words::tail(plan) {
            out.push_str(&format!("\nResponse times: {}\n", text(&tail)));
        }
    }
    out.push('\n');
    out.extend(comparison.notes.iter().map(|note| format!("- {}\n", text(note))));
    out.push_str(&format!(
        "\n<sub>{}. {}</sub>\n",
        text(&comparison.method),
        text(words::legend(comparison))
    ));
    if let Some(next) = &comparison.next {
        out.push_str(&format!("\nNext: {}\n", code(next)));
    }
    out
}

fn verdict(found: &FigureComparison, paired: bool) -> String {
    let word = text(&words::verdict(found, paired));
    match found.finding {
        Some(Finding::Faster | Finding::Slower) => format!("**{word}**"),
        Some(Finding::Equivalent | Finding::Inconclusive) | None => word,
    }
}
