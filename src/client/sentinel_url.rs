//! The URL of a master that sentinels watch over.

use redis::{IntoConnectionInfo, RedisConnectionInfo};

use super::sentinel::Sentinels;
use crate::error::ConfigError;

/// What it says.
pub(super) struct SentinelUrl {
    pub(super) sentinels: Sentinels,
    /// The login to the master, and its database.
    pub(super) login: RedisConnectionInfo,
    /// Whether the master speaks TLS.
    pub(super) is_tls: bool,
}

/// Reads `redis+sentinel://[user:password@]host[:port][,host[:port]]/service[/db]`, with `-` in place of `+`
/// if one likes; `None` for URLs of other sorts. Further hosts may be said by `node=host:port`, where
/// commas have a meaning.
pub(super) fn read(url: &str) -> Option<Result<SentinelUrl, ConfigError>> {
    let (scheme, rest) = url.split_once("://")?;
    let (product, _) = scheme.split_once(['+', '-']).filter(|(_, sort)| *sort == "sentinel")?;
    let is_tls = match product {
        "redis" | "valkey" => false,
        "rediss" | "valkeys" => true,
        _ => return None,
    };
    Some(read_rest(rest, is_tls))
}

fn read_rest(rest: &str, is_tls: bool) -> Result<SentinelUrl, ConfigError> {
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (user, hosts) = match authority.rsplit_once('@') {
        Some((user, hosts)) => (format!("{user}@"), hosts),
        None => (String::new(), authority),
    };
    let (service, db) = path.split_once('/').unwrap_or((path, ""));
    if service.is_empty() {
        return Err(invalid("the service is missing: redis+sentinel://host,host/service"));
    }
    // The rest of it is as in other URLs.
    let login = format!("redis://{user}master/{db}").into_connection_info();
    let login = login.map_err(|_it_may_show_a_password| {
        invalid("user, password or database (they are to be percent-encoded)")
    })?;
    let said = UrlParameters::of(query)?;
    let hosts = hosts.split(',').filter(|host| !host.is_empty()).map(str::to_owned);
    let mut sentinels = Sentinels::new(hosts.chain(said.nodes), &decoded(service));
    if let Some(user) = said.user {
        sentinels = sentinels.user(&user);
    }
    if let Some(password) = said.password {
        sentinels = sentinels.password(&password);
    }
    if said.is_tls {
        #[cfg(feature = "tls")]
        {
            sentinels = sentinels.tls_as_asked();
        }
        #[cfg(not(feature = "tls"))]
        return Err(ConfigError::UnsupportedUrl { scheme: "rediss".into() });
    }
    let login = login.redis_settings().clone();
    Ok(SentinelUrl { sentinels, login, is_tls })
}

/// What stands behind the `?`.
#[derive(Default)]
struct UrlParameters {
    nodes: Vec<String>,
    user: Option<String>,
    password: Option<String>,
    is_tls: bool,
}

impl UrlParameters {
    fn of(query: &str) -> Result<Self, ConfigError> {
        let mut said = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match (&*name, &*value) {
                ("node", _) => said.nodes.push(value.into_owned()),
                ("sentinel_username", _) => said.user = Some(value.into_owned()),
                ("sentinel_password", _) => said.password = Some(value.into_owned()),
                ("sentinel_tls", "true") => said.is_tls = true,
                ("sentinel_tls", "false") | ("protocol", _) => {}
                _ => {
                    return Err(invalid(
                        "behind the ?, there may be node=host:port, sentinel_username, \
                         sentinel_password and sentinel_tls=true",
                    ));
                }
            }
        }
        Ok(said)
    }
}

fn decoded(text: &str) -> String {
    let pairs = form_urlencoded::parse(text.as_bytes()).next();
    pairs.map_or_else(String::new, |(name, _)| name.into_owned())
}

fn invalid(reason: &str) -> ConfigError {
    ConfigError::InvalidUrl { reason: reason.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(url: &str) -> String {
        let Some(Err(error)) = read(url) else { panic!("{url}") };
        assert!(!error.to_string().contains("s3cr3t"), "{error}");
        error.to_string()
    }

    #[test]
    fn hosts_service_database_and_credentials_are_read() {
        let url = "redis+sentinel://app:s3cr3t@a,b:7,[::1]:8/orders/2\
                   ?sentinel_username=me&sentinel_password=x%26y&node=c:9";
        let SentinelUrl { sentinels, login, is_tls } = read(url).unwrap().unwrap();
        let told = format!("{sentinels:?}");
        for said in ["\"a\"", "\"b:7\"", "\"[::1]:8\"", "\"c:9\"", "\"orders\"", "\"me\""] {
            assert!(told.contains(said), "{said}: {told}");
        }
        assert!(!told.contains("x&y"));
        assert_eq!(
            (login.username(), login.password(), login.db()),
            (Some("app"), Some("s3cr3t"), 2)
        );
        assert!(!is_tls);
        assert!(read("rediss-sentinel://a/orders").unwrap().unwrap().is_tls);
        assert!(read("valkey-sentinel://a/orders").is_some());
        assert!(read("redis://a/2").is_none() && read("memcached+sentinel://a").is_none());
    }

    #[test]
    fn what_cannot_be_read_is_told_without_a_password() {
        for (url, says) in [
            ("redis+sentinel://:s3cr3t@a,b", "the service is missing"),
            ("redis+sentinel://:s3cr3t@a/orders/one", "database"),
            ("redis+sentinel://:s3/cr3t@a/orders", "database"),
            ("redis+sentinel://:s3cr3t@a/orders?sentinel=s3cr3t", "sentinel_username"),
        ] {
            assert!(refused(url).contains(says), "{url}: {}", refused(url));
        }
    }
}
