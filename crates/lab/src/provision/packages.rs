//! Which Debian packages are there, and what else may stand in for them.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use super::python;
use crate::programs::find_command;

/// Packages of one program: whoever has that from elsewhere (Go in /usr/local) needs no second one.
const STAND_INS: [(&str, &str); 9] = [
    ("cargo", "cargo"),
    ("caddy", "caddy"),
    ("composer", "composer"),
    ("elixir", "mix"),
    ("gcc", "gcc"),
    ("golang-go", "go"),
    ("nodejs", "node"),
    ("npm", "npm"),
    ("python3", "python3"),
];

/// Those of the packages neither installed nor stood in for; without dpkg the recipe's commands decide.
pub(super) fn missing(wanted: &[String]) -> Vec<String> {
    if wanted.is_empty() {
        return Vec::new();
    }
    let Some(installed) = installed(wanted) else { return Vec::new() };
    let mut missing: Vec<String> = Vec::new();
    for package in wanted {
        if !installed.contains(package) && !missing.contains(package) && !stood_in(package) {
            missing.push(package.clone());
        }
    }
    missing
}

fn stood_in(package: &str) -> bool {
    if package == "python3-venv" {
        return python::find(None).is_some();
    }
    STAND_INS.iter().any(|(p, command)| *p == package && find_command(command).is_some())
}

pub(super) fn brings(package: &str, command: &str) -> bool {
    let php_dev = package.starts_with("php") && package.ends_with("-dev");
    STAND_INS.iter().any(|(p, c)| *p == package && *c == command)
        || (command == "phpize" && php_dev)
        || (command == "pecl" && package == "php-pear")
}

pub(super) fn mend(command: &str) -> String {
    match command {
        "npm" => "apt-get install nodejs npm, or Node's own archive.".to_owned(),
        "node" => "apt-get install nodejs, or Node's own archive.".to_owned(),
        "go" => "apt-get install golang-go, or Go's own archive.".to_owned(),
        "cargo" => "install Rust by rustup.".to_owned(),
        "composer" => "apt-get install composer.".to_owned(),
        "phpize" => "apt-get install php-dev.".to_owned(),
        "pecl" => "apt-get install php-pear.".to_owned(),
        "mix" => "apt-get install elixir.".to_owned(),
        "curl" => "apt-get install curl.".to_owned(),
        "python3" => "apt-get install python3 python3-venv.".to_owned(),
        _ => format!("install {command} and put it on PATH."),
    }
}

/// Those of the packages that are installed, or that an installed one provides; `None` without dpkg.
pub(super) fn installed(packages: &[String]) -> Option<BTreeSet<String>> {
    let output = Command::new("/usr/bin/dpkg-query")
        .args(["-W", "-f", "${db:Status-Status} ${Package}, ${Provides}\\n"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    Some(among(&String::from_utf8_lossy(&output.stdout), packages))
}

/// A release has `php-cli` by its `php8.4-cli`, and another `libevent-2.1-7` by its `libevent-2.1-7t64`.
fn among(listed: &str, packages: &[String]) -> BTreeSet<String> {
    let lines = listed.lines().filter_map(|line| line.strip_prefix("installed "));
    let names = lines.flat_map(|line| line.split(',')).map(|name| name.split('(').next().unwrap_or_default());
    let there: BTreeSet<&str> = names.map(str::trim).collect();
    packages.iter().filter(|package| there.contains(package.as_str())).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_there_by_itself_or_by_one_that_provides_it() {
        let listed = "installed php8.4-cli, php-cli, php-json, phpapi-20240924\n\
            not-installed php8.4-fpm, php-fpm\nconfig-files nginx, httpd\ninstalled make, \n\
            installed libevent-2.1-7t64, libevent-2.1-7 (= 2.1.12-stable-10+b1)\n";
        let wanted = ["php-cli", "php8.4-cli", "php-fpm", "nginx", "make", "libevent-2.1-7", "php"];
        let there = among(listed, &wanted.map(str::to_owned));
        assert_eq!(Vec::from_iter(there), ["libevent-2.1-7", "make", "php-cli", "php8.4-cli"]);
    }
}
