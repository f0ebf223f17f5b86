//! What serde cannot see: whether a recipe's words fit together.

use super::requires::validate as requires;
use super::variables::{BUILT_IN, Piece, Var, is_name, pieces};
use super::{AxisValue, Recipe, SCHEMA};
use crate::check::validate_checks;
use crate::toml_file::{TomlError, TomlFile, suggest};

/// A server that takes longer than this to answer is not starting, it is hanging.
const READY_TIMEOUT_S_MAX: u64 = 600;
/// What has a meaning of its own in a value of an axis.
const OWN_WORDS: [&str; 5] = ["env", "requires", "keepalive", "processes", "image"];

pub(super) fn validate(file: TomlFile<'_>, schema: &str, recipe: &Recipe) -> Result<(), TomlError> {
    if schema != SCHEMA {
        return file
            .refuse(&["schema"], format!("schema {schema:?} is not known: this version reads {SCHEMA:?}."));
    }
    for (key, text) in [("title", &recipe.title), ("language", &recipe.language)] {
        if text.trim().is_empty() {
            return file.refuse(&[key], format!("{key:?} is empty."));
        }
    }
    if recipe.routes.is_empty() && recipe.checks.is_empty() {
        return file.refuse(
            &["routes"],
            "routes is empty: name at least \"text\", or describe checks of your own as [[check]].",
        );
    }
    validate_checks(file, &recipe.checks)?;
    image(file, recipe)?;
    vars(file, recipe)?;
    commands(file, recipe)?;
    let timeout = recipe.start.ready_timeout().as_secs();
    if timeout == 0 || timeout > READY_TIMEOUT_S_MAX {
        return file.refuse(
            &["start", "ready_timeout_s"],
            format!("ready_timeout_s must be between 1 and {READY_TIMEOUT_S_MAX}, found {timeout}."),
        );
    }
    for (i, template) in recipe.start.templates.iter().enumerate() {
        if template.is_empty() || template.contains('/') || template == ".." {
            return file.refuse(
                &["start", "templates", &i.to_string()],
                format!("template {template:?} must be the name of a file beside server.toml."),
            );
        }
    }
    requires(file, &["requires"], &recipe.requires)?;
    axes(file, recipe)
}

fn image(file: TomlFile<'_>, recipe: &Recipe) -> Result<(), TomlError> {
    let is_image = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.bytes().all(|b| b.is_ascii_graphic())
    };
    if let Some(image) = recipe.image.as_deref().filter(|image| !is_image(image)) {
        return file.refuse(&["image"], format!("{image:?} is no name of an image: write NAME:TAG."));
    }
    for (axis, value) in recipe.axes.iter().flat_map(|axis| axis.values.iter().map(move |v| (axis, v))) {
        if let Some(image) = value.image.as_deref().filter(|image| !is_image(image)) {
            let path = ["axes", &axis.name, &value.name, "image"];
            return file.refuse(&path, format!("{image:?} is no name of an image: write NAME:TAG."));
        }
    }
    match (&recipe.image, recipe.port) {
        (_, Some(0)) => file.refuse(&["port"], "port must be between 1 and 65535, found 0."),
        (None, Some(_)) => {
            file.refuse(&["port"], "port goes with image: other servers are told {port} in [start].")
        }
        (Some(_), None) if recipe.start.command.is_empty() => file.refuse(
            &["image"],
            "the image needs a port: write port = 8080, on which it listens, or a [start] with {port}.",
        ),
        _ => Ok(()),
    }
}

fn vars(file: TomlFile<'_>, recipe: &Recipe) -> Result<(), TomlError> {
    for (name, value) in &recipe.vars {
        let path = ["vars", name.as_str()];
        if !is_name(name) {
            return file.refuse(
                &path,
                format!(
                    "{name:?} is no name for a variable: write a lower-case letter, then letters, digits and _."
                ),
            );
        }
        if BUILT_IN.iter().any(|(known, _)| known == name) {
            return file
                .refuse(&path, format!("{{{name}}} is a variable of every recipe: choose another name."));
        }
        if OWN_WORDS.contains(&name.as_str()) {
            return file.refuse(
                &path,
                format!("{name:?} has its own meaning in a value of an axis: choose another name."),
            );
        }
        var_value(file, &path, value)?;
    }
    Ok(())
}

/// Variables hold built-in ones only: no order of replacement has to be thought about.
fn var_value(file: TomlFile<'_>, path: &[&str], value: &Var) -> Result<(), TomlError> {
    let known: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
    let texts = match value {
        Var::One(text) => std::slice::from_ref(text),
        Var::Many(texts) => texts,
    };
    texts.iter().try_for_each(|text| known_names(file, path, text, &known, recipe_has_no_lists))
}

fn recipe_has_no_lists(_: &str) -> bool {
    false
}

