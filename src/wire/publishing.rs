//! Two ways to publish, which do not hear of each other.

/// By which commands it is published that a lock is free, and listened to that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Publishing {
    /// To every subscriber, on whichever server of a cluster.
    #[default]
    Broadcast,
    /// To the subscribers on the server of a cluster that serves the channel's slot.
    Sharded,
}

impl Publishing {
    pub(crate) const fn publish(self) -> &'static str {
        match self {
            Self::Broadcast => "PUBLISH",
            Self::Sharded => "SPUBLISH",
        }
    }

    pub(crate) const fn subscribe(self) -> &'static str {
        match self {
            Self::Broadcast => "SUBSCRIBE",
            Self::Sharded => "SSUBSCRIBE",
        }
    }

    pub(crate) const fn unsubscribe(self) -> &'static str {
        match self {
            Self::Broadcast => "UNSUBSCRIBE",
            Self::Sharded => "SUNSUBSCRIBE",
        }
    }
}
