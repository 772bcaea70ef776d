//! What comes of asking again: one table, a row for each variant of each error.
//!
//! A row without an arrow to a cause is the whole answer; `{ source }` and the like ask the cause. The
//! compiler sees to it that no variant is missing, and a test holds each answer.

use std::{fmt, time::Duration};

use super::{
    AcquireError, BlessError, ChangeError, ConfigError, ConnectError, DowngradeError, ExtendError,
    GuardedError, InspectError, LockLost, LostCause, NodeError, ReleaseError, ShutdownError,
    WithError,
};

/// What comes of asking again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outlook {
    /// The same, until something is changed.
    Lasts,
    /// Maybe something else, at any time.
    Passes,
    /// The same until so much time has passed.
    PassesIn(Duration),
}

use Outlook::{Lasts, Passes, PassesIn};

impl Outlook {
    const fn is_transient(self) -> bool {
        matches!(self, Passes | PassesIn(_))
    }

    const fn retry_after(self) -> Option<Duration> {
        match self {
            PassesIn(time) => Some(time),
            Lasts | Passes => None,
        }
    }
}

macro_rules! outlooks {
    ($([$($parameters:tt)*] $Error:ty { $($variant:pat => $outlook:expr,)* })*) => {
        $(
            impl $($parameters)* $Error {
                /// Whether the same may succeed later though nothing is changed: neither the configuration,
                /// nor rights, nor keys. It says nothing of what was done: where that is unknown and to do it
                /// twice would matter, the answer is `false`.
                #[must_use]
                pub fn is_transient(&self) -> bool {
                    self.outlook().is_transient()
                }

                /// How long it is pointless to try again, if that is known. `None` where it is not
                /// [transient](Self::is_transient), or may pass at any time.
                #[must_use]
                pub fn retry_after(&self) -> Option<Duration> {
                    self.outlook().retry_after()
                }

                pub(super) fn outlook(&self) -> Outlook {
                    match self {
                        $($variant => $outlook,)*
                    }
                }
            }
        )*

        /// The rows of the table, as they are written.
        #[cfg(test)]
        pub(super) const ROWS: &[(&str, &[&str])] =
            &[$((stringify!($Error), &[$(stringify!($variant)),*])),*];
    };
}

