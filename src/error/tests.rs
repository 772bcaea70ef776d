//! Everything of an error that is displayed, whatever was put into it.

use std::{error::Error, fmt::Display, sync::Arc, time::Duration};

use super::*;

/// What no terminal is to see, and more than can be read.
fn evil() -> String {
    "\u{1b}[2J\r\n\u{202e}\"".repeat(1 << 16)
}

fn text() -> Text {
    evil().into()
}

fn lock() -> LockName {
    LockName::plain(&evil().into()).and_more(3)
}

fn node() -> NodeId {
    NodeId::new(&evil())
}

fn assert_shown(what: &str, shown: &str) {
    assert!(!shown.contains(|c: char| c.is_control() || c == '\u{202e}'), "{what}: {shown:.200}");
    assert!(shown.len() < 1 << 16, "{what}: {} bytes", shown.len());
}

#[track_caller]
fn check<E: Error>(error: &E) {
    let mut next: Option<&dyn Error> = Some(error);
    while let Some(error) = next {
        assert_shown("Display", &error.to_string());
        assert_shown("Debug", &format!("{error:?}"));
        next = error.source();
    }
}

fn of_nodes() -> Vec<NodeError> {
    vec![
        NodeError::Unreachable { reason: text() },
        NodeError::Disconnected { source: Arc::new(text()) },
        NodeError::Tls { reason: text() },
        NodeError::Credentials { reason: text() },
        NodeError::Authentication { message: text() },
        NodeError::Permission { message: text() },
        NodeError::Unsupported { what: text() },
        NodeError::ScriptsRefused { message: text() },
        NodeError::Server { code: text(), message: text() },
        NodeError::Malformed { what: text() },
    ]
}

fn of_configs() -> Vec<ConfigError> {
    let lease = Duration::from_secs(1);
    vec![
        ConfigError::BadHashTag { name: text() },
        ConfigError::SharedKeys { name: text(), other: text() },
        ConfigError::TaggedLatch { name: text() },
        ConfigError::InvalidPermitId { id: text() },
        ConfigError::DuplicateMember { member: text() },
        ConfigError::SameServer { server: text() },
        ConfigError::MemberLease { member: text() },
        ConfigError::MaxLeaseAboveFleet { server: text(), max_lease: lease, blessed: lease },
        ConfigError::DifferentFleets { one: text(), other: text() },
        ConfigError::HeldWithoutToken { name: text() },
        ConfigError::HeldForReading { name: text() },
        ConfigError::InvalidUrl { reason: text() },
        ConfigError::UnsupportedUrl { scheme: text() },
        ConfigError::InvalidSetting { setting: "namespace", reason: text() },
    ]
}

fn ballot() -> Ballot {
    let votes = of_nodes().into_iter().map(Vote::Failed).cycle().take(2_000);
    Ballot::new(votes.map(|vote| (node(), vote)).collect())
}

#[test]
fn errors_are_shown_in_a_line_of_bounded_length() {
    of_nodes().iter().for_each(check);
    of_configs().iter().for_each(check);
    for source in of_nodes() {
        check(&ConnectError::Node { node: node(), source: source.clone() });
        check(&InspectError::Node { lock: lock(), node: node(), source: source.clone() });
        check(&ChangeError::NotMade { name: lock(), node: node(), source: source.clone() });
        check(&ChangeError::Unknown { name: lock(), node: node(), source: source.clone() });
        check(&BlessError::Node { node: node(), source: source.clone() });
        check(&BlessError::NotWritten { node: node(), source, left: vec![node(); 5] });
    }
    let holder: Arc<str> = "id:1".into();
    for cause in [
        LostCause::MemberGone { node: node(), name: text() },
        LostCause::MemberTaken { node: node(), name: text() },
    ] {
        check(&LockLost { lock: lock(), holder: holder.clone(), cause });
    }
    let counts_in = Duration::from_secs(1);
    check(&AcquireError::Unavailable { lock: lock(), ballot: ballot() });
    check(&AcquireError::Denied { lock: lock(), ballot: ballot() });
    check(&AcquireError::Quarantined { lock: lock(), ballot: ballot(), counts_in });
    check(&AcquireError::Unwatched { lock: lock() });
    check(&ReleaseError::Unconfirmed { lock: lock(), holder, ballot: ballot() });
    let max_lease = counts_in;
    check(&BlessError::BlessedBefore { node: node(), fleet: text(), max_lease });
    for young in [vec![node(); 5], vec![]] {
        check(&BlessError::HalfYoung { old: young.clone(), young });
    }
}

#[test]
fn errors_about_one_server_end_with_their_cause() {
    let (source, lock, node) = (NodeError::OutOfMemory, lock(), node());
    let left = Vec::new();
    let (source, lock, node) = (|| source.clone(), || lock.clone(), || node.clone());
    for text in [
        ConnectError::Node { node: node(), source: source() }.to_string(),
        InspectError::Node { lock: lock(), node: node(), source: source() }.to_string(),
        ChangeError::NotMade { name: lock(), node: node(), source: source() }.to_string(),
        ChangeError::Unknown { name: lock(), node: node(), source: source() }.to_string(),
        BlessError::Node { node: node(), source: source() }.to_string(),
        BlessError::NotWritten { node: node(), source: source(), left }.to_string(),
    ] {
        assert!(text.ends_with(": the server is out of memory"), "{text}");
    }
    let broke = NodeError::Disconnected { source: Arc::new(Text::from("reset by peer")) };
    assert!(broke.to_string().ends_with(": reset by peer"), "{broke}");
}

#[test]
fn texts_of_errors_do_not_grow_where_they_are_handed_on() {
    let shown = |it: &dyn Display| it.to_string();
    assert_eq!(shown(&LockName::plain(&evil().into()).into_text()), shown(&text()));
}
