//! A service: what candidates need beside them while they are measured (a database, a cache, an upstream), as it is asked for.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use prony_model::command::shell_word;
use prony_model::run_log::ServiceRecord;
use prony_model::secret::{redacted_command, remember_command};
use prony_model::units::{DurationValue, show_duration};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::catalogue::{Piece, is_name, pieces};
use crate::check::UPSTREAM;
use crate::toml_file::suggest;

mod contract;

pub(crate) use contract::CONTRACT;

/// How long until it must be ready, unless told otherwise: a database may make its files first.
const READY_TIMEOUT: Duration = Duration::from_secs(60);
/// A service that takes longer is not starting, it is hanging.
const READY_TIMEOUT_MAX: Duration = Duration::from_secs(600);
pub(crate) const SERVICES_MAX: usize = 16;
const PORT_ENDS: &str = "_port";
pub(crate) const POSTGRESQL: &str = "postgresql";
/// Starts it, `SETTINGS` and `SEED` being replaced.
const POSTGRESQL_SCRIPT: &str = include_str!("postgresql.sh");
/// What a command of a service may name, beside the ports of those that run already.
const OWN_NAMES: [&str; 4] = ["host", "port", "run", "prony"];

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Service {
    pub name: String,
    /// What `sh` runs.
    pub command: String,
    known: Option<String>,
    /// When it is ready; `None`: when its port accepts connections.
    pub ready: Option<String>,
    /// Whether it runs from its first trial to the run's end; else each trial has its own.
    pub keep: bool,
    pub ready_timeout: Duration,
    /// The variable of its port in commands: `db_port`.
    pub(crate) port_name: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reset {
    pub command: String,
    pub timeout: Duration,
}

pub const RESET_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    command: Option<String>,
    /// Instead of it: one that Prony knows how to start.
    service: Option<Known>,
    seed: Option<String>,
    #[serde(default)]
    settings: BTreeMap<String, String>,
    ready: Option<String>,
    #[serde(default)]
    keep: bool,
    ready_timeout: Option<DurationValue>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Known {
    Postgresql,
    Contract,
}

/// `[service]` in the order of the file: each may name the ports of those before it.
pub(crate) fn in_order<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<Service>, D::Error> {
    let tables = BTreeMap::<Spanned<String>, Table>::deserialize(deserializer)?;
    let mut tables: Vec<(Spanned<String>, Table)> = tables.into_iter().collect();
    tables.sort_by_key(|(name, _)| name.span().start);
    let service = |(name, table): (Spanned<String>, Table)| {
        let name = name.get_ref();
        let service = match (&table.command, table.service) {
            (Some(command), None) if table.seed.is_none() && table.settings.is_empty() => {
                Ok(Service::new(name, command))
            }
            // It is ready once its seed is in it, and by nothing else.
            (None, Some(Known::Postgresql)) if table.ready.is_none() => {
                Service::postgresql(name, table.seed.as_deref(), &table.settings)
            }
            (None, Some(Known::Contract)) if table.ready.is_none() && table.seed.is_none() => {
                Service::contract(name, &table.settings)
            }
            _ => Err(format!(
                "the service {name:?} needs either command, or service = \"postgresql\" with its seed and settings, or service = \"contract\", \
                 and no ready."
            )),
        };
        let service = service.map_err(serde::de::Error::custom)?;
        Ok(Service {
            ready: table.ready.or(service.ready),
            keep: table.keep,
            ready_timeout: table.ready_timeout.map_or(READY_TIMEOUT, |time| time.0),
            ..service
        })
    };
    tables.into_iter().map(service).collect()
}

pub(crate) fn port_name(name: &str) -> String {
    format!("{name}{PORT_ENDS}")
}

impl Service {
    pub fn new(name: &str, command: &str) -> Service {
        let (port_name, command) = (port_name(name), command.to_owned());
        let (name, ready_timeout) = (name.to_owned(), READY_TIMEOUT);
        Service { name, command, known: None, ready: None, keep: false, ready_timeout, port_name }
    }

    /// The service of a flag: a command, or `postgresql`, also with a file of SQL and settings, `postgresql:seed.sql fsync=off`.
    pub fn given(name: &str, text: &str) -> Result<Service, String> {
        let mut words = text.split_whitespace();
        let (what, seed) = words.next().map_or(("", None), |word| {
            word.split_once(':').map_or((word, None), |(what, seed)| (what, Some(seed)))
        });
        let settings: Option<BTreeMap<String, String>> = words
            .map(|word| word.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())))
            .collect();
        match (what, settings) {
            (POSTGRESQL, Some(settings)) => match seed.filter(|seed| !Path::new(seed).is_file()) {
                Some(seed) => Err(format!(
                    "--service {name}: there is no file {seed:?} here, which PostgreSQL is to run: write its path."
                )),
                None => Service::postgresql(name, seed, &settings),
            },
            (CONTRACT, Some(settings)) if seed.is_none() => Service::contract(name, &settings),
            _ => Ok(Service::new(name, text)),
        }
    }

    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        let ready = self.ready.as_ref().filter(|_| self.known.is_none());
        [Some(self.known.as_ref().unwrap_or(&self.command)), ready].into_iter().flatten().map(String::as_str)
    }

    pub fn flags(&self) -> Vec<String> {
        let Service { name, command, known, ready, keep, ready_timeout, .. } = self;
        let short = known
            .as_ref()
            .filter(|known| Service::given(name, known).is_ok_and(|same| same.command == *command));
        let ready = ready.as_ref().filter(|_| short.is_none());
        let timeout = Some(ready_timeout).filter(|timeout| **timeout != READY_TIMEOUT);
        let timeout = timeout.map(|timeout| format!("--service-timeout={name}={}", show_duration(*timeout)));
        let service = format!("--service={name}={}", short.unwrap_or(command));
        let ready = ready.map(|ready| format!("--service-ready={name}={ready}"));
        let keep = keep.then(|| format!("--keep-service={name}"));
        [Some(service), ready, timeout, keep].into_iter().flatten().collect()
    }

    fn postgresql(
        name: &str,
        seed: Option<&str>,
        settings: &BTreeMap<String, String>,
    ) -> Result<Service, String> {
        let load = seed.map(|seed| format!("cd \"$folder\"; ask -d prony -f {}", shell_word(seed)));
        let what = seed.map_or(POSTGRESQL.to_owned(), |seed| format!("{POSTGRESQL}:{seed}"));
        Service::cluster(name, what, &load.unwrap_or_default(), settings)
    }

    /// A cluster of PostgreSQL's own in `{run}`, with the database `prony` of the user `prony`, ready once `load` has filled it.
    fn cluster(
        name: &str,
        what: String,
        load: &str,
        settings: &BTreeMap<String, String>,
    ) -> Result<Service, String> {
        let is_name = |key: &str| key.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.".contains(&b));
        if let Some(wrong) = settings.keys().find(|key| key.is_empty() || !is_name(key)) {
            return Err(format!(
                "{wrong:?} cannot be a setting of PostgreSQL's: write one such as fsync = \"off\"."
            ));
        }
        let set: Vec<String> = settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let options: Vec<String> = set.iter().map(|setting| format!("-c {}", shell_word(setting))).collect();
        let script = POSTGRESQL_SCRIPT.replace("SETTINGS", &options.join(" ")).replace("SEED", load);
        let known = Some([what].into_iter().chain(set).collect::<Vec<_>>().join(" "));
        let ready = Some("test -e {run}/seeded".to_owned());
        Ok(Service { known, ready, ..Service::new(name, &script) })
    }

    pub(crate) fn is_postgresql(&self) -> bool {
        self.known.is_some() && !(self.is_contract() && self.name == UPSTREAM)
    }

    pub(crate) fn ready_url(&self) -> Option<&str> {
        self.ready.as_deref().filter(|ready| ready.starts_with("http://") || ready.starts_with("https://"))
    }

    /// As run logs have it: without its secrets.
    pub(crate) fn record(&self) -> ServiceRecord {
        ServiceRecord {
            name: self.name.clone(),
            command: redacted_command(self.known.as_ref().unwrap_or(&self.command)),
            ready: self.ready.as_deref().map(redacted_command),
            keep: self.keep,
        }
    }
}

