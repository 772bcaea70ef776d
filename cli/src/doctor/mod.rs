//! `palisade doctor`: how the servers are, and what a crash of one of them would cost.

mod finding;
mod problem;
mod verdict;
mod wait_safe;

use std::time::{SystemTime, UNIX_EPOCH};

use palisade::{Client, error::ConnectError, inspect::ServerHealth};

use self::finding::{Examined, Finding, Silence};
use crate::{
    args::DoctorArgs,
    exit::{self, Failure},
    print, refusal, said,
    servers::Servers,
};

/// Examines all servers and prints what there is to say.
pub(crate) async fn doctor(args: &DoctorArgs) -> Result<u8, Failure> {
    let servers = Servers::named(&args.servers)?;
    if args.wait_safe.is_some() {
        let judged = wait_safe::wait_safe(args, &servers).await;
        servers.close().await;
        return judged;
    }
    let examined = examine_all(servers.masters().clients()).await?;
    servers.close().await;
    let rule = verdict::Deployment {
        needs_all: args.all,
        waits: servers.waits_if_alone(),
        may_be_replaced: servers.has_replicas(),
        is_guarded: !servers.may_be_cut_off(),
    };
    let finding = Finding::of(&examined, &rule, servers.clock_skew().unwrap_or(CLOCK_SKEW));
    print(&if args.json { finding.to_json()? } else { finding.to_string() })?;
    let (answered, asked) = (finding.answered(), finding.asked());
    if 2 * answered <= asked {
        let why = format_args!("{answered} of {asked} servers answered");
        // What does not pass by itself comes first.
        let mut codes = examined.iter().filter_map(|one| Some(one.answer.as_ref().err()?.code));
        let lasting = codes.find(|code| *code != exit::UNAVAILABLE);
        return Err(Failure::new(lasting.unwrap_or(exit::UNAVAILABLE), why));
    }
    Ok(u8::from(finding.has_problems()))
}

/// All at once: one that does not answer is not to make the clocks of the others seem late.
async fn examine_all(clients: &[Client]) -> Result<Vec<Examined>, Failure> {
    let tasks: Vec<_> =
        clients.iter().map(|client| tokio::spawn(examine(client.clone()))).collect();
    let mut examined = Vec::new();
    for task in tasks {
        examined.push(task.await.map_err(|error| Failure::new(exit::INTERNAL, error))?);
    }
    Ok(examined)
}

/// What the servers behind one client say, and by how much their clocks are ahead of ours, in µs.
async fn examine(client: Client) -> Examined {
    let answer = client.health().await;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let micros = |time: std::time::Duration| i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
    let ahead = |health: &ServerHealth| micros(health.time) - micros(now);
    Examined {
        server: client.node_id().to_string(),
        answer: answer
            .map_err(|error| silence(&error))
            .map(|all| all.into_iter().map(|health| (ahead(&health), health)).collect()),
    }
}

fn silence(error: &ConnectError) -> Silence {
    let code = match error {
        ConnectError::Node { source, .. } => refusal::of_node(source),
        _ => exit::USAGE,
    };
    Silence { code, message: said(error) }
}

/// The library's default.
const CLOCK_SKEW: std::time::Duration = std::time::Duration::from_secs(5);