fn commands(file: TomlFile<'_>, recipe: &Recipe) -> Result<(), TomlError> {
    let declared = recipe.vars.keys().map(String::as_str);
    let known: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).chain(declared).collect();
    let is_list = |name: &str| matches!(recipe.vars.get(name), Some(Var::Many(_)));
    let check = |path: &[&str], command: &[String], known: &[&str]| -> Result<(), TomlError> {
        if command.first().is_none_or(|program| program.trim().is_empty()) {
            return file.refuse(path, "the command is empty: name a program.");
        }
        for (i, argument) in command.iter().enumerate() {
            let i = i.to_string();
            let path = [path, &[i.as_str()]].concat();
            let whole = matches!(pieces(argument)[..], [Piece::Name(_)]);
            known_names(file, &path, argument, known, |name| !whole && is_list(name))?;
        }
        Ok(())
    };
    // An image may bring its own.
    if recipe.image.is_none() || !recipe.start.command.is_empty() {
        check(&["start", "command"], &recipe.start.command, &known)?;
    }
    env(file, &["start", "env"], &recipe.start.env, &known, is_list)?;
    for (i, helper) in recipe.helpers.iter().enumerate() {
        let i = i.to_string();
        check(&["helper", &i, "command"], &helper.command, &known)?;
        if let Some(path) = &helper.wait_for {
            known_names(file, &["helper", &i, "wait_for"], path, &known, is_list)?;
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
    file: TomlFile<'_>,
    path: &[&str],
    env: &std::collections::BTreeMap<String, String>,
    known: &[&str],
    is_list: impl Fn(&str) -> bool + Copy,
) -> Result<(), TomlError> {
    for (name, value) in env {
        let path = [path, &[name.as_str()]].concat();
        if name.is_empty() || name.contains(['=', '\0']) {
            return file.refuse(&path, format!("{name:?} cannot be the name of an environment variable."));
        }
        known_names(file, &path, value, known, is_list)?;
    }
    Ok(())
}

fn known_names(
    file: TomlFile<'_>,
    path: &[&str],
    text: &str,
    known: &[&str],
    misplaced_list: impl Fn(&str) -> bool,
) -> Result<(), TomlError> {
    if text.contains('\0') {
        return file.refuse(path, "a NUL byte cannot stand in a command or an environment.");
    }
    for piece in pieces(text) {
        let Piece::Name(name) = piece else { continue };
        if !known.contains(&name) {
            let suggestion = suggest(name, known.iter().copied());
            return file.refuse(path, format!("unknown variable {{{name}}}: {suggestion}"));
        }
        if misplaced_list(name) {
            return file.refuse(
                path,
                format!("{{{name}}} is a list: it must be an argument of its own, not part of {text:?}."),
            );
        }
    }
    Ok(())
}

fn axes(file: TomlFile<'_>, recipe: &Recipe) -> Result<(), TomlError> {
    for axis in &recipe.axes {
        let path = ["axes", axis.name.as_str()];
        if axis.values.is_empty() {
            return file.refuse(&path, format!("axis {:?} has no values.", axis.name));
        }
        label_word(file, &path, &axis.name)?;
        for value in &axis.values {
            let path = ["axes", axis.name.as_str(), value.name.as_str()];
            label_word(file, &path, &value.name)?;
            axis_value(file, &path, value, recipe)?;
        }
    }
    Ok(())
}

fn axis_value(
    file: TomlFile<'_>,
    path: &[&str; 3],
    value: &AxisValue,
    recipe: &Recipe,
) -> Result<(), TomlError> {
    for (name, set) in &value.vars {
        let path = [&path[..], &[name.as_str()]].concat();
        let Some(declared) = recipe.vars.get(name) else {
            let suggestion = suggest(name, recipe.vars.keys().map(String::as_str).chain(OWN_WORDS));
            return file.refuse(&path, format!("{name:?} is no variable that [vars] declares: {suggestion}"));
        };
        match (declared, set) {
            (Var::One(_), Var::Many(_)) => {
                return file.refuse(&path, format!("{name:?} must be a text in quotes, as in [vars]."));
            }
            (Var::Many(_), Var::One(_)) => {
                return file.refuse(&path, format!("{name:?} must be a list, as in [vars]."));
            }
            _ => var_value(file, &path, set)?,
        }
    }
    let declared = recipe.vars.keys().map(String::as_str);
    let known: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).chain(declared).collect();
    let is_list = |name: &str| matches!(recipe.vars.get(name), Some(Var::Many(_)));
    env(file, &[&path[..], &["env"]].concat(), &value.env, &known, is_list)?;
    requires(file, &[&path[..], &["requires"]].concat(), &value.requires)
}

/// Words that stand in labels keep clear of the signs that separate them.
fn label_word(file: TomlFile<'_>, path: &[&str], word: &str) -> Result<(), TomlError> {
    if is_label_word(word) {
        return Ok(());
    }
    file.refuse(path, format!("{word:?} cannot stand in a label: use letters, digits, '.', '_' and '-'."))
}

/// Whether a word can be a server's, an axis' or a value's name.
pub(crate) fn is_label_word(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphanumeric())
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || b".-_".contains(&b))
}
