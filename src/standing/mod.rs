//! Whether a server's votes count, as far as it has told who it is. Asks nobody.

mod identity;
mod marker;
mod policy;
mod run;
mod run_id;

pub use identity::Unidentified;
pub(crate) use identity::{Introduced, length as quarantine_length, longest as longest_lease};
pub(crate) use marker::Marker;
pub use policy::Quarantine;
pub(crate) use policy::Vetting;
pub(crate) use run::{Attendance, Introduction, Rules, Standing};
pub(crate) use run_id::RunId;
