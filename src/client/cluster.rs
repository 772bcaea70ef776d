//! The servers of a cluster, and what there cannot be there.

use redis::{IntoConnectionInfo, RedisConnectionInfo};

use super::hosts;
use crate::{error::ConfigError, reach::ClusterAddresses};

/// What an URL says of a cluster.
pub(super) struct ClusterUrl {
    pub(super) hosts: Vec<String>,
    /// The login to its servers.
    pub(super) login: RedisConnectionInfo,
    /// Whether they speak TLS.
    pub(super) is_tls: bool,
}

/// Reads `redis+cluster://[user:password@]host[:port][,host[:port]]`, with `-` in place of `+` if one likes;
/// `None` for URLs of other sorts. Further hosts may be said by `node=host:port`, where commas have a
/// meaning.
pub(super) fn read(url: &str) -> Option<Result<ClusterUrl, ConfigError>> {
    let (scheme, rest) = url.split_once("://")?;
    let (product, _) = scheme.split_once(['+', '-']).filter(|(_, sort)| *sort == "cluster")?;
    let is_tls = match product {
        "redis" | "valkey" => false,
        "rediss" | "valkeys" => true,
        _ => return None,
    };
    Some(read_rest(rest, is_tls))
}

fn read_rest(rest: &str, is_tls: bool) -> Result<ClusterUrl, ConfigError> {
    let invalid = |reason: &str| ConfigError::InvalidUrl { reason: reason.into() };
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, db) = rest.split_once('/').unwrap_or((rest, ""));
    let (user, named) = match authority.rsplit_once('@') {
        Some((user, hosts)) => (format!("{user}@"), hosts),
        None => (String::new(), authority),
    };
    // The rest of it is as in other URLs.
    let login = format!("redis://{user}one/{db}").into_connection_info();
    let login = login.map_err(|_it_may_show_a_password| {
        invalid("user or password (they are to be percent-encoded), or what follows the hosts")
    })?;
    let mut hosts: Vec<_> =
        named.split(',').filter(|host| !host.is_empty()).map(str::to_owned).collect();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        match &*name {
            "node" => hosts.push(value.into_owned()),
            "protocol" => {}
            _ => return Err(invalid("behind the ?, there may be node=host:port")),
        }
    }
    Ok(ClusterUrl { hosts, login: login.redis_settings().clone(), is_tls })
}

/// Where those are that were named.
pub(super) fn places(addresses: &[String]) -> Result<ClusterAddresses, ConfigError> {
    let invalid =
        |reason: &str| ConfigError::InvalidSetting { setting: "cluster", reason: reason.into() };
    let read = |address: &String| hosts::read(address, PORT);
    let places: Option<Vec<_>> = addresses.iter().map(read).collect();
    match places {
        Some(places) if places.is_empty() => Err(invalid("no server is named")),
        Some(places) => Ok(ClusterAddresses::new(&places)),
        None => Err(invalid("an address is to be host or host:port")),
    }
}

const PORT: u16 = 6379;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_credentials_are_read() {
        let url = "redis+cluster://app:s3cr3t@a,b:7,[::1]:8?node=c:9";
        let ClusterUrl { hosts, login, is_tls } = read(url).unwrap().unwrap();
        assert_eq!(hosts, ["a", "b:7", "[::1]:8", "c:9"]);
        assert_eq!((login.username(), login.password()), (Some("app"), Some("s3cr3t")));
        assert!(!is_tls);
        assert!(read("rediss-cluster://a").unwrap().unwrap().is_tls);
        assert!(read("valkey-cluster://a/0").is_some());
        assert!(read("redis://a/2").is_none() && read("redis+sentinel://a/b").is_none());
        for bad in ["redis+cluster://:s3/cr3t@a", "redis+cluster://:s3cr3t@a?db=2"] {
            let Some(Err(error)) = read(bad) else { panic!("{bad}") };
            assert!(!error.to_string().contains("cr3t"), "{error}");
        }
    }
}
