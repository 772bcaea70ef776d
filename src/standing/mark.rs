//! Marks: what is written into the data of a server about the run that votes on it. Pure.
//!
//! One key per database, a text. Data that is lost or replaced while the process runs on takes its
//! mark with it, or brings that of another run.

use std::{fmt, sync::Arc, time::Duration};

use super::run_id::RunId;

/// Which run of a server has its data, and whence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) run_id: RunId,
    /// The name of the history that its data is: each promotion gives it another. `None` if it is
    /// not told.
    pub(crate) replid: Option<RunId>,
    /// Whether its data had another name before: it was a replica, in this run or an earlier one.
    pub(crate) was_renamed: bool,
    /// Whether this run has taken data in as a replica.
    pub(crate) is_fed: bool,
    /// The number of the configuration by which it is the master, where sentinels choose that: one that was
    /// the master, was passed over unawares and is the master again has lost what was granted meanwhile.
    pub(crate) config: Option<u64>,
    /// The number of the database.
    pub(crate) db: i64,
}

/// A mark as it stands on a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    text: Arc<str>,
    run_id: Option<Arc<str>>,
    replid: Option<Arc<str>>,
    config: Option<u64>,
    terms: Option<MarkTerms>,
    says: Says,
}

/// On what terms a mark was written. They stand in the word of the nonce, at which earlier versions do not
/// look: a mark of another shape would be none to them, and they would go without in silence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MarkTerms {
    /// The greatest D of the clients that ask for votes by it.
    wait: Duration,
    /// Two databases may be swapped.
    db: i64,
}

/// What a mark says.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Says {
    /// The run votes on this data.
    Epoch,
    /// Not before this time of its clock, in µs: other data was voted on before.
    Waits {
        until: i64,
    },
    Blessed(Blessing),
}

/// An operator's word that a run holds everything it ever granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Blessing {
    /// The longest lease that clients of the fleet ask for.
    pub(crate) max_lease: Duration,
    /// The same on all masters that were blessed together, and on no others.
    pub(crate) fleet: Arc<str>,
}

impl Mark {
    /// `None` for a text that is no mark. Those of earlier versions have less in them: a blessing
    /// without a replication id, a wait that names no run, a nonce alone.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let words: Vec<_> = text.split(' ').collect();
        let (run_id, replid, nonce, says) = match *words {
            ["epoch", run_id, replid, nonce] => (Some(run_id), Some(replid), nonce, Says::Epoch),
            ["waits", run_id, replid, nonce, until] => {
                (Some(run_id), Some(replid), nonce, Says::Waits { until: time(until)? })
            }
            ["waits", until] => (None, None, "", Says::Waits { until: time(until)? }),
            ["blessed", run_id, replid, max_lease, fleet] => (
                Some(run_id),
                Some(replid),
                fleet,
                Says::Blessed(Blessing::read(max_lease, fleet)?),
            ),
            ["blessed", run_id, max_lease, fleet] => {
                (Some(run_id), None, fleet, Says::Blessed(Blessing::read(max_lease, fleet)?))
            }
            _ => return None,
        };
        let (replid, config) = match replid.and_then(|word| word.split_once('@')) {
            Some((replid, config)) => (Some(replid), Some(config.parse().ok()?)),
            None => (replid, None),
        };
        let (run_id, replid) = (run_id.map(Into::into), replid.map(Into::into));
        let terms = MarkTerms::read(nonce);
        Some(Self { text: text.into(), run_id, replid, config, terms, says })
    }

    /// The greatest D of the clients that ask for votes by it; `None` if it does not tell.
    pub(crate) fn wait(&self) -> Option<Duration> {
        self.terms.map(|terms| terms.wait)
    }

    /// Whether it was written in this database, as far as it tells.
    pub(super) fn is_in(&self, db: i64) -> bool {
        self.terms.is_none_or(|terms| terms.db == db)
    }

    /// As it stands there.
    pub(crate) fn text(&self) -> &Arc<str> {
        &self.text
    }

    pub(crate) fn blessing(&self) -> Option<&Blessing> {
        if let Says::Blessed(blessing) = &self.says { Some(blessing) } else { None }
    }

    /// Until when the server is not to vote, in µs of its clock.
    pub(crate) fn waits_until(&self) -> Option<i64> {
        if let Says::Waits { until } = self.says { Some(until) } else { None }
    }

    /// Whether it names this run, whatever data that has. A wait that names no run is that of every
    /// run.
    pub(crate) fn is_of_run(&self, run_id: RunId) -> bool {
        planted!(RunNotCompared) || self.names(run_id)
    }

    fn names(&self, run_id: RunId) -> bool {
        self.run_id.as_ref().is_none_or(|named| RunId::new(named) == Some(run_id))
    }

    /// Whether it is about this run and its data.
    pub(crate) fn is_current(&self, origin: Origin, server_time: i64) -> bool {
        if planted!(RunNotCompared) && !self.names(origin.run_id) {
            return true;
        }
        let is_of_data = || match &self.run_id {
            Some(_) => match (self.replid.as_deref(), origin.replid) {
                (Some(named), Some(replid)) => RunId::new(named) == Some(replid),
                (named, told) => named.is_none() && told.is_none(),
            },
            None => self.waits_until().is_some_and(|until| until > server_time),
        };
        self.is_of_run(origin.run_id)
            && (!origin.was_renamed || is_of_data())
            && (origin.config.is_none() || self.config == origin.config)
            && self.is_in(origin.db)
    }
}

