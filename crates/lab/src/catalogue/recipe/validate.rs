//! What serde cannot see: whether a recipe's words fit together.

use super::requires::{is_sha256, validate as requires};
use super::variables::{BUILT_IN, Piece, Var, is_name, pieces};
use super::{AxisValue, Recipe, SCHEMA, Start};
use crate::check::validate_checks;
use crate::service;
use crate::toml_file::{TomlError, TomlFile, suggest};
use prony_model::plan::ProtocolId;

/// A server that takes longer than this to answer is not starting, it is hanging.
const READY_TIMEOUT_S_MAX: u64 = 600;
const OWN_WORDS: [&str; 8] =
    ["env", "requires", "keepalive", "processes", "image", "protocols", "tls", "recycles"];
/// What a recipe may leave to root in its container: what a server takes to listen, to read, and to become other users.
pub(crate) const CAPABILITIES: [&str; 6] =
    ["CHOWN", "DAC_OVERRIDE", "KILL", "NET_BIND_SERVICE", "SETGID", "SETUID"];

/// What the commands of a recipe's services may name beside what every service may.
const OF_SERVICES: [&str; 6] = ["work", "venv", "ext", "opt", "user", "unprivileged_user"];

pub(super) fn validate(file: TomlFile<'_>, recipe: &Recipe) -> Result<(), TomlError> {
    let schema = &recipe.schema;
    file.refuse_if(
        schema != SCHEMA,
        &["schema"],
        format!("schema {schema:?} is not known: this version reads {SCHEMA:?}."),
    )?;
    for (key, text) in [("title", &recipe.title), ("language", &recipe.language)] {
        file.refuse_if(text.trim().is_empty(), &[key], format!("{key:?} is empty."))?;
    }
    file.refuse_if(
        recipe.routes.is_empty() && recipe.checks.is_empty(),
        &["routes"],
        "routes is empty: name at least \"text\", or describe checks of your own as [[check]].",
    )?;
    validate_checks(file, &recipe.checks)?;
    protocols(file, &["protocols"], &recipe.protocols)?;
    image(file, recipe)?;
    vars(file, recipe)?;
    service::check(&recipe.services, &OF_SERVICES).map_err(|why| file.error(&["service"], why))?;
    commands(file, recipe)?;
    let timeout = recipe.start.ready_timeout().as_secs();
    file.refuse_if(
        timeout == 0 || timeout > READY_TIMEOUT_S_MAX,
        &["start", "ready_timeout_s"],
        format!("ready_timeout_s must be between 1 and {READY_TIMEOUT_S_MAX}, found {timeout}."),
    )?;
    for (i, template) in recipe.start.templates.iter().enumerate() {
        file.refuse_if(
            template.is_empty() || template.contains('/') || template == "..",
            &["start", "templates", &i.to_string()],
            format!("template {template:?} must be the name of a file beside server.toml."),
        )?;
    }
    requires(file, &["requires"], &recipe.requires)?;
    axes(file, recipe)
}

fn protocols(file: TomlFile<'_>, path: &[&str], spoken: &[ProtocolId]) -> Result<(), TomlError> {
    file.refuse_if(spoken.is_empty(), path, "protocols is empty: name at least \"http/1.1\".")
}

fn image(file: TomlFile<'_>, recipe: &Recipe) -> Result<(), TomlError> {
    let check = |path: &[&str], image: &str| image_name(image).map_err(|why| file.error(path, why));
    recipe.image.iter().try_for_each(|image| check(&["image"], image))?;
    for axis in &recipe.axes {
        for (value, image) in axis.values.iter().filter_map(|value| Some((value, value.image.as_ref()?))) {
            check(&["axes", &axis.name, &value.name, "image"], image)?;
        }
    }
    let (image, port) = (recipe.image.is_some(), recipe.port);
    file.refuse_if(port == Some(0), &["port"], "port must be between 1 and 65535, found 0.")?;
    let why = "port goes with image: other servers are told {port} in [start].";
    file.refuse_if(!image && port.is_some(), &["port"], why)?;
    for (i, name) in recipe.capabilities.iter().flatten().enumerate() {
        let why = format!("the capability {name:?} cannot be kept: {}", suggest(name, CAPABILITIES));
        let wrong = !CAPABILITIES.contains(&name.as_str());
        file.refuse_if(wrong, &["capabilities", &i.to_string()], why)?;
    }
    let Start { command, args, .. } = &recipe.start;
    let why = "args are an image's, and take the place of its command's: leave them out, or the command.";
    file.refuse_if(!args.is_empty() && (!image || !command.is_empty()), &["start", "args"], why)?;
    let why = "the image needs a port: write port = 8080, on which it listens, or a [start] with {port}.";
    let mut told = args.iter().chain(recipe.start.env.values());
    let is_told = !command.is_empty() || told.any(|text| pieces(text).contains(&Piece::Name("port")));
    file.refuse_if(image && port.is_none() && !is_told, &["image"], why)
}

pub(super) fn image_name(image: &str) -> Result<(), String> {
    let is_image =
        image.starts_with(|c: char| c.is_ascii_alphanumeric()) && image.bytes().all(|b| b.is_ascii_graphic());
    if !is_image {
        return Err(format!("{image:?} is not the name of an image: write NAME:TAG."));
    }
    // An engine would refuse half a digest, too, but only at the installation.
    let digest = image.split_once('@').map(|(_, digest)| digest.strip_prefix("sha256:").unwrap_or_default());
    if !digest.is_none_or(is_sha256) {
        return Err(format!(
            "{image:?} has no whole digest: write NAME:TAG@sha256: and its 64 hexadecimal digits."
        ));
    }
    Ok(())
}

