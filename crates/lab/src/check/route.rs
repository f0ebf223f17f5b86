//! The routes of the contract.

use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// The contract's services: PostgreSQL with the rows of `/db` and `/fortunes`, and what `/upstream` asks.
pub(crate) const DB: &str = "db";
pub(crate) const UPSTREAM: &str = "upstream";

/// Its name is the word in recipes and experiments; [`Route::VARIANTS`] are all, in the order they are checked.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, strum::Display, VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Route {
    /// `GET /`: `Hello, World!` as `text/plain`.
    Text,
    /// `GET /json`: `{"message":"Hello, World!"}`.
    Json,
    /// `GET /sleep?ms=N`: answers as `/` does after N milliseconds.
    Sleep,
    /// `POST /echo`: answers with the body it was sent.
    Echo,
    /// `GET /work?n=N`: N steps of arithmetic.
    Work,
    /// `GET /upstream`: what another server answers, which takes its time.
    Upstream,
    /// `GET /db?id=N`: a row of a database.
    Db,
    /// `GET /fortunes`: rows of a database as a page.
    Fortunes,
    /// `POST /echo`: answers with 10 KiB of JSON as it was sent.
    EchoJson,
}

impl Route {
    pub(crate) const LOADED: [Route; 6] =
        [Route::Text, Route::Json, Route::Upstream, Route::Db, Route::Fortunes, Route::EchoJson];

    pub fn path(self) -> &'static str {
        match self {
            Route::Text => "/",
            Route::Json => "/json",
            Route::Sleep => "/sleep",
            Route::Echo | Route::EchoJson => "/echo",
            Route::Work => "/work",
            Route::Upstream => "/upstream",
            Route::Db => "/db",
            Route::Fortunes => "/fortunes",
        }
    }

    pub(crate) fn needs(self) -> Option<&'static str> {
        match self {
            Route::Upstream => Some(UPSTREAM),
            Route::Db | Route::Fortunes => Some(DB),
            _ => None,
        }
    }

    pub(crate) fn method(self) -> &'static str {
        if self.path() == "/echo" { "POST" } else { "GET" }
    }
}
