//! The routes of the contract.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A route of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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
}

impl Route {
    /// All of them, in the order they are checked.
    pub(crate) const ALL: [Route; 5] = [Route::Text, Route::Json, Route::Sleep, Route::Echo, Route::Work];

    /// The word in recipes and experiments.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Route::Text => "text",
            Route::Json => "json",
            Route::Sleep => "sleep",
            Route::Echo => "echo",
            Route::Work => "work",
        }
    }

    /// The path without a query.
    pub fn path(self) -> &'static str {
        match self {
            Route::Text => "/",
            Route::Json => "/json",
            Route::Sleep => "/sleep",
            Route::Echo => "/echo",
            Route::Work => "/work",
        }
    }

    /// `POST` for `echo`, else `GET`.
    pub(crate) fn method(self) -> &'static str {
        if self == Route::Echo { "POST" } else { "GET" }
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