fn vars(file: TomlFile<'_>, recipe: &Recipe) -> Result<(), TomlError> {
    for (name, value) in &recipe.vars {
        let path = ["vars", name.as_str()];
        file.refuse_if(
            !is_name(name),
            &path,
            format!(
                "{name:?} cannot be the name of a variable: write a lower-case letter, then letters, digits \
                 and _."
            ),
        )?;
        file.refuse_if(
            BUILT_IN.iter().any(|(known, _)| known == name),
            &path,
            format!("{{{name}}} is a variable of every recipe: choose another name."),
        )?;
        file.refuse_if(
            OWN_WORDS.contains(&name.as_str()),
            &path,
            format!("{name:?} has its own meaning in a value of an axis: choose another name."),
        )?;
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
    // None of the built-in ones is a list.
    texts.iter().try_for_each(|text| known_names(file, path, text, &known, |_| false))
}

fn variables(recipe: &Recipe) -> (Vec<&str>, impl Fn(&str) -> bool + Copy) {
    let declared = recipe.vars.keys().map(String::as_str);
    let ports = recipe.services.iter().map(|service| service.port_name.as_str());
    let known = BUILT_IN.iter().map(|(name, _)| *name).chain(declared).chain(ports).collect();
    (known, move |name: &str| matches!(recipe.vars.get(name), Some(Var::Many(_))))
}

fn commands(file: TomlFile<'_>, recipe: &Recipe) -> Result<(), TomlError> {
    let (known, is_list) = variables(recipe);
    let words = |path: &[&str], words: &[String], known: &[&str]| -> Result<(), TomlError> {
        for (i, argument) in words.iter().enumerate() {
            let i = i.to_string();
            let path = [path, &[i.as_str()]].concat();
            let whole = matches!(pieces(argument)[..], [Piece::Name(_)]);
            known_names(file, &path, argument, known, |name| !whole && is_list(name))?;
        }
        Ok(())
    };
    let check = |path: &[&str], command: &[String], known: &[&str]| {
        let is_empty = command.first().is_none_or(|program| program.trim().is_empty());
        file.refuse_if(is_empty, path, "the command is empty: name a program.")?;
        words(path, command, known)
    };
    words(&["start", "args"], &recipe.start.args, &known)?;
    // An image may bring its own.
    if recipe.image.is_none() || !recipe.start.command.is_empty() {
        check(&["start", "command"], &recipe.start.command, &known)?;
    }
    env(file, &["start", "env"], &recipe.start.env, &known, is_list)?;
    for (i, name) in recipe.start.inherit.iter().enumerate() {
        let why = format!("{name:?} cannot be the name of an environment variable.");
        file.refuse_if(!is_variable(name), &["start", "inherit", &i.to_string()], why)?;
    }
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
        file.refuse_if(
            !is_variable(name),
            &path,
            format!("{name:?} cannot be the name of an environment variable."),
        )?;
        known_names(file, &path, value, known, is_list)?;
    }
    Ok(())
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0'])
}

fn known_names(
    file: TomlFile<'_>,
    path: &[&str],
    text: &str,
    known: &[&str],
    misplaced_list: impl Fn(&str) -> bool,
) -> Result<(), TomlError> {
    file.refuse_if(text.contains('\0'), path, "a NUL byte cannot stand in a command or an environment.")?;
    for piece in pieces(text) {
        let Piece::Name(name) = piece else { continue };
        if !known.contains(&name) {
            let suggestion = suggest(name, known.iter().copied());
            return file.refuse(path, format!("unknown variable {{{name}}}: {suggestion}"));
        }
        file.refuse_if(
            misplaced_list(name),
            path,
            format!("{{{name}}} is a list: it must be an argument of its own, not part of {text:?}."),
        )?;
    }
    Ok(())
}

fn axes(file: TomlFile<'_>, recipe: &Recipe) -> Result<(), TomlError> {
    for axis in &recipe.axes {
        let path = ["axes", axis.name.as_str()];
        file.refuse_if(axis.values.is_empty(), &path, format!("axis {:?} has no values.", axis.name))?;
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
            return file
                .refuse(&path, format!("{name:?} is not a variable that [vars] declares: {suggestion}"));
        };
        let form = match (declared, set) {
            (Var::One(_), Var::Many(_)) => Some("a text in quotes"),
            (Var::Many(_), Var::One(_)) => Some("a list"),
            _ => None,
        };
        let why = format!("{name:?} must be {}, as in [vars].", form.unwrap_or_default());
        file.refuse_if(form.is_some(), &path, why)?;
        var_value(file, &path, set)?;
    }
    if let Some(spoken) = &value.protocols {
        protocols(file, &[&path[..], &["protocols"]].concat(), spoken)?;
    }
    let (known, is_list) = variables(recipe);
    env(file, &[&path[..], &["env"]].concat(), &value.env, &known, is_list)?;
    requires(file, &[&path[..], &["requires"]].concat(), &value.requires)
}

fn label_word(file: TomlFile<'_>, path: &[&str], word: &str) -> Result<(), TomlError> {
    let why = format!("{word:?} cannot stand in a label: use letters, digits, '.', '_' and '-'.");
    file.refuse_if(!is_label_word(word), path, why)
}

pub(crate) fn is_label_word(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphanumeric())
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || b".-_".contains(&b))
}
