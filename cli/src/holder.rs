//! Who a holder is: its process, found by the name its connections have on the server.

use std::{fmt, time::Duration};

use palisade::inspect::Holder;
use tokio::time::timeout;

use crate::{duration, servers::Url};

/// The machine and the process of a holder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) host: String,
    pub(crate) pid: u32,
}

/// Asks the server at `url` who the holder is. `None` if it does not know or may not tell.
pub(crate) async fn locate(url: &Url, holder: &Holder) -> Option<Place> {
    let list = timeout(PATIENCE, list_of_clients(url)).await.ok()?.ok()?;
    find(&list, &holder.id)
}

async fn list_of_clients(url: &Url) -> redis::RedisResult<String> {
    let client = redis::Client::open(url.0.as_str())?;
    let mut connection = client.get_multiplexed_async_connection().await?;
    redis::cmd("CLIENT").arg("LIST").query_async(&mut connection).await
}

/// Looks for a connection named `palisade:<uuid>:<host>:<pid>` with the holder's uuid.
fn find(list: &str, holder: &str) -> Option<Place> {
    let (uuid, _number) = holder.split_once(':')?;
    let names = list.split_ascii_whitespace().filter_map(|word| word.strip_prefix("name="));
    names.filter_map(|name| name.strip_prefix("palisade:")?.strip_prefix(uuid)).find_map(|rest| {
        let (host, pid) = rest.strip_prefix(':')?.rsplit_once(':')?;
        Some(Place { host: host.to_owned(), pid: pid.parse().ok()? })
    })
}

/// A holder in words: `web-1 pid 4242 (<holder id>), ttl 28s`.
#[derive(Debug)]
pub(crate) struct Described<'a> {
    pub(crate) holder: &'a Holder,
    pub(crate) place: Option<&'a Place>,
}

impl fmt::Display for Described<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some(Place { host, pid }) => write!(f, "{host} pid {pid} ({})", self.holder.id)?,
            None => write!(f, "{}", self.holder.id)?,
        }
        match self.holder.ttl {
            Some(ttl) => write!(f, ", ttl {}", duration::show_roughly(ttl)),
            None => f.write_str(", without a ttl"),
        }
    }
}

/// A server that has just named a holder takes no longer to name its clients.
const PATIENCE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servers::our_name;

    #[test]
    fn a_holder_is_found_by_the_uuid_in_the_name_of_its_connections() {
        let list = "id=3 addr=127.0.0.1:5 name= db=0\n\
                    id=4 addr=127.0.0.1:6 name=palisade:aaaa:other:1 db=0\n\
                    id=5 addr=127.0.0.1:7 name=palisade:bbbb db=0\n\
                    id=6 addr=127.0.0.1:8 name=palisade:bbbb:web-1:4242 db=0\n";
        let place = Place { host: "web-1".into(), pid: 4242 };
        assert_eq!(find(list, "bbbb:17"), Some(place));
        assert_eq!(find(list, "cccc:17"), None);
        assert_eq!(find(list, "bbb:17"), None);
        assert_eq!(find(list, "nonsense"), None);
    }

    #[test]
    fn our_own_name_suits_a_list_of_clients() {
        let list = format!("id=1 name=palisade:aaaa:{} db=0", our_name());
        let found = find(&list, "aaaa:1").expect("found");
        assert_eq!(found.pid, std::process::id());
    }
}
