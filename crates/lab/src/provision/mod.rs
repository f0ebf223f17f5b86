//! What servers need: whether it is there, and how it gets there. Packages are the distribution's, all else goes under
//! `.prony/`. Installing leaves no service running or enabled: it would hold ports, and cores that are being measured.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::candidate::{Candidate, Layout};
use crate::programs::{end_runs, find_command};

mod apt;
mod builder;
mod composer;
mod download;
mod footprint;
mod install;
mod local_sources;
mod mix;
mod packages;
mod pecl;
mod pip;
mod policy;
mod python;
mod services;
mod steps;
mod tool;

use builder::Builder;

pub use footprint::{Footprint, footprint};
pub use install::{install, install_ms};
pub(crate) use steps::{Step, StepKind, from_local_sources};

/// Ends the step of an installation that is under way, and every later one as it begins: for a user who asks twice.
/// Packages that are being installed are waited for all the same, since dpkg is not to be cut short.
pub fn end_steps() {
    end_runs();
}

/// Nothing of it was installed by anybody that Prony knows: its programs were there.
const FOUND: &str = "found on PATH";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    pub what: String,
    pub mend: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InstallPlan {
    pub(crate) apt: Vec<String>,
    /// The same for each candidate, to find the culprit if they cannot be installed together.
    pub(crate) apt_of: Vec<(String, Vec<String>)>,
    pub(crate) steps: Vec<Step>,
    /// Why build steps have root's rights, where they must.
    pub(crate) as_root: BTreeSet<String>,
    pub(crate) unmendable: Vec<(String, Missing)>,
    pub(crate) labels: Vec<String>,
}

/// What of a candidate is missing: nothing where it can be started. Milliseconds if it is installed.
pub fn missing(candidate: &Candidate, layout: &Layout) -> Vec<Missing> {
    let Some(server) = candidate.server() else { return Vec::new() };
    let needs = needs(candidate, layout);
    let runtime = candidate.engine().map(|engine| format!(" --runtime {}", engine.name)).unwrap_or_default();
    let install = format!("prony servers install {}{runtime}", candidate.label());
    let mut missing = Vec::new();
    if !needs.apt.is_empty() {
        let what = match needs.apt.len() {
            1 => format!("the package {}", needs.apt[0]),
            _ => format!("the packages {}", needs.apt.join(", ")),
        };
        missing.push(Missing { what, mend: install.clone() });
    }
    missing.extend(needs.unmendable);
    let steps = needs.steps.iter().map(|step| step.kind.noun().to_owned());
    missing.extend(
        steps.map(|what| Missing { what: format!("{what} of {}", server.name), mend: install.clone() }),
    );
    missing
}

pub fn origin(candidate: &Candidate, layout: &Layout) -> String {
    let Some(server) = candidate.server() else { return FOUND.to_owned() };
    if let Some(image) = candidate.run_image() {
        if let Some(base) = image.stand_in() {
            return format!("image on a base that stands in: {base}");
        }
        let digest = image.base_digest(&layout.context(&server.name));
        return digest.map_or_else(|| "image".to_owned(), |digest| format!("image on {digest}"));
    }
    if from_local_sources(&server.name, layout) {
        return "local sources".to_owned();
    }
    let requires = candidate.requires();
    // What is not installed as a package has a program from elsewhere that stands in for it.
    let packaged = |apt: &[String]| packages::installed(apt).is_some_and(|installed| !installed.is_empty());
    let apt = !requires.apt.is_empty() && packaged(&requires.apt);
    if apt || requires.uses_registries() { "registry".to_owned() } else { FOUND.to_owned() }
}

pub fn plan(candidates: &[Candidate], layout: &Layout) -> InstallPlan {
    let mut plan = InstallPlan::default();
    let mut apt = BTreeSet::new();
    for candidate in candidates {
        if plan.labels.iter().any(|label| label == candidate.label()) {
            continue;
        }
        let label = candidate.label().to_owned();
        let needs = needs(candidate, layout);
        apt.extend(needs.apt.iter().cloned());
        plan.unmendable.extend(needs.unmendable.into_iter().map(|missing| (label.clone(), missing)));
        for step in needs.steps {
            match plan.steps.iter_mut().find(|known| known.dir == step.dir && known.kind == step.kind) {
                Some(known) => known.labels.push(label.clone()),
                None => {
                    if let Builder::Root(why) = step.builder(layout) {
                        plan.as_root.insert(why);
                    }
                    plan.steps.push(step);
                }
            }
        }
        plan.apt_of.push((label.clone(), needs.apt));
        plan.labels.push(label);
    }
    plan.apt = apt.into_iter().collect();
    plan
}

