//! Every script of every kind.

use super::{fenced, mutex};
use crate::wire::Script;

/// What connections load in advance.
pub(crate) fn all() -> Vec<&'static Script> {
    mutex::script::SCRIPTS.into_iter().chain(fenced::script::SCRIPTS).collect()
}

/// All that are ever sent.
#[cfg(feature = "embedded")]
pub(crate) fn named() -> Vec<&'static Script> {
    let strict = [&mutex::script::STRICT, &fenced::script::STRICT];
    all().into_iter().chain(strict).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header of a script documents each argument of a lock; the wrapper must agree.
    #[test]
    fn headers_name_as_many_arguments_as_the_wrapper_sends() {
        for script in all() {
            let named = script.source.lines().filter(|line| line.starts_with("--   ARGV["));
            assert_eq!(named.count(), script.args_per_lock, "{}", script.name);
        }
    }

    #[test]
    fn scripts_have_a_digest_of_their_own() {
        let digests: std::collections::BTreeSet<_> = all().into_iter().map(Script::sha).collect();
        assert_eq!(digests.len(), all().len());
        assert!(digests.iter().all(|digest| digest.len() == 40));
    }
}
