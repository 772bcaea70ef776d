//! The methods of locks under which a job runs once for a period, written once.

use crate::{acquire::BoxLock, guard::LockGuard};

/// The methods, on the public types: as `lock_methods` has it.
macro_rules! period_methods {
    ([$($parameters:tt)*] $Lock:ty, $Guard:ty) => {
        impl $($parameters)* $Lock {
            /// Runs `work` under the lock, unless a run for the period `id` is recorded; and records it.
            ///
            /// The id comes of the *schedule*, such as `"2026-11-26T03"`, and is the same on all machines. The lock
            /// is waited for. [`once`](crate::once) says what holds, and as long as what.
            ///
            /// # Errors
            /// [`OnceError`](crate::once::OnceError): of each variant it is said whether the work was begun, and
            /// whether it may be repeated.
            ///
            /// # Cancel safety
            /// Dropping the future drops `work` and releases in the background. Nothing is recorded, unless
            /// the work had ended: then that is unknown.
            ///
            /// # Panics
            /// Only if `work` does. Nothing is recorded then, but for
            /// [`record_failures`](crate::once::Cadence::record_failures).
            pub async fn once_for<T, E>(
                &self,
                id: &str,
                work: impl AsyncFnOnce(&$Guard) -> Result<T, E>,
            ) -> Result<$crate::periods::Once<T>, $crate::periods::OnceError<T, E>> {
                self.when_due(&$crate::periods::Cadence::once_for(id), work).await
            }

            /// Runs `work` under the lock, unless the last recorded run began less than `pause` ago by the server's
            /// clock; and records it.
            ///
            /// # Errors
            /// As [`once_for`](Self::once_for).
            ///
            /// # Cancel safety
            /// As [`once_for`](Self::once_for).
            pub async fn at_most_every<T, E>(
                &self,
                pause: std::time::Duration,
                work: impl AsyncFnOnce(&$Guard) -> Result<T, E>,
            ) -> Result<$crate::periods::Once<T>, $crate::periods::OnceError<T, E>> {
                self.when_due(&$crate::periods::Cadence::at_most_every(pause), work).await
            }

            /// Runs `work` under the lock if it is due; and records it.
            ///
            /// # Errors
            /// As [`once_for`](Self::once_for).
            ///
            /// # Cancel safety
            /// As [`once_for`](Self::once_for).
            pub async fn when_due<T, E>(
                &self,
                cadence: &$crate::periods::Cadence,
                work: impl AsyncFnOnce(&$Guard) -> Result<T, E>,
            ) -> Result<$crate::periods::Once<T>, $crate::periods::OnceError<T, E>> {
                $crate::periods::when_due(&self.handle, cadence, work).await
            }

            /// The recorded run that keeps another from being due. `None` is no promise that it is due: only a look
            /// under the lock is, and servers that do not answer are left out.
            ///
            /// # Errors
            /// [`Config`](crate::AcquireError::Config): it cannot be asked for.
            ///
            /// # Cancel safety
            /// Dropping the future changes nothing.
            pub async fn past_run(
                &self,
                cadence: &$crate::periods::Cadence,
            ) -> Result<Option<$crate::periods::RecordedRun>, $crate::AcquireError> {
                $crate::periods::past_run(&self.handle, cadence).await
            }

            /// The last run that is recorded beside the lock, of whatever period.
            ///
            /// # Errors
            /// [`InspectError`](crate::error::InspectError): too few servers told, and none of them a run.
            ///
            /// # Cancel safety
            /// Dropping the future changes nothing.
            pub async fn last_run(
                &self,
            ) -> Result<Option<$crate::periods::RecordedRun>, $crate::error::InspectError> {
                $crate::periods::last_run(&self.handle).await
            }
        }
    };
}

pub(crate) use period_methods;

period_methods!([] BoxLock, LockGuard);
