//! What serde cannot see: whether a recipe's words fit together.

use super::requires::validate as requires;
use super::variables::{BUILT_IN, Piece, is_name, pieces};
use super::{AxisValue, Recipe, SCHEMA, Var};
use crate::check::CustomCheck;
use crate::toml_error::{TomlError, suggest};

/// A server that takes longer than this to answer is not starting, it is hanging.
const READY_TIMEOUT_S_MAX: u64 = 600;
/// What has a meaning of its own in a value of an axis.
const OWN_WORDS: [&str; 5] = ["env", "requires", "keepalive", "processes", "image"];

/// The text that is checked, for the lines of errors.
pub(crate) struct Source<'a> {
    pub(crate) file: &'a str,
    pub(crate) text: &'a str,
}

impl Source<'_> {
    pub(super) fn refuse(&self, path: &[&str], message: impl Into<String>) -> Result<(), TomlError> {
        Err(TomlError::at_key(self.file, self.text, path, message))
    }
}

pub(super) fn validate(source: &Source<'_>, schema: &str, recipe: &Recipe) -> Result<(), TomlError> {
    if schema != SCHEMA {
        return source
            .refuse(&["schema"], format!("schema {schema:?} is not known: this version reads {SCHEMA:?}."));
    }
    for (key, text) in [("title", &recipe.title), ("language", &recipe.language)] {
        if text.trim().is_empty() {
            return source.refuse(&[key], format!("{key:?} is empty."));
        }
    }
    if recipe.routes.is_empty() && recipe.checks.is_empty() {
        return source.refuse(
            &["routes"],
            "routes is empty: name at least \"text\", or describe checks of your own as [[check]].",
        );
    }
    checks(source, &recipe.checks)?;
    image(source, recipe)?;
    vars(source, recipe)?;
    commands(source, recipe)?;
    let timeout = recipe.start.ready_timeout().as_secs();
    if timeout == 0 || timeout > READY_TIMEOUT_S_MAX {
        return source.refuse(
            &["start", "ready_timeout_s"],
            format!("ready_timeout_s must be between 1 and {READY_TIMEOUT_S_MAX}, found {timeout}."),
        );
    }
    for (i, template) in recipe.start.templates.iter().enumerate() {
        if template.is_empty() || template.contains('/') || template == ".." {
            return source.refuse(
                &["start", "templates", &i.to_string()],
                format!("template {template:?} must be the name of a file beside server.toml."),
            );
        }
    }
    requires(source, &["requires"], &recipe.requires)?;
    axes(source, recipe)
}

/// Of a recipe as of an experiment; none is fine.
pub(crate) fn checks(source: &Source<'_>, checks: &[CustomCheck]) -> Result<(), TomlError> {
    for (at, check) in checks.iter().enumerate() {
        if let Some((key, why)) = check.fault() {
            return source.refuse(&["check", &at.to_string(), key], why);
        }
    }
    if !checks.is_empty() && !checks.iter().any(CustomCheck::is_loadable) {
        return source.refuse(
            &["check"],
            "no [[check]] is a GET without a body: the first such request is what the load asks for.",
        );
    }
    Ok(())
}

fn image(source: &Source<'_>, recipe: &Recipe) -> Result<(), TomlError> {
    let is_image = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.bytes().all(|b| b.is_ascii_graphic())
    };
    if let Some(image) = recipe.image.as_deref().filter(|image| !is_image(image)) {
        return source.refuse(&["image"], format!("{image:?} is no name of an image: write NAME:TAG."));
    }
    for (axis, value) in recipe.axes.iter().flat_map(|axis| axis.values.iter().map(move |v| (axis, v))) {
        if let Some(image) = value.image.as_deref().filter(|image| !is_image(image)) {
            let path = ["axes", &axis.name, &value.name, "image"];
            return source.refuse(&path, format!("{image:?} is no name of an image: write NAME:TAG."));
        }
    }
    match (&recipe.image, recipe.port) {
        (_, Some(0)) => source.refuse(&["port"], "port must be between 1 and 65535, found 0."),
        (None, Some(_)) => {
            source.refuse(&["port"], "port goes with image: other servers are told {port} in [start].")
        }
        (Some(_), None) if recipe.start.command.is_empty() => source.refuse(
            &["image"],
            "the image needs a port: write port = 8080, on which it listens, or a [start] with {port}.",
        ),
        _ => Ok(()),
    }
}

fn vars(source: &Source<'_>, recipe: &Recipe) -> Result<(), TomlError> {
    for (name, value) in &recipe.vars {
        let path = ["vars", name.as_str()];
        if !is_name(name) {
            return source.refuse(
                &path,
                format!(
                    "{name:?} is no name for a variable: write a lower-case letter, then letters, digits and _."
                ),
            );
        }
        if BUILT_IN.iter().any(|(known, _)| known == name) {
            return source
                .refuse(&path, format!("{{{name}}} is a variable of every recipe: choose another name."));
        }
        if OWN_WORDS.contains(&name.as_str()) {
            return source.refuse(
                &path,
                format!("{name:?} has its own meaning in a value of an axis: choose another name."),
            );
        }
        var_value(source, &path, value)?;
    }
    Ok(())
}

/// Variables hold built-in ones only: no order of replacement has to be thought about.
fn var_value(source: &Source<'_>, path: &[&str], value: &Var) -> Result<(), TomlError> {
    let known: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
    let texts = match value {
        Var::One(text) => std::slice::from_ref(text),
        Var::Many(texts) => texts,
    };
    texts.iter().try_for_each(|text| known_names(source, path, text, &known, recipe_has_no_lists))
}

