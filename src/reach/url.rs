//! What the URL of a server says.

use redis::{ConnectionInfo, IntoConnectionInfo};

use crate::error::ConfigError;

/// Reads `redis://`, `rediss://`, `unix://`, `redis+unix://` and the same of Valkey as redis-rs does; and whether
/// TLS is spoken there.
pub(super) fn read(url: &str) -> Result<(ConnectionInfo, bool), ConfigError> {
    let scheme = scheme(url)?;
    if !is_spoken(scheme) {
        return Err(ConfigError::UnsupportedUrl { scheme: scheme.into() });
    }
    if is_list(url) {
        return Err(invalid_url("it is a list; each server needs an URL of its own"));
    }
    let is_tls = is_tls(scheme);
    if is_tls && url.contains('#') {
        return Err(invalid_url("nothing may follow a `#`: certificates are always verified"));
    }
    if has_bad_port(url) {
        return Err(invalid_url("its port is no number from 0 to 65535"));
    }
    // The rest is the same, and redis-rs reads it without its own TLS.
    let plain = url.replacen("s://", "://", usize::from(is_tls));
    // The database comes from the path, so a password with an unescaped `/` ends up there:
    // only the text before the detail is ours to repeat.
    let info = plain.into_connection_info().map_err(|error| {
        let text = error.to_string();
        invalid(text.split(" - ").next().unwrap_or_default())
    })?;
    if info.redis_settings().db() < 0 {
        return Err(invalid("the database number is negative"));
    }
    Ok((info, is_tls))
}

/// What stands before `://`, if it can be a scheme at all: it is shown in errors, and a password
/// must not be.
fn scheme(url: &str) -> Result<&str, ConfigError> {
    let missing = || invalid("it must look like redis://host:port/db");
    let (scheme, _) = url.split_once("://").ok_or_else(missing)?;
    let plausible = scheme.starts_with(|c: char| c.is_ascii_lowercase())
        && scheme.len() <= 16
        && scheme
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "+-.".contains(c));
    if plausible { Ok(scheme) } else { Err(missing()) }
}

fn is_spoken(scheme: &str) -> bool {
    matches!(scheme, "redis" | "valkey" | "unix" | "redis+unix" | "valkey+unix")
        || cfg!(feature = "tls") && is_tls(scheme)
}

fn is_tls(scheme: &str) -> bool {
    matches!(scheme, "rediss" | "valkeys")
}

/// Whether several servers are named where one is expected. A password may have commas, a host has
/// none.
fn is_list(url: &str) -> bool {
    let before_query = url.split('?').next().unwrap_or_default();
    let is_url = |text: &str| scheme(text.trim_start()).is_ok_and(is_spoken);
    let host = before_query.split_once("://").and_then(|(_, rest)| rest.split('/').next());
    let host = host.and_then(|authority| authority.rsplit('@').next()).unwrap_or_default();
    host.contains(',') || before_query.split(',').skip(1).any(is_url)
}

/// Whether there is a port that cannot be one. What an `@` follows may be a part of a password.
fn has_bad_port(url: &str) -> bool {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, behind) = rest.split_at(end);
    let host = authority.rsplit('@').next().unwrap_or_default();
    // The colons of an address in brackets are its own.
    let host = host.rsplit(']').next().unwrap_or_default();
    let port = host.rsplit_once(':').map(|(_, port)| port);
    !behind.contains('@') && port.is_some_and(|it| !it.is_empty() && it.parse::<u16>().is_err())
}

fn invalid(reason: &str) -> ConfigError {
    let hint = "special characters in user and password are to be percent-encoded";
    invalid_url(&format!("{reason} ({hint})"))
}

fn invalid_url(reason: &str) -> ConfigError {
    ConfigError::InvalidUrl { reason: reason.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_urls_are_refused_without_repeating_them() {
        for url in [
            "",
            "localhost:6379",
            "redis://",
            "redis://:secret@",
            "redis://:sec/ret@host",
            "redis://user:secret@host:port",
            "redis://user:secret@host/one",
            "redis://user:secret@host/-1",
            "redis://user:secret@host/?protocol=secret",
            "user:secret://host",
        ] {
            let error = read(url).unwrap_err();
            assert!(matches!(error, ConfigError::InvalidUrl { .. }), "{url}: {error}");
            assert!(!error.to_string().contains("sec"), "{error}");
            assert!(!format!("{error:?}").contains("sec"), "{error:?}");
        }
    }

    #[test]
    fn port_that_is_none_is_told_from_a_password_that_is_not_encoded() {
        for (url, is_port) in [
            ("redis://host:port", true),
            ("redis://host:65536/1", true),
            ("redis://host:-1", true),
            ("redis://user:secret@host:6379x?protocol=3", true),
            ("redis://[::1]:x", true),
            ("redis://:sec/ret@host", false),
            ("redis://:sec?ret@host", false),
            ("redis://host/one", false),
        ] {
            let error = read(url).unwrap_err().to_string();
            assert_eq!(error.contains("its port is no number"), is_port, "{url}: {error}");
            assert_eq!(error.contains("special characters"), !is_port, "{url}: {error}");
        }
        for url in [
            "redis://host:0",
            "redis://h:65535/1",
            "redis://[::1]:7",
            "redis://[::1]",
            "redis://:p%3Ax@h",
        ] {
            assert!(read(url).is_ok(), "{url}");
        }
    }

    #[test]
    fn schemes_that_are_not_spoken_are_named() {
        let mut schemes = vec!["http", "mysql"];
        if !cfg!(feature = "tls") {
            schemes.extend(["rediss", "valkeys"]);
        }
        for scheme in schemes {
            let expected = ConfigError::UnsupportedUrl { scheme: scheme.into() };
            assert_eq!(read(&format!("{scheme}://:secret@h")).unwrap_err(), expected);
        }
    }
}
