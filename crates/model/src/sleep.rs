//! What a check finds out of `GET /sleep`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What becomes of requests that wait (`GET /sleep`) at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, strum::Display)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Sleep {
    /// They wait together.
    Concurrent,
    /// They wait one after the other, or as many at once as there are workers.
    Blocks,
}
