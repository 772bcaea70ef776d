//! What a lock is called wherever it is spoken of.

use std::{
    fmt::{self, Write},
    sync::Arc,
};

use super::Text;

/// Names one lock in errors, in `Debug` and in events: by its name, or of several names by the
/// first and how many more. Where names are [redacted](crate::ClientBuilder::redact_names), a
/// digest stands there.
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use palisade::{AcquireError, embedded::Server};
///
/// let server = Server::start()?;
/// let client = server.client()?;
/// server.kill();
/// let Err(AcquireError::Unavailable { lock, .. }) = client.lock("orders:42").try_acquire().await
/// else {
///     return Err("it is down".into());
/// };
/// assert_eq!(lock.as_str(), "orders:42");
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct LockName(Text);

impl LockName {
    pub(crate) fn plain(name: &Arc<str>) -> Self {
        Self(name.into())
    }

    /// The same where names must not be shown: short, and the same in every process.
    pub(crate) fn redacted(name: &str) -> Self {
        let digest = sha1_smol::Sha1::from(name).digest().bytes();
        let mut shown = String::from("lock#");
        for byte in digest.iter().take(4) {
            let _infallible = write!(shown, "{byte:02x}");
        }
        Self(shown.into())
    }

    /// The first of several names.
    pub(crate) fn and_more(self, others: usize) -> Self {
        if others == 0 {
            return self;
        }
        Self(Text::put_together(format!("{} and {others} more", self.as_str())))
    }

    /// As it is shown, but for control characters, which [`Display`](fmt::Display) escapes. Of a long name it
    /// is the beginning.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    pub(crate) fn into_text(self) -> Text {
        self.0
    }
}

impl fmt::Display for LockName {
    /// In one line, whatever is in the name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for LockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_in_one_line() {
        let shown = |name: &str| LockName::plain(&name.into()).to_string();
        assert_eq!(shown("snow ☃, O'Brien's"), "snow ☃, O'Brien's");
        assert_eq!(shown("two\nlines\0"), "two\\nlines\\0");
    }

    #[test]
    fn digest_is_short_and_always_the_same() {
        assert_eq!(LockName::redacted("orders:42").as_str(), "lock#0fa47539");
        assert_ne!(LockName::redacted("orders:43"), LockName::redacted("orders:42"));
        assert_eq!(LockName::redacted("a").and_more(1).as_str(), "lock#86f7e437 and 1 more");
    }
}
