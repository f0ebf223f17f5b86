//! Labels: `server:value+value`, where only what differs from the defaults is printed.

use crate::catalogue::{Axis, Server};
use crate::toml_file::suggest;

/// A switch that is on. Its label is the axis' name: `app:close` is `app:close=yes`.
const YES: &str = "yes";

pub(crate) fn server_name(label: &str) -> &str {
    label.split(':').next().unwrap_or_default().trim()
}

pub(super) fn parse(label: &str, server: &Server) -> Result<Vec<usize>, String> {
    let mut chosen: Vec<Option<usize>> = vec![None; server.recipe.axes.len()];
    if let Some((_, settings)) = label.trim().split_once(':') {
        for setting in settings.split('+').map(str::trim) {
            if setting.is_empty() {
                return Err(format!(
                    "{label:?} is not a candidate: write SERVER, or SERVER:SETTING+SETTING."
                ));
            }
            let (axis, value) = find(label, server, setting)?;
            if chosen[axis].replace(value).is_some() {
                let axis = &server.recipe.axes[axis].name;
                return Err(format!("{label:?} sets the axis {axis:?} twice: keep one of its values."));
            }
        }
    }
    Ok(chosen.into_iter().map(Option::unwrap_or_default).collect())
}

/// Axis and value of one setting, `value` or `axis=value`.
fn find(label: &str, server: &Server, setting: &str) -> Result<(usize, usize), String> {
    let (wanted_axis, wanted) = match setting.split_once('=') {
        Some((axis, value)) => (Some(axis.trim()), value.trim()),
        None => (None, setting),
    };
    let matches: Vec<(usize, usize, &str, &str)> = positions(server)
        .filter(|(a, _, axis, value)| match wanted_axis {
            Some(wanted_axis) => wanted_axis == *axis && *value == wanted,
            None => {
                *value == wanted || (*value == YES && *axis == wanted && is_switch(&server.recipe.axes[*a]))
            }
        })
        .collect();
    match matches[..] {
        [(a, v, _, _)] => Ok((a, v)),
        [] => {
            let names: Vec<String> = positions(server)
                .map(|(_, _, axis, value)| match wanted_axis {
                    Some(_) => format!("{axis}={value}"),
                    None => name(server, axis, value),
                })
                .collect();
            let suggestion = suggest(setting, names.iter().map(String::as_str));
            Err(format!("{label:?}: {} has no setting {setting:?}: {suggestion}", server.name))
        }
        _ => {
            let choices: Vec<String> =
                matches.iter().map(|(_, _, axis, value)| format!("{axis}={value}")).collect();
            let choices = choices.join(" or ");
            Err(format!("{label:?}: {wanted:?} could be a value of several axes: write {choices}."))
        }
    }
}

/// The label of these choices: what differs from the defaults, in the order of the axes.
pub(super) fn canonical(server: &Server, chosen: &[usize]) -> String {
    let differs: Vec<String> = positions(server)
        .filter(|(a, v, _, _)| chosen.get(*a) == Some(v) && *v > 0)
        .map(|(_, _, axis, value)| name(server, axis, value))
        .collect();
    if differs.is_empty() { server.name.clone() } else { format!("{}:{}", server.name, differs.join("+")) }
}

/// The shortest name of a value: with its axis only where that is needed, and the axis alone for the `yes` of a switch.
fn name(server: &Server, axis: &str, value: &str) -> String {
    let switch = value == YES && server.recipe.axes.iter().any(|a| a.name == axis && is_switch(a));
    let short = if switch { axis } else { value };
    let same = positions(server).filter(|(_, _, a, v)| *v == short && (*a, *v) != (axis, value)).count();
    if same > 0 { format!("{axis}={value}") } else { short.to_owned() }
}

fn is_switch(axis: &Axis) -> bool {
    matches!(&axis.values[..], [off, on] if off.name == "no" && on.name == YES)
}

/// All values as (index of axis, index of value, axis, value).
fn positions(server: &Server) -> impl Iterator<Item = (usize, usize, &str, &str)> {
    server.recipe.axes.iter().enumerate().flat_map(|(a, axis)| {
        axis.values.iter().enumerate().map(move |(v, value)| (a, v, axis.name.as_str(), value.name.as_str()))
    })
}