impl InstallPlan {
    pub fn is_empty(&self) -> bool {
        self.apt.is_empty() && self.steps.is_empty()
    }

    /// What would be done, in sentences, to be shown before asking.
    pub fn describe(&self) -> String {
        let mut lines = Vec::new();
        if self.is_empty() && self.unmendable.is_empty() {
            lines.push("Everything is installed.".to_owned());
        }
        if !self.apt.is_empty() {
            let count = if self.apt.len() == 1 {
                "1 package".to_owned()
            } else {
                format!("{} packages", self.apt.len())
            };
            lines.push(format!(
                "{count} and what they depend on, by apt-get: {}. No service is started or left enabled.",
                self.apt.join(" ")
            ));
        }
        for step in &self.steps {
            let unlocked =
                step.unlocked.map(|lock| format!(" Only versions are pinned: there is no {lock}."));
            lines.push(format!(
                "{}: {}, in {}.{}",
                step.labels.join(", "),
                step.kind.describe(),
                step.dir.display(),
                unlocked.unwrap_or_default()
            ));
        }
        for why in &self.as_root {
            lines.push(format!(
                "Steps have root's rights, since {why}. By sudo from a user's account they would have that user's."
            ));
        }
        for (label, missing) in &self.unmendable {
            lines.push(format!(
                "{label}: {} is missing, and Prony cannot install it: {}",
                missing.what, missing.mend
            ));
        }
        lines.join("\n")
    }
}

struct Needs {
    apt: Vec<String>,
    unmendable: Vec<Missing>,
    steps: Vec<Step>,
}

fn needs(candidate: &Candidate, layout: &Layout) -> Needs {
    if let Some(unmendable) = unmendable_place(candidate) {
        return Needs { apt: Vec::new(), unmendable: vec![unmendable], steps: Vec::new() };
    }
    if candidate.engine().is_some() {
        let steps = steps::pending_image(candidate, layout);
        return Needs { apt: Vec::new(), unmendable: Vec::new(), steps };
    }
    let requires = candidate.requires();
    let steps = steps::pending(candidate, &requires, layout);
    let mut wanted = requires.apt.clone();
    if !steps.is_empty() {
        wanted.extend(requires.apt_build.iter().cloned());
    }
    let apt = packages::missing(&wanted);
    let mut unmendable = Vec::new();
    let mut absent = |command: &str| {
        if find_command(command).is_none() && !apt.iter().any(|package| packages::brings(package, command)) {
            unmendable
                .push(Missing { what: format!("the command {command}"), mend: packages::mend(command) });
        }
    };
    // A package that is still to be installed may bring the recipe's commands.
    if apt.is_empty() {
        requires.commands.iter().for_each(|command| absent(command));
    }
    for step in &steps {
        if let Some(tool) = step.kind.tool().filter(|tool| !requires.commands.iter().any(|c| c == tool)) {
            absent(tool);
        }
    }
    let needs_python = steps.iter().any(|step| matches!(step.kind, StepKind::Venv { .. }));
    if needs_python && apt.is_empty() && python::find(requires.python.as_deref()).is_none() {
        let what = match &requires.python {
            Some(constraint) => format!("a Python {constraint} with venv"),
            None => "a Python with venv".to_owned(),
        };
        unmendable.push(Missing {
            what,
            mend: "apt-get install python3-venv, or pyenv install VERSION.".to_owned(),
        });
    }
    Needs { apt, unmendable, steps }
}

/// What no installation mends: a recipe that is an image cannot run without an engine, nor one that is none with it.
fn unmendable_place(candidate: &Candidate) -> Option<Missing> {
    let server = candidate.server()?;
    match candidate.engine() {
        None => candidate.image().map(|image| Missing {
            what: format!("a container engine for the image {image}"),
            mend: "install podman (apt-get install podman) or docker, and add --runtime container."
                .to_owned(),
        }),
        Some(_) if candidate.run_image().is_none() => Some(Missing {
            what: "a Dockerfile".to_owned(),
            mend: format!("{} runs natively only: leave --runtime out.", server.name),
        }),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests;
