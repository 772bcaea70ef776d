//! What is said to a server without a script.

use std::sync::Arc;

use super::{Publishing, Statement, words::write_command};

/// The full release of a lock whose holders are fields of a hash: the holder's field goes, and with
/// the last field the key; then it is announced. Said twice, it is announced twice.
#[derive(Debug, Clone)]
pub(crate) struct PlainRelease {
    pub(crate) key: Arc<str>,
    pub(crate) holder: Arc<str>,
    pub(crate) channel: Arc<str>,
    /// The same by a script.
    pub(crate) by_script: fn(&Self) -> Statement,
}

impl PlainRelease {
    /// Appends the removal, which is answered with 1 if the holder had it, else 0.
    pub(crate) fn write_removal(&self, to: &mut Vec<u8>) {
        write_command([b"HDEL", self.key.as_bytes(), self.holder.as_bytes()], to);
    }

    /// Appends the announcement, which is answered with how many listened.
    pub(crate) fn write_announcement(&self, publishing: Publishing, to: &mut Vec<u8>) {
        let publish = publishing.publish().as_bytes();
        write_command([publish, self.channel.as_bytes(), b"0"], to);
    }
}
