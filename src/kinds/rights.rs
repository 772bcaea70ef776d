//! Which rights a user of a server needs, as its ACL rules say them.

use std::{collections::BTreeSet, fmt};

use super::{
    commands::{
        CONNECTING, IN_CLUSTER, LISTING, LISTING_BY_NAME, OF_SCRIPTS, WITH_LOCKS, called_by,
    },
    revoking, scripts,
    usage::Use,
};
use crate::{health, presence, wire::key};

/// The least rights that a user of a server needs, as rules of its ACL.
///
/// A user that is to tell the holders of a lock needs [`inspecting`](Self::inspecting), one that blesses
/// servers [`blessing`](Self::blessing).
///
/// Rules have no spaces: where a name has one, `?` stands for it, and so for names with another character there.
///
/// A namespace that begins as another one does is not kept apart from that by rules. A pattern for all names of
/// `shop:` stands for those of `shop:eu:` too, and for the mark by which servers vote there.
///
/// # Examples
/// ```
/// use palisade::acl::{Rights, Use};
///
/// let rights = Rights::new().with_pattern(Use::Lock, "orders:*").with(Use::FairLock, "tickets");
/// println!("ACL SETUSER app on >… {rights}");
/// assert!(rights.rules().contains(&"~redisson_lock_queue:{tickets}".to_owned()));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Rights {
    namespace: String,
    uses: Vec<Used>,
    inspects: bool,
    revokes: bool,
    blesses: bool,
    is_replicated: bool,
    is_in_cluster: bool,
    is_untracked: bool,
    is_untold: bool,
    examines: bool,
    /// Patterns of names that are listed.
    listed: Vec<ListedNames>,
}

/// Names that are listed.
#[derive(Debug, Clone)]
struct ListedNames {
    pattern: String,
    /// Also each by its name: then permits and counters are looked at, too.
    by_name: bool,
}

/// What is used, and how.
#[derive(Debug, Clone)]
struct Used {
    usage: Use,
    pattern: String,
    /// Whether it stands for one name.
    is_name: bool,
}

impl Rights {
    /// None but those to connect.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// And those for a name that is used so: for that name alone, whatever characters it has.
    #[must_use]
    pub fn with(mut self, usage: Use, name: &str) -> Self {
        self.uses.push(Used { usage, pattern: key::literal(name), is_name: true });
        self
    }

    /// And those for all names that match a pattern of the server's rules, such as `orders:*`.
    #[must_use]
    pub fn with_pattern(mut self, usage: Use, pattern: &str) -> Self {
        self.uses.push(Used { usage, pattern: pattern.to_owned(), is_name: false });
        self
    }

    /// What stands before the names: [`ClientBuilder::namespace`](crate::ClientBuilder::namespace).
    #[must_use]
    pub fn namespace(mut self, namespace: &str) -> Self {
        namespace.clone_into(&mut self.namespace);
        self
    }

    /// And those to tell on which machine a holder is.
    #[must_use]
    pub fn inspecting(mut self) -> Self {
        self.inspects = true;
        self
    }

    /// And those to [take locks away](crate::Lock::revoke) from their holders, also those that are
    /// [listed](Self::listing).
    #[must_use]
    pub fn revoking(mut self) -> Self {
        self.revokes = true;
        self
    }

    /// And those to [bless](crate::Masters::bless) servers. Rules cannot tell a blessing from the marks that all
    /// clients write: a hostile user that may hold locks can write one.
    #[must_use]
    pub fn blessing(mut self) -> Self {
        self.blesses = true;
        self
    }

    /// And those to wait for [replicas](crate::ClientBuilder::replicas).
    #[must_use]
    pub fn replicated(mut self) -> Self {
        self.is_replicated = true;
        self
    }

    /// Without those to be told at once that a lock was [taken away](crate::ClientBuilder::tracking): a client that
    /// would be told says that once, and finds it at its next renewal.
    #[must_use]
    pub fn without_tracking(mut self) -> Self {
        self.is_untracked = true;
        self
    }

    /// Without those to [tell](crate::ClientBuilder::presence) operators of long holds, and to be told: that is said
    /// once by a client that would tell, and its locks work as they do.
    #[must_use]
    pub fn untold(mut self) -> Self {
        self.is_untold = true;
        self
    }

    /// And those to ask servers how they [are](crate::Client::health).
    #[must_use]
    pub fn examining(mut self) -> Self {
        self.examines = true;
        self
    }

    /// And those to [list](crate::Client::list) the locks whose names match a pattern, with what their processes tell:
    /// to read, and no more. A user that uses no names has only those.
    #[must_use]
    pub fn listing(mut self, pattern: &str) -> Self {
        self.listed.push(ListedNames { pattern: pattern.to_owned(), by_name: true });
        self
    }

    /// The same for one that never [lists](crate::inspect::ListOptions::matching) by a name, but only by patterns: what
    /// counts locks, such as `palisade exporter`.
    #[must_use]
    pub fn counting(mut self, pattern: &str) -> Self {
        self.listed.push(ListedNames { pattern: pattern.to_owned(), by_name: false });
        self
    }

