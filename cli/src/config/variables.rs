//! What the environment says: each key has a variable, `PALISADE_` and the key in capitals. An empty one is as good as
//! none.

use std::{
    env::{self, VarError},
    fmt::Display,
    path::PathBuf,
};

use clap::ValueEnum;

use super::{Origin, Said, Set, url};
use crate::{duration, env::SERVERS, exit::Failure};

/// What stands there.
pub(super) fn said() -> Result<Said, Failure> {
    Ok(Said {
        servers: servers()?,
        password_file: path("PALISADE_PASSWORD_FILE"),
        max_lease: read("PALISADE_MAX_LEASE", duration::parse)?,
        fleet_max_lease: read("PALISADE_FLEET_MAX_LEASE", duration::parse)?,
        namespace: text(NAMESPACE)?,
        replicas: read("PALISADE_REPLICAS", str::parse)?,
        failover_lag: read("PALISADE_FAILOVER_LAG", duration::parse)?,
        tracking: read("PALISADE_TRACKING", true_or_false)?,
        sharded_pubsub: read("PALISADE_SHARDED_PUBSUB", one_of)?,
        quarantine: read("PALISADE_QUARANTINE", one_of)?,
        failover: read("PALISADE_FAILOVER", one_of)?,
        unidentified: read("PALISADE_UNIDENTIFIED", one_of)?,
        clock_skew: read("PALISADE_CLOCK_SKEW", duration::parse)?,
        tls_ca: path("PALISADE_TLS_CA"),
        tls_cert: path("PALISADE_TLS_CERT"),
        tls_key: path("PALISADE_TLS_KEY"),
        tls_server_name: text("PALISADE_TLS_SERVER_NAME")?,
    })
}

/// The namespace alone.
pub(super) fn namespace() -> Result<Option<Set<String>>, Failure> {
    text(NAMESPACE)
}

fn servers() -> Result<Option<Set<Vec<String>>>, Failure> {
    let named = text(SERVERS)?.map(|Set { value, by }| Set { value: url::split(&value), by });
    Ok(named.filter(|named| !named.value.is_empty()))
}

pub(super) fn text(variable: &'static str) -> Result<Option<Set<String>>, Failure> {
    match env::var(variable) {
        Ok(value) => Ok(set(variable, value).filter(|set| !set.value.is_empty())),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => {
            Err(Failure::usage(format_args!("{variable} is not valid UTF-8")))
        }
    }
}

pub(super) fn path(variable: &'static str) -> Option<Set<PathBuf>> {
    let said = env::var_os(variable).filter(|path| !path.is_empty())?;
    set(variable, PathBuf::from(said))
}

fn read<T, E: Display>(
    variable: &'static str,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<Option<Set<T>>, Failure> {
    let Some(said) = text(variable)? else { return Ok(None) };
    let read = parse(&said.value);
    let wrong = |wrong| Failure::usage(format_args!("{variable}={}: {wrong}", said.value));
    read.map(|value| set(variable, value)).map_err(wrong)
}

fn set<T>(variable: &'static str, value: T) -> Option<Set<T>> {
    Some(Set { value, by: Origin::Variable(variable) })
}

/// Which of a few words it is.
pub(super) fn one_of<T: ValueEnum>(said: &str) -> Result<T, String> {
    T::from_str(said, false).map_err(|_unknown| {
        let values = T::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let names: Vec<_> = values.map(|value| value.get_name().to_owned()).collect();
        format!("write {}", names.join(" or "))
    })
}

fn true_or_false(said: &str) -> Result<bool, &'static str> {
    said.parse().map_err(|_it_is_neither| "write true or false")
}

const NAMESPACE: &str = "PALISADE_NAMESPACE";