fn ports(services: &[Service]) -> impl Iterator<Item = &str> {
    services.iter().map(|service| service.port_name.as_str())
}

/// Whether these can be a run's services, each naming only what is known by then, or `more`. Why not, in a sentence.
pub fn check(services: &[Service], more: &[&str]) -> Result<(), String> {
    if services.len() > SERVICES_MAX {
        return Err(format!("{} services are more than {SERVICES_MAX}.", services.len()));
    }
    for (at, service) in services.iter().enumerate() {
        let Service { name, command, ready, ready_timeout, .. } = service;
        check_name(name)?;
        if services[..at].iter().any(|other| other.name == *name) {
            return Err(format!("Two services are called {name:?}: give each its own name."));
        }
        if [command].into_iter().chain(ready).any(|text| text.trim().is_empty()) {
            return Err(format!(
                "The service {name:?} has an empty command, or is ready by one: write the command, or leave \"ready\" out."
            ));
        }
        if ready.is_none() && !pieces(command).contains(&Piece::Name("port")) {
            return Err(format!(
                "The command of the service {name:?} has no {{port}}: write {{port}} where it is told what to listen on, or \
                 say by what it is ready."
            ));
        }
        if ready_timeout.is_zero() || *ready_timeout > READY_TIMEOUT_MAX {
            let most = show_duration(READY_TIMEOUT_MAX);
            return Err(format!("The service {name:?} has no time to become ready in, or more than {most}."));
        }
        [command].into_iter().chain(ready).for_each(|text| remember_command(text));
        // What runs on does not find the next one of what does not.
        let before = services[..at].iter().filter(|other| other.keep || !service.keep);
        let before = before.map(|other| other.port_name.as_str());
        let known: Vec<&str> = OWN_NAMES.iter().chain(more).copied().chain(before).collect();
        for text in [command].into_iter().chain(ready) {
            check_names(&format!("The service {name:?}"), text, &known)?;
        }
    }
    Ok(())
}

