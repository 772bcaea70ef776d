//! Which process a holder is, found by the name its connections have on the server.

use std::{collections::BTreeMap, fmt};

use palisade::{
    Client,
    error::Shown,
    inspect::{Access, Holder},
};

use crate::duration;

/// The machine and the process of a holder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) host: String,
    pub(crate) pid: u32,
}

/// The names of what is connected to a server: none, if it does not know or may not tell.
#[derive(Debug)]
pub(crate) struct Connected(Vec<String>);

impl Connected {
    pub(crate) async fn to(client: &Client) -> Self {
        Self(client.names_of_connections().await.unwrap_or_default())
    }

    /// Where the holder is; of permits, too, whose ids do not show the uuid.
    pub(crate) fn locate(&self, holder: &Holder) -> Option<Place> {
        match holder.id.split_once(':') {
            Some((uuid, _number)) => self.find(|named| named == uuid),
            None => self.find(|named| holder.is_of_process(named)),
        }
    }

    /// Looks for a connection named `palisade:<uuid>:<host>:<pid>` with such an uuid.
    fn find(&self, is_its: impl Fn(&str) -> bool) -> Option<Place> {
        let names = self.0.iter().filter_map(|name| name.strip_prefix("palisade:"));
        names.filter_map(|name| name.split_once(':')).filter(|(uuid, _)| is_its(uuid)).find_map(
            |(_, rest)| {
                let (host, pid) = rest.rsplit_once(':')?;
                Some(Place { host: host.to_owned(), pid: pid.parse().ok()? })
            },
        )
    }
}

/// A holder in words: `web-1 pid 4242 (<holder id>), ttl 28s`.
#[derive(Debug)]
pub(crate) struct Described<'a> {
    pub(crate) holder: &'a Holder,
    pub(crate) place: Option<&'a Place>,
}

impl fmt::Display for Described<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = Shown::new(&self.holder.id);
        match self.place {
            Some(Place { host, pid }) => write!(f, "{} pid {pid} ({id})", Shown::new(host))?,
            None => write!(f, "{id}")?,
        }
        match self.holder.ttl {
            Some(ttl) => write!(f, ", ttl {}", duration::show_roughly(ttl)),
            None => f.write_str(", without a ttl"),
        }
    }
}

/// The holders of a lock on one server, and how they hold it; `None` if there are none. Of many
/// that share it, some.
pub(crate) fn tell_all(holders: &[Holder], connected: &Connected) -> Option<String> {
    let Holder { access, count, .. } = holders.first()?;
    let mut told: Vec<_> = holders
        .iter()
        .filter(|holder| holder.access == *access)
        .map(|holder| {
            let place = connected.locate(holder);
            Described { holder, place: place.as_ref() }.to_string()
        })
        .collect();
    let others = told.len().saturating_sub(MOST_TOLD);
    if others > 0 {
        told.truncate(MOST_TOLD);
        told.push(format!("{others} more"));
    }
    let told = told.join("; ");
    let times = if *count == 1 { String::new() } else { format!(" {count} times") };
    Some(match access {
        Access::Read => format!("held with --shared by {told}"),
        Access::Write => format!("held{times} with --exclusive by {told}"),
        _ => format!("held{times} by {told}"),
    })
}

/// The holders of permits, each of them once; some of many.
pub(crate) fn tell_permits(holders: &[Holder], connected: &Connected) -> String {
    let mut told: BTreeMap<String, usize> = BTreeMap::new();
    for holder in holders {
        let who = match connected.locate(holder) {
            Some(Place { host, pid }) => format!("{} pid {pid}", Shown::new(&host)),
            None => Shown::new(&holder.id).to_string(),
        };
        *told.entry(who).or_default() += 1;
    }
    let others = told.len().saturating_sub(MOST_TOLD);
    let mut words: Vec<_> = told
        .iter()
        .take(MOST_TOLD)
        .map(
            |(who, count)| {
                if *count == 1 { format!("by {who}") } else { format!("{count} by {who}") }
            },
        )
        .collect();
    if others > 0 {
        words.push(format!("{others} more"));
    }
    words.join("; ")
}

/// So many of those that share a lock are named.
const MOST_TOLD: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servers::our_name;

    fn find(names: &[&str], uuid: &str) -> Option<Place> {
        let connected = Connected(names.iter().copied().map(str::to_owned).collect());
        connected.find(|named| named == uuid)
    }

    #[test]
    fn a_holder_is_found_by_the_uuid_in_the_name_of_its_connections() {
        let names = ["palisade:aaaa:other:1", "palisade:bbbb", "palisade:bbbb:web-1:4242"];
        let place = Place { host: "web-1".into(), pid: 4242 };
        assert_eq!(find(&names, "bbbb"), Some(place));
        assert_eq!(find(&names, "cccc"), None);
        assert_eq!(find(&names, "bbb"), None);
        assert_eq!(find(&names, ""), None);
    }

    #[test]
    fn our_own_name_suits_the_name_of_a_connection() {
        let found = find(&[&format!("palisade:aaaa:{}", our_name())], "aaaa").expect("found");
        assert_eq!(found.pid, std::process::id());
    }
}
