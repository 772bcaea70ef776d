//! Bugs that can be planted, to see that what looks for bugs finds them.
//!
//! A place where one can be planted asks [`planted!`]. That is `false`, and nothing else of this is there, unless
//! the library is built with `--cfg planted_bugs`.
//!
//! ```text
//! list ──every_bug!──► bugs: the type ◄── planted!(Bug) in the library ◄── PALISADE_PLANTED=name
//!   ├──► cargo xtask planted: builds once, plants one after the other, and demands that each is found
//!   └──► cargo xtask proofs: docs/maintain/planted.md, and a column of proofs.md
//! ```
//!
//! Most bugs are one condition in the file that they are about. What needs more stands here: a clock that follows
//! the time of day (`wall_clock`), batches of several users (`batches`), other texts of scripts (`scripts`).
//!
//! # Invariants
//! - **No other build has a trace of it**: neither code, nor the name of the variable.
//! - **One bug at most is planted**, from the start of a process, or as a test says.
//! - **Each bug of the list has a place, and each place a bug of the list.**
//! - **A script's place must still be there**: an edit that does not fit exactly once is a panic in that build.
//!
//! # What proves them
//! `tests/it/planted.rs` looks into the program and into the sources. `cargo xtask planted` fails if a bug is not
//! found, and if the library as it is shows anything.
//!
//! # To change…
//! - a bug, or what is to find it: `list`; CONTRIBUTING tells the steps
//! - what a bug breaks, by its name: the names are in `docs/maintain/invariants.md`
//! - the other text of a script: `scripts`
//! - how all are planted, and for how long each is looked for: `xtask/src/planted.rs`
//! - what is printed of it: `xtask/src/proofs/pages.rs`

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
