//! `palisade bless`: the operator's word that a fleet is new and has forgotten nothing.

use std::time::Duration;

use palisade::error::{BlessError, NodeId};
use serde::Serialize;

use crate::{
    args::BlessArgs,
    duration::{self, whole_ms},
    examine::{examine_all, vote_problem},
    exit::{self, Failure},
    print_json, refusal, said,
    servers::Servers,
    tell, word,
};

/// What came of it. For programs: fields are added, never changed.
#[derive(Debug, Serialize)]
struct Blessing<'a> {
    blessed: bool,
    /// Why not.
    reason: Option<&'a str>,
    servers: Vec<Blessed>,
}

/// One server.
#[derive(Debug, Serialize)]
struct Blessed {
    server: String,
    /// Null if it does not look new, or was not asked.
    uptime_ms: Option<u64>,
}

/// Blesses all servers, or says why not.
pub(crate) async fn bless(args: &BlessArgs) -> Result<u8, Failure> {
    let servers = Servers::named(&args.servers)?;
    let mut seen = Vec::new();
    let blessed = with_the_word(args, &servers, &mut seen).await;
    servers.close().await;
    if args.json {
        print_outcome(&servers, &seen, &blessed)?;
    }
    blessed?;
    let number = servers.len();
    let them = if number == 1 { "the server votes" } else { "the servers vote" };
    tell(format_args!("blessed: {them} at once, until the next restart"));
    Ok(0)
}

/// Of a blessing that was given or refused: what has failed is no outcome.
fn print_outcome(
    servers: &Servers,
    seen: &[(NodeId, Duration)],
    blessed: &Result<(), Failure>,
) -> Result<(), Failure> {
    let reason = match blessed {
        Ok(()) => None,
        Err(refused) if refused.end() == exit::NOT_NEW.into() => refused.message(),
        Err(_) => return Ok(()),
    };
    let each = servers.masters().clients().iter().map(|client| {
        let of = seen.iter().find(|(node, _)| node == client.node_id());
        let uptime_ms = of.and_then(|(_, uptime)| whole_ms(*uptime));
        Blessed { server: client.node_id().to_string(), uptime_ms }
    });
    print_json(&Blessing { blessed: blessed.is_ok(), reason, servers: each.collect() })
}

/// Shows what is known of the servers, and blesses them if that is the operator's word.
async fn with_the_word(
    args: &BlessArgs,
    servers: &Servers,
    seen: &mut Vec<(NodeId, Duration)>,
) -> Result<(), Failure> {
    match servers.masters().check_bless().await {
        Ok(uptimes) => {
            seen.clone_from(&uptimes);
            for (server, uptime) in uptimes {
                let up = duration::show_roughly(uptime);
                tell(format_args!("{server}: running for {up}, no mark of an earlier vote"));
            }
        }
        Err(error) if args.force && refusal::of_bless(&error) == exit::NOT_NEW => {
            tell(format_args!("against it speaks: {error}"));
            tell_whose_vote_does_not_count(servers).await?;
        }
        Err(error) => return Err(refused(&error)),
    }
    give_word(args)?;
    servers.bless(args.force).await.map_err(|error| refused(&error))
}

/// The first objection ends the look that found it: each server that may have forgotten locks is to be told.
async fn tell_whose_vote_does_not_count(servers: &Servers) -> Result<(), Failure> {
    for one in examine_all(servers.masters().clients()).await? {
        for (_, health) in one.answer.iter().flatten() {
            if let Some(problem) = vote_problem(health) {
                tell(format_args!("against it speaks: {}: {problem}", health.address));
            }
        }
    }
    Ok(())
}

/// Servers that come back after a crash look new as well: whether they are is not to be seen, and no script knows it.
fn give_word(args: &BlessArgs) -> Result<(), Failure> {
    if args.new || args.force && !word::is_at_terminal() {
        return Ok(());
    }
    if !word::is_at_terminal() {
        return Err(Failure::usage(
            "there is no terminal to ask at; --new says that these servers never held a lock (those that come back \
             after a crash look new too: wait for them)",
        ));
    }
    if word::is_yes("did these servers never hold a lock, not even before a crash?")? {
        return Ok(());
    }
    Err(Failure::new(exit::NOT_NEW, "not blessed: their votes count by themselves after a while"))
}

fn refused(error: &BlessError) -> Failure {
    match refusal::of_bless(error) {
        code @ exit::NOT_NEW => {
            Failure::new(code, format_args!("{error}; see `palisade bless --help`"))
        }
        code => Failure::new(code, said(error)),
    }
}
