//! Until the lock is held: who has it, and whether it makes sense to wait for that.

use std::{iter, time::Duration};

use palisade::{
    AcquireError, LockGuard,
    error::{ConfigError, InspectError},
    inspect::{Holder, Inspection},
};
use tokio::time::sleep;

use super::settings::Settings;
use crate::{
    args::RunArgs,
    env,
    exit::{self, Failure},
    holder::{self, Described},
    inspect,
    servers::{Patience, Servers, Url},
    signals::Signals,
    tell,
};

/// Acquires the lock, or says why not.
pub(crate) async fn acquire(
    args: &RunArgs,
    settings: &Settings,
    servers: &Servers,
    signals: &mut Signals,
) -> Result<LockGuard, Failure> {
    if !env::outer_holders().is_empty() {
        refuse_our_own(&args.name, &servers.inspect(&args.name).await)?;
    }
    let lock = servers.lock(&args.name, args.all);
    tokio::select! {
        granted = lock.acquire(settings.lease, settings.patience) => match granted {
            Ok(Some(guard)) => Ok(guard),
            Ok(None) => Err(held_elsewhere(args, servers).await),
            Err(error) => Err(refused(&error)),
        },
        signal = signals.next() => Err(Failure::silent(exit::of_signal(signal.as_raw()))),
        failure = say_who_has_it(args, settings, servers) => Err(failure),
    }
}

/// After a second says whom we wait for. Completes only if waiting is pointless.
async fn say_who_has_it(args: &RunArgs, settings: &Settings, servers: &Servers) -> Failure {
    let name = &args.name;
    if settings.patience == Patience::None {
        return std::future::pending().await;
    }
    loop {
        sleep(BEFORE_SAYING).await;
        let inspection = servers.inspect(name).await;
        if let Err(own) = refuse_our_own(name, &inspection) {
            return own;
        }
        let holder = describe_holder(&inspection, servers).await;
        let words: Vec<_> = holder.into_iter().chain(too_few_answer(args, &inspection)).collect();
        // Without a word: it is being handed on right now.
        if !words.is_empty() {
            tell(format_args!("waiting for {name}: {}", words.join("; ")));
            return std::future::pending().await;
        }
    }
}

/// Which servers do not answer, or with an error, if the others are not enough.
fn too_few_answer(args: &RunArgs, inspection: &Inspection) -> Option<String> {
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

/// Who else has the lock.
async fn describe_holder(inspection: &Inspection, servers: &Servers) -> Option<String> {
    let (holder, url) = some_holder(inspection, servers)?;
    let place = holder::locate(url, holder).await;
    Some(format!("held by {}", Described { holder, place: place.as_ref() }))
}

/// The holder that the majority names, or else one that a server names; and a server that does.
/// Never us: while we wait, we are granted some servers and keep them, or give them back.
fn some_holder<'a>(
    inspection: &'a Inspection,
    servers: &'a Servers,
) -> Option<(&'a Holder, &'a Url)> {
    let mut named = inspection
        .iter()
        .zip(servers.urls())
        .filter_map(|((_, answer), url)| Some((answer.as_ref().ok()?.as_ref()?, url)))
        .filter(|(holder, _)| !servers.see_us_in(holder));
    match inspection.majority_holder().filter(|major| !servers.see_us_in(major)) {
        Some(major) => named.find(|(holder, _)| holder.id == major.id),
        None => named.next(),
    }
}

/// A lock that is held by a palisade we were started from is only given back after we have ended.
fn refuse_our_own(name: &str, inspection: &Inspection) -> Result<(), Failure> {
    let outer = env::outer_holders();
    let holders = inspection.iter().filter_map(|(_, answer)| answer.as_ref().ok()?.as_ref());
    match holders.into_iter().find(|holder| outer.contains(&holder.id)) {
        None => Ok(()),
        Some(holder) => Err(Failure::usage(format_args!(
            "{name} is already held by the palisade that this command runs under ({}): waiting \
             for it would never end",
            holder.id
        ))),
    }
}

async fn held_elsewhere(args: &RunArgs, servers: &Servers) -> Failure {
    let code = args.conflict_exit_code;
    if code == 0 {
        // Whoever calls that a success wants no mail from cron about it.
        return Failure::silent(code);
    }
    let name = &args.name;
    let inspection = servers.inspect(name).await;
    let holder = describe_holder(&inspection, servers).await;
    let holder = holder.unwrap_or_else(|| "held by another".to_owned());
    let words: Vec<_> = iter::once(holder).chain(too_few_answer(args, &inspection)).collect();
    Failure::new(code, format_args!("{name} is {}", words.join("; ")))
}

fn refused(error: &AcquireError) -> Failure {
    match error {
        AcquireError::Config(ConfigError::InvalidSetting { .. }) => {
            Failure::new(exit::INTERNAL, error)
        }
        AcquireError::Config(_) => Failure::usage(error),
        AcquireError::Quarantined { .. } => {
            Failure::new(exit::NOT_YET, format_args!("{error}; see `palisade bless --help`"))
        }
        _ => Failure::new(exit::UNAVAILABLE, error),
    }
}

/// Shorter waits are not worth a word.
const BEFORE_SAYING: Duration = Duration::from_secs(1);
