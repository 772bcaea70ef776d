//! The gate matrix: every combination of what up to three servers may do to an attempt, under
//! both rules, through the real fan-out. All combinations run at once on one set of servers, each
//! under a name of its own.

use std::{collections::BTreeSet, fmt, io, time::Duration};

use futures::future::join_all;
use palisade::{AcquireError, Client, Lock, LockGuard, MultiLock, Quarantine, RedLock};
use testkit::{Cluster, Fault, FaultProxy, Way};

use crate::fleet::{
    HANG, LONG_LEASE, Rule, STRANGER, eventually, hold_as_stranger, holder_on, within,
};

/// What one server does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gate {
    Grant,
    /// Another holds the key there.
    Refuse,
    /// Nothing listens.
    Fail,
    /// Grants, later than the others.
    Slow,
    /// Is asked and does as it is told, but its answer never comes. Once that is noticed, it is
    /// not even asked: then it fails at once.
    Never,
}

const GATES: [Gate; 5] = [Gate::Grant, Gate::Refuse, Gate::Fail, Gate::Slow, Gate::Never];

/// What an attempt comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Guard,
    HeldByAnother,
    Unavailable,
}

/// How long a silent member is waited for.
const NODE_TIMEOUT: Duration = Duration::from_secs(10);
/// In each direction.
const DELAY: Duration = Duration::from_millis(50);

// proves: three-answers
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_combination_of_gates_has_the_outcome_of_the_rule_and_leaves_no_key() {
    let servers = Cluster::start(3);
    let doors: Vec<Doors> = join_all(servers.iter().map(Doors::before)).await;
    let cases: Vec<Case> = all_cases().collect();
    assert_eq!(cases.len(), 2 * (5 + 25 + 125));
    for case in &cases {
        for (gate, server) in case.gates.iter().zip(&servers) {
            if *gate == Gate::Refuse {
                hold_as_stranger(server, &case.to_string());
            }
        }
    }
    let attempts = join_all(cases.iter().map(|case| attempt(case, &doors)));
    let outcomes = within(HANG, "all attempts", attempts).await;
    for (case, outcome) in cases.iter().zip(outcomes) {
        let possible = possible_outcomes(case);
        assert!(possible.contains(&outcome), "{case}: {outcome:?}, not one of {possible:?}");
    }
    for door in &doors {
        door.heal();
    }
    // Names with a stranger's key have no other; all others have none.
    for (i, server) in servers.iter().enumerate() {
        let refused = |case: &&Case| case.gates.get(i) == Some(&Gate::Refuse);
        let mut strangers: Vec<_> = cases.iter().filter(refused).map(Case::to_string).collect();
        strangers.sort();
        eventually("only strangers' keys are left", || server.keys() == strangers).await;
        for name in strangers {
            assert_eq!(holder_on(server, &name).as_deref(), Some(STRANGER));
        }
    }
}

/// A rule and what each server does.
struct Case {
    rule: Rule,
    gates: Vec<Gate>,
}

/// The name of its lock.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}:{:?}", self.rule, self.gates)
    }
}

fn all_cases() -> impl Iterator<Item = Case> {
    let combinations = (1..=3).flat_map(|n| {
        (0..5_usize.pow(n)).map(move |number| {
            (0..n).map(|digit| GATES[number / 5_usize.pow(digit) % 5]).collect::<Vec<_>>()
        })
    });
    combinations.flat_map(|gates| Rule::BOTH.map(|rule| Case { rule, gates: gates.clone() }))
}

/// The ways to one server.
struct Doors {
    open: Client,
    closed: Client,
    slow: (Client, FaultProxy),
    mute: (Client, FaultProxy),
}

impl Doors {
    async fn before(server: &testkit::RedisServer) -> Self {
        let open = builder().url(&server.url()).connect().await.unwrap();
        let nobody =
            || async { Err::<tokio::net::TcpStream, _>(io::ErrorKind::ConnectionRefused.into()) };
        let closed = builder().connector("closed", nobody).build().unwrap();
        let slow = through_a_proxy(server).await;
        slow.1.set(Fault::Delay(DELAY));
        let mute = through_a_proxy(server).await;
        mute.1.set(Fault::Blackhole(Way::Replies));
        Self { open, closed, slow, mute }
    }

