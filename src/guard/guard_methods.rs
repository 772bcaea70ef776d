//! What the guards share that are a `LockGuard` and say more, written once.

/// The methods: `$guard` is the field with the `LockGuard`. With `of`, which makes one of that, it is the proof of a
/// lock, and may be had again: of the turns that it `suits`, which are all unless it is said.
macro_rules! guard_methods {
    ($Guard:ident . $guard:tt) => {
        impl From<$Guard> for $crate::LockGuard {
            /// The same hold.
            fn from(guard: $Guard) -> Self {
                guard.$guard
            }
        }

        impl std::ops::Deref for $Guard {
            type Target = $crate::LockGuard;

            fn deref(&self) -> &$crate::LockGuard {
                &self.$guard
            }
        }
    };
    ($Guard:ident . $guard:tt, of: $of:expr $(, suits: $suits:expr)?) => {
        $crate::guard::guard_methods!($Guard.$guard);

        impl $Guard {
            /// [`LockGuard::release`](crate::LockGuard::release).
            ///
            /// # Errors
            /// As there.
            ///
            /// # Cancel safety
            /// As there.
            pub async fn release(self) -> Result<$crate::Released, $crate::error::ReleaseError> {
                self.$guard.release().await
            }

            /// One more guard of the same sort on the same hold. Asks no server.
            ///
            /// # Errors
            /// [`LockLost`](crate::LockLost) if the hold is over: it is never entered again.
            pub fn reenter(&self) -> Result<Self, $crate::LockLost> {
                self.$guard.reenter().map($of)
            }

            /// [`LockGuard::orphan`](crate::LockGuard::orphan).
            pub fn orphan(self) {
                self.$guard.orphan();
            }
        }

        impl $crate::guard::Proof for $Guard {
            $(fn suits(turn: &$crate::guard::Turn) -> bool {
                $suits(turn)
            })?

            fn of(guard: $crate::LockGuard) -> Self {
                $of(guard)
            }

            fn guard(&self) -> &$crate::LockGuard {
                &self.$guard
            }
        }
    };
}
pub(crate) use guard_methods;
