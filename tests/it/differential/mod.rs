//! The embedded server against a real one: the same requests, byte by byte, must get the same
//! replies.
//!
//! Every comparison is made on the wire, so that protocol versions, the kinds of nil and the texts
//! of errors count. Where Redis promises no order, or a clock is involved, see [`judge`].
//!
//! A sequence that differs is named by its seed; `PALISADE_DIFFERENTIAL_SEED=<seed>` runs that one
//! alone and shows all of it, `PALISADE_DIFFERENTIAL_SEQUENCES=<n>` sets how many are run.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed")]

mod calls;
mod judge;
mod pair;
mod pubsub;
mod random;
mod scripts;
mod shapes;
mod texts;
mod wire;
