//! Which locks are listed, and how fast.

use crate::{error::ConfigError, wire::key};

/// Which locks [`Client::list`](crate::Client::list) is to find, and in what haste.
///
/// # Examples
/// ```
/// use palisade::inspect::ListOptions;
///
/// let orders = ListOptions::new().matching("orders:*").fast();
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListOptions {
    pattern: Option<String>,
    /// Whether that stands for itself alone.
    is_name: bool,
    /// A server is busy for one in so many parts of the time.
    one_in: u32,
}

impl Default for ListOptions {
    fn default() -> Self {
        Self { pattern: None, is_name: false, one_in: USUAL_PACE }
    }
}

impl ListOptions {
    /// All locks, with so many pauses that a server is kept busy for a tenth of the time at most.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Those whose names match, as patterns of SCAN do: `*`, `?`, `[a-z]`, and `\` before what stands for itself. A
    /// pattern with none of these is one name, which is looked at without a scan.
    #[must_use]
    pub fn matching(mut self, pattern: &str) -> Self {
        self.pattern = Some(pattern.to_owned());
        self.is_name = false;
        self
    }

    /// The one of this name, whatever characters that has.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.pattern = Some(name.to_owned());
        self.is_name = true;
        self
    }

    /// Without pauses.
    #[must_use]
    pub fn fast(self) -> Self {
        self.pace(1)
    }

    /// With so many pauses that a server is kept busy for one in so many parts of the time at most, from 1 to 10,000:
    /// `pace(100)` is for what goes round without an end, such as an exporter of metrics. What an answer takes on its
    /// way counts as if the server was busy with it.
    #[must_use]
    pub fn pace(mut self, one_in: u32) -> Self {
        self.one_in = one_in;
        self
    }

    pub(super) fn checked_pace(&self) -> Result<u32, ConfigError> {
        if (1..=SLOWEST_PACE).contains(&self.one_in) {
            return Ok(self.one_in);
        }
        let reason = format!("must be from 1 to {SLOWEST_PACE}").into();
        Err(ConfigError::InvalidSetting { setting: "pace", reason })
    }

    /// What to look for on servers.
    pub(super) fn scope(&self, namespace: &str) -> Result<Scope, ConfigError> {
        let Some(pattern) = &self.pattern else {
            return Ok(Scope::Matching(format!("{}*", key::literal(namespace))));
        };
        if pattern.is_empty() {
            return Err(ConfigError::EmptyName);
        }
        if pattern.len() > key::MAX_NAME {
            return Err(ConfigError::NameTooLong { len: pattern.len(), max: key::MAX_NAME });
        }
        Ok(if !self.is_name && pattern.contains(['*', '?', '[', '\\']) {
            Scope::Matching(format!("{}{pattern}", key::literal(namespace)))
        } else {
            Scope::Key(key::of_lock(namespace, pattern).into_owned())
        })
    }
}

/// A tenth of the time.
const USUAL_PACE: u32 = 10;
/// A page that takes a millisecond is followed by ten seconds then.
const SLOWEST_PACE: u32 = 10_000;

/// What is looked for on servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Scope {
    /// One key.
    Key(String),
    /// All keys that match this pattern of SCAN.
    Matching(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_stand_behind_the_namespace_and_names_are_keys() {
        let scope = |pattern: &str| ListOptions::new().matching(pattern).scope("a*:");
        assert_eq!(scope("x"), Ok(Scope::Key("a*:x".into())));
        assert_eq!(scope("x*"), Ok(Scope::Matching(r"a\*:x*".into())));
        assert_eq!(scope(r"x\y"), Ok(Scope::Matching(r"a\*:x\y".into())));
        assert_eq!(ListOptions::new().scope("a*:"), Ok(Scope::Matching(r"a\*:*".into())));
        assert_eq!(scope(""), Err(ConfigError::EmptyName));
        let named = |name: &str| ListOptions::new().named(name).scope("a*:");
        assert_eq!(named("x*"), Ok(Scope::Key("a*:x*".into())));
        assert_eq!(named(""), Err(ConfigError::EmptyName));
        let last = ListOptions::new().named("x*").matching("y*").scope("");
        assert_eq!(last, Ok(Scope::Matching("y*".into())));
        assert!(matches!(scope(&"x".repeat(4_097)), Err(ConfigError::NameTooLong { .. })));
    }

    #[test]
    fn pace_is_a_tenth_unless_it_is_set_within_its_bounds() {
        assert_eq!(ListOptions::new().checked_pace(), Ok(10));
        assert_eq!(ListOptions::new().fast().checked_pace(), Ok(1));
        for (one_in, is_right) in [(0, false), (1, true), (10_000, true), (10_001, false)] {
            let checked = ListOptions::new().pace(one_in).checked_pace();
            assert_eq!(checked.is_ok(), is_right, "{one_in}: {checked:?}");
        }
    }
}
