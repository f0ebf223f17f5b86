//! `cargo xtask packages "SYSTEM=ROOT" …`: docs/distributions.md: on which systems each server was run, else whether
//! their package lists have what its recipe names. ROOT: a root filesystem, or a folder of apt's with lists.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use clap::Parser;
use prony_lab::catalogue::{Catalogue, Recipe, Server, Verified};

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

/// Of each server its recipe and its records.
type Recipes = BTreeMap<String, (Recipe, Vec<Verified>)>;

fn recipes(root: &Path) -> Result<Recipes, String> {
    let catalogue = Catalogue::load(&[root.join("servers")]);
    if let Some(broken) = catalogue.broken.first() {
        return Err(broken.error.clone());
    }
    let records = |(name, server): (String, Server)| (name, (server.recipe.clone(), server.verified()));
    Ok(catalogue.servers.into_iter().map(records).collect())
}

/// The packages of a recipe's default: to run it, then to build it.
fn packages(recipe: &Recipe) -> Vec<String> {
    [&recipe.requires.apt[..], &recipe.requires.apt_build].concat()
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

fn on(system: &System, name: &str, recipe: &Recipe, records: &[Verified]) -> String {
    let (distribution, release) = system.name.split_once(' ').unwrap_or_default();
    let is_it = |record: &&Verified| {
        let is_here =
            record.machine.starts_with(distribution) && record.machine.contains(&format!(" {release} "));
        record.candidate == name && record.runtime == "native" && is_here
    };
    if let Some(record) = records.iter().find(is_it) {
        return record.date.clone();
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

/// The versions of PHP that a recipe offers, the default first.
fn offered(recipe: &Recipe) -> Option<Vec<&str>> {
    let axis = recipe.axes.iter().find(|axis| axis.name == "php")?;
    Some(axis.values.iter().map(|value| value.name.as_str()).collect())
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
        offered(recipe)?;
        let cell = |version: &&str| of_php(name, version, recipe, records).unwrap_or_else(&mut number);
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
fn of_php(name: &str, version: &str, recipe: &Recipe, records: &[Verified]) -> Result<String, String> {
    let (label, offered) = (format!("{name}:{version}"), offered(recipe).unwrap_or_default());
    let is_it = |record: &&Verified| {
        // A version that is the default has no label of its own.
        let is_default = offered.first() == Some(&version) && record.runtime != "native";
        record.candidate == label || (is_default && record.candidate == name)
    };
    if let Some(date) = records.iter().filter(is_it).map(|record| &record.date).max() {
        return Ok(date.clone());
    }
    if !offered.contains(&version) {
        let why =
            NOT_OFFERED.iter().find(|(server, versions, _)| *server == name && versions.contains(&version));
        return match why {
            Some((.., why)) => Err((*why).to_owned()),
            None if version < PHP_FIRST => Ok(NONE.to_owned()),
            None => Err("not offered".to_owned()),
        };
    }
    let sources = [(recipe.requires.composer, "Packagist"), (!recipe.requires.pecl.is_empty(), "PECL")];
    let sources: Vec<&str> = sources.into_iter().filter_map(|(of, name)| of.then_some(name)).collect();
    let from = match sources.as_slice() {
        [] => "the project's own image".to_owned(),
        sources => format!("sources from {}", sources.join(" and ")),
    };
    Err(format!("Not tried: it needs {from}, which could not be reached."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(more: &str) -> Recipe {
        let text = "schema = \"prony.server/1\"\ntitle = \"t\"\nlanguage = \"L\"\nkind = \"runtime\"\nroutes = [\"text\"]\n\
                    processes = \"single\"\nkeepalive = true\n[start]\ncommand = [\"x\", \"{port}\"]\n";
        Recipe::parse("server.toml", &format!("{text}{more}")).unwrap()
    }

    fn record(candidate: &str, runtime: &str) -> Verified {
        let [candidate, runtime, date] = [candidate, runtime, "2026-01-02"].map(str::to_owned);
        let [version, how, machine, recipe] = [const { String::new() }; 4];
        Verified { candidate, version, date, runtime, how, machine, recipe, takes: None }
    }

    #[test]
    fn versions_are_the_programs_own_as_they_would_be_installed() {
        let policy = "php-fpm:\n  Installed: (none)\n  Candidate: 2:8.4+96\n  Version table:\n     2:8.4+96 500\n\
                      elixir:\n  Installed: (none)\n  Candidate: 1.18.3.dfsg-1\nh2o:\n  Candidate: (none)\n";
        let found = candidates(policy);
        assert_eq!((found["php-fpm"].as_str(), found["elixir"].as_str(), found.len()), ("8.4", "1.18.3", 2));
    }

    #[test]
    fn a_server_was_run_or_is_in_the_lists_or_lacks_a_package() {
        let recipe = recipe("[requires]\napt = [\"nginx\", \"php-fpm\"]\napt_build = [\"make\"]\n");
        let record = Verified {
            machine: "Debian GNU/Linux 13 (trixie), x86_64".to_owned(),
            ..record("nginx-fpm", "native")
        };
        let system = |name: &str, packages: &[&str]| System {
            name: name.to_owned(),
            versions: packages.iter().map(|package| ((*package).to_owned(), "1.2".to_owned())).collect(),
        };
        let all = ["nginx", "php-fpm", "make"];
        let said = |system: &System| on(system, "nginx-fpm", &recipe, std::slice::from_ref(&record));
        assert_eq!(said(&system("Debian 13", &[])), "2026-01-02");
        assert_eq!(said(&system("Debian 12", &all)), "nginx 1.2");
        assert_eq!(said(&system("Ubuntu 24.04", &all[..1])), "**no**: php-fpm, make");
        assert_eq!(on(&system("Debian 12", &[]), "deno", &self::recipe(""), &[]), "–");
    }

    #[test]
    fn a_version_of_php_has_a_date_or_a_reason() {
        let recipe = recipe(
            "[requires]\ncomposer = true\n[axes.php]\npackaged = {}\n\"8.1\" = { image = \"i\" }\n\"8.2\" = { image = \"j\" }",
        );
        let record = record("amphp:8.1", "podman 4");
        let said = |version: &str| of_php("amphp", version, &recipe, std::slice::from_ref(&record));
        assert_eq!(said("8.1"), Ok("2026-01-02".to_owned()));
        assert!(said("8.2").unwrap_err().contains("sources from Packagist, which could not be reached"));
        assert!(said("7.4").unwrap_err().contains("PHP 8.1 and newer"));
    }

    #[test]
    fn every_version_that_a_recipe_does_not_offer_has_its_reason() {
        for (name, (recipe, _)) in recipes(&crate::root()).unwrap() {
            let Some(offered) = offered(&recipe) else { continue };
            for version in PHP.iter().filter(|version| !offered.contains(version)) {
                let said = of_php(&name, version, &recipe, &[]);
                assert_ne!(said, Err("not offered".to_owned()), "{name}:{version}");
            }
        }
    }
}
