//! The wire format: requests in, replies out.

mod reply;
mod request;

pub(crate) use reply::{Outcome, Protocol, Refusal, Reply};
pub(crate) use request::{ProtocolError, Request, parse};
