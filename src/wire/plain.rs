//! What is said to a server without a script.

use std::sync::Arc;

use redis::{Cmd, cmd};

/// The full release of a lock whose holders are fields of a hash: the holder's field goes, and with
/// the last field the key; then it is announced. Said twice, it is announced twice.
#[derive(Debug, Clone)]
pub(crate) struct PlainRelease {
    pub(crate) key: Arc<str>,
    pub(crate) holder: Arc<str>,
    pub(crate) channel: Arc<str>,
}

impl PlainRelease {
    /// Answers 1 if the holder had it, else 0.
    pub(crate) fn removal(&self) -> Cmd {
        let mut removal = cmd("HDEL");
        removal.arg(&*self.key).arg(&*self.holder);
        removal
    }

    /// Answers how many listened.
    pub(crate) fn announcement(&self) -> Cmd {
        let mut announcement = cmd("PUBLISH");
        announcement.arg(&*self.channel).arg("0");
        announcement
    }
}
