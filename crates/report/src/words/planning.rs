//! What blocks find, and whether one of them decides, in sentences.

use prony_analysis::experiment::PlanAnalysis;
use prony_analysis::ranking::Planning;

use crate::format;

/// `at this noise, 5 blocks find a difference of 6.1 % in 4 of 5 runs; 2 % takes 41 blocks, 5 % takes 8, 10 % takes 4`.
pub fn planning(planning: &Planning) -> String {
    let blocks = format::count(planning.blocks.into(), "block", "blocks");
    let finds = match planning.finds {
        Some(finds) => {
            format!("at this noise, {blocks} find a difference of {} in 4 of 5 runs", format::percent(finds))
        }
        None => format!("at this noise, {blocks} find no difference"),
    };
    let others = planning.to_find.iter().enumerate().map(|(at, of)| {
        let unit = if at == 0 { " blocks" } else { "" };
        let blocks = of.blocks.map_or("more than 1,000".to_owned(), |n| n.to_string());
        format!("{} takes {blocks}{unit}", whole(of.difference))
    });
    format!("{finds}; {}", others.collect::<Vec<_>>().join(", "))
}

/// A percentage that was given, not measured: `2 %`.
pub(super) fn whole(share: f64) -> String {
    format::percent(share).replace(".0 %", " %")
}

/// Which ranks of a plan change without one of its blocks; `None` under eight blocks.
pub(crate) fn rank_changes(plan: &PlanAnalysis) -> Option<String> {
    let changes = plan.rank_changes.as_ref()?;
    if changes.is_empty() {
        return Some("no rank changes if one block is left out".to_owned());
    }
    let said = changes.iter().map(|change| {
        let (best, worst) = change.rank;
        let places = if best == worst { best.to_string() } else { format!("{best}–{worst}") };
        format!("{} is {places} without block {}", format::printable(&change.candidate), change.block + 1)
    });
    Some(format!("ranks that one block decides: {}", said.collect::<Vec<_>>().join(", ")))
}
