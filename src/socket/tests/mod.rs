//! Calls on streams that are made here: what a server reads and says is written in each test.

pub(crate) mod asking;
mod crowds;
mod driver;
mod groups;
mod inline_writes;
mod looking;
mod regrouping;
