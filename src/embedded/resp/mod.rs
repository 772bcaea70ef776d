//! The wire format: requests in, replies out.

mod reply;
mod request;

pub(crate) use reply::{CommandResult, Protocol, Refusal, Reply};
pub(crate) use request::{ParsedRequest, ProtocolError, parse};
