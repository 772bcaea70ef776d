//! What became of lines that were written down beside a lock. Pure.

use serde::{Deserialize, Serialize};

/// What a worker was told of a line that its server was to write down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InscriptionAnswer {
    /// It is written.
    Done,
    /// It is not, and will not be.
    Refused,
    /// It may be written, or may yet be while its hold stands.
    Unknown,
}
