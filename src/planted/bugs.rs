//! Which bugs there are, and which of them is planted: one at most, by its name.

use std::sync::{Mutex, Once, PoisonError};

/// Makes the type of the list in `list.rs`.
macro_rules! bugs {
    ($(
        $bug:ident = $name:literal: $what:literal
            breaks [$($invariant:literal),*], found by $finder:ident($($found:tt)*);
    )*) => {
        /// A bug that can be planted.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Bug {
            $(#[doc = $what] $bug,)*
        }

        impl Bug {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$bug),*];

            /// What it is called in `PALISADE_PLANTED`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$bug => $name,)*
                }
            }
        }
    };
}

every_bug!(bugs);

static PLANTED: Mutex<Option<Bug>> = Mutex::new(None);
static READ: Once = Once::new();

/// Plants a bug, or none, in this process, whatever the environment says.
pub fn plant(bug: Option<Bug>) {
    READ.call_once(|| {});
    *PLANTED.lock().unwrap_or_else(PoisonError::into_inner) = bug;
}

/// The bug that is planted: at first the one that `PALISADE_PLANTED` names.
#[must_use]
pub fn planted() -> Option<Bug> {
    READ.call_once(|| {
        let named = std::env::var("PALISADE_PLANTED").ok();
        let bug = named.map(|name| {
            let found = Bug::ALL.iter().copied().find(|bug| bug.name() == name);
            found.unwrap_or_else(|| panic!("there is no bug {name:?}"))
        });
        *PLANTED.lock().unwrap_or_else(PoisonError::into_inner) = bug;
    });
    *PLANTED.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn is_planted(bug: Bug) -> bool {
    planted() == Some(bug)
}
