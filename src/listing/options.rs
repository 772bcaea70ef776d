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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListOptions {
    pattern: Option<String>,
    /// Whether that stands for itself alone.
    is_name: bool,
    is_fast: bool,
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
    pub fn fast(mut self) -> Self {
        self.is_fast = true;
        self
    }

    pub(super) fn is_fast(&self) -> bool {
        self.is_fast
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
}
