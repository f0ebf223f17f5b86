//! What other people's programs find in their environment: what is named here, and nothing else that Prony's own has.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::path::Path;

use prony_model::secret::names_asked_for;

use super::search_path;

/// The time zone and the folder of temporary files; the language is `LANG` and `LC_…`.
const ORDINARY: [&str; 3] = ["LANG", "TMPDIR", "TZ"];
/// How package managers reach registries (proxies, certificates, mirrors), and where the toolchains are. None of them is a
/// token's: what the catalogue installs is public.
const BUILDS: &str = "ALL_PROXY HTTPS_PROXY HTTP_PROXY NO_PROXY all_proxy https_proxy http_proxy no_proxy \
    CURL_CA_BUNDLE GIT_SSL_CAINFO NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE SSL_CERT_DIR SSL_CERT_FILE \
    CARGO_HTTP_CAINFO CARGO_HTTP_PROXY COMPOSER_HOME GOPROXY GOSUMDB GOTOOLCHAIN \
    HEX_CACERTS_PATH HEX_HOME HEX_MIRROR MIX_ARCHIVES MIX_HOME MIX_REBAR3 PRONY_MIX_DEPS \
    NPM_CONFIG_CAFILE NPM_CONFIG_HTTPS_PROXY NPM_CONFIG_NOPROXY NPM_CONFIG_PROXY NPM_CONFIG_REGISTRY \
    npm_config_cafile npm_config_https_proxy npm_config_noproxy npm_config_proxy npm_config_registry \
    PIP_CERT PIP_DEFAULT_TIMEOUT PIP_EXTRA_INDEX_URL PIP_FIND_LINKS PIP_INDEX_URL PIP_NO_INDEX PIP_PROXY \
    PYENV_ROOT PYENV_VERSION RUSTUP_HOME RUSTUP_TOOLCHAIN";
/// Toolchains that their users have in their homes: the variable that says where, and the usual folder.
const TOOLCHAINS: [(&str, &str); 2] = [("PYENV_ROOT", ".pyenv"), ("RUSTUP_HOME", ".rustup")];

/// What a server gets, but for its home: language, time zone, temporary folder, and a PATH with servers' folders.
pub(crate) fn of_servers() -> BTreeMap<String, String> {
    with_path(allowed(env::vars_os(), false))
}

/// What builds a server gets, and apt: the same, how registries and toolchains are found, and Prony's own home where none is
/// given besides.
pub(crate) fn of_builds() -> BTreeMap<String, String> {
    let mut all = with_path(allowed(env::vars_os(), true));
    let Ok(home) = env::var("HOME") else { return all };
    for (variable, folder) in TOOLCHAINS {
        let path = Path::new(&home).join(folder);
        if path.is_absolute() && path.is_dir() {
            all.entry(variable.to_owned()).or_insert_with(|| path.to_string_lossy().into_owned());
        }
    }
    all.insert("HOME".to_owned(), home);
    all
}

/// All of Prony's own that is text, without the variables of `@env:`: for tools of this machine, and for a container's
/// engine, which hands on only what it is told to.
pub(crate) fn own() -> Vec<(String, String)> {
    let hidden = names_asked_for();
    env::vars_os().filter_map(as_text).filter(|(name, _)| !hidden.contains(name)).collect()
}

fn allowed(all: impl Iterator<Item = (OsString, OsString)>, builds: bool) -> BTreeMap<String, String> {
    let of_builds = |name: &str| builds && BUILDS.split_whitespace().any(|word| word == name);
    let is_allowed = |name: &str| ORDINARY.contains(&name) || name.starts_with("LC_") || of_builds(name);
    all.filter_map(as_text).filter(|(name, _)| is_allowed(name)).collect()
}

fn as_text((name, value): (OsString, OsString)) -> Option<(String, String)> {
    Some((name.into_string().ok()?, value.into_string().ok()?))
}

/// Scripts find servers as Prony itself does: users without rights often have no sbin in their PATH.
fn with_path(mut all: BTreeMap<String, String>) -> BTreeMap<String, String> {
    if let Ok(path) = env::join_paths(search_path())
        && let Ok(path) = path.into_string()
    {
        all.insert("PATH".to_owned(), path);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_and_builds_see_what_is_named_and_nothing_else() {
        let all = ["LANG", "LC_ALL", "TZ", "TMPDIR", "HTTPS_PROXY", "PIP_INDEX_URL", "GOPROXY", "LD_PRELOAD"];
        let secret = ["AWS_SECRET_ACCESS_KEY", "CARGO_REGISTRY_TOKEN", "GITHUB_TOKEN", "HOME"];
        let vars = || all.iter().chain(&secret).map(|name| (OsString::from(name), OsString::from("v")));
        let names = |builds: bool| allowed(vars(), builds).into_keys().collect::<Vec<_>>();
        assert_eq!(names(false), ["LANG", "LC_ALL", "TMPDIR", "TZ"]);
        let more = ["GOPROXY", "HTTPS_PROXY", "LANG", "LC_ALL", "PIP_INDEX_URL", "TMPDIR", "TZ"];
        assert_eq!(names(true), more);
        assert!(!["TOKEN", "AUTH", "PASSWORD", "SECRET"].iter().any(|word| BUILDS.contains(word)));
    }

    #[test]
    fn the_path_has_the_folders_of_servers() {
        let (servers, builds) = (of_servers(), of_builds());
        assert_eq!(servers["PATH"], builds["PATH"]);
        assert!(servers["PATH"].split(':').any(|dir| dir == "/usr/sbin"), "{}", servers["PATH"]);
        assert!(!servers.contains_key("HOME"));
    }
}
