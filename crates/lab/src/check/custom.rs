//! `[[check]]`: a request and what its answer must be, in a recipe or in an experiment.

use std::collections::BTreeMap;

use prony_model::json_value::{JsonValue, VALUES_MAX, holds};
use prony_model::request::check_header;
use prony_model::secret::{Secret, filled_in, has_secret_field, is_asked_for, is_secret, text_or_variable};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::client::{Request, Response, printable, without_secrets};
use super::json_path::JsonPath;
use super::route::Route;
use crate::toml_file::{TomlError, TomlFile};

const PATH_MAX_BYTES: usize = 8 << 10;

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CustomCheck {
    /// Method and path, `GET /health`; `@env:NAME` in its query is what the environment holds.
    #[serde(deserialize_with = "request")]
    pub(crate) request: String,
    /// The request's body, a text or `@env:NAME`.
    #[serde(default, deserialize_with = "text")]
    pub(crate) send: Option<Vec<u8>>,
    /// Headers of the request, a table of names and values (`@env:NAME`: from the environment); the load sends them, too.
    #[serde(default, deserialize_with = "table")]
    pub(crate) headers: Vec<(String, Secret)>,
    /// The status; none given: any 2xx or 3xx.
    #[serde(default)]
    pub(crate) status: Option<u16>,
    /// The whole body, exactly; none given: any.
    #[serde(default)]
    pub(crate) body: Option<String>,
    /// Values that the body, as JSON, must have, by path (`$.items[0].name`) or JSON pointer (`/items/0/name`).
    #[serde(default)]
    pub(crate) json: BTreeMap<String, Value>,
}

impl CustomCheck {
    pub(crate) fn answers(path: &str) -> CustomCheck {
        CustomCheck { request: format!("GET {path}"), ..CustomCheck::default() }
    }

    pub(crate) fn of_route(route: Route) -> CustomCheck {
        let light = match route {
            Route::Sleep => "/sleep?ms=0",
            Route::Work => "/work?n=1",
            Route::Db => "/db?id=1",
            _ => route.path(),
        };
        let send = (route.method() == "POST").then(|| b"x".to_vec());
        CustomCheck { request: format!("{} {light}", route.method()), send, ..CustomCheck::default() }
    }

    pub(super) fn request<'a>(&'a self, host: &'a str, fragmented: bool) -> Request<'a> {
        let (method, path) = self.method_and_path();
        Request { method, path, host, headers: &self.headers, body: self.send.as_deref(), fragmented }
    }

    /// Method and path; a request without a method is a GET.
    pub(crate) fn method_and_path(&self) -> (&str, &str) {
        match self.request.trim().split_once(char::is_whitespace) {
            Some((method, path)) => (method, path.trim_start()),
            None => ("GET", self.request.trim()),
        }
    }

    /// Whether it is what a load can ask for again and again: a GET without a body.
    pub(crate) fn is_loadable(&self) -> bool {
        self.method_and_path().0 == "GET" && self.send.is_none()
    }

    /// The values that its body must have as JSON, for a load to hold; of none where it says all of the body.
    pub(crate) fn values(&self) -> Vec<JsonValue> {
        let one = |(path, value): (&String, &Value)| {
            let pointer = JsonPath::parse(path).ok()?.pointer();
            let value = Secret::of_header(&pointer, &value.to_string()).ok()?;
            Some(JsonValue { pointer, value })
        };
        self.json.iter().filter(|_| self.body.is_none()).filter_map(one).collect()
    }

    fn validate(&self, file: TomlFile<'_>, number: &str) -> Result<(), TomlError> {
        let refuse_if =
            |wrong: bool, key: &str, why: String| file.refuse_if(wrong, &["check", number, key], why);
        let (method, path) = self.method_and_path();
        let visible = path.bytes().all(|b| b.is_ascii_graphic()) && path.len() <= PATH_MAX_BYTES;
        let why = format!("{:?} is not a method and a path: write \"GET /health\".", self.request);
        refuse_if(!path.starts_with('/') || !visible, "request", why)?;
        let is_method = !method.is_empty() && method.bytes().all(|b| b.is_ascii_uppercase());
        refuse_if(!is_method, "request", format!("{method:?} is not a method: write \"GET {path}\"."))?;
        for (name, value) in &self.headers {
            check_header(name, value.value())
                .map_err(|why| file.error(&["check", number, "headers"], why.to_string()))?;
        }
        if let Some(status) = self.status {
            let why = format!("{status} is not a status: write a number from 100 to 599.");
            refuse_if(!(100..=599).contains(&status), "status", why)?;
        }
        let count = self.json.len();
        let why = format!("{count} values are more than the {VALUES_MAX} that one check takes.");
        refuse_if(count > VALUES_MAX, "json", why)?;
        for path in self.json.keys() {
            JsonPath::parse(path).map_err(|why| file.error(&["check", number, "json"], format!("{why}.")))?;
        }
        Ok(())
    }