    /// And those for the servers of a [cluster](crate::ClientBuilder::cluster). Before Redis 7 they do not know
    /// `spublish`, `ssubscribe`, `sunsubscribe` and `pubsub|shardnumsub`: leave those out there.
    #[must_use]
    pub fn in_cluster(mut self) -> Self {
        self.is_in_cluster = true;
        self
    }

    /// The rules: commands, keys and channels, none of which a user has before.
    #[must_use]
    pub fn rules(&self) -> Vec<String> {
        let mut rules: Vec<String> =
            ["-@all", "resetkeys", "resetchannels"].map(str::to_owned).into();
        rules.extend(self.commands().into_iter().map(|command| format!("+{command}")));
        let (mut keys, mut channels) = (BTreeSet::new(), BTreeSet::new());
        let namespace = key::literal(&self.namespace);
        keys.insert(key::marker(&namespace).to_string());
        if self.is_in_cluster {
            keys.insert(format!("{}*", key::marks_of_runs(&namespace)));
        }
        if self.tells() || !self.listed.is_empty() {
            keys.insert(format!("{}*", key::processes(&namespace)));
        }
        if self.is_replicated {
            if self.is_in_cluster {
                keys.insert(format!("{}*", key::replicas_keys(&namespace)));
            }
            channels.insert(key::replicas_channel(&namespace).to_string());
        }
        for Used { usage, pattern, is_name } in &self.uses {
            let key = key::of_lock(&namespace, pattern);
            for key in spellings(&key, *is_name) {
                keys.extend(usage.keys(&key));
                if self.revokes && usage.has_holders() {
                    keys.extend(revoked_with(&key));
                }
                channels.extend(usage.channels(&key));
            }
        }
        for ListedNames { pattern, by_name } in &self.listed {
            let key = key::of_lock(&namespace, pattern);
            for key in spellings(&key, false) {
                keys.extend(listed_keys(&key));
                if *by_name {
                    keys.extend(named_keys(&key));
                }
                if self.revokes {
                    keys.extend(revoked_with(&key));
                    keys.extend(given_back_with(&key));
                    channels.extend(REVOKED.iter().flat_map(|usage| usage.channels(&key)));
                }
            }
        }
        // Redis refuses patterns beside the one of all keys.
        if keys.contains("*") {
            keys.retain(|key| key == "*");
        }
        rules.extend(keys.into_iter().map(|key| format!("~{}", without_spaces(&key))));
        rules.extend(channels.into_iter().map(|channel| format!("&{}", without_spaces(&channel))));
        rules
    }

    /// Permits and latches are not told of.
    fn tells(&self) -> bool {
        !self.is_untold && self.uses.iter().any(|used| used.usage.has_holders())
    }

    fn commands(&self) -> BTreeSet<String> {
        let mut commands: BTreeSet<String> =
            CONNECTING.iter().copied().map(str::to_owned).collect();
        if !self.listed.is_empty() {
            commands.extend(LISTING.map(str::to_owned));
            if self.listed.iter().any(|listed| listed.by_name) {
                commands.extend(LISTING_BY_NAME.map(str::to_owned));
            }
            if self.uses.is_empty() && !self.blesses {
                commands.retain(|command| !WITH_LOCKS.contains(&&**command));
                if !self.revokes {
                    commands.retain(|command| !OF_SCRIPTS.contains(&&**command));
                }
                commands.extend(self.commands_of_operators());
                return commands;
            }
        }
        let scripts = self.uses.iter().flat_map(|used| scripts::of(used.usage));
        for script in scripts {
            commands.extend(called_by(script.source));
        }
        // One that blesses may have to take a blessing back; all others only write marks.
        let marks = scripts::of_marks().flat_map(|script| called_by(script.source));
        commands.extend(marks.filter(|command| command != "del" || self.blesses));
        if self.is_replicated {
            commands.insert("wait".to_owned());
        }
        if !self.is_untracked && self.uses.iter().any(|used| used.usage.has_leases()) {
            commands.extend(["client|tracking", "hlen", "zcard"].map(str::to_owned));
        }
        if self.tells() {
            commands.extend(presence::SCRIPTS.iter().flat_map(|script| called_by(script.source)));
        }
        commands.extend(self.commands_of_operators());
        commands
    }

    /// Those that a user may need that holds no locks.
    fn commands_of_operators(&self) -> BTreeSet<String> {
        let mut commands = BTreeSet::new();
        if self.is_in_cluster {
            commands.extend(IN_CLUSTER.map(str::to_owned));
        }
        if self.inspects {
            commands.insert("client|list".to_owned());
        }
        if self.examines {
            commands.extend(health::COMMANDS.map(str::to_owned));
        }
        if self.revokes {
            let revoked = revoking::script::SCRIPTS.into_iter().chain(scripts::of_releases());
            commands.extend(revoked.flat_map(|script| called_by(script.source)));
        }
        commands
    }
}

