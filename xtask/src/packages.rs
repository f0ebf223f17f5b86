//! `cargo xtask packages "SYSTEM=ROOT" …`: docs/distributions.md: on which systems each server was run, else whether
//! their package lists have what its recipe names. ROOT: a root filesystem, or a folder of apt's with lists.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use clap::Parser;
use toml::{Table, Value};

use crate::page::{NONE, date, table};
use crate::{files, programs};

const PAGE: &str = "docs/distributions.md";
/// The versions of PHP that any recipe offers.
const PHP: [&str; 9] = ["7.0", "7.1", "7.2", "7.4", "8.1", "8.2", "8.3", "8.4", "8.5"];
/// The first of them that servers besides Aerys offer: no distribution that is still maintained has an older one.
const PHP_FIRST: &str = "7.4";
/// Why a recipe does not offer a version of PHP that others do.
const NOT_OFFERED: [(&str, &[&str], &str); 15] = [
    ("aerys", &["8.1", "8.2", "8.3", "8.4", "8.5"], "Aerys stops on PHP 8 with a syntax error."),
    ("amphp", &["7.4"], LOCKED),
    ("caddy-fpm", &["7.4", "8.1"], "Ubuntu 20.04 and 22.04, which have this PHP, have no package of Caddy."),
    ("frankenphp", &["7.4", "8.1"], "FrankenPHP is for PHP 8.2 and newer."),
    ("nginx-unit", &["7.4", "8.1", "8.5"], "No image of Unit 1.33 or 1.34 has this PHP."),
    ("openswoole", &["7.4", "8.1", "8.5"], "OpenSwoole 25.2 is for PHP 8.2 to 8.4."),
    ("php-pm", &["7.4"], LOCKED),
    ("reactphp", &["7.4"], LOCKED),
    ("reactphp-socket", &["7.4"], LOCKED),
    ("roadrunner", &["7.4"], LOCKED),
    ("swoole", &["7.4", "8.1"], "Swoole 6.2 is for PHP 8.2 and newer."),
    ("swow", &["7.4", "8.4", "8.5"], "Swow 1.4.1 is for PHP 8.0 to 8.3."),
    ("uwsgi-php", &["7.4"], "Not tried: whether Ubuntu 20.04 has uWSGI's plugin for PHP."),
    ("uwsgi-php", &["8.1"], "Ubuntu 22.04, which has this PHP, has no package of uWSGI's plugin for it."),
    ("workerman", &["7.4"], LOCKED),
];
const LOCKED: &str = "Its lock file is for PHP 8.1 and newer.";

struct System {
    name: String,
    /// The version that a package of the recipes would be installed in.
    versions: BTreeMap<String, String>,
}

#[derive(Parser)]
pub(crate) struct Asked {
    /// SYSTEM=ROOT, as in "Debian 13=/srv/trixie"
    #[arg(required = true)]
    systems: Vec<String>,
}

pub(crate) fn run(root: &Path, asked: &Asked) -> Result<(), String> {
    let recipes = recipes(root)?;
    let named: BTreeSet<String> = recipes.values().flat_map(|(recipe, _)| packages(recipe)).collect();
    let systems = asked.systems.iter().map(|system| {
        let (name, at) = system.split_once('=').ok_or("a system is SYSTEM=ROOT")?;
        Ok(System { name: name.to_owned(), versions: versions(at, &named)? })
    });
    let systems = systems.collect::<Result<Vec<_>, String>>()?;
    files::write(&root.join(PAGE), page(&recipes, &systems))?;
    println!("wrote {PAGE}: {} packages on {} systems", named.len(), systems.len());
    Ok(())
}

type Recipes = BTreeMap<String, (Table, Vec<Table>)>;

fn recipes(root: &Path) -> Result<Recipes, String> {
    let mut recipes = Recipes::new();
    for path in files::list(&root.join("servers"))?.iter().filter(|path| path.join("server.toml").is_file()) {
        let records = files::toml(&path.join("verified.toml"))?;
        let records = records.get("verified").and_then(Value::as_array).cloned().unwrap_or_default();
        let records = records.iter().filter_map(|record| record.as_table().cloned()).collect();
        recipes.insert(files::name(path), (files::toml(&path.join("server.toml"))?, records));
    }
    Ok(recipes)
}

/// The packages of a recipe's default: to run it, then to build it.
fn packages(recipe: &Table) -> Vec<String> {
    let requires = recipe.get("requires").and_then(Value::as_table);
    let of = |key: &str| {
        let named = requires.and_then(|table| table.get(key)).and_then(Value::as_array);
        named.into_iter().flatten().filter_map(|name| Some(name.as_str()?.to_owned())).collect::<Vec<_>>()
    };
    [of("apt"), of("apt_build")].concat()
}

