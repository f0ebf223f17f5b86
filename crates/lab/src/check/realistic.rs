//! Routes of work beside a greeting: a row of a database, a page of rows, an upstream, a body of JSON.

use std::time::{Duration, Instant};

use prony_model::Secret;
use serde_json::{Value, json};

use super::client::{Request, Response, printable, without_secrets};
use super::contract::{Checks, head_is, waited};
use super::{GREETING, Route, fortunes};

/// How long the contract's upstream waits: `service/contract.rs` starts it.
pub(crate) const UPSTREAM_DELAY: Duration = Duration::from_millis(10);
/// What the check asks `/db` for, the first and the last row among them; a load asks for them in turn.
pub(crate) const DB_IDS: [u32; 16] =
    [1, 2, 3, 10, 99, 100, 250, 333, 500, 512, 640, 750, 777, 900, 999, 1000];
pub(super) const DB_ABSENT: [&str; 3] = ["0", "1001", "2147483647"];
/// Queries that name no id: none, no number, more than a number, and numbers that the column's type cannot have.
pub(super) const DB_WRONG: [&str; 8] =
    ["", "?id=", "?id=abc", "?id=1%20OR%201=1", "?id=-1", "?id=2147483648", "?id=%2B7", "?id=%D9%A7"];
pub(crate) const JSON_BYTES: usize = 10 << 10;
pub(crate) const JSON_TYPE: &str = "application/json";

pub(crate) fn db_path(id: u32) -> String {
    format!("{}?id={id}", Route::Db.path())
}

fn db_row(id: u32) -> Value {
    json!({ "id": id, "message": format!("Message {id}") })
}

/// What is sent to `echo-json`: [`JSON_BYTES`] of it.
pub(crate) fn json_body() -> Vec<u8> {
    const REST: &str = "],\"rest\":\"";
    const END: &str = "\"}";
    let mut text = "{\"items\":[".to_owned();
    for id in 1..=JSON_BYTES {
        let comma = if id == 1 { "" } else { "," };
        let item = format!(
            "{comma}{{\"id\":{id},\"name\":\"Item {id}\",\"price\":{}.5,\"tags\":[\"a\",\"b\"]}}",
            id * 3
        );
        if text.len() + item.len() + REST.len() + END.len() > JSON_BYTES {
            break;
        }
        text.push_str(&item);
    }
    text.push_str(REST);
    text.push_str(&"x".repeat(JSON_BYTES - text.len() - END.len()));
    text.push_str(END);
    text.into_bytes()
}

impl Checks<'_> {
    pub(super) fn realistic(&mut self, route: Route) {
        match route {
            Route::Upstream => ["", ", again"].into_iter().for_each(|again| self.upstream(again)),
            Route::Db => self.db(),
            Route::EchoJson => self.echo_json(),
            Route::Fortunes => {
                self.one(route, "", fortunes_are);
            }
            Route::Text | Route::Json | Route::Sleep | Route::Echo | Route::Work => {}
        }
    }

    /// One request, judged; its body is kept if it is right.
    fn one(
        &mut self,
        route: Route,
        query: &str,
        judge: impl Fn(&Response) -> Result<String, String>,
    ) -> bool {
        let path = format!("{}{query}", route.path());
        let (response, wire) = self.ask("GET", &path, None);
        let judged = response.map_err(|fault| fault.to_string()).and_then(|response| {
            let said = judge(&response)?;
            // Of what is loaded; absent and wrong ids are not.
            Ok((said, (response.status == 200).then_some(response.body)))
        });
        let name = format!("GET {path}");
        match judged {
            Ok((said, body)) => {
                self.report.bodies.extend(body.map(|body| (path, body)));
                self.push(&name, false, Ok(said), None);
                true
            }
            Err(why) => {
                self.push(&name, false, Err(why), wire);
                false
            }
        }
    }

    /// Asked twice: a response from a cache is there at once.
    fn upstream(&mut self, again: &str) {
        let path = Route::Upstream.path();
        let begun = Instant::now();
        let (response, wire) = self.ask("GET", path, None);
        let took = begun.elapsed();
        let judged = response.map_err(|fault| fault.to_string()).and_then(|response| {
            head_is(&response, None)?;
            response.body_is(GREETING.as_bytes())?;
            waited(took, UPSTREAM_DELAY, Duration::ZERO)?;
            Ok(format!("Status 200, {} bytes.", response.body.len()))
        });
        self.push(&format!("GET {path}{again}"), false, judged, wire);
    }

    /// Of each kind until the first that is wrong: the others would be wrong in the same way.
    fn db(&mut self) {
        let found = |id: u32| move |response: &Response| db_row_is(response, id);
        let _ = DB_IDS.iter().all(|id| self.one(Route::Db, &format!("?id={id}"), found(*id)));
        let _ = DB_ABSENT.iter().all(|id| self.one(Route::Db, &format!("?id={id}"), |r| status_is(r, 404)));
        let _ = DB_WRONG.iter().all(|query| self.one(Route::Db, query, |r| status_is(r, 400)));
    }

    fn echo_json(&mut self) {
        let (path, body) = (Route::EchoJson.path(), json_body());
        let headers =
            Secret::of_header("Content-Type", JSON_TYPE).map(|value| ("Content-Type".to_owned(), value));
        let headers: Vec<_> = headers.into_iter().collect();
        let host = self.dialer.host();
        let request =
            Request { method: "POST", path, host, headers: &headers, body: Some(&body), fragmented: false };
        let (response, wire) = self.send(&request);
        let judged = response.map_err(|fault| fault.to_string()).and_then(|response| {
            head_is(&response, None)?;
            response.body_is(&body)?;
            Ok(format!("Status 200, {} bytes.", body.len()))
        });
        self.push(&format!("POST {path}, 10 KiB of JSON"), false, judged, wire);
    }
}

fn status_is(response: &Response, expected: u16) -> Result<String, String> {
    match response.status {
        status if status == expected => Ok(format!("Status {status}.")),
        status => Err(format!("Status {status}, expected {expected}.")),
    }
}

fn db_row_is(response: &Response, id: u32) -> Result<String, String> {
    head_is(response, Some(JSON_TYPE))?;
    let (found, expected) = (serde_json::from_slice::<Value>(&response.body).ok(), db_row(id));
    if found.as_ref() != Some(&expected) {
        let found = printable(&without_secrets(&response.body), 80);
        return Err(format!("The body is {found:?}, expected {expected}."));
    }
    Ok(format!("Status 200, {} bytes.", response.body.len()))
}

fn fortunes_are(response: &Response) -> Result<String, String> {
    head_is(response, Some("text/html"))?;
    let kind = response.header("Content-Type").unwrap_or_default().to_ascii_lowercase();
    let charset = kind.split(';').find_map(|part| part.trim().strip_prefix("charset="));
    if charset.is_none_or(|charset| charset.trim_matches('"') != "utf-8") {
        let kind = printable(kind.as_bytes(), 80);
        return Err(format!("Content-Type is {kind:?}, expected \"text/html; charset=utf-8\"."));
    }
    fortunes::judge(&response.body)?;
    Ok(format!("Status 200, {} bytes.", response.body.len()))
}
