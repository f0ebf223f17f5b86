//! The steps of a composite action, run as GitHub's runner runs them: expressions put in, outputs and PATH from files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::machine::Machine;
use crate::files::{make, read, write};

/// A job: its folders, its inputs and what expressions may name.
pub(super) struct Job<'a> {
    machine: &'a Machine,
    pub(super) workspace: PathBuf,
    /// Where the runner's files are; outside of the workspace.
    pub(super) runner: PathBuf,
    /// `inputs.serve`, `github.token`, `runner.temp`, `steps.ID.outputs.NAME`.
    pub(super) context: BTreeMap<String, String>,
    pub(super) variables: Vec<(String, String)>,
    path: String,
}

#[derive(Debug)]
pub(super) struct Ended {
    pub(super) codes: Vec<(String, i32)>,
    pub(super) said: String,
}

impl Ended {
    /// Whether every step succeeded: a job fails where one does not.
    pub(super) fn succeeded(&self) -> bool {
        self.codes.iter().all(|(_, code)| *code == 0)
    }
}

impl<'a> Job<'a> {
    /// A job with files of its runner in a folder beside the workspace. `programs` are in front of the system's on its PATH.
    pub(super) fn new(
        machine: &'a Machine,
        workspace: &Path,
        runner: &str,
        programs: Option<&Path>,
    ) -> Result<Job<'a>, String> {
        let runner = workspace.with_file_name(runner);
        for folder in ["temp", "home"] {
            make(&runner.join(folder))?;
        }
        let temp = runner.join("temp").display().to_string();
        let system = machine.path();
        Ok(Job {
            machine,
            workspace: workspace.to_owned(),
            runner,
            context: BTreeMap::from([("runner.temp".to_owned(), temp)]),
            variables: Vec::new(),
            path: programs.map_or(system.clone(), |folder| format!("{}:{system}", folder.display())),
        })
    }

    pub(super) fn set(&mut self, values: &[(&str, &str)]) {
        self.context.extend(values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    }

    pub(super) fn output(&self, step: &str, name: &str) -> String {
        self.context.get(&format!("steps.{step}.outputs.{name}")).cloned().unwrap_or_default()
    }

    /// Runs the action's steps. A `uses` is left out: it is somebody else's.
    pub(super) fn run(&mut self, action: &Value, folder: &Path) -> Result<Ended, String> {
        let inputs = action["inputs"].as_object().ok_or("the action has no inputs")?;
        for (name, input) in inputs {
            let default = self.filled(input["default"].as_str().unwrap_or_default())?;
            self.context.entry(format!("inputs.{name}")).or_insert(default);
        }
        let mut ended = Ended { codes: Vec::new(), said: String::new() };
        for step in action["runs"]["steps"].as_array().ok_or("the action has no steps")? {
            let Some(script) = step["run"].as_str() else { continue };
            let condition = step["if"].as_str().unwrap_or("success()");
            if self.holds(condition, ended.succeeded())? {
                let code = self.step(step, script, folder, &mut ended.said)?;
                ended.codes.push((step["name"].as_str().unwrap_or_default().to_owned(), code));
            }
        }
        Ok(ended)
    }

    fn step(&mut self, step: &Value, script: &str, folder: &Path, said: &mut String) -> Result<i32, String> {
        let file = |name: &str| self.runner.join(name);
        for name in ["output", "path"] {
            write(&file(name), "")?;
        }
        write(&file("step.sh"), script)?;
        let own = step["working-directory"].as_str().map(|text| self.filled(text)).transpose()?;
        let known = [
            ("PATH", self.path.clone()),
            ("CI", "true".to_owned()),
            ("GITHUB_ACTIONS", "true".to_owned()),
            ("GITHUB_WORKSPACE", self.workspace.display().to_string()),
            ("GITHUB_ACTION_PATH", folder.display().to_string()),
            ("PRONY_DISTURBED", "keep".to_owned()),
        ];
        let files = [
            ("HOME", "home"),
            ("RUNNER_TEMP", "temp"),
            ("GITHUB_OUTPUT", "output"),
            ("GITHUB_PATH", "path"),
            ("GITHUB_STEP_SUMMARY", "summary.md"),
            // Beside the benches of other tests, which have nothing to fear from a verdict by a factor of ten.
            ("PRONY_TURN", "turn"),
            ("PRONY_STATE", "state"),
        ];
        let files = files.map(|(name, at)| (name, file(at).display().to_string()));
        let known = known.into_iter().chain(files).map(|(name, value)| (name.to_owned(), value));
        let mut variables: Vec<(String, String)> = known.chain(self.variables.iter().cloned()).collect();
        for (name, value) in step["env"].as_object().into_iter().flatten() {
            variables.push((name.clone(), self.filled(value.as_str().unwrap_or_default())?));
        }
        let place = self.workspace.join(own.unwrap_or_default());
        let ran = self.machine.bash(&file("step.sh"), &place, &variables)?;
        said.push_str(&String::from_utf8_lossy(&ran.stdout));
        said.push_str(&String::from_utf8_lossy(&ran.stderr));
        let (outputs, paths) = (read(&file("output"))?, read(&file("path"))?);
        for line in paths.lines() {
            self.path = format!("{line}:{}", self.path);
        }
        for line in outputs.lines() {
            let (name, value) = line.split_once('=').ok_or_else(|| format!("{line:?} is no output"))?;
            let id = step["id"].as_str().unwrap_or_default();
            self.context.insert(format!("steps.{id}.outputs.{name}"), value.to_owned());
        }
        Ok(ran.status.code().unwrap_or(-1))
    }

    fn filled(&self, text: &str) -> Result<String, String> {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, more)) = rest.split_once("${{") {
            let (expression, after) = more.split_once("}}").ok_or_else(|| format!("{text:?} has no }}}}"))?;
            out.push_str(before);
            let values = expression.split("||").map(|name| self.value(name.trim()));
            let values = values.collect::<Result<Vec<_>, _>>()?;
            out.push_str(values.iter().find(|value| !value.is_empty()).map_or("", String::as_str));
            rest = after;
        }
        Ok(out + rest)
    }

    /// What a name or a text in quotes is. A step's outputs are empty until it has written them.
    fn value(&self, name: &str) -> Result<String, String> {
        if let Some(text) = name.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
            return Ok(text.to_owned());
        }
        match self.context.get(name) {
            Some(value) => Ok(value.clone()),
            None if name.starts_with("steps.") => Ok(String::new()),
            None => Err(format!("the expression {name:?} is not known here")),
        }
    }

    fn holds(&self, condition: &str, succeeded: bool) -> Result<bool, String> {
        let always = condition.contains("always()");
        let mut holds = succeeded || always;
        for part in condition.split("&&").map(str::trim) {
            if let Some((a, b)) = part.split_once("==") {
                holds &= self.value(a.trim())? == self.value(b.trim())?;
            } else if let Some((a, b)) = part.split_once("!=") {
                holds &= self.value(a.trim())? != self.value(b.trim())?;
            } else if !matches!(part, "always()" | "success()") {
                return Err(format!("the condition {part:?} is not known here"));
            }
        }
        Ok(holds)
    }
}