/// The version of each package that is there, without its epoch and what the distribution adds.
fn versions(at: &str, named: &BTreeSet<String>) -> Result<BTreeMap<String, String>, String> {
    let at = at.trim_end_matches('/');
    let options = [
        format!("Dir={at}/"),
        format!("Dir::State::status={at}/var/lib/dpkg/status"),
        format!("Dir::Cache={}", std::env::temp_dir().display()),
    ];
    let mut command = Command::new("apt-cache");
    command.args(options.iter().flat_map(|option| ["-o", option])).arg("policy").args(named);
    let found = candidates(&String::from_utf8_lossy(&programs::output(&mut command)?.stdout));
    if found.is_empty() { Err(format!("apt-cache knows no package by the lists of {at}")) } else { Ok(found) }
}

fn candidates(policy: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut package = "";
    for line in policy.lines() {
        match line.strip_prefix("  Candidate: ") {
            Some("(none)") => {}
            Some(version) => {
                let upstream = version.split_once(':').map_or(version, |(_, rest)| rest);
                let upstream = upstream.split(['-', '+', '~']).next().unwrap_or(upstream);
                found.insert(package.to_owned(), upstream.trim_end_matches(".dfsg").to_owned());
            }
            None if !line.starts_with(' ') => package = line.trim_end_matches(':'),
            None => {}
        }
    }
    found
}

fn page(recipes: &Recipes, systems: &[System]) -> String {
    let heads: Vec<&str> = systems.iter().map(|system| system.name.as_str()).collect();
    let rows = recipes.iter().map(|(name, (recipe, records))| {
        let cells = systems.iter().map(|system| on(system, name, recipe, records));
        [format!("`{name}`")].into_iter().chain(cells).collect::<Vec<_>>()
    });
    format!(
        "# Servers by distribution\n\nWritten by `cargo xtask packages` from the recipes, from what `prony servers check --record` \
         recorded, and from these distributions' package lists as they were on {}.\n\nA date: the server was run there and passed its \
         checks. A package and its version: it was not run there, and the lists have every package that its default needs. **no**: they \
         lack one. –: it needs none, and comes from its language's registry or a release.\n\n{}{}",
        date(),
        by_server(&heads, rows),
        php(recipes)
    )
}

/// A table with a column for each of these; servers of which the same is known share a row.
fn by_server(heads: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut alike: Vec<Vec<String>> = Vec::new();
    for row in rows {
        match alike.iter_mut().find(|before| before[1..] == row[1..]) {
            Some(before) => before[0] = format!("{}, {}", before[0], row[0]),
            None => alike.push(row),
        }
    }
    let rules = vec![":--"; heads.len() + 1].join("|");
    table(&format!("server | {}", heads.join(" | ")), &rules, alike)
}

fn on(system: &System, name: &str, recipe: &Table, records: &[Table]) -> String {
    let field =
        |record: &Table, key: &str| record.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let [distribution, release] =
        system.name.split_once(' ').map_or(["", ""], |(name, release)| [name, release]);
    let is_it = |record: &&Table| {
        let machine = field(record, "machine");
        let is_here = machine.starts_with(distribution) && machine.contains(&format!(" {release} "));
        field(record, "candidate") == name && field(record, "runtime") == "native" && is_here
    };
    if let Some(record) = records.iter().find(is_it) {
        return field(record, "date");
    }
    let named = packages(recipe);
    let missing: Vec<&str> =
        named.iter().filter(|package| !system.versions.contains_key(*package)).map(String::as_str).collect();
    match (named.first(), missing.as_slice()) {
        (None, _) => NONE.to_owned(),
        (Some(first), []) => format!("{first} {}", system.versions[first]),
        (Some(_), missing) => format!("**no**: {}", missing.join(", ")),
    }
}

/// Which servers of PHP were run with which version in a container; the reasons why not are below the table, by number.
fn php(recipes: &Recipes) -> String {
    let mut reasons: Vec<String> = Vec::new();
    let mut number = |why: String| {
        let at = reasons.iter().position(|reason| *reason == why).unwrap_or(reasons.len());
        if at == reasons.len() {
            reasons.push(why);
        }
        (at + 1).to_string()
    };
    let rows = recipes.iter().filter_map(|(name, (recipe, records))| {
        let offered = recipe.get("axes")?.get("php")?.as_table()?;
        let cell =
            |version: &&str| of_php(name, version, recipe, offered, records).unwrap_or_else(&mut number);
        Some([format!("`{name}`")].into_iter().chain(PHP.iter().map(cell)).collect())
    });
    let table = by_server(&PHP, rows);
    let reasons: String =
        reasons.iter().enumerate().map(|(at, why)| format!("{}. {why}\n", at + 1)).collect();
    format!(
        "\n## Other versions of PHP, in containers\n\nThe setting `php` of a server runs it in a container of a distribution that has \
         this version. A date is that of a run, on a base made by debootstrap; the recipe may have changed since \
         ([servers.md](servers.md)). A number is the reason why there is none, below.\n\n{table}\n{reasons}"
    )
}

