//! Which process a holder is, found by the name its connections have on the server.

use std::{collections::BTreeMap, fmt};

use palisade::{
    Client,
    error::Shown,
    inspect::{Access, Holder, ProcessRecord},
};

use crate::duration;

/// The machine and the process of a holder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) host: String,
    pub(crate) pid: u32,
}

/// What a server knows of processes, as far as it may tell.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// The names of what is connected to it.
    connections: Vec<String>,
    /// What the processes of some holders say, by the ids of these.
    records: BTreeMap<String, ProcessRecord>,
}

impl Known {
    /// Of all that is connected to the server, and of these holders, if they are few.
    pub(crate) async fn to(client: &Client, holders: &[Holder]) -> Self {
        let connections = client.names_of_connections().await.unwrap_or_default();
        let mut records = BTreeMap::new();
        for holder in holders.iter().take(MOST_ASKED) {
            if let Ok(Some(record)) = client.process_of(holder).await {
                records.insert(holder.id.clone(), record);
            }
        }
        Self { connections, records }
    }

    /// What the process of a holder says.
    pub(crate) fn record(&self, holder: &Holder) -> Option<&ProcessRecord> {
        self.records.get(&holder.id)
    }

    /// Where the holder is; of permits, too, whose ids do not show the uuid.
    pub(crate) fn locate(&self, holder: &Holder) -> Option<Place> {
        let told = self
            .record(holder)
            .and_then(|record| Some(Place { host: record.host.clone()?, pid: record.pid? }));
        told.or_else(|| self.locate_connection(holder))
    }

    fn locate_connection(&self, holder: &Holder) -> Option<Place> {
        match holder.id.split_once(':') {
            Some((uuid, _number)) => self.find(|named| named == uuid),
            None => self.find(|named| holder.is_of_process(named)),
        }
    }

    /// Looks for a connection named `palisade:<uuid>:<host>:<pid>` with such an uuid.
    fn find(&self, is_its: impl Fn(&str) -> bool) -> Option<Place> {
        let names = self.connections.iter().filter_map(|name| name.strip_prefix("palisade:"));
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
    pub(crate) record: Option<&'a ProcessRecord>,
}

impl fmt::Display for Described<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = Shown::new(&self.holder.id);
        match self.place {
            _ if self.holder.is_revoked() => {
                write!(f, "palisade unlock, which took it away ({id})")?
            }
            Some(Place { host, pid }) => write!(f, "{} pid {pid} ({id})", Shown::new(host))?,
            None => write!(f, "{id}")?,
        }
        if let Some(held_for) = self.record.and_then(|record| record.held_for) {
            write!(f, ", for {}", duration::show_roughly(held_for))?;
        }
        match self.holder.ttl {
            Some(ttl) => write!(f, ", ttl {}", duration::show_roughly(ttl))?,
            None => f.write_str(", without a ttl")?,
        }
        match self.record.and_then(|record| record.note.as_deref()) {
            Some(note) => write!(f, " ({})", Shown::new(note)),
            None => Ok(()),
        }
    }
}

/// The holders of a lock on one server, and how they hold it; `None` if there are none. Of many
/// that share it, some.
pub(crate) fn tell_all(holders: &[Holder], known: &Known) -> Option<String> {
    let Holder { access, count, .. } = holders.first()?;
    let mut told: Vec<_> = holders
        .iter()
        .filter(|holder| holder.access == *access)
        .map(|holder| {
            let (place, record) = (known.locate(holder), known.record(holder));
            Described { holder, place: place.as_ref(), record }.to_string()
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
pub(crate) fn tell_permits(holders: &[Holder], known: &Known) -> String {
    let mut told: BTreeMap<String, usize> = BTreeMap::new();
    for holder in holders {
        let who = match known.locate(holder) {
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

/// Of so many it is asked what their processes say.
const MOST_ASKED: usize = 64;

/// So many of those that share a lock are named.
const MOST_TOLD: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servers::our_name;

    fn find(names: &[&str], uuid: &str) -> Option<Place> {
        let connections = names.iter().copied().map(str::to_owned).collect();
        let connected = Known { connections, ..Known::default() };
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
