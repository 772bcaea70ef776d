//! Until the lock is held: which holder it has, and whether it makes sense to wait for that.

use std::{iter, time::Duration};

use palisade::{
    Client, LockGuard,
    election::Leadership,
    error::InspectError,
    inspect::{Access, Holder, Inspection},
};
use tokio::time::sleep;

use super::{
    settings::{Patience, Settings},
    slots::Slots,
    wanted::Wanted,
};
use crate::{
    args::LockArgs,
    env,
    exit::Failure,
    hold::Hold,
    holder::{self, Known},
    inspect, note, refusal,
    servers::Servers,
    signals::Signals,
    sort::Sort,
    tell,
};

/// Acquires the lock, or says why not.
pub(crate) async fn acquire(
    args: &LockArgs,
    settings: &Settings,
    servers: &Servers,
    signals: &mut Signals,
) -> Result<Hold, Failure> {
    if let Some(slots) = Slots::wanted(args, settings, servers) {
        return slots.acquire(signals).await;
    }
    if !env::outer_holders().is_empty() {
        let shares = args.sort() == Sort::Shared;
        refuse_our_own(&args.name, shares, &servers.inspect(&args.name).await)?;
    }
    let wanted = Wanted::of(args, settings);
    tokio::select! {
        granted = wanted.acquire(servers) => match granted {
            Ok(Some(guard)) => Ok(proclaimed(args, guard).await?.into()),
            Ok(None) => Err(held_elsewhere(args, servers).await),
            Err(error) => Err(refusal::of_acquire(&error, args.all)),
        },
        signal = signals.next() => Err(Failure::signalled(signal)),
        failure = say_who_has_it(args, settings, servers) => Err(failure),
    }
}

/// What is to be announced is announced. If it cannot be, the lock is held all the same.
async fn proclaimed(args: &LockArgs, guard: LockGuard) -> Result<LockGuard, Failure> {
    let Some(text) = &args.proclaim else { return Ok(guard) };
    let leadership = Leadership::of(guard).map_err(Failure::usage)?;
    if let Err(error) = leadership.proclaim(text).await {
        tell(format_args!("leads, and could not announce that: {error}"));
    }
    Ok(leadership.into_guard())
}

/// After a second says which holder we wait for. Completes only if waiting is pointless.
async fn say_who_has_it(args: &LockArgs, settings: &Settings, servers: &Servers) -> Failure {
    let name = &args.name;
    if settings.patience == Patience::None {
        return std::future::pending().await;
    }
    let mut is_first = true;
    loop {
        sleep(if is_first { BEFORE_SAYING } else { BETWEEN_LINES }).await;
        let inspection = servers.inspect(name).await;
        // Another sharer that keeps us waiting is waited for by a writer, and we by that.
        if let Err(own) = refuse_our_own(name, false, &inspection) {
            return own;
        }
        let outage = too_few_answer(args, &inspection);
        let holders = describe_holders(args.sort(), &inspection, servers).await;
        // The holder is named once; that it cannot be granted at all, as long as that lasts.
        let words: Vec<_> = holders.filter(|_| is_first).into_iter().chain(outage).collect();
        // Without a word: it is being handed on right now.
        if !words.is_empty() {
            note(format_args!("waiting for {name}: {}", words.join("; ")));
            is_first = false;
        }
    }
}

/// Which servers do not answer, or with an error, if the others are not enough.
fn too_few_answer(args: &LockArgs, inspection: &Inspection) -> Option<String> {
    let asked = inspection.iter().count();
    let need = if args.all { asked } else { asked / 2 + 1 };
    let failed =
        inspection.iter().filter_map(|(node, answer)| Some((node, answer.as_ref().err()?)));
    let (mut causes, mut said) = (Vec::new(), false);
    for (node, error) in failed {
        said |= matches!(error, InspectError::Node { source, .. } if source.is_answer());
        causes.push(format!("{node}: {}", inspect::cause(error)));
    }
    let head = if said { "cannot be granted" } else { "too few servers answer" };
    (asked - causes.len() < need).then(|| format!("{head}: {}", causes.join("; ")))
}

/// The other holders of the lock.
async fn describe_holders(
    sort: Sort,
    inspection: &Inspection,
    servers: &Servers,
) -> Option<String> {
    let (holders, client) = some_holders(inspection, servers)?;
    let told = holder::tell_all(&holders, &Known::to(client, &holders).await)?;
    let is_plain = holders.first().is_some_and(|holder| holder.access == Access::Alone);
    // All other sorts are named where they are told.
    let flag = if is_plain && matches!(sort, Sort::Exclusive | Sort::Shared) {
        ", with neither --exclusive nor --shared"
    } else {
        ""
    };
    Some(format!("{told}{flag}"))
}

/// The holders on a server that names the holder that the majority names, or else on one that names any.
/// Never us: while we wait, we are granted some servers and keep them, or give them back.
fn some_holders<'a>(
    inspection: &Inspection,
    servers: &'a Servers,
) -> Option<(Vec<Holder>, &'a Client)> {
    let others = |holders: &[Holder]| -> Vec<_> {
        holders.iter().filter(|holder| !servers.see_us_in(holder)).cloned().collect()
    };
    let mut named = inspection
        .iter()
        .zip(servers.masters().clients())
        .filter_map(|((_, answer), client)| Some((others(answer.as_ref().ok()?), client)))
        .filter(|(holders, _)| !holders.is_empty());
    match inspection.majority_holder().filter(|major| !servers.see_us_in(major)) {
        Some(major) => named.find(|(holders, _)| holders.iter().any(|it| it.id == major.id)),
        None => named.next(),
    }
}

/// A lock that is held by a palisade we were started from is only given back after we have ended. Those
/// that `share` it with us do not matter.
fn refuse_our_own(name: &str, share: bool, inspection: &Inspection) -> Result<(), Failure> {
    let outer = env::outer_holders();
    let mut holders = inspection.iter().filter_map(|(_, answer)| answer.as_ref().ok()).flatten();
    let in_the_way =
        |holder: &&Holder| outer.contains(&holder.id) && !(share && holder.access == Access::Read);
    match holders.find(in_the_way) {
        None => Ok(()),
        Some(holder) => Err(Failure::usage(format_args!(
            "{name} is already held by the palisade that this command runs under ({}): waiting \
             for it would never end",
            holder.id
        ))),
    }
}

async fn held_elsewhere(args: &LockArgs, servers: &Servers) -> Failure {
    let code = args.conflict_exit_code;
    if code == 0 {
        // Where that is called a success, no mail from cron is wanted about it.
        return Failure::silent(code);
    }
    let name = &args.name;
    let inspection = servers.inspect(name).await;
    let holders = describe_holders(args.sort(), &inspection, servers).await;
    let holders = holders.unwrap_or_else(|| "held by another".to_owned());
    let words: Vec<_> = iter::once(holders).chain(too_few_answer(args, &inspection)).collect();
    Failure::new(code, format_args!("{name} is {}", words.join("; ")))
}

/// How often it is said that too few servers answer.
pub(super) const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// Shorter waits are not worth a word.
pub(super) const BEFORE_SAYING: Duration = Duration::from_secs(1);
