//! The sorts of locks that one name can be.

/// Which lock of a name. All exclude each other, but for those that share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    Plain,
    Exclusive,
    Shared,
    /// In the order of asking. It looks like a plain one.
    Fair,
}