    fn lock(&self, gate: Gate, name: &str) -> Lock {
        let client = match gate {
            Gate::Grant | Gate::Refuse => &self.open,
            Gate::Fail => &self.closed,
            Gate::Slow => &self.slow.0,
            Gate::Never => &self.mute.0,
        };
        client.lock(name)
    }

    fn heal(&self) {
        self.slow.1.heal();
        self.mute.1.heal();
    }
}

fn builder() -> palisade::ClientBuilder {
    let client = Client::builder().node_timeout(NODE_TIMEOUT).connect_timeout(HANG);
    let client = client.max_lease(LONG_LEASE).watchdog_lease(LONG_LEASE);
    client.quarantine(Quarantine::Durable)
}

async fn through_a_proxy(server: &testkit::RedisServer) -> (Client, FaultProxy) {
    let proxy = FaultProxy::before(server);
    let addr = proxy.addr();
    let dial = move || tokio::net::TcpStream::connect(addr);
    let client = builder().connector("proxy", dial).connect().await.unwrap();
    (client, proxy)
}

async fn attempt(case: &Case, doors: &[Doors]) -> Outcome {
    let name = case.to_string();
    let locks = case.gates.iter().zip(doors).map(|(gate, doors)| doors.lock(*gate, &name));
    let attempted = match case.rule {
        Rule::All => MultiLock::new(locks).unwrap().try_acquire().await,
        Rule::Majority => RedLock::new(locks).unwrap().try_acquire().await,
    };
    match attempted {
        Ok(Some(guard)) => {
            held(guard, &name).await;
            Outcome::Guard
        }
        Ok(None) => Outcome::HeldByAnother,
        Err(AcquireError::Unavailable { ballot, .. } | AcquireError::Denied { ballot, .. }) => {
            assert_eq!(ballot.iter().count(), case.gates.len());
            Outcome::Unavailable
        }
        Err(other) => panic!("{name}: {other}"),
    }
}

async fn held(guard: LockGuard, name: &str) {
    guard.ensure_valid().unwrap();
    if let Err(error) = guard.release().await {
        panic!("{name}: {error}");
    }
}

/// Votes decide as they come, so where a refusal meets a failure the order may matter: all orders
/// in which they can come are tried.
fn possible_outcomes(case: &Case) -> BTreeSet<Outcome> {
    let mut outcomes = BTreeSet::new();
    explore(case.rule, &case.gates, &mut vec![], &mut outcomes);
    outcomes
}

fn explore(rule: Rule, gates: &[Gate], came: &mut Vec<usize>, outcomes: &mut BTreeSet<Outcome>) {
    let votes: Vec<Gate> = came.iter().map(|i| gates[*i]).collect();
    if let Some(outcome) = decided(rule, gates.len(), &votes) {
        outcomes.insert(outcome);
        return;
    }
    for i in 0..gates.len() {
        // The slow come behind those that answer at once.
        let quick = |j: usize| !matches!(gates[j], Gate::Slow | Gate::Never);
        let early =
            gates[i] == Gate::Slow && (0..gates.len()).any(|j| quick(j) && !came.contains(&j));
        if !came.contains(&i) && !early {
            came.push(i);
            explore(rule, gates, came, outcomes);
            came.pop();
        }
    }
}

/// The rule, as its documentation has it.
fn decided(rule: Rule, members: usize, votes: &[Gate]) -> Option<Outcome> {
    let count = |gates: &[Gate]| votes.iter().filter(|gate| gates.contains(gate)).count();
    let need = rule.need(members);
    let granted = count(&[Gate::Grant, Gate::Slow]);
    let failed = count(&[Gate::Fail, Gate::Never]);
    let outstanding = members - votes.len();
    if granted >= need {
        Some(Outcome::Guard)
    } else if granted + outstanding >= need {
        None
    } else if failed > members - need {
        Some(Outcome::Unavailable)
    } else {
        Some(Outcome::HeldByAnother)
    }
}