/// Whether the command of a reset can be run: it may name the ports of all services.
fn check_name(name: &str) -> Result<(), String> {
    if is_name(name) {
        return Ok(());
    }
    Err(format!(
        "{name:?} cannot be a service's name: write a lower-case letter, then letters, digits and _."
    ))
}

/// Whether these can be services that a command is told of, as somebody else says: their names become variables.
pub(crate) fn check_told(told: &[(String, u16)]) -> Result<(), String> {
    if told.len() > SERVICES_MAX {
        return Err(format!("{} services are more than {SERVICES_MAX}.", told.len()));
    }
    told.iter().try_for_each(|(name, _)| check_name(name))
}

/// The reset of a file's keys; else which of them is wrong, and why.
pub(crate) fn reset_of(
    command: Option<String>,
    timeout: Option<DurationValue>,
    services: &[Service],
) -> Result<Option<Reset>, (&'static str, String)> {
    let of_timeout = |why: &str| Err(("reset_timeout", why.to_owned()));
    match (command, timeout.map_or(RESET_TIMEOUT, |timeout| timeout.0)) {
        (_, Duration::ZERO) => of_timeout("\"reset_timeout\" is 0: write how long it may take, 60s."),
        (None, _) if timeout.is_some() => {
            of_timeout("\"reset_timeout\" is how long a reset may take: write \"reset\", too.")
        }
        (None, _) => Ok(None),
        (Some(command), timeout) => {
            check_reset(&command, services).map_err(|why| ("reset", why))?;
            Ok(Some(Reset { command, timeout }))
        }
    }
}

pub fn check_reset(command: &str, services: &[Service]) -> Result<(), String> {
    if command.trim().is_empty() {
        return Err(
            "The reset is empty: write the command that brings all to its state before a trial.".to_owned()
        );
    }
    remember_command(command);
    let known: Vec<&str> = ["run"].into_iter().chain(ports(services)).collect();
    check_names("The reset", command, &known)
}

/// Whether a candidate's command names no other service than these. Its other braces are its own affair.
pub fn check_candidate(name: &str, command: &str, services: &[Service]) -> Result<(), String> {
    let known: Vec<&str> = ports(services).collect();
    let unknown = pieces(command).into_iter().find_map(|piece| match piece {
        Piece::Name(name) if name.ends_with(PORT_ENDS) && !known.contains(&name) => Some(name),
        _ => None,
    });
    let Some(unknown) = unknown else { return Ok(()) };
    let hint = match known.is_empty() {
        true => format!("give --service {}='COMMAND {{port}}'.", unknown.trim_end_matches(PORT_ENDS)),
        false => suggest(unknown, known),
    };
    Err(format!("The command of {name:?} has {{{unknown}}}, and there is no such service: {hint}"))
}