    pub(super) fn judge(&self, response: &Response) -> Result<String, String> {
        let status_is_right = match self.status {
            Some(expected) => response.status == expected,
            None => (200..400).contains(&response.status),
        };
        if !status_is_right {
            let expected = self.status.map_or_else(|| "2xx or 3xx".to_owned(), |s| s.to_string());
            return Err(format!("Status {}, expected {expected}.", response.status));
        }
        if let Some(expected) = &self.body {
            response.body_is(expected.as_bytes())?;
        }
        if !self.json.is_empty() {
            self.json_is(&response.body)?;
        }
        Ok(format!("Status {}, {} bytes.", response.status, response.body.len()))
    }

    fn json_is(&self, body: &[u8]) -> Result<(), String> {
        let bounded = |bytes: &[u8]| printable(&without_secrets(bytes), 80);
        let document: Value = serde_json::from_slice(body)
            .map_err(|why| format!("The body {:?} is not JSON: {why}.", bounded(body)))?;
        for (path, expected) in &self.json {
            let found = JsonPath::parse(path)?.find(&document);
            holds(path, found, expected, false)
                .map_err(|why| format!("{}{}.", why[..1].to_uppercase(), &why[1..]))?;
        }
        Ok(())
    }
}

/// Of a recipe as of an experiment; none is fine.
pub(crate) fn validate_checks(file: TomlFile<'_>, checks: &[CustomCheck]) -> Result<(), TomlError> {
    for (at, check) in checks.iter().enumerate() {
        check.validate(file, &at.to_string())?;
    }
    file.refuse_if(
        !checks.is_empty() && !checks.iter().any(CustomCheck::is_loadable),
        &["check"],
        "no [[check]] is a GET without a body: the first such request is what the load asks for.",
    )?;
    Ok(())
}

/// Why a header may not stand so in a file that is committed, or that a run log keeps: its value is secret, and written out.
pub(crate) fn written_secret(name: &str, value: &str, redact: &[String]) -> Option<String> {
    (is_secret(name, redact) && !is_asked_for(value)).then(|| {
        format!(
            "{name} is secret, and this file is kept: write \"@env:NAME\" as its value (in a flag, --header '{name}: @env:NAME'), and \
             set NAME in the environment."
        )
    })
}

/// What an option's text writes out itself: nothing where it names a file, or generates what nobody wrote.
pub(crate) fn written_out<'t>(key: &str, text: &'t str) -> &'t str {
    let value = text.split_once('=').map_or("", |(_, value)| value);
    let is_none = match key {
        "form" => value.starts_with('@'),
        "generate" => !value.starts_with("choice:"),
        _ => text.starts_with('@'),
    };
    if is_none { "" } else { text }
}

/// What may stand there instead of such a secret.
pub(crate) fn instead(key: &str) -> &'static str {
    match key {
        "generate" => "make the values a column of the file of \"data\"",
        "body" | "expect_body" => "write \"@FILE\" or \"@env:NAME\", and set NAME in the environment",
        "expect_json" | "form" | "form_urlencoded" => {
            "write @env:NAME behind its =, and set NAME in the environment"
        }
        _ => "write \"@env:NAME\" in its place, and set NAME in the environment",
    }
}

/// Why a text may not stand in such a file: a secret by its field's name, written out.
pub(crate) fn written_field(key: &str, text: &str) -> Option<String> {
    has_secret_field(written_out(key, text)).then(|| {
        let instead = instead(key);
        format!("{key:?} has a field that is secret by its name, and run logs keep this file: {instead}.")
    })
}

fn request<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let written = String::deserialize(deserializer)?;
    let refused = written_field("request", &written);
    refused.map_or_else(|| filled_in(&written, true), Err).map_err(D::Error::custom)
}

fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<u8>>, D::Error> {
    let written = String::deserialize(deserializer)?;
    let refused = written_field("send", &written);
    let meant = refused.map_or_else(|| text_or_variable("\"send\"", &written), Err);
    Ok(Some(meant.map_err(D::Error::custom)?.into_bytes()))
}

