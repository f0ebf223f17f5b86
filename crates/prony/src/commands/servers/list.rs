//! `prony servers list`: for people, for docs/servers.md, for programs.

use std::collections::BTreeMap;

use prony_lab::candidate::{Candidate, Layout};
use prony_lab::catalogue::{Catalogue, DOCKERFILE, Server, Takes, Verified};
use prony_lab::provision;
use prony_report::format;
use prony_report::json::pretty;
use serde_json::{Value, json};

pub(super) fn text(catalogue: &Catalogue, layout: &Layout) -> String {
    let widest = catalogue.servers.keys().map(|name| name.chars().count()).max().unwrap_or_default();
    let mut lines = vec![format!(
        "{:<widest$} {:<11} {:<15} {:<10} {}",
        "server", "language", "kind", "status", "settings"
    )];
    for (name, server) in &catalogue.servers {
        let Ok(candidate) = Candidate::parse(name, catalogue) else { continue };
        let status = if provision::missing(&candidate, layout).is_empty() { "installed" } else { "–" };
        let axes: Vec<String> = server
            .recipe
            .axes
            .iter()
            .map(|axis| {
                let values: Vec<&str> = axis.values.iter().map(|value| value.name.as_str()).collect();
                format!("{}: {}", axis.name, values.join("|"))
            })
            .collect();
        let kind = candidate.kind().map_or(String::new(), |kind| kind.to_string());
        let line = format!(
            "{name:<widest$} {:<11} {kind:<15} {status:<10} {}",
            candidate.language().unwrap_or("–"),
            axes.join("; ")
        );
        lines.push(line.trim_end().to_owned());
    }
    lines.push(String::new());
    lines.push("A candidate is server:value+value, such as gunicorn:gevent; the first value of each setting is the default.".to_owned());
    lines.join("\n")
}

/// What each server takes to run. What was not recorded of it is a dash.
pub(super) fn long(catalogue: &Catalogue) -> String {
    let widest = catalogue.servers.keys().map(|name| name.chars().count()).max().unwrap_or_default();
    let row = |name: &str, cells: [String; 6]| {
        let [packages, size, seconds, lines, processes, memory] = cells;
        format!(
            "{name:<widest$} {packages:>8} {size:>9} {seconds:>9} {lines:>12} {processes:>9} {memory:>11}"
        )
    };
    let head = ["packages", "installed", "in", "config lines", "processes", "idle memory"];
    let heads = row("server", head.map(str::to_owned));
    let servers = catalogue.servers.iter().map(|(name, server)| row(name, cells(server)));
    let lines = [heads].into_iter().chain(servers);
    let note = "packages and config lines are of the recipe and its lock files; the rest was measured by `prony servers install` and \
                `prony servers check --record`, on the systems that docs/servers.md names.";
    lines.chain([String::new(), note.to_owned()]).collect::<Vec<_>>().join("\n")
}

fn cells(server: &Server) -> [String; 6] {
    let takes = taken(server).map(|(_, takes)| takes).unwrap_or_default();
    let or_dash = |known: Option<String>| known.unwrap_or_else(|| "–".to_owned());
    let size = |bytes: Option<u64>| or_dash(bytes.map(|bytes| format::bytes(bytes as f64)));
    [
        server.packages().to_string(),
        size(takes.installed_bytes),
        or_dash(takes.install_ms.map(|ms| format!("{:.1} s", ms as f64 / 1e3))),
        server.configuration_lines().to_string(),
        or_dash(takes.processes.map(|count| count.to_string())),
        size(takes.idle_memory_bytes),
    ]
}

/// The latest record of a server as it comes that says what it takes, native before in an image.
fn taken(server: &Server) -> Option<(Verified, Takes)> {
    let own = server.verified().into_iter().filter(|v| v.candidate == server.name);
    let known = own.filter_map(|v| v.takes.map(|takes| (v, takes)));
    known.max_by(|(a, _), (b, _)| (a.runtime == NATIVE, &a.date).cmp(&(b.runtime == NATIVE, &b.date)))
}

