//! Why all that is held on a server is renewed early, and when that was last done.

use crate::clock::Instant;

/// Why what is held on a server is renewed early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Occasion {
    /// A socket leads there again.
    Back,
    /// Its mark is not the one that was known.
    Mark,
}

/// When all that is held there was last to be renewed, for each occasion by itself. A mark that another client has
/// written anew says little, and must not put off what a server is asked that comes back a moment later.
#[derive(Debug, Default)]
pub(super) struct RenewedAll {
    when_back: Option<Instant>,
    by_mark: Option<Instant>,
}

impl RenewedAll {
    pub(super) fn last(&mut self, occasion: Occasion) -> &mut Option<Instant> {
        match occasion {
            Occasion::Back => &mut self.when_back,
            Occasion::Mark => &mut self.by_mark,
        }
    }
}