/// When a server was run with this version of PHP (–: it is for none so old); else why not.
fn of_php(
    name: &str,
    version: &str,
    recipe: &Table,
    offered: &Table,
    records: &[Table],
) -> Result<String, String> {
    let label = format!("{name}:{version}");
    let of = |record: &&Table, key: &str| record.get(key).and_then(Value::as_str).map(str::to_owned);
    // A version that is the default has no label of its own.
    let is_default = offered.get(version).and_then(Value::as_table).is_some_and(Table::is_empty);
    let is_it = |record: &&Table| {
        let candidate = of(record, "candidate").unwrap_or_default();
        let in_image = of(record, "runtime").is_some_and(|runtime| runtime != "native");
        candidate == label || (is_default && in_image && candidate == name)
    };
    if let Some(date) = records.iter().filter(is_it).filter_map(|record| of(&record, "date")).max() {
        return Ok(date);
    }
    if !offered.contains_key(version) {
        let why =
            NOT_OFFERED.iter().find(|(server, versions, _)| *server == name && versions.contains(&version));
        return match why {
            Some((.., why)) => Err((*why).to_owned()),
            None if version < PHP_FIRST => Ok(NONE.to_owned()),
            None => Err("not offered".to_owned()),
        };
    }
    let requires = |key: &str| recipe.get("requires").is_some_and(|table| table.get(key).is_some());
    let sources = [("composer", "Packagist"), ("pecl", "PECL")];
    let sources: Vec<&str> =
        sources.into_iter().filter(|(key, _)| requires(key)).map(|(_, name)| name).collect();
    let from = match sources.as_slice() {
        [] => "the project's own image".to_owned(),
        sources => format!("sources from {}", sources.join(" and ")),
    };
    Err(format!("Not tried: it needs {from}, which could not be reached."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_the_programs_own_as_they_would_be_installed() {
        let policy = "php-fpm:\n  Installed: (none)\n  Candidate: 2:8.4+96\n  Version table:\n     2:8.4+96 500\n\
                      elixir:\n  Installed: (none)\n  Candidate: 1.18.3.dfsg-1\nh2o:\n  Candidate: (none)\n";
        let found = candidates(policy);
        assert_eq!((found["php-fpm"].as_str(), found["elixir"].as_str(), found.len()), ("8.4", "1.18.3", 2));
    }

    #[test]
    fn a_server_was_run_or_is_in_the_lists_or_lacks_a_package() {
        let recipe: Table =
            toml::from_str("[requires]\napt = [\"nginx\", \"php-fpm\"]\napt_build = [\"make\"]\n").unwrap();
        let record: Table = toml::from_str(
            "candidate = \"nginx-fpm\"\ndate = \"2026-01-02\"\nruntime = \"native\"\nmachine = \"Debian GNU/Linux 13 (trixie), x86_64\"",
        )
        .unwrap();
        let system = |name: &str, packages: &[&str]| System {
            name: name.to_owned(),
            versions: packages.iter().map(|package| ((*package).to_owned(), "1.2".to_owned())).collect(),
        };
        let all = ["nginx", "php-fpm", "make"];
        let said = |system: &System| on(system, "nginx-fpm", &recipe, std::slice::from_ref(&record));
        assert_eq!(said(&system("Debian 13", &[])), "2026-01-02");
        assert_eq!(said(&system("Debian 12", &all)), "nginx 1.2");
        assert_eq!(said(&system("Ubuntu 24.04", &all[..1])), "**no**: php-fpm, make");
        assert_eq!(on(&system("Debian 12", &[]), "deno", &Table::new(), &[]), "–");
    }

    #[test]
    fn a_version_of_php_has_a_date_or_a_reason() {
        let recipe: Table =
            toml::from_str("[requires]\ncomposer = true\n[axes.php]\npackaged = {}\n\"8.1\" = { image = \"i\" }\n\"8.2\" = { image = \"j\" }")
                .unwrap();
        let offered = recipe["axes"]["php"].as_table().unwrap();
        let record: Table =
            toml::from_str("candidate = \"amphp:8.1\"\ndate = \"2026-01-02\"\nruntime = \"podman 4\"")
                .unwrap();
        let said = |version: &str| of_php("amphp", version, &recipe, offered, std::slice::from_ref(&record));
        assert_eq!(said("8.1"), Ok("2026-01-02".to_owned()));
        assert!(said("8.2").unwrap_err().contains("sources from Packagist, which could not be reached"));
        assert!(said("7.4").unwrap_err().contains("PHP 8.1 and newer"));
    }

    #[test]
    fn every_version_that_a_recipe_does_not_offer_has_its_reason() {
        for (name, (recipe, _)) in recipes(&crate::root()).unwrap() {
            let Some(offered) = recipe.get("axes").and_then(|axes| axes.get("php")).and_then(Value::as_table)
            else {
                continue;
            };
            for version in PHP.iter().filter(|version| !offered.contains_key(**version)) {
                let said = of_php(&name, version, &recipe, offered, &[]);
                assert_ne!(said, Err("not offered".to_owned()), "{name}:{version}");
            }
        }
    }
}