fn recipe_has_no_lists(_: &str) -> bool {
    false
}

fn commands(source: &Source<'_>, recipe: &Recipe) -> Result<(), TomlError> {
    let declared = recipe.vars.keys().map(String::as_str);
    let known: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).chain(declared).collect();
    let is_list = |name: &str| matches!(recipe.vars.get(name), Some(Var::Many(_)));
    let check = |path: &[&str], command: &[String], known: &[&str]| -> Result<(), TomlError> {
        if command.first().is_none_or(|program| program.trim().is_empty()) {
            return source.refuse(path, "the command is empty: name a program.");
        }
        for (i, argument) in command.iter().enumerate() {
            let i = i.to_string();
            let path = [path, &[i.as_str()]].concat();
            let whole = matches!(pieces(argument)[..], [Piece::Name(_)]);
            known_names(source, &path, argument, known, |name| !whole && is_list(name))?;
        }
        Ok(())
    };
    // An image may bring its own.
    if recipe.image.is_none() || !recipe.start.command.is_empty() {
        check(&["start", "command"], &recipe.start.command, &known)?;
    }
    env(source, &["start", "env"], &recipe.start.env, &known, is_list)?;
    for (i, helper) in recipe.helpers.iter().enumerate() {
        let i = i.to_string();
        check(&["helper", &i, "command"], &helper.command, &known)?;
        if let Some(path) = &helper.wait_for {
            known_names(source, &["helper", &i, "wait_for"], path, &known, is_list)?;
        }
    }
    if let Some(version) = &recipe.version {
        // It is asked while nothing runs: there is no port and no folder of a run.
        let at_rest: Vec<&str> =
            known.iter().copied().filter(|n| !["host", "port", "workers", "run"].contains(n)).collect();
        check(&["version", "command"], &version.command, &at_rest)?;
    }
    Ok(())
}

fn env(
    source: &Source<'_>,
    path: &[&str],
    env: &std::collections::BTreeMap<String, String>,
    known: &[&str],
    is_list: impl Fn(&str) -> bool + Copy,
) -> Result<(), TomlError> {
    for (name, value) in env {
        let path = [path, &[name.as_str()]].concat();
        if name.is_empty() || name.contains(['=', '\0']) {
            return source.refuse(&path, format!("{name:?} cannot be the name of an environment variable."));
        }
        known_names(source, &path, value, known, is_list)?;
    }
    Ok(())
}

fn known_names(
    source: &Source<'_>,
    path: &[&str],
    text: &str,
    known: &[&str],
    misplaced_list: impl Fn(&str) -> bool,
) -> Result<(), TomlError> {
    if text.contains('\0') {
        return source.refuse(path, "a NUL byte cannot stand in a command or an environment.");
    }
    for piece in pieces(text) {
        let Piece::Name(name) = piece else { continue };
        if !known.contains(&name) {
            let suggestion = suggest(name, known.iter().copied());
            return source.refuse(path, format!("unknown variable {{{name}}}: {suggestion}"));
        }
        if misplaced_list(name) {
            return source.refuse(
                path,
                format!("{{{name}}} is a list: it must be an argument of its own, not part of {text:?}."),
            );
        }
    }
    Ok(())
}

fn axes(source: &Source<'_>, recipe: &Recipe) -> Result<(), TomlError> {
    for axis in &recipe.axes {
        let path = ["axes", axis.name.as_str()];
        if axis.values.is_empty() {
            return source.refuse(&path, format!("axis {:?} has no values.", axis.name));
        }
        label_word(source, &path, &axis.name)?;
        for value in &axis.values {
            let path = ["axes", axis.name.as_str(), value.name.as_str()];
            label_word(source, &path, &value.name)?;
            axis_value(source, &path, value, recipe)?;
        }
    }
    Ok(())
}

fn axis_value(
    source: &Source<'_>,
    path: &[&str; 3],
    value: &AxisValue,
    recipe: &Recipe,
) -> Result<(), TomlError> {
    for (name, set) in &value.vars {
        let path = [&path[..], &[name.as_str()]].concat();
        let Some(declared) = recipe.vars.get(name) else {
            let suggestion = suggest(name, recipe.vars.keys().map(String::as_str).chain(OWN_WORDS));
            return source
                .refuse(&path, format!("{name:?} is no variable that [vars] declares: {suggestion}"));
        };
        match (declared, set) {
            (Var::One(_), Var::Many(_)) => {
                return source.refuse(&path, format!("{name:?} must be a text in quotes, as in [vars]."));
            }
            (Var::Many(_), Var::One(_)) => {
                return source.refuse(&path, format!("{name:?} must be a list, as in [vars]."));
            }
            _ => var_value(source, &path, set)?,
        }
    }
    let declared = recipe.vars.keys().map(String::as_str);
    let known: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).chain(declared).collect();
    let is_list = |name: &str| matches!(recipe.vars.get(name), Some(Var::Many(_)));
    env(source, &[&path[..], &["env"]].concat(), &value.env, &known, is_list)?;
    requires(source, &[&path[..], &["requires"]].concat(), &value.requires)
}

/// Words that stand in labels keep clear of the signs that separate them.
fn label_word(source: &Source<'_>, path: &[&str], word: &str) -> Result<(), TomlError> {
    if is_label_word(word) {
        return Ok(());
    }
    source.refuse(path, format!("{word:?} cannot stand in a label: use letters, digits, '.', '_' and '-'."))
}

/// Whether a word can be a server's, an axis' or a value's name.
pub(crate) fn is_label_word(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphanumeric())
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || b".-_".contains(&b))
}
