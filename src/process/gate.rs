//! Whether a client grants anything: open, draining, drained, closed. It only ever goes on.

use crate::latest::Latest;

/// What may still be acquired by a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Gate {
    Open,
    /// Only what an owner asks for that holds something.
    Draining,
    /// Nothing, though what is under way is still finished.
    Drained,
    /// Nothing at all.
    Closed,
}

/// The gate of one client, for acquires that pass it and acquires that wait behind it.
#[derive(Debug)]
pub(crate) struct Gatekeeper(Latest<Gate>);

impl Default for Gatekeeper {
    fn default() -> Self {
        Self(Latest::new(Gate::Open))
    }
}

impl Gatekeeper {
    pub(crate) fn gate(&self) -> Gate {
        self.0.look(|gate| *gate)
    }

    /// Goes on to `gate`, unless it is there, or further.
    pub(crate) fn go_on_to(&self, gate: Gate) {
        self.0.replace_unless(|now| *now >= gate, gate);
    }

    /// Completes once it is open no more.
    ///
    /// # Cancel safety
    /// Dropping the future has no effect.
    pub(crate) async fn no_longer_open(&self) {
        self.0.wait_for(|gate| *gate > Gate::Open).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gate_only_goes_on() {
        let gatekeeper = Gatekeeper::default();
        assert_eq!(gatekeeper.gate(), Gate::Open);
        gatekeeper.go_on_to(Gate::Drained);
        gatekeeper.go_on_to(Gate::Draining);
        assert_eq!(gatekeeper.gate(), Gate::Drained);
        gatekeeper.go_on_to(Gate::Closed);
        assert_eq!(gatekeeper.gate(), Gate::Closed);
    }
}
