//! How hosts are written where several are named.

use crate::reach::HostPort;

/// Reads `host`, `host:port`, `[number]:port`. `None` for anything else.
pub(super) fn read(address: &str, usual_port: u16) -> Option<HostPort> {
    let (host, port) = match address.rsplit_once(':') {
        Some((host, port))
            if !port.ends_with(']') && (!host.contains(':') || host.ends_with(']')) =>
        {
            (host, port.parse().ok()?)
        }
        _ => (address, usual_port),
    };
    let host = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    let is_host =
        !host.is_empty() && !host.contains(|c: char| c.is_whitespace() || "/@,".contains(c));
    is_host.then(|| (host.into(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_hosts_with_or_without_a_port() {
        for (address, host, port) in [
            ("h", "h", 9),
            ("h:1", "h", 1),
            ("10.0.0.1:7", "10.0.0.1", 7),
            ("[::1]:7", "::1", 7),
            ("[::1]", "::1", 9),
            ("::1", "::1", 9),
        ] {
            assert_eq!(read(address, 9), Some((host.into(), port)), "{address}");
        }
        for bad in ["", ":1", "h:", "h:port", "h:99999", "redis://h", "a,b", "user@h", "[]:1"] {
            assert_eq!(read(bad, 9), None, "{bad}");
        }
    }
}