fn takes_json(server: &Server) -> Value {
    let known = taken(server);
    let takes = known.as_ref().map(|(_, takes)| *takes).unwrap_or_default();
    json!({
        "packages": server.packages(),
        "configuration_lines": server.configuration_lines(),
        "debian_packages": takes.debian_packages,
        "installed_bytes": takes.installed_bytes,
        "install_ms": takes.install_ms,
        "processes": takes.processes,
        "idle_memory_bytes": takes.idle_memory_bytes,
        "measured": known.map(|(v, _)| json!({ "date": v.date, "runtime": v.runtime, "machine": v.machine })),
    })
}

/// The runtime of a record that was made without a container.
const NATIVE: &str = "native";

const VERIFIED: &str = "verified";

pub(super) fn json(catalogue: &Catalogue, layout: &Layout, long: bool) -> String {
    let servers: Vec<Value> = catalogue
        .servers
        .iter()
        .filter_map(|(name, server)| {
            let candidate = Candidate::parse(name, catalogue).ok()?;
            let labels: Vec<String> =
                candidate.with_each_setting().iter().map(|c| c.label().to_owned()).collect();
            let mut one = json!({
                "server": name,
                "language": server.recipe.language,
                "kind": server.recipe.kind,
                "installed": provision::missing(&candidate, layout).is_empty(),
                "image": server.recipe.image,
                "dockerfile": server.has_file(DOCKERFILE),
                "registries": registries(server),
                "candidates": labels,
            });
            if long {
                one["takes"] = takes_json(server);
            }
            Some(one)
        })
        .collect();
    pretty(&servers)
}

fn registries(server: &Server) -> Vec<&'static str> {
    let requires = &server.recipe.requires;
    let all = [
        (!requires.apt.is_empty(), "debian"),
        (!requires.pip.is_empty(), "pypi"),
        (requires.npm, "npm"),
        (requires.go, "go"),
        (requires.cargo, "crates.io"),
        (requires.composer, "packagist"),
        (!requires.pecl.is_empty(), "pecl"),
        (requires.mix, "hex"),
        (!requires.download.is_empty(), "releases"),
    ];
    all.into_iter().filter(|(needed, _)| *needed).map(|(_, name)| name).collect()
}

/// docs/servers.md. From the recipes and their records only, so that it is the same on every machine.
pub(super) fn markdown(catalogue: &Catalogue) -> String {
    let mut rows = Vec::new();
    let (mut verified, mut current, mut missing, mut built, mut built_before) = (0, 0, 0, 0, 0);
    let mut on: BTreeMap<String, u32> = BTreeMap::new();
    for (name, server) in &catalogue.servers {
        let Ok(candidate) = Candidate::parse(name, catalogue) else { continue };
        let records = server.verified();
        let all: Vec<String> = candidate.with_each_setting().iter().map(|c| c.label().to_owned()).collect();
        let row = Row::of(server, &all, &records);
        for record in records.iter().filter(|v| v.candidate == server.name && v.runtime == NATIVE) {
            *on.entry(record.machine.split(',').next().unwrap_or_default().to_owned()).or_default() += 1;
        }
        if row.ran {
            verified += 1;
            current += u32::from(row.state == VERIFIED);
        } else {
            missing += 1;
        }
        built += u32::from(row.built);
        built_before += u32::from(row.built_before);
        rows.push(format!(
            "| `{name}` | {} | {} | {} | {} | {} | {} | {} | {} |",
            server.recipe.title,
            server.recipe.language,
            row.state,
            row.version,
            row.settings,
            row.image,
            row.how,
            cells(server).join(" · ")
        ));
    }
    for broken in &catalogue.broken {
        rows.push(format!(
            "| `{}` | – | – | **recipe refused** | – | – | – | {} | – |",
            broken.name, broken.error
        ));
        missing += 1;
    }
    let on: Vec<String> = on.iter().map(|(system, count)| format!("{count} on {system}")).collect();
    format!(
        "# Servers\n\nGenerated by `cargo xtask docs` from the recipes and the `verified.toml` beside each, which \
         `prony servers check --record` writes.\n\n{} servers: {verified} were started and passed their checks on the \
         day named, {current} of them as the recipe is now; {missing} count as missing: nobody has recorded a run of \
         them. {built} passed them in an image, too, and {built_before} in an image of an earlier recipe. Natively they were run \
         {}. What a recipe takes from its language's registry or from a release is the same on each of these; where a server was \
         not run on one, [distributions.md](distributions.md) says whether that one's package lists have what its recipe names, in \
         which version, and with which versions of PHP each server of PHP was run.\n\n\
         *changed since*: the recipe is not the one that was run; where it was run natively, its Dockerfile does not \
         count. *settings*: how many of the default and each single \
         other setting were run, natively or in the image, with the recipe as it is. *image*: how many of them in the \
         image. *verified*: each system whose packages it was run with. A base that stands in is one that somebody made and gave the \
         name of the official image; what it was made from is said. *takes*: packages by name (of the recipe and its lock files) · \
         what is installed, with Debian's dependencies · in how long · lines of configuration · processes with one worker · their \
         memory before any load (`prony servers list --long`); a dash where nobody has recorded it.\n\n\
         | server | what | language | state | version | settings | image | verified | takes |\n\
         |---|---|---|---|---|---|---|---|---|\n{}\n",
        verified + missing,
        on.join(", "),
        rows.join("\n")
    )
}

