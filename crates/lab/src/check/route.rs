//! The routes of the contract.

use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// Its name is the word in recipes and experiments; [`Route::VARIANTS`] are all, in the order they are checked.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, strum::Display, VariantArray,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
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
