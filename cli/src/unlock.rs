//! `palisade unlock`: takes a lock away from its holder, in place or at once.

use std::time::Duration;

use palisade::{
    Client,
    error::{ChangeError, InspectError, NodeError},
    inspect::{Revocation, Revoked},
};
use serde::Serialize;

use crate::{
    args::UnlockArgs,
    duration::whole_ms,
    exit::{self, Failure},
    inspect::cause,
    print, print_json, refusal, said,
    servers::Servers,
    tell, word,
};

/// Takes it away, and tells what became of it on each server.
pub(crate) async fn unlock(args: &UnlockArgs) -> Result<u8, Failure> {
    let servers = Servers::named(&args.servers)?;
    if args.name.is_empty() {
        return Err(Failure::usage("the name is empty"));
    }
    if !args.now && args.holder.starts_with("palisade-unlock:") {
        return Err(Failure::usage(
            "that stands where a lock was taken away already, and ends with its ttl; --now gives it back at once",
        ));
    }
    if args.now {
        give_word(args)?;
    }
    let (name, holder) = (&args.name, &args.holder);
    let masters = servers.masters();
    let revocation = if args.now {
        masters.revoke_now(name, holder).await
    } else {
        masters.revoke(name, holder).await
    };
    let done = match masters.clients() {
        [client] if is_no_lock(&revocation) => match Number::of(client, name).await {
            None => tell_all(args, &revocation),
            Some(Number::Permits) => permits(args, client).await,
            Some(Number::Unheld) => unheld(args, client),
        },
        _ => tell_all(args, &revocation),
    };
    servers.close().await;
    done
}

/// Two may run then, which no script is to want by chance.
fn give_word(args: &UnlockArgs) -> Result<(), Failure> {
    if args.yes {
        return Ok(());
    }
    if !word::is_at_terminal() {
        return Err(Failure::usage(
            "there is no terminal to ask at; --yes says that two may run until the holder looks (without --now it ends \
             before another begins)",
        ));
    }
    let question = "another is let in at once: two may run until the holder looks. Is that wanted?";
    if word::is_yes(question)? {
        return Ok(());
    }
    Err(Failure::new(exit::OTHER_HOLDER, "nothing was changed"))
}

/// What became of it. Its JSON form is for programs: fields are added, never changed.
#[derive(Debug, Serialize)]
struct Told<'a> {
    name: &'a str,
    holder: &'a str,
    /// `taken_away`, `not_held` or `too_few_servers`.
    result: &'static str,
    /// On how many servers it was taken away.
    taken_away: usize,
    servers: Vec<ToldOfServer>,
}

#[derive(Debug, Serialize)]
struct ToldOfServer {
    server: String,
    /// `replaced`, `freed`, `replaced_before`, `free`, `held_by_another` or `error`.
    state: &'static str,
    /// What stands in place of the holder, and for how long.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl ToldOfServer {
    fn of(server: String, revoked: &Result<Revoked, InspectError>) -> Self {
        let ms = |ttl: &Duration| whole_ms(*ttl);
        let (state, by, ttl_ms, error) = match revoked {
            Ok(Revoked::Replaced { by, ttl, .. }) => ("replaced", Some(by.clone()), ms(ttl), None),
            Ok(Revoked::Freed) => ("freed", None, None, None),
            Ok(Revoked::Before { by, ttl, .. }) => {
                ("replaced_before", Some(by.clone()), ms(ttl), None)
            }
            Ok(Revoked::NotHeld { is_free: true }) => ("free", None, None, None),
            Ok(_) => ("held_by_another", None, None, None),
            Err(error) => ("error", None, None, Some(cause(error))),
        };
        Self { server, state, by, ttl_ms, error }
    }
}