impl Origin {
    /// The text by which the server votes. `wait` is D.
    pub(crate) fn epoch(&self, nonce: &str, wait: Duration) -> Arc<str> {
        format!("epoch {self} {nonce}{}", self.terms(wait)).into()
    }

    /// The text by which it does not, all but the time at which that ends.
    pub(crate) fn waits(&self, nonce: &str, wait: Duration) -> Arc<str> {
        format!("waits {self} {nonce}{}", self.terms(wait)).into()
    }

    /// The text by which it votes at once.
    pub(crate) fn blessed(&self, blessing: &Blessing, wait: Duration) -> Arc<str> {
        let Blessing { max_lease, fleet } = blessing;
        let max_lease_ms = milliseconds(*max_lease);
        format!("blessed {self} {max_lease_ms} {fleet}{}", self.terms(wait)).into()
    }

    /// What `mark` says, on other terms: if it has the server wait, until then.
    pub(super) fn renewed(&self, mark: &Mark, nonce: &str, wait: Duration, until: i64) -> Arc<str> {
        match &mark.says {
            Says::Epoch => self.epoch(nonce, wait),
            Says::Waits { .. } => format!("{} {until}", self.waits(nonce, wait)).into(),
            Says::Blessed(blessing) => self.blessed(blessing, wait),
        }
    }

    fn terms(&self, wait: Duration) -> MarkTerms {
        MarkTerms { wait, db: self.db }
    }
}

impl MarkTerms {
    fn read(nonce: &str) -> Option<Self> {
        let (_, terms) = nonce.split_once('/')?;
        let (wait, db) = terms.split_once('/')?;
        let wait = Duration::from_millis(u64::try_from(time(wait)?).ok()?);
        Some(Self { wait, db: time(db)? })
    }
}

impl fmt::Display for MarkTerms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}/{}", milliseconds(self.wait), self.db)
    }
}

/// Rounded up: no client may seem to exceed it.
fn milliseconds(time: Duration) -> u128 {
    time.as_nanos().div_ceil(1_000_000)
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.replid {
            Some(replid) => write!(f, "{} {replid}", self.run_id)?,
            None => write!(f, "{} {UNTOLD}", self.run_id)?,
        }
        self.config.map_or(Ok(()), |config| write!(f, "@{config}"))
    }
}

impl Blessing {
    fn read(max_lease_ms: &str, fleet: &str) -> Option<Self> {
        let max_lease = Duration::from_millis(max_lease_ms.parse().ok()?);
        let fleet = fleet.split('/').next()?.into();
        Some(Self { max_lease, fleet })
    }
}

/// Digits alone.
fn time(text: &str) -> Option<i64> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Stands for a replication id that the user may not see.
const UNTOLD: &str = "-";

#[cfg(test)]
mod tests {
    use super::*;

    fn id(letter: char) -> RunId {
        RunId::new(&letter.to_string().repeat(40)).unwrap()
    }

    fn origin(is_fed: bool) -> Origin {
        let replid = Some(id('b'));
        Origin { run_id: id('a'), replid, was_renamed: is_fed, is_fed, config: None, db: 0 }
    }

    const D: Duration = Duration::from_secs(66);

