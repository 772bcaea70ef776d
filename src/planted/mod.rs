//! Bugs that can be planted, to see that whatever looks for bugs finds them.
//!
//! A place where one can be planted asks [`planted!`]. That is `false`, and nothing else of this is
//! there, unless the library is built with `--cfg planted_bugs`.

/// Whether this bug is planted here and now.
#[cfg(not(planted_bugs))]
macro_rules! planted {
    ($bug:ident) => {
        false
    };
}

/// Whether this bug is planted here and now.
#[cfg(planted_bugs)]
macro_rules! planted {
    ($bug:ident) => {
        $crate::planted::bugs::is_planted($crate::planted::bugs::Bug::$bug)
    };
}

#[cfg(planted_bugs)]
#[macro_use]
mod list;

#[cfg(planted_bugs)]
pub(crate) mod batches;
#[cfg(planted_bugs)]
pub mod bugs;
#[cfg(planted_bugs)]
pub(crate) mod scripts;
#[cfg(planted_bugs)]
pub(crate) mod wall_clock;
