//! A Lua script: its text and its digest.

use std::sync::{LazyLock, OnceLock};

use super::Publishing;

/// A Lua source file of ours, known to a server by its SHA-1.
#[derive(Debug)]
pub(crate) struct Script {
    /// What it does, with the folder of its kind.
    pub(crate) name: &'static str,
    /// The text, with the header that documents KEYS, ARGV and replies, and what several scripts share.
    pub(crate) source: &'static str,
    /// Arguments for each lock, besides those that all of a call share.
    pub(crate) args_per_lock: usize,
    /// Whether it answers a third integer for each lock.
    pub(crate) tells_token: bool,
    /// Whether it grants, and so may have to stand behind a prologue that keeps it from that.
    pub(crate) grants: bool,
    /// Whether it has done with one lock before it looks at the next, so that two may have one name.
    pub(crate) in_turns: bool,
    /// Whether it can be asked for [one number alone](super::Statement::set_brief).
    pub(super) can_be_brief: bool,
    sha: LazyLock<String, fn() -> String>,
    sharded: ShardedText,
    behind: OnceLock<Composed>,
    behind_sharded: ShardedText,
}

/// The same text with the other command to publish, once it was sent.
type ShardedText = OnceLock<Composed>;

/// A text that was put together.
#[derive(Debug)]
pub(crate) struct Composed {
    source: String,
    sha: String,
}

impl Composed {
    pub(crate) fn new(source: String) -> Self {
        Self { sha: sha1_smol::Sha1::from(&source).digest().to_string(), source }
    }

    /// It is sent as it is, whatever is published by.
    pub(crate) fn text(&self) -> ScriptText<'_> {
        ScriptText { sha: &self.sha, source: &self.source, sharded: None }
    }
}

/// What is sent of a script.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScriptText<'a> {
    /// The digest that EVALSHA takes: 40 lower-case hexadecimal digits.
    pub(crate) sha: &'a str,
    /// What EVAL takes.
    pub(crate) source: &'a str,
    /// `None` of what publishes nothing of ours.
    sharded: Option<&'a ShardedText>,
}

impl ScriptText<'_> {
    /// The same script where it is published so. The rest of it does not differ: there is one source.
    pub(crate) fn publishing(self, publishing: Publishing) -> Self {
        let broadcast = Publishing::Broadcast;
        let Some(sharded) = self.sharded.filter(|_| publishing != broadcast) else { return self };
        let quoted = |publishing: Publishing| format!("'{}'", publishing.publish());
        let composed = sharded.get_or_init(|| {
            Composed::new(self.source.replace(&quoted(broadcast), &quoted(publishing)))
        });
        Self { sha: &composed.sha, source: &composed.source, ..self }
    }
}

impl Script {
    /// `digest` is computed once, at the first use: see the macro `script!`.
    pub(crate) const fn new(
        name: &'static str,
        source: &'static str,
        args_per_lock: usize,
        digest: fn() -> String,
    ) -> Self {
        Self {
            name,
            source,
            args_per_lock,
            tells_token: false,
            grants: false,
            in_turns: false,
            can_be_brief: false,
            sha: LazyLock::new(digest),
            sharded: OnceLock::new(),
            behind: OnceLock::new(),
            behind_sharded: OnceLock::new(),
        }
    }

    /// It answers three integers for each lock; the third is a fencing token.
    pub(crate) const fn telling_token(mut self) -> Self {
        self.tells_token = true;
        self
    }

    /// It has done with one lock before it looks at the next.
    pub(crate) const fn in_turns(mut self) -> Self {
        self.in_turns = true;
        self
    }

    /// It answers with one number alone where a word behind its arguments says so, if there is nothing else
    /// to tell.
    pub(crate) const fn brief_if_asked(mut self) -> Self {
        self.can_be_brief = true;
        self
    }

    /// It grants locks.
    pub(crate) const fn granting(mut self) -> Self {
        self.grants = true;
        self
    }

    pub(crate) fn text(&'static self) -> ScriptText<'static> {
        #[cfg(planted_bugs)]
        if let Some(source) = crate::planted::scripts::edited(self.name, self.source) {
            let sha = sha1_smol::Sha1::from(source).digest().to_string().leak();
            return ScriptText { sha, source, sharded: Some(&self.sharded) };
        }
        ScriptText { sha: &self.sha, source: self.source, sharded: Some(&self.sharded) }
    }

    /// The same script behind `prologue`, which is the same at every call: there is one.
    pub(crate) fn behind(&'static self, prologue: &'static str) -> ScriptText<'static> {
        let composed = self
            .behind
            .get_or_init(|| Composed::new([prologue, "\n", self.text().source].concat()));
        let Composed { sha, source } = composed;
        ScriptText { sha, source, sharded: Some(&self.behind_sharded) }
    }
}

/// Declares a script from the `.lua` files beside this, which stand behind one another in its text.
macro_rules! script {
    ($name:literal, $args_per_lock:literal, $first:literal $(, $file:literal)*) => {{
        const SOURCE: &str = concat!(include_str!($first) $(, "\n", include_str!($file))*);
        $crate::wire::Script::new($name, SOURCE, $args_per_lock, || {
            sha1_smol::Sha1::from(SOURCE).digest().to_string()
        })
    }};
}
pub(crate) use script;