fn tell_all(args: &UnlockArgs, revocation: &Revocation) -> Result<u8, Failure> {
    let (name, holder) = (&args.name, &args.holder);
    let codes = revocation.iter().filter_map(|(_, it)| it.as_ref().err()).map(refusal::of_inspect);
    let (code, result) = match (revocation.is_by_majority(), revocation.is_over()) {
        (true, _) => (0, "taken_away"),
        (false, true) => (exit::OTHER_HOLDER, "not_held"),
        (false, false) => (refusal::of_too_few(codes), "too_few_servers"),
    };
    let is_taken = |it: &Result<Revoked, _>| it.as_ref().is_ok_and(Revoked::is_taken_away);
    let taken_away = revocation.iter().filter(|(_, it)| is_taken(it)).count();
    if args.json {
        let servers = revocation.iter().map(|(node, it)| ToldOfServer::of(node.to_string(), it));
        print_json(&Told { name, holder, result, taken_away, servers: servers.collect() })?;
    } else {
        print(&revocation.to_string())?;
    }
    let asked = revocation.iter().count();
    match code {
        0 if args.now => tell(format_args!(
            "{name} is let go of: {holder} may go on until it looks, at its next renewal or the end of its lease"
        )),
        0 => tell(format_args!(
            "{name} is taken away from {holder}, which ends before another is granted it: when the ttl is over"
        )),
        exit::OTHER_HOLDER => tell(format_args!("{holder} does not hold {name}")),
        _ if is_no_lock(revocation) => tell(format_args!("{name} is no lock")),
        _ => tell(format_args!(
            "{name} was taken away on {taken_away} of {asked} servers, too few: {holder} may go on"
        )),
    }
    Ok(code)
}

fn is_no_lock(revocation: &Revocation) -> bool {
    let is_no_lock = |it: &Result<Revoked, InspectError>| {
        matches!(it, Err(InspectError::Node { source: NodeError::ForeignKey, .. }))
    };
    revocation.iter().all(|(_, it)| is_no_lock(it))
}

/// What a number under the name of a lock is.
enum Number {
    /// Some permits are held, or may be: that may not be seen.
    Permits,
    /// No permit is known to be held. It may be the count of a latch, or of something else, as well.
    Unheld,
}

impl Number {
    /// `None` if there is no number.
    async fn of(client: &Client, name: &str) -> Option<Self> {
        let leased = client.expirable_semaphore(name);
        leased.total().await.ok()??;
        let (leased, plain) = (leased.holders().await, client.semaphore(name).holders().await);
        let are_none =
            leased.is_ok_and(|all| all.is_empty()) && plain.is_ok_and(|all| all.is_empty());
        Some(if are_none { Self::Unheld } else { Self::Permits })
    }
}

/// There is nothing to take away.
fn unheld(args: &UnlockArgs, client: &Client) -> Result<u8, Failure> {
    let (name, holder) = (&args.name, &args.holder);
    if args.json {
        print_of_permits(args, client, false)?;
    }
    tell(format_args!(
        "{name} is a number, such as the count of a latch, or of permits of which none is known to be held: {holder} \
         has none"
    ));
    Ok(exit::OTHER_HOLDER)
}

/// Permits know no mark: they are given back at once, or not at all.
async fn permits(args: &UnlockArgs, client: &Client) -> Result<u8, Failure> {
    let (name, holder) = (&args.name, &args.holder);
    if !args.now {
        return Err(Failure::usage(format_args!(
            "{name} has permits, which are given back at once: with --now, or at the end of their lease"
        )));
    }
    let is_given_back = given_back(client, name, holder).await?;
    if args.json {
        print_of_permits(args, client, is_given_back)?;
    }
    tell(if is_given_back {
        format!("a permit of {name} is given back: {holder} may go on until it looks")
    } else {
        format!("{holder} has no permit of {name}")
    });
    Ok(if is_given_back { 0 } else { exit::OTHER_HOLDER })
}

fn print_of_permits(args: &UnlockArgs, client: &Client, is_taken: bool) -> Result<(), Failure> {
    let (name, holder) = (&args.name, &args.holder);
    let (result, state) = if is_taken { ("taken_away", "freed") } else { ("not_held", "free") };
    let server = client.node_id().to_string();
    let of = ToldOfServer { server, state, by: None, ttl_ms: None, error: None };
    print_json(&Told { name, holder, result, taken_away: is_taken.into(), servers: vec![of] })
}

/// A permit with a lease has an id of its own; without one it is had by the id of a holder.
async fn given_back(client: &Client, name: &str, holder: &str) -> Result<bool, Failure> {
    match client.expirable_semaphore(name).release_permit(holder).await {
        Ok(is_given_back) => Ok(is_given_back),
        Err(ChangeError::Config(_)) => {
            let reclaimed = client.semaphore(name).reclaim(holder).await;
            reclaimed.map_err(|error| Failure::new(refusal::of_inspect(&error), said(&error)))
        }
        Err(error) => Err(Failure::new(refusal::of_change(&error), said(&error))),
    }
}