fn check_names(whose: &str, text: &str, known: &[&str]) -> Result<(), String> {
    let mut names = pieces(text).into_iter().filter_map(|piece| match piece {
        Piece::Name(name) => Some(name),
        Piece::Text(_) => None,
    });
    match names.find(|name| !known.contains(name)) {
        None => Ok(()),
        Some(name) => Err(format!(
            "{whose} has {{{name}}}, which is not known where it is started: {} Braces of the command's own have a blank \
             in them: {{ {name} }}.",
            suggest(name, known.iter().copied())
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_names_only_what_is_there_when_it_is_started() {
        let of = |services: &[(&str, &str)]| {
            let services: Vec<Service> = services.iter().map(|(n, c)| Service::new(n, c)).collect();
            check(&services, &[]).err().unwrap_or_default()
        };
        assert_eq!(of(&[("db", "d {port} {run}"), ("cache", "c {port} {db_port} { x } ${y}")]), "");
        for (services, words) in [
            (
                &[("db", "d {port} {cache_port}"), ("cache", "c {port}")][..],
                "has {cache_port}, which is not known",
            ),
            (&[("db", "d {prot} {port}")], "has {prot}"),
            (&[("db", "d")], "has no {port}"),
            (&[("db", " ")], "has an empty command"),
            (&[("Db", "d {port}")], "cannot be a service's name"),
            (&[("db", "d {port}"), ("db", "e {port}")], "Two services"),
        ] {
            assert!(of(services).contains(words), "{}", of(services));
        }
        let db = [Service::new("db", "d {port}")];
        assert_eq!(check_reset("fill {db_port}", &db), Ok(()));
        assert!(check_reset("fill {dp_port}", &db).unwrap_err().contains("{dp_port}"));
        assert!(check_reset(" ", &db).unwrap_err().contains("empty"));
        assert_eq!(check_candidate("a", "awk '{print}' {port} {db_port}", &db), Ok(()));
        let unknown =
            |services: &[Service]| check_candidate("a", "x {port} {dbb_port}", services).unwrap_err();
        assert!(unknown(&db).contains("db_port") && unknown(&[]).contains("--service dbb='COMMAND {port}'"));
    }

    #[test]
    fn postgresql_is_started_by_a_script_with_settings_and_seed() {
        #[derive(Deserialize)]
        struct File {
            #[serde(deserialize_with = "in_order")]
            service: Vec<Service>,
        }
        let read = |text: &str| toml::from_str::<File>(text).map(|file| file.service);
        let text =
            "[service.db]\nservice = \"postgresql\"\nseed = \"it's.sql\"\nsettings = { fsync = \"off\" }\n";
        let services = read(text).unwrap();
        assert_eq!(check(&services, &[]), Ok(()));
        let db = &services[0];
        assert!(db.command.contains("-c fsync=off &"), "{}", db.command);
        assert!(db.command.contains(r"ask -d prony -f 'it'\''s.sql'"), "{}", db.command);
        assert_eq!(db.record().command, "postgresql:it's.sql fsync=off");
        let given = Service::given("db", "postgresql fsync=off").unwrap();
        assert!(given.command.contains("-c fsync=off &"), "{}", given.command);
        let kept = Service { keep: true, ready_timeout: Duration::from_secs(120), ..given };
        assert_eq!(
            kept.flags(),
            ["--service=db=postgresql fsync=off", "--service-timeout=db=2m", "--keep-service=db"]
        );
        let own = Service { ready: Some("ping".to_owned()), ..Service::new("db", "d {port}") };
        assert_eq!(own.flags(), ["--service=db=d {port}", "--service-ready=db=ping"]);
        let unknown = Service::given("db", "postgresql:nosuch.sql").unwrap_err();
        assert!(unknown.contains("no file \"nosuch.sql\""), "{unknown}");
        assert_eq!(Service::given("db", "postgresql2 {port}").unwrap().command, "postgresql2 {port}");
        for wrong in [
            "[service.db]\nservice = \"postgresql\"\ncommand = \"x {port}\"\n",
            "[service.db]\ncommand = \"x {port}\"\nseed = \"a.sql\"\n",
            "[service.db]\nservice = \"postgresql\"\nready = \"true\"\n",
            "[service.db]\n",
            "[service.db]\nservice = \"contract\"\nseed = \"a.sql\"\n",
            "[service.upstream]\nservice = \"contract\"\nsettings = { fsync = \"off\" }\n",
            "[service.cache]\nservice = \"contract\"\n",
            "[service.db]\nservice = \"mysql\"\n",
            "[service.db]\nservice = \"postgresql\"\nsettings = { \"a b\" = \"c\" }\n",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
