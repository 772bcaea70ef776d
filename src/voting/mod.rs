//! Who may vote: a server that may have forgotten what it granted is not asked.

mod bless;
pub(crate) mod marker;
mod naming;
#[cfg(all(test, feature = "embedded"))]
mod tests;
mod vetting;
mod voter;

pub(crate) use bless::{bless, check as check_bless};
pub(crate) use marker::checked::by_mark;
pub(crate) use naming::{lock_name, more_names};
pub(crate) use vetting::Closed;
pub(crate) use voter::{Members, Voter, ballot};