fn table<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(String, Secret)>, D::Error> {
    let written = BTreeMap::<String, String>::deserialize(deserializer)?;
    let meant = written.into_iter().map(|(name, value)| {
        if let Some(why) = written_secret(&name, &value, &[]) {
            return Err(D::Error::custom(why));
        }
        let value = Secret::of_header(&name, &value).map_err(D::Error::custom)?;
        Ok((name, value))
    });
    meant.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(toml: &str) -> CustomCheck {
        toml::from_str(toml).unwrap()
    }

    #[test]
    fn impossible_requests_and_expectations_of_a_check_are_refused() {
        let validated = |toml: &str| {
            let text = format!("[[check]]\n{toml}");
            read(toml).validate(TomlFile { name: "x.toml", text: &text }, "0")
        };
        for (toml, key) in [
            ("request = \"health\"", "request"),
            ("request = \"\"", "request"),
            ("request = \"GET http://x/\"", "request"),
            ("request = \"GET /a b\"", "request"),
            ("request = \"GET /a\\r\\nX: y\"", "request"),
            ("request = \"get /\"", "request"),
            ("request = \"/\"\nstatus = 20", "status"),
            ("request = \"/\"\nheaders = { \"A B\" = \"c\" }", "headers"),
            ("request = \"/\"\nheaders = { A = \"b\\r\\nC: d\" }", "headers"),
            ("request = \"/\"\nheaders = { Content-Length = \"7\" }", "headers"),
            ("request = \"/\"\njson = { \"$.a[*]\" = 1 }", "json"),
        ] {
            let line = toml.lines().position(|line| line.starts_with(key)).unwrap() + 2;
            assert_eq!(validated(toml).unwrap_err().line(), line, "{toml}");
        }
        let fine = "request = \"GET /a?b=c\"\nstatus = 404\nheaders = { A = \"b\" }\njson = { \"$.a\" = 1 }";
        assert_eq!(validated(fine), Ok(()));
    }

    #[test]
    fn a_secret_is_taken_from_the_environment_not_from_the_file() {
        let read =
            |headers: &str| toml::from_str::<CustomCheck>(&format!("request = \"/\"\nheaders = {headers}"));
        let refused = |headers: &str| read(headers).unwrap_err().to_string();
        assert!(refused("{ X-Api-Key = \"b\" }").contains("write \"@env:NAME\""));
        assert!(refused("{ X-Api-Key = \"@env:PRONY_NO_SUCH\" }").contains("PRONY_NO_SUCH"));
        // What every test process has.
        let path = std::env::var("PATH").unwrap();
        let found = read("{ Cookie = \"@env:PATH\" }").unwrap().headers;
        assert_eq!((found[0].0.as_str(), found[0].1.value()), ("Cookie", path.as_str()));
        let refused = |check: &str| toml::from_str::<CustomCheck>(check).unwrap_err().to_string();
        assert!(refused("request = \"/?api_key=s3\"").contains("secret by its name"));
        let sent = refused("request = \"POST /\"\nsend = '{\"password\":\"s3\"}'");
        assert!(sent.contains("write \"@env:NAME\""), "{sent}");
        let check: CustomCheck =
            toml::from_str("request = \"POST /?api_key=@env:PATH\"\nsend = \"@env:PATH\"").unwrap();
        assert_eq!(check.send.as_deref(), Some(path.as_bytes()));
        assert!(check.request.starts_with("POST /?api_key=") && !check.request.contains("@env"));
    }

    #[test]
    fn values_of_a_json_body_are_compared_with_the_expected_ones() {
        let check = read("request = \"/\"\njson = { \"$.user.name\" = \"Ann\", \"$.list[1]\" = 2.0 }");
        let judge = |body: &str| check.json_is(body.as_bytes());
        assert_eq!(judge(r#"{"user": {"name": "Ann", "at": 17}, "list": [1, 2]}"#), Ok(()));
        assert_eq!(
            judge(r#"{"user": {"name": "Bob"}, "list": [1, 2]}"#).unwrap_err(),
            "$.user.name is \"Bob\", expected \"Ann\"."
        );
        assert_eq!(
            judge(r#"{"list": [1]}"#).unwrap_err(),
            "There is no $.list[1] in the body, expected 2.0."
        );
        let secret = read("request = \"/\"\njson = { \"$.token\" = \"s3\" }");
        let said = secret.json_is(br#"{"token":"t7"}"#).unwrap_err();
        assert_eq!(said, "$.token is [redacted], expected [redacted].");
        assert!(judge("Hello").unwrap_err().starts_with("The body \"Hello\" is not JSON: "));
        let pointed = read("request = \"/\"\njson = { \"/list/1\" = 2 }");
        assert_eq!(pointed.json_is(br#"{"list": [1, 2]}"#), Ok(()));
        assert_eq!(pointed.json_is(br#"{"list": [1, 3]}"#).unwrap_err(), "/list/1 is 3, expected 2.");
    }

    #[test]
    fn a_load_is_held_to_the_json_values_of_its_check() {
        let check = read("request = \"/\"\njson = { \"$.user['a/b']\" = \"17\", \"/list/1\" = [true] }");
        let held: Vec<_> =
            check.values().into_iter().map(|one| (one.pointer.clone(), one.expected())).collect();
        let expected = [("/user/a~1b", serde_json::json!("17")), ("/list/1", serde_json::json!([true]))];
        assert_eq!(held.len(), 2);
        assert!(
            expected.iter().all(|(at, value)| held.contains(&((*at).to_owned(), value.clone()))),
            "{held:?}"
        );
        assert!(CustomCheck { body: Some("{}".to_owned()), ..check }.values().is_empty());
    }
}
