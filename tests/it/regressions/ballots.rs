//! Granted, refused and failed votes in every combination over three and five members.

use std::{fmt, io, time::Duration};

use palisade::{
    AcquireError, Client, Lock, LockGuard, MultiLock, RedLock, embedded::Server, error::Vote,
};
use tokio::io::DuplexStream;

use super::{hold_as_stranger, holder_on};
use crate::fleet::{Rule, STRANGER};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    Granted,
    /// The key of another stands there.
    Refused,
    /// Nothing listens.
    Failed,
}

impl Says {
    /// Votes that came after the round was decided are not in its ballot.
    fn is_said_by(self, vote: &Vote) -> bool {
        match vote {
            Vote::Granted => self == Self::Granted,
            Vote::Refused { .. } => self == Self::Refused,
            Vote::Failed(_) => self == Self::Failed,
            _ => true,
        }
    }
}

const ALL: [Says; 3] = [Says::Granted, Says::Refused, Says::Failed];

/// What each member says.
#[derive(Debug)]
struct Ballot(Vec<Says>);

impl Ballot {
    fn all(members: u32) -> impl Iterator<Item = Self> {
        (0..3_usize.pow(members)).map(move |number| {
            Self((0..members).map(|d| ALL[number / 3_usize.pow(d) % 3]).collect())
        })
    }

    fn count(&self, says: Says) -> usize {
        self.0.iter().filter(|said| **said == says).count()
    }
}

/// As the tables of the tally write it: `grf`.
impl fmt::Display for Ballot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = |says: &Says| match says {
            Says::Granted => 'g',
            Says::Refused => 'r',
            Says::Failed => 'f',
        };
        f.write_str(&self.0.iter().map(letter).collect::<String>())
    }
}

/// One server, and two clients of which only one reaches it.
struct Member {
    server: Server,
    open: Client,
    closed: Client,
}

impl Member {
    fn new() -> Self {
        let server = Server::start_here();
        let open = server.client().unwrap();
        let nobody = || async { Err::<DuplexStream, _>(io::ErrorKind::ConnectionRefused.into()) };
        let closed = server.client_builder().connector("closed", nobody).build().unwrap();
        Self { server, open, closed }
    }

    fn lock(&self, says: Says, name: &str) -> Lock {
        let client = if says == Says::Failed { &self.closed } else { &self.open };
        client.lock(name)
    }
}

#[tokio::test(start_paused = true)]
async fn every_mixed_ballot_over_three_and_five_has_the_outcome_of_the_rule() {
    for members in [3, 5] {
        let fleet: Vec<_> = (0..members).map(|_| Member::new()).collect();
        for rule in Rule::BOTH {
            for ballot in Ballot::all(members) {
                let name = format!("{rule:?}:{ballot}");
                for (member, says) in fleet.iter().zip(&ballot.0) {
                    if *says == Says::Refused {
                        hold_as_stranger(&member.server, &name).await;
                    }
                }
                let outcome = attempt(rule, &ballot, &fleet, &name).await;
                judge(rule, &ballot, &fleet, &name, outcome).await;
            }
        }
    }
}

async fn attempt(
    rule: Rule,
    ballot: &Ballot,
    fleet: &[Member],
    name: &str,
) -> Result<Option<LockGuard>, AcquireError> {
    let locks = fleet.iter().zip(&ballot.0).map(|(member, says)| member.lock(*says, name));
    match rule {
        Rule::All => MultiLock::new(locks).unwrap().try_acquire().await,
        Rule::Majority => RedLock::new(locks).unwrap().try_acquire().await,
    }
}

/// The rule: enough grants are a guard, more failures than may be missing an outage, and all else
/// is lost to others. Whatever it was, our keys end and no others.
async fn judge(
    rule: Rule,
    ballot: &Ballot,
    fleet: &[Member],
    name: &str,
    outcome: Result<Option<LockGuard>, AcquireError>,
) {
    let members = fleet.len();
    let may_fail = members - rule.need(members);
    match outcome {
        _ if ballot.count(Says::Granted) >= rule.need(members) => {
            let guard = outcome.unwrap().unwrap_or_else(|| panic!("{name} is not granted"));
            stands(ballot, fleet, name, Some(guard.holder_id())).await;
            guard.release().await.unwrap();
        }
        Err(
            AcquireError::Unavailable { ballot: named, .. }
            | AcquireError::Denied { ballot: named, .. },
        ) => {
            assert!(ballot.count(Says::Failed) > may_fail, "{name} is no outage: {named}");
            for ((_, vote), says) in named.iter().zip(&ballot.0) {
                assert!(says.is_said_by(vote), "{name}: {named}");
            }
        }
        Ok(None) => assert!(ballot.count(Says::Failed) <= may_fail, "{name} is an outage"),
        other => panic!("{name}: {other:?}"),
    }
    stands(ballot, fleet, name, None).await;
}

/// Ours stands where we were granted, and a stranger's where it stood before.
async fn stands(ballot: &Ballot, fleet: &[Member], name: &str, ours: Option<&str>) {
    // The last grant may be on its way, and so may the last release.
    tokio::time::sleep(Duration::from_millis(20)).await;
    for (member, says) in fleet.iter().zip(&ballot.0) {
        let expected = match says {
            Says::Granted => ours,
            Says::Refused => Some(STRANGER),
            Says::Failed => None,
        };
        assert_eq!(holder_on(&member.server, name).await.as_deref(), expected, "{name}");
    }
}
