//! Until the lock is held: who has it, and whether it makes sense to wait for that.

use std::time::Duration;

use palisade::{AcquireError, ConfigError, Holder, Inspection};
use tokio::time::sleep;

use super::settings::Settings;
use crate::{
    args::RunArgs,
    env,
    exit::{self, Failure},
    holder::{self, Described},
    inspect,
    servers::{Guard, Patience, Servers, Url},
    signals::Signals,
    tell,
};

/// Acquires the lock, or says why not.
pub(crate) async fn acquire(
    args: &RunArgs,
    settings: &Settings,
    servers: &Servers,
    signals: &mut Signals,
) -> Result<Guard, Failure> {
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
        failure = say_who_has_it(&args.name, settings, servers) => Err(failure),
    }
}

/// After a second says whom we wait for. Completes only if waiting is pointless.
async fn say_who_has_it(name: &str, settings: &Settings, servers: &Servers) -> Failure {
    if settings.patience == Patience::None {
        return std::future::pending().await;
    }
    loop {
        sleep(BEFORE_SAYING).await;
        let inspection = servers.inspect(name).await;
        if let Err(own) = refuse_our_own(name, &inspection) {
            return own;
        }
        if let Some(words) = describe(&inspection, servers).await {
            tell(format_args!("waiting for {name}: {words}"));
            return std::future::pending().await;
        }
    }
}

/// Who has the lock, or that too few servers answer. `None`: it is being handed on right now.
async fn describe(inspection: &Inspection, servers: &Servers) -> Option<String> {
    if let Some(holder) = describe_holder(inspection, servers).await {
        return Some(holder);
    }
    let silent: Vec<String> = inspection
        .iter()
        .filter_map(|(node, answer)| {
            answer.as_ref().err().map(|error| format!("{node}: {}", inspect::cause(error)))
        })
        .collect();
    (!silent.is_empty()).then(|| format!("too few servers answer: {}", silent.join("; ")))
}

async fn describe_holder(inspection: &Inspection, servers: &Servers) -> Option<String> {
    let (holder, url) = some_holder(inspection, servers)?;
    let place = holder::locate(url, holder).await;
    Some(format!("held by {}", Described { holder, place: place.as_ref() }))
}

/// The holder that the majority names, or else one that a server names; and a server that does.
fn some_holder<'a>(
    inspection: &'a Inspection,
    servers: &'a Servers,
) -> Option<(&'a Holder, &'a Url)> {
    let mut named = inspection
        .iter()
        .zip(servers.urls())
        .filter_map(|((_, answer), url)| Some((answer.as_ref().ok()?.as_ref()?, url)));
    match inspection.majority_holder() {
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
    let words = describe_holder(&inspection, servers).await;
    let words = words.as_deref().unwrap_or("held by another");
    Failure::new(code, format_args!("{name} is {words}"))
}

fn refused(error: &AcquireError) -> Failure {
    match error {
        AcquireError::Config(ConfigError::InvalidSetting { .. }) => {
            Failure::new(exit::INTERNAL, error)
        }
        AcquireError::Config(_) => Failure::usage(error),
        _ => Failure::new(exit::UNAVAILABLE, error),
    }
}

/// Shorter waits are not worth a word.
const BEFORE_SAYING: Duration = Duration::from_secs(1);
