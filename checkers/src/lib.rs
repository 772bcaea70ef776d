//! What happened in a run of palisade's locks, and what must hold in it.
//!
//! Nothing here knows how a history came about: `chaos` records what real processes and servers did,
//! `simulation` what simulated ones did, and both are judged by the same checkers. All of it is pure
//! but for `history/files.rs`, which reads and writes what chaos records.
//!
//! The parts: [`history`] (what happened), [`check`] (what must hold), [`additions`] (what sets have that
//! were written under locks), [`spans`] and [`time`] (when), [`quantiles`] (how long), [`random`] (what a seed fixes).

#![allow(
    missing_docs,
    reason = "not published: what a field or a step of a story is, its name says"
)]

pub mod additions;
pub mod check;
pub mod history;
pub mod quantiles;
pub mod random;
pub mod spans;
pub mod time;
