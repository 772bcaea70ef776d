//! Who makes a call, as the outbox sees it.

/// Whoever wants a call to be made.
pub(crate) trait Caller: Sync {
    /// Whether the call is still wanted, asked when it gets its position in the order of its socket.
    /// A caller that answers yes notes that the call may be executed from now on. Calls that enter
    /// the same socket later are executed later.
    ///
    /// If the server does not know the script by its digest, nothing was executed, and the same call
    /// is sent with the script's text. Before that the caller is asked once more, with `again`.
    ///
    /// # Deadlock safety
    /// Called with the outbox locked: it must not make, drop or poll a call.
    fn wants(&self, _again: bool) -> bool {
        true
    }

    /// Whether somebody waits for this call alone, and not for those of other servers beside it.
    fn is_awaited_alone(&self) -> bool {
        false
    }

    /// The call that was noted has not left this machine, and never will.
    fn never_left(&self) {}
}

/// A caller whose calls are always wanted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Always {
    pub(crate) is_awaited_alone: bool,
}

impl Caller for Always {
    fn is_awaited_alone(&self) -> bool {
        self.is_awaited_alone
    }
}
