//! A Lua script: its text and its digest.

use std::sync::LazyLock;

/// A Lua source file of ours, known to a server by its SHA-1.
#[derive(Debug)]
pub(crate) struct Script {
    /// Path below `src`, for messages and tests.
    pub(crate) name: &'static str,
    /// The text, with the header that documents KEYS, ARGV and replies. What several scripts share
    /// stands before that.
    pub(crate) source: &'static str,
    /// Arguments for each lock.
    pub(crate) args_per_lock: usize,
    /// Whether it answers a third integer for each lock.
    pub(crate) tells_token: bool,
    sha: LazyLock<String, fn() -> String>,
}

impl Script {
    /// `digest` is computed once, at the first use: see the macro `script!`.
    pub(crate) const fn new(
        name: &'static str,
        source: &'static str,
        args_per_lock: usize,
        digest: fn() -> String,
    ) -> Self {
        Self { name, source, args_per_lock, tells_token: false, sha: LazyLock::new(digest) }
    }

    /// It answers three integers for each lock; the third is a fencing token.
    pub(crate) const fn telling_token(mut self) -> Self {
        self.tells_token = true;
        self
    }

    /// The digest that EVALSHA takes: 40 lower-case hexadecimal digits.
    pub(crate) fn sha(&self) -> &str {
        &self.sha
    }
}

/// Declares a script from the `.lua` file beside the caller, behind the functions that it shares
/// with others.
macro_rules! script {
    ($file:literal, $args_per_lock:literal $(, after $($shared:literal),+)?) => {{
        const SOURCE: &str = concat!($($(include_str!($shared), "\n",)+)? include_str!($file));
        $crate::wire::Script::new($file, SOURCE, $args_per_lock, || {
            sha1_smol::Sha1::from(SOURCE).digest().to_string()
        })
    }};
}
pub(crate) use script;
