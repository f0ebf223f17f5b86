//! A plan, carried out: one server's failure is its own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Instant;

use super::{InstallPlan, apt};
use crate::candidate::{Candidate, Layout};
use crate::container;

/// Carries out a plan: for each candidate, in order, whether it can now start, or a sentence with the next step.
/// `cancelled` is asked between steps: what is under way ends first (Ctrl-C reaches it too), the rest is not begun.
pub fn install(
    plan: &InstallPlan,
    candidates: &[Candidate],
    layout: &Layout,
    cancelled: &dyn Fn() -> bool,
    on_progress: &mut dyn FnMut(&str),
) -> Vec<(String, Result<(), String>)> {
    let begun = Instant::now();
    let mut errors: BTreeMap<String, String> = BTreeMap::new();
    for (label, missing) in &plan.unmendable {
        let why = format!("{} is missing: {}", missing.what, missing.mend);
        errors.entry(label.clone()).or_insert(why);
    }
    // Nothing is installed for those that will not run anyway.
    let of: Vec<_> = plan.apt_of.iter().filter(|(label, _)| !errors.contains_key(label)).cloned().collect();
    errors.extend(apt::install(&of, &layout.root().join("apt.log"), cancelled, on_progress));
    for candidate in candidates {
        if !errors.contains_key(candidate.label())
            && let Err(error) = copy(candidate, layout)
        {
            errors.insert(candidate.label().to_owned(), error);
        }
    }
    for step in &plan.steps {
        if step.labels.iter().all(|label| errors.contains_key(label)) {
            continue;
        }
        if cancelled() {
            break;
        }
        let what = format!("{}: {}", step.server, step.kind.describe());
        if let Err(why) = timed(&what, on_progress, || step.run(layout)) {
            for label in &step.labels {
                errors.entry(label.clone()).or_insert_with(|| why.clone());
            }
        }
    }
    // What is missing still, though every step went well: a package that does not bring what its recipe expects.
    for candidate in candidates.iter().filter(|c| plan.labels.iter().any(|label| label == c.label())) {
        if let Some(first) = super::missing(candidate, layout).first() {
            let label = candidate.label().to_owned();
            let why = format!("{} is still missing after the installation: {}", first.what, first.mend);
            errors.entry(label).or_insert(why);
        }
    }
    let servers: BTreeSet<&str> = candidates.iter().filter_map(|c| Some(c.server()?.name.as_str())).collect();
    if let (Some(server), 1, true) = (servers.first(), servers.len(), errors.is_empty() && !plan.is_empty()) {
        // Without it nobody knows how long it took, and that is all.
        let _ = fs::write(layout.install_ms(server), begun.elapsed().as_millis().to_string());
    }
    plan.labels.iter().map(|label| (label.clone(), errors.remove(label).map_or(Ok(()), Err))).collect()
}

/// How long the last installation took that was of this server alone.
pub fn install_ms(candidate: &Candidate, layout: &Layout) -> Option<u64> {
    let server = candidate.server().filter(|_| candidate.engine().is_none())?;
    fs::read_to_string(layout.install_ms(&server.name)).ok()?.parse().ok()
}

fn copy(candidate: &Candidate, layout: &Layout) -> Result<(), String> {
    let Some(server) = candidate.server() else { return Ok(()) };
    match candidate.engine() {
        Some(_) => container::context(server, &layout.context(&server.name)),
        None => server.materialise(&layout.work(&server.name)).map(drop),
    }
}

/// Says that something begins, does it, and says how long it took.
pub(super) fn timed(
    what: &str,
    on_progress: &mut dyn FnMut(&str),
    run: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    on_progress(&format!("{what} …"));
    let started = Instant::now();
    let result = run();
    on_progress(&match &result {
        Ok(()) => format!("{what}: {:.1} s", started.elapsed().as_secs_f64()),
        Err(_) => format!("{what}: failed"),
    });
    result
}