impl fmt::Display for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rules().join(" "))
    }
}

/// What is read of a lock that is listed, and beside it.
fn listed_keys(name: &str) -> Vec<String> {
    let timers = key::rw_timer(name, "*");
    // Redisson has one for each re-entry.
    let timers = timers.strip_suffix('1').map(|timers| format!("{timers}*"));
    let beside = [
        key::fair_queue(name),
        key::turn_line(name),
        key::lock_counter(name),
        key::member_counter(name),
    ];
    let beside = beside.iter().map(ToString::to_string);
    beside.chain(timers).chain([name.to_owned()]).collect()
}

/// What is read beside what is looked at by its name.
fn named_keys(name: &str) -> impl Iterator<Item = String> {
    [key::permit_holders(name), key::permit_leases(name)].into_iter().map(|key| key.to_string())
}

/// What a name may be used as that is taken away.
const REVOKED: [Use; 3] = [Use::Lock, Use::FairLock, Use::RwLock];

/// What may stand beside a lock of whatever kind that is taken away.
fn revoked_with(name: &str) -> impl Iterator<Item = String> {
    let keys = [key::rw_timer(name, "*"), key::lock_counter(name), key::member_counter(name)];
    keys.into_iter().map(|key| key.to_string())
}

/// And what stands beside it where it is given back at once, of whatever kind it is.
fn given_back_with(name: &str) -> impl Iterator<Item = String> {
    let keys = [key::fair_deadlines(name), key::fair_note(name), key::rw_wish(name)];
    keys.into_iter().map(|key| key.to_string())
}

/// A name that may stand for others may stand for some with braces, whose keys and channels have none of
/// ours.
fn spellings(name: &str, is_name: bool) -> Vec<String> {
    let is_pattern = !is_name && name.contains(['*', '?', '[']) && !name.contains('{');
    let braced = is_pattern.then(|| format!("{name}{{*}}*"));
    braced.into_iter().chain([name.to_owned()]).collect()
}

/// Redis takes no rule that has a space: what stands for any character stands for that.
fn without_spaces(pattern: &str) -> String {
    let is_space = |c: char| c.is_ascii_whitespace() || matches!(c, '\x0b' | '\0');
    pattern.replace(is_space, "?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_channels_are_those_of_the_names() {
        let rights = Rights::new().namespace("shop:").with(Use::RwLock, "x");
        let rules = rights.rules();
        for rule in [
            "~shop:x",
            "~{shop:x}:palisade_writer",
            "&redisson_rwlock:{shop:x}",
            "~shop:palisade:marker",
        ] {
            assert!(rules.contains(&rule.to_owned()), "{rule}: {rules:?}");
        }
        let patterns = Rights::new().with_pattern(Use::Lock, "a:*").rules();
        for rule in ["~a:*", "&redisson_lock__channel:{a:*}", "&redisson_lock__channel:a:*{*}*"] {
            assert!(patterns.contains(&rule.to_owned()), "{rule}: {patterns:?}");
        }
        assert!(!patterns.contains(&"+lpop".to_owned()));
        let spaced = Rights::new().with(Use::Lock, "a\tb c").rules();
        assert!(spaced.contains(&"~a?b?c".to_owned()), "{spaced:?}");
        assert!(!spaced.iter().any(|rule| rule.contains([' ', '\t'])), "{spaced:?}");
        let all = Rights::new().with_pattern(Use::FairLock, "*").rules();
        assert_eq!(all.iter().filter(|rule| rule.starts_with('~')).count(), 1, "{all:?}");
    }

    #[test]
    fn who_blesses_may_take_a_blessing_back() {
        let may_delete = |rights: Rights| rights.rules().contains(&"+del".to_owned());
        assert!(!may_delete(Rights::new()) && may_delete(Rights::new().blessing()));
    }

    #[test]
    fn names_and_namespaces_stand_for_themselves_alone() {
        let rules = Rights::new().namespace("a*").with(Use::RwLock, r"[x]?\").rules();
        let mut rules = rules.iter().filter(|rule| rule.starts_with(['~', '&']));
        for rule in [
            r"~a\*\[x]\?\\",
            r"~a\*palisade:marker",
            r"~a\*palisade_process:*",
            r"~{a\*\[x]\?\\}:*:rwlock_timeout:1",
            r"~{a\*\[x]\?\\}:palisade_last_run",
            r"~{a\*\[x]\?\\}:palisade_period:*",
            r"~{a\*\[x]\?\\}:palisade_writer",
            r"&redisson_rwlock:{a\*\[x]\?\\}",
        ] {
            assert_eq!(rules.next().map(String::as_str), Some(rule));
        }
        assert_eq!(rules.next(), None);
        let pattern = Rights::new().namespace("a*").with_pattern(Use::Lock, "x*").rules();
        assert!(pattern.contains(&r"~a\*x*".to_owned()), "{pattern:?}");
    }
}
