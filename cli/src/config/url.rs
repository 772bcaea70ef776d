//! URLs of servers: lists of them, and what of one may be shown.

/// The URLs in a comma separated list. Those of sentinels and clusters are lists themselves: what follows
/// such an URL and is no URL belongs to it.
pub(super) fn split(list: &str) -> Vec<String> {
    let mut urls: Vec<String> = Vec::new();
    for part in list.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        match urls.last_mut() {
            Some(last) if has_replicas(last) && !part.contains("://") => {
                last.push(',');
                last.push_str(part);
            }
            _ => urls.push(part.to_owned()),
        }
    }
    urls
}

/// Whether this is where replicas take their masters' places.
pub(crate) fn has_replicas(url: &str) -> bool {
    let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
    scheme.ends_with("sentinel") || scheme.ends_with("cluster")
}

/// Whether it has something that is not to be read by others.
pub(super) fn has_secret(url: &str) -> bool {
    masked(url).contains(MASK)
}

/// As it may be shown: passwords are masked, and whatever may be one since it is not where it belongs.
pub(super) fn masked(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return MASK.to_owned() };
    if scheme.is_empty() || !scheme.chars().all(|c| c.is_ascii_lowercase() || "+-".contains(c)) {
        return MASK.to_owned();
    }
    // A password that is not percent-encoded may have any of these.
    let (login, place) = match rest.rsplit_once('@') {
        Some((login, place)) => (format!("{}@", masked_login(login)), place),
        None => (String::new(), rest),
    };
    let (place, query) = match place.split_once('?') {
        Some((place, query)) => (place, format!("?{}", masked_query(query))),
        None => (place, String::new()),
    };
    format!("{scheme}://{login}{}{query}", masked_place(scheme, place))
}

/// A user by itself is no secret, if it is one.
fn masked_login(login: &str) -> String {
    let (user, password) =
        login.split_once(':').map_or((login, None), |(user, it)| (user, Some(it)));
    let is_name = user.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    match password {
        _ if !is_name => MASK.to_owned(),
        None | Some("") => login.to_owned(),
        Some(_) => format!("{user}:{MASK}"),
    }
}

/// Hosts with ports, and what each sort of URL has behind them.
fn masked_place(scheme: &str, place: &str) -> String {
    if scheme.starts_with("unix") || scheme.ends_with("+unix") {
        return place.to_owned();
    }
    let (hosts, path) = place.split_once('/').map_or((place, None), |(at, it)| (at, Some(it)));
    let is_host = |c: char| c.is_ascii_alphanumeric() || "-_.:[],%".contains(c);
    let hosts = if hosts.chars().all(is_host) && hosts.split(',').all(has_port_if_any) {
        hosts
    } else {
        MASK
    };
    let is_path = |path: &str| {
        let is_number = path.chars().all(|c| c.is_ascii_digit());
        // Of sentinels the service stands there.
        is_number || scheme.ends_with("sentinel")
    };
    match path {
        Some(path) if is_path(path) => format!("{hosts}/{path}"),
        Some(_) => format!("{hosts}/{MASK}"),
        None => hosts.to_owned(),
    }
}

/// What stands behind the colon of a host is a number, or else a password without its host.
fn has_port_if_any(host: &str) -> bool {
    let behind = host.rsplit_once(']').map_or(host, |(_, behind)| behind);
    behind.rsplit_once(':').is_none_or(|(_, port)| port.chars().all(|c| c.is_ascii_digit()))
}

fn masked_query(query: &str) -> String {
    let masked = query.split('&').map(|pair| match pair.split_once('=') {
        Some((name, _)) if HARMLESS.contains(&name) => pair.to_owned(),
        Some((name, _)) => format!("{name}={MASK}"),
        None => MASK.to_owned(),
    });
    masked.collect::<Vec<_>>().join("&")
}

const MASK: &str = "***";

/// What may be read behind the `?`.
const HARMLESS: [&str; 6] = ["db", "protocol", "user", "node", "sentinel_username", "sentinel_tls"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_servers_are_cut_at_the_commas_between_them_alone() {
        let (sentinels, cluster) = ("redis+sentinel://a,b:26380,c/svc?x=1", "redis+cluster://d,e");
        for (list, urls) in [
            ("redis://a, redis://b,", vec!["redis://a", "redis://b"]),
            (sentinels, vec![sentinels]),
            (&format!("{sentinels},redis://x"), vec![sentinels, "redis://x"]),
            (&format!("redis://x,{cluster},{sentinels}"), vec!["redis://x", cluster, sentinels]),
            // No URL: an error says so.
            ("redis://a,b", vec!["redis://a", "b"]),
            ("", vec![]),
        ] {
            assert_eq!(split(list), urls, "{list}");
        }
    }

    #[test]
    fn passwords_are_masked_wherever_they_may_stand() {
        for (url, shown) in [
            ("redis://app:s3cr3t@a:7/2", "redis://app:***@a:7/2"),
            ("redis://:s3c/r3t@a", "redis://:***@a"),
            ("redis://:s3c@r3t@a", "redis://:***@a"),
            ("redis://:s3cr3t", "redis://***"),
            ("redis://a/s3cr3t", "redis://a/***"),
            ("s3cr3t", "***"),
            ("user:s3cr3t://a", "***"),
            (
                "redis+sentinel://a,b:7/svc/1?sentinel_password=s3cr3t&sentinel_tls=true",
                "redis+sentinel://a,b:7/svc/1?sentinel_password=***&sentinel_tls=true",
            ),
            ("unix:///run/redis.sock?db=1&pass=s3cr3t", "unix:///run/redis.sock?db=1&pass=***"),
            ("redis://h?p%61ss=s3cr3t", "redis://h?p%61ss=***"),
        ] {
            assert_eq!(masked(url), shown, "{url}");
            assert!(has_secret(url), "{url}");
        }
    }

    #[test]
    fn what_has_no_password_is_shown_as_it_is() {
        for url in [
            "redis://a",
            "redis://app@a:7/2",
            "rediss://[::1]:7",
            "redis+cluster://a,b:7,[::1]:8",
            "redis+sentinel://a,b:7/svc/1",
            "unix:///run/redis.sock",
        ] {
            assert_eq!(masked(url), url);
            assert!(!has_secret(url), "{url}");
        }
    }
}