struct Row {
    ran: bool,
    built: bool,
    built_before: bool,
    state: &'static str,
    version: String,
    settings: String,
    image: String,
    how: String,
}

impl Row {
    fn of(server: &Server, all: &[String], records: &[Verified]) -> Row {
        let in_image = |v: &&Verified| v.runtime != NATIVE;
        let hashes = [false, true].map(|in_container| server.recipe_hash(in_container));
        let is_current = |v: &&Verified| v.recipe == hashes[usize::from(in_image(v))];
        // The default candidate speaks for its server, natively before in a container.
        let own = |v: &&Verified| v.candidate == server.name;
        let seen = |wanted: &dyn Fn(&&Verified) -> bool| {
            let label = |label: &&String| records.iter().any(|v| v.candidate == **label && wanted(&v));
            format!("{} of {}", all.iter().filter(label).count(), all.len())
        };
        let boxed: Vec<&Verified> = records.iter().filter(own).filter(in_image).collect();
        let built = boxed.iter().any(is_current);
        let image = match server.has_file(DOCKERFILE) || server.recipe.image.is_some() {
            false => "–".to_owned(),
            true if built => seen(&|v| in_image(v) && is_current(v)),
            true if boxed.is_empty() => "**not built yet**".to_owned(),
            true => {
                let latest = boxed.iter().map(|v| v.date.as_str()).max();
                format!("changed since {}", latest.unwrap_or_default())
            }
        };
        let built_before = !built && !boxed.is_empty();
        // Of records on several systems, one of the recipe as it is.
        let spoken = records.iter().filter(own).min_by_key(|v| (in_image(v), !is_current(v)));
        let Some(spoken) = spoken else {
            let version = "–".to_owned();
            let settings = format!("0 of {}", all.len());
            let state = "**not run yet**";
            let how = "–".to_owned();
            return Row { ran: false, built, built_before, state, version, settings, image, how };
        };
        let state = if is_current(&spoken) { VERIFIED } else { "changed since" };
        let how: Vec<String> = records
            .iter()
            .filter(own)
            .filter(|v| is_current(v) || !is_current(&spoken))
            .map(|v| format!("{}: {}, {}, {}", v.date, v.runtime, v.how, v.machine))
            .collect();
        Row {
            ran: true,
            built,
            built_before,
            state,
            version: spoken.version.replace('|', "\\|"),
            settings: seen(&is_current),
            image,
            how: how.join("<br>").replace('|', "\\|"),
        }
    }
}