    #[test]
    fn marks_are_read_as_they_were_written() {
        let blessing = Blessing { max_lease: Duration::from_secs(60), fleet: "f".into() };
        let untold = Origin { replid: None, ..origin(false) };
        for text in [
            origin(false).epoch("n", D),
            format!("{} 17", origin(true).waits("n", D)).into(),
            origin(true).blessed(&blessing, D),
            untold.epoch("n", D),
        ] {
            let mark = Mark::read(&text).unwrap();
            assert_eq!(mark.text(), &text);
            assert!(mark.is_current(untold, 0), "{text}");
        }
        let text = origin(false).blessed(&blessing, D);
        assert_eq!(*text, *format!("blessed {} {} 60000 f/66000/0", id('a'), id('b')));
        assert_eq!(Mark::read(&text).unwrap().blessing(), Some(&blessing));
        assert_eq!(Mark::read("waits a b n 17").unwrap().waits_until(), Some(17));
    }

    #[test]
    fn texts_of_earlier_versions_are_read() {
        let old = Mark::read(&format!("blessed {} 60000 f", id('a'))).unwrap();
        assert!(old.blessing().is_some_and(|blessing| &*blessing.fleet == "f"));
        assert!(old.is_current(origin(false), 0) && !old.is_current(origin(true), 0));
        let waits = Mark::read("waits 17").unwrap();
        for (now, for_fed) in [(0, true), (16, true), (17, false)] {
            assert!(waits.is_current(origin(false), now), "{now}");
            assert_eq!(waits.is_current(origin(true), now), for_fed, "{now}");
        }
    }

    #[test]
    fn data_that_was_fed_is_named_by_its_replication_id_too() {
        let mark =
            |run, replid| Mark::read(&format!("epoch {} {} n", id(run), id(replid))).unwrap();
        for (run, replid, fed, unfed) in
            [('a', 'b', true, true), ('a', 'c', false, true), ('c', 'b', false, false)]
        {
            assert_eq!(mark(run, replid).is_current(origin(true), 0), fed, "{run} {replid}");
            assert_eq!(mark(run, replid).is_current(origin(false), 0), unfed, "{run} {replid}");
        }
    }

    #[test]
    fn marks_tell_d_and_the_database_which_those_of_earlier_versions_do_not() {
        let third = Origin { db: 3, ..origin(false) };
        let blessing = Blessing { max_lease: Duration::from_secs(60), fleet: "f".into() };
        for text in [
            third.epoch("n", D),
            format!("{} 17", third.waits("n", D)).into(),
            third.blessed(&blessing, D),
        ] {
            let mark = Mark::read(&text).unwrap();
            assert_eq!(mark.wait(), Some(D), "{text}");
            assert!(mark.is_current(third, 0) && !mark.is_current(origin(false), 0), "{text}");
            let again = third.renewed(&mark, "m", 2 * D, 18);
            let again = Mark::read(&again).unwrap();
            assert_eq!(again.wait(), Some(2 * D));
            assert_eq!(again.waits_until(), mark.waits_until().map(|until| until + 1));
            assert_eq!(again.blessing(), mark.blessing());
        }
        for nonce in ["n", "n/1", "n/1/", "n/x/0", "n/1/x", "n/1/0/0", "n/-1/0"] {
            let mark = Mark::read(&format!("epoch {} {} {nonce}", id('a'), id('b'))).unwrap();
            assert!(mark.wait().is_none() && mark.is_current(third, 0), "{nonce}");
        }
    }

    /// Nothing else shows that a master was passed over unawares.
    #[test]
    fn where_sentinels_choose_the_master_marks_are_of_one_configuration() {
        let seventh = Origin { config: Some(7), ..origin(false) };
        for (text, is_current) in [
            (seventh.epoch("n", D), true),
            (Origin { config: Some(6), ..seventh }.epoch("n", D), false),
            (origin(false).epoch("n", D), false),
        ] {
            let mark = Mark::read(&text).unwrap();
            assert_eq!(mark.is_current(seventh, 0), is_current, "{text}");
            assert!(mark.is_current(origin(false), 0), "{text}: by an address of its own");
        }
        let text = seventh.epoch("n", D);
        assert_eq!(*text, *format!("epoch {} {}@7 n/66000/0", id('a'), id('b')));
        assert_eq!(Mark::read(&format!("epoch {} {}@x n", id('a'), id('b'))), None);
    }

    #[test]
    fn other_texts_are_no_marks() {
        for text in [
            "",
            "epoch",
            "epoch a b",
            "epoch a b n more",
            "waits",
            "waits -1",
            "waits +1",
            "waits soon",
            "waits for nothing",
            "waits a b n soon",
            "waits 100000000000000000000000",
            "blessed",
            "blessed ab 60s f",
            "blessed a b 60s f",
            "blessed a b 60000 f more",
            "cursed ab 1 f",
        ] {
            assert_eq!(Mark::read(text), None, "{text}");
        }
    }
}
