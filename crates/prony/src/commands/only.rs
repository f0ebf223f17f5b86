//! `--only`: rows by the names of candidates and plans.

use std::collections::BTreeSet;

use prony_report::format::printable;

use crate::failure::Failure;

/// Keeps the rows of the named candidates and plans: all where none is. A name that is both is a candidate's.
pub(super) fn keep<T>(
    rows: &mut Vec<T>,
    only: &[String],
    of_row: impl Fn(&T) -> (&str, &str),
    run: &str,
) -> Result<(), Failure> {
    let (candidates, plans): (BTreeSet<&str>, BTreeSet<&str>) = rows.iter().map(&of_row).unzip();
    if let Some(name) =
        only.iter().find(|name| !candidates.contains(name.as_str()) && !plans.contains(name.as_str()))
    {
        let list = |names: BTreeSet<&str>| printable(&Vec::from_iter(names).join(", "));
        return Err(Failure::usage(format!(
            "--only {name:?} is neither a candidate of {run} ({}) nor a plan ({}).",
            list(candidates),
            list(plans)
        )));
    }
    let (candidates, plans): (Vec<&String>, Vec<&String>) =
        only.iter().partition(|name| candidates.contains(name.as_str()));
    let named = |names: &[&String], name: &str| names.is_empty() || names.iter().any(|known| *known == name);
    rows.retain(|row| {
        let (candidate, plan) = of_row(row);
        named(&candidates, candidate) && named(&plans, plan)
    });
    Ok(())
}
