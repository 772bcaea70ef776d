//! Asking servers how they are: for `doctor`, once, and for `exporter`, again and again.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use palisade::{
    Client,
    error::{ConnectError, NodeError},
    inspect::ServerHealth,
};

use crate::{
    duration,
    exit::{self, Failure},
    refusal, said,
};

/// What the servers behind one address said.
pub(crate) struct Examined {
    pub(crate) server: String,
    /// With how far each clock is ahead of ours, in µs.
    pub(crate) answer: Result<Vec<(i64, ServerHealth)>, Silence>,
}

/// Why a server did not tell.
#[derive(Debug)]
pub(crate) struct Silence {
    /// With which palisade would exit for that.
    pub(crate) code: u8,
    pub(crate) message: String,
}

/// All at once: one that does not answer is not to make the clocks of the others seem late.
pub(crate) async fn examine_all(clients: &[Client]) -> Result<Vec<Examined>, Failure> {
    let tasks: Vec<_> =
        clients.iter().map(|client| tokio::spawn(examine(client.clone()))).collect();
    let mut examined = Vec::new();
    for task in tasks {
        examined.push(task.await.map_err(|error| Failure::new(exit::INTERNAL, error))?);
    }
    Ok(examined)
}

/// Addresses of one server: it has one vote, and losing it loses that of each.
pub(crate) fn one_server_twice(examined: &[Examined]) -> Option<(&str, &str)> {
    let all = || {
        let told = examined.iter().filter_map(|one| Some((one, one.answer.as_ref().ok()?)));
        told.flat_map(|(one, all)| {
            all.iter().filter_map(move |(_, it)| Some((one, it.run_id.as_ref()?)))
        })
    };
    all().enumerate().find_map(|(at, (one, run))| {
        let (other, _) = all().skip(at + 1).find(|(_, other)| *other == run)?;
        Some((&*one.server, &*other.server))
    })
}

/// What the servers behind one client say, and by how much their clocks are ahead of ours, in µs.
async fn examine(client: Client) -> Examined {
    let answer = client.health().await;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let micros = |time: Duration| i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
    let ahead = |health: &ServerHealth| micros(health.time) - micros(now);
    Examined {
        server: client.node_id().to_string(),
        answer: answer
            .map_err(|error| silence(&error))
            .map(|all| all.into_iter().map(|health| (ahead(&health), health)).collect()),
    }
}

/// Why its vote does not count, if so.
pub(crate) fn vote_problem(health: &ServerHealth) -> Option<String> {
    match &health.vote {
        Ok(()) => None,
        Err(NodeError::Quarantined { counts_in, .. }) => {
            let left = duration::show_roughly(*counts_in);
            Some(format!("its vote does not count for {left}: it may have forgotten locks"))
        }
        Err(error) => Some(format!("its vote does not count: {error}")),
    }
}

fn silence(error: &ConnectError) -> Silence {
    let code = match error {
        ConnectError::Node { source, .. } => refusal::of_node(source),
        _ => exit::USAGE,
    };
    Silence { code, message: said(error) }
}

/// By how much clocks may differ: the library's default.
pub(crate) const CLOCK_SKEW: Duration = Duration::from_secs(5);