outlooks! {
    [] NodeError {
        Self::Unreachable { .. } => Passes,
        Self::TimedOut { .. } => Passes,
        Self::Disconnected { .. } => Passes,
        Self::Tls { .. } => Lasts,
        Self::Credentials { .. } => Passes,
        Self::Authentication { .. } => Lasts,
        Self::Permission { .. } => Lasts,
        Self::Quarantined { counts_in, .. } => PassesIn(*counts_in),
        Self::Unidentified => Lasts,
        // Another may take its place, or it may become a master again.
        Self::Replica => Passes,
        Self::Unsupported { .. } => Lasts,
        Self::Loading => Passes,
        Self::MasterDown => Passes,
        Self::OutOfMemory => Passes,
        Self::ForeignKey => Lasts,
        // The other kind's holder goes, and its key with it; but one name for two kinds is an error.
        Self::OtherKind => Lasts,
        Self::ForeignCounter => Lasts,
        Self::ForeignMarker => Lasts,
        Self::ScriptsRefused { .. } => Lasts,
        Self::NotReplicated { .. } => Passes,
        Self::Server { .. } => Passes,
        Self::Malformed { .. } => Passes,
        Self::Closed => Lasts,
        Self::NoRuntime => Lasts,
    }
    [] ConfigError {
        Self::EmptyName => Lasts,
        Self::NameTooLong { .. } => Lasts,
        Self::BadHashTag { .. } => Lasts,
        Self::SharedKeys { .. } => Lasts,
        Self::TaggedLatch { .. } => Lasts,
        Self::CountOutOfRange { .. } => Lasts,
        Self::PermitsOutOfRange { .. } => Lasts,
        Self::InvalidPermitId { .. } => Lasts,
        Self::InvalidFencingToken { .. } => Lasts,
        Self::LeaseTooShort { .. } => Lasts,
        Self::LeaseTooLong { .. } => Lasts,
        Self::LeaseAboveRedisson { .. } => Lasts,
        Self::NoMembers => Lasts,
        Self::DuplicateMember { .. } => Lasts,
        Self::SameServer { .. } => Lasts,
        Self::MemberLease { .. } => Lasts,
        Self::MaxLeaseAboveFleet { .. } => Lasts,
        Self::DifferentFleets { .. } => Lasts,
        // What the owner holds it releases itself: a loop that asks again would wait for its own
        // owner.
        Self::HeldWithoutToken { .. } => Lasts,
        Self::HeldForReading { .. } => Lasts,
        Self::OtherSlot { .. } => Lasts,
        Self::SeveralServers => Lasts,
        Self::NotOnServer { .. } => Lasts,
        Self::HeldByAnother { .. } => Lasts,
        Self::RuntimeLacks { .. } => Lasts,
        Self::Forked { .. } => Lasts,
        Self::InvalidUrl { .. } => Lasts,
        Self::UnsupportedUrl { .. } => Lasts,
        Self::InvalidSetting { .. } => Lasts,
    }
    [] ConnectError {
        Self::Config(cause) => cause.outlook(),
        Self::Masters { ballot, .. } => {
            let passes = ballot.failures().any(|(_, cause)| cause.is_transient());
            if passes { Passes } else { Lasts }
        },
        Self::Node { source, .. } => source.outlook(),
    }
    [] AcquireError {
        Self::Config(cause) => cause.outlook(),
        Self::Unavailable { .. } => Passes,
        Self::Denied { .. } => Lasts,
        Self::Quarantined { counts_in, .. } => PassesIn(*counts_in),
        Self::Unwatched { .. } => Passes,
        Self::NotSet { .. } => Lasts,
        Self::Draining => Lasts,
        Self::Shutdown => Lasts,
    }
    // A hold that was lost never comes back; what was asked can be done by another.
    [] LostCause {
        Self::Expired => Passes,
        Self::NotRenewed(_) => Passes,
        Self::Gone => Passes,
        Self::Taken => Passes,
        Self::MemberGone { .. } => Passes,
        Self::MemberTaken { .. } => Passes,
        Self::MemberRestarted { .. } => Passes,
        Self::QuorumGone => Passes,
        Self::QuorumRestarted => Passes,
        Self::QuorumTaken => Passes,
        Self::Forked => Lasts,
        Self::Shutdown => Lasts,
    }
    [] LockLost {
        Self { cause, .. } => cause.outlook(),
    }
    // There is no guard any more to release again with.
    [] ReleaseError {
        Self::Lost(_) => Lasts,
        Self::Unconfirmed { .. } => Lasts,
    }
    [<G: fmt::Debug>] DowngradeError<G> {
        Self::Lost(_) => Lasts,
        Self::WriteGuards { .. } => Passes,
    }
    [] ExtendError {
        Self::Config(cause) => cause.outlook(),
        // There is nothing any more that could be extended.
        Self::Lost(_) => Lasts,
        Self::Unconfirmed { .. } => Passes,
    }
    [] GuardedError {
        Self::Config(cause) => cause.outlook(),
        Self::Lost(_) => Lasts,
        Self::NotHeld { .. } => Lasts,
        // It is healed, or written again there.
        Self::NotHeldThere { .. } => Passes,
        Self::Stale { .. } => Lasts,
        // What it wrote before stands: the same again may do that twice.
        Self::Script { .. } => Lasts,
        Self::NotDone { source, .. } => source.outlook(),
        Self::Unknown { .. } => Lasts,
        Self::NotReplicated { .. } => Lasts,
        Self::WrongReply { .. } => Lasts,
    }
    [] WithError {
        Self::Acquire(cause) => cause.outlook(),
        // The work was stopped half way: to do it again may be to do it twice.
        Self::Lost(_) => Lasts,
    }
    [] InspectError {
        Self::Config(cause) => cause.outlook(),
        Self::Node { source, .. } => source.outlook(),
    }
    [] ChangeError {
        Self::Config(cause) => cause.outlook(),
        Self::NotMade { source, .. } => source.outlook(),
        // It may have been made: the same again may make it twice.
        Self::Unknown { .. } => Lasts,
    }
    [] BlessError {
        Self::Config(cause) => cause.outlook(),
        Self::Node { source, .. } => source.outlook(),
        Self::Unidentified { .. } => Lasts,
        Self::ForeignMarker { .. } => Lasts,
        Self::BlessedBefore { .. } => Lasts,
        Self::MarkedBefore { .. } => Lasts,
        Self::DataLost { .. } => Lasts,
        Self::Old { .. } => Lasts,
        Self::HalfYoung { .. } => Lasts,
        Self::NotWritten { source, .. } => source.outlook(),
        Self::Overtaken { .. } => Passes,
    }
    // The client is closed.
    [] ShutdownError {
        Self { .. } => Lasts,
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fmt::Debug, sync::Arc};

    use super::*;
    use crate::error::{Ballot, Forgotten, LockName, NodeId, NotRenewed, Phase, Text, Vote};

    const YOUNG: Duration = Duration::from_secs(61);

    /// One error of each variant with its answer, written apart from the table.
    fn expect<E: Debug>(rows: &str, outlook: impl Fn(&E) -> Outlook, cases: &[(E, Outlook)]) {
        let (_, rows) = ROWS.iter().find(|(error, _)| *error == rows).unwrap();
        let variant = |text: &str| {
            let end = text.find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len());
            text[..end].to_owned()
        };
        let written: BTreeSet<_> =
            rows.iter().map(|row| variant(row.trim_start_matches("Self::"))).collect();
        let seen: BTreeSet<_> =
            cases.iter().map(|(error, _)| variant(&format!("{error:?}"))).collect();
        assert_eq!(seen, written, "a variant without a case");
        for (error, expected) in cases {
            assert_eq!(outlook(error), *expected, "{error:?}");
        }
    }

    fn text() -> Text {
        "x".into()
    }

    fn node() -> NodeId {
        NodeId::new("n")
    }

    fn lock() -> LockName {
        LockName::plain(&"x".into())
    }

    fn lost(cause: LostCause) -> LockLost {
        LockLost { lock: lock(), holder: "h".into(), cause }
    }

    /// Two causes, and what an error says that asks its cause.
    fn causes() -> [(NodeError, Outlook); 3] {
        let young = NodeError::Quarantined {
            uptime: Duration::ZERO,
            counts_in: YOUNG,
            forgotten: Forgotten::Run,
        };
        [(NodeError::Loading, Passes), (NodeError::ForeignKey, Lasts), (young, PassesIn(YOUNG))]
    }

    #[test]
    fn each_cause_of_a_node_passes_or_lasts() {
        let source = Arc::new(text());
        let phase = Phase::Answering;
        let (message, reason, what, code) = (text(), text(), text(), text());
        let [(loading, _), (foreign, _), (young, _)] = causes();
        let cases = [
            (NodeError::Unreachable { reason: reason.clone() }, Passes),
            (NodeError::TimedOut { phase }, Passes),
            (NodeError::Disconnected { source }, Passes),
            (NodeError::Tls { reason: reason.clone() }, Lasts),
            (NodeError::Credentials { reason }, Passes),
            (NodeError::Authentication { message: message.clone() }, Lasts),
            (NodeError::Permission { message: message.clone() }, Lasts),
            (young, PassesIn(YOUNG)),
            (NodeError::Unidentified, Lasts),
            (NodeError::Replica, Passes),
            (NodeError::Unsupported { what: what.clone() }, Lasts),
            (loading, Passes),
            (NodeError::MasterDown, Passes),
            (NodeError::OutOfMemory, Passes),
            (foreign, Lasts),
            (NodeError::OtherKind, Lasts),
            (NodeError::ForeignCounter, Lasts),
            (NodeError::ForeignMarker, Lasts),
            (NodeError::ScriptsRefused { message: message.clone() }, Lasts),
            (NodeError::NotReplicated { wanted: 2, replicas: 1 }, Passes),
            (NodeError::Server { code, message }, Passes),
            (NodeError::Malformed { what }, Passes),
            (NodeError::Closed, Lasts),
            (NodeError::NoRuntime, Lasts),
        ];
        expect("NodeError", NodeError::outlook, &cases);
    }

    #[test]
    fn no_mistake_passes_by_itself() {
        let (t, of) = (text, Duration::from_secs(1));
        let cases = [
            ConfigError::EmptyName,
            ConfigError::NameTooLong { len: 2, max: 1 },
            ConfigError::BadHashTag { name: t() },
            ConfigError::SharedKeys { name: t(), other: t() },
            ConfigError::TaggedLatch { name: t() },
            ConfigError::CountOutOfRange { count: 0, max: 1 },
            ConfigError::PermitsOutOfRange { permits: 0, max: 1 },
            ConfigError::InvalidPermitId { id: t() },
            ConfigError::InvalidFencingToken { number: t() },
            ConfigError::LeaseTooShort { lease: of, min: of },
            ConfigError::LeaseTooLong { lease: of, max: of },
            ConfigError::LeaseAboveRedisson { lease: of, redisson_watchdog: of },
            ConfigError::NoMembers,
            ConfigError::DuplicateMember { member: t() },
            ConfigError::SameServer { server: t() },
            ConfigError::MemberLease { member: t() },
            ConfigError::MaxLeaseAboveFleet { server: t(), max_lease: of, blessed: of },
            ConfigError::DifferentFleets { one: t(), other: t() },
            ConfigError::HeldWithoutToken { name: t() },
            ConfigError::HeldForReading { name: t() },
            ConfigError::OtherSlot { key: t(), tag: t() },
            ConfigError::SeveralServers,
            ConfigError::NotOnServer { server: t() },
            ConfigError::HeldByAnother { name: t() },
            ConfigError::RuntimeLacks { what: "timer", call: "enable_time" },
            ConfigError::Forked { made_by: 1 },
            ConfigError::InvalidUrl { reason: t() },
            ConfigError::UnsupportedUrl { scheme: t() },
            ConfigError::InvalidSetting { setting: "x", reason: t() },
        ];
        expect("ConfigError", ConfigError::outlook, &cases.map(|error| (error, Lasts)));
    }

    #[test]
    fn a_foreign_key_is_denied_and_an_outage_passes() {
        let ballot = Ballot::default;
        let young = AcquireError::Quarantined { lock: lock(), ballot: ballot(), counts_in: YOUNG };
        let cases = [
            (AcquireError::Config(ConfigError::NoMembers), Lasts),
            (AcquireError::Unavailable { lock: lock(), ballot: ballot() }, Passes),
            (AcquireError::Denied { lock: lock(), ballot: ballot() }, Lasts),
            (young.clone(), PassesIn(YOUNG)),
            (AcquireError::Unwatched { lock: lock() }, Passes),
            (AcquireError::NotSet { lock: lock() }, Lasts),
            (AcquireError::Draining, Lasts),
            (AcquireError::Shutdown, Lasts),
        ];
        expect("AcquireError", AcquireError::outlook, &cases);
        assert!(young.is_transient() && young.retry_after() == Some(YOUNG));
        assert!(cases[1].0.is_transient() && cases[1].0.retry_after().is_none());
        assert!(!cases[2].0.is_transient() && cases[2].0.retry_after().is_none());
        let cases = [
            (WithError::Acquire(young), PassesIn(YOUNG)),
            (WithError::Lost(lost(LostCause::Taken)), Lasts),
            (WithError::Lost(lost(LostCause::Shutdown)), Lasts),
        ];
        expect("WithError", WithError::outlook, &cases);
    }

    #[test]
    fn what_was_lost_can_be_acquired_anew_but_by_who_may_hold_nothing() {
        let member = || (node(), text());
        let [(n0, t0), (n1, t1), (n2, t2), (n3, t3)] = [member(), member(), member(), member()];
        let cases = [
            (LostCause::Expired, Passes),
            (LostCause::NotRenewed(NotRenewed { node: n0, reason: t0 }), Passes),
            (LostCause::Gone, Passes),
            (LostCause::Taken, Passes),
            (LostCause::MemberGone { node: n1, name: t1 }, Passes),
            (LostCause::MemberTaken { node: n2, name: t2 }, Passes),
            (LostCause::MemberRestarted { node: n3, name: t3 }, Passes),
            (LostCause::QuorumGone, Passes),
            (LostCause::QuorumRestarted, Passes),
            (LostCause::QuorumTaken, Passes),
            (LostCause::Forked, Lasts),
            (LostCause::Shutdown, Lasts),
        ];
        expect("LostCause", LostCause::outlook, &cases);
        for (cause, outlook) in cases {
            assert_eq!(lost(cause).outlook(), outlook);
        }
        let unconfirmed = ReleaseError::Unconfirmed {
            lock: lock(),
            holder: "h".into(),
            ballot: Ballot::default(),
        };
        let cases = [(ReleaseError::Lost(lost(LostCause::Gone)), Lasts), (unconfirmed, Lasts)];
        expect("ReleaseError", ReleaseError::outlook, &cases);
        let cases = [
            (DowngradeError::Lost(lost(LostCause::Gone)), Lasts),
            (DowngradeError::WriteGuards { guard: (), others: 1 }, Passes),
        ];
        expect("DowngradeError<G>", DowngradeError::outlook, &cases);
        let unconfirmed = ExtendError::Unconfirmed { lock: lock(), holder: "h".into() };
        let cases = [
            (ExtendError::Config(ConfigError::EmptyName), Lasts),
            (ExtendError::Lost(lost(LostCause::Gone)), Lasts),
            (unconfirmed, Passes),
        ];
        expect("ExtendError", ExtendError::outlook, &cases);
        assert_eq!(ShutdownError { unfinished: 1 }.outlook(), Lasts);
    }

    #[test]
    fn errors_of_one_server_are_as_their_cause() {
        let config = || ConfigError::EmptyName;
        for (source, outlook) in causes() {
            let of = || (lock(), node(), source.clone());
            let asked = ConnectError::Node { node: node(), source: source.clone() };
            let vote = |error: &NodeError| (node(), Vote::Failed(error.clone()));
            let masters = |other: NodeError| ConnectError::Masters {
                ballot: Ballot::new(vec![vote(&NodeError::ForeignKey), vote(&other)]),
            };
            let cases = [
                (ConnectError::Config(config()), Lasts),
                (asked, outlook),
                (masters(NodeError::Loading), Passes),
                (masters(NodeError::NoRuntime), Lasts),
            ];
            expect("ConnectError", ConnectError::outlook, &cases);
            let (lock, node, source) = of();
            let asked = InspectError::Node { lock, node, source };
            let cases = [(InspectError::Config(config()), Lasts), (asked, outlook)];
            expect("InspectError", InspectError::outlook, &cases);
            let (name, node, source) = of();
            let not_made = ChangeError::NotMade { name, node, source };
            let (name, node, source) = of();
            // It may have been done: done again, it is done twice.
            let unknown = ChangeError::Unknown { name, node, source };
            let cases =
                [(ChangeError::Config(config()), Lasts), (not_made, outlook), (unknown, Lasts)];
            expect("ChangeError", ChangeError::outlook, &cases);
            expect("GuardedError", GuardedError::outlook, &of_guarded(&of().2, outlook));
            expect("BlessError", BlessError::outlook, &of_bless(&of().2, outlook));
        }
    }

    fn of_guarded(source: &NodeError, outlook: Outlook) -> [(GuardedError, Outlook); 10] {
        let source = || source.clone();
        let (lock, node, holder, error, got) = (lock, node, || "h".into(), text(), text());
        [
            (GuardedError::Config(ConfigError::SeveralServers), Lasts),
            (GuardedError::Lost(lost(LostCause::Gone)), Lasts),
            (GuardedError::NotHeld { lock: lock(), node: node(), holder: holder() }, Lasts),
            (GuardedError::NotHeldThere { lock: lock(), node: node(), holder: holder() }, Passes),
            (GuardedError::Stale { lock: lock(), node: node(), token: 1, newest: 2 }, Lasts),
            (GuardedError::Script { lock: lock(), node: node(), error }, Lasts),
            (GuardedError::NotDone { lock: lock(), node: node(), source: source() }, outlook),
            (GuardedError::Unknown { lock: lock(), node: node(), source: source() }, Lasts),
            (GuardedError::NotReplicated { lock: lock(), node: node(), source: source() }, Lasts),
            (GuardedError::WrongReply { lock: lock(), node: node(), expected: "x", got }, Lasts),
        ]
    }

    fn of_bless(source: &NodeError, outlook: Outlook) -> [(BlessError, Outlook); 11] {
        let (time, source) = (Duration::from_secs(1), || source.clone());
        let before = BlessError::BlessedBefore { node: node(), fleet: text(), max_lease: time };
        let not_written = BlessError::NotWritten { node: node(), source: source(), left: vec![] };
        [
            (BlessError::Config(ConfigError::NoMembers), Lasts),
            (BlessError::Node { node: node(), source: source() }, outlook),
            (BlessError::Unidentified { node: node() }, Lasts),
            (BlessError::ForeignMarker { node: node() }, Lasts),
            (before, Lasts),
            (BlessError::MarkedBefore { node: node() }, Lasts),
            (BlessError::DataLost { node: node() }, Lasts),
            (BlessError::Old { uptime: time }, Lasts),
            (BlessError::HalfYoung { young: vec![], old: vec![] }, Lasts),
            (not_written, outlook),
            (BlessError::Overtaken { node: node(), left: vec![] }, Passes),
        ]
    }
}
