//! What the user that a server is named with may do there, and whether it hears announcements.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use clap::ValueEnum;
use palisade::{
    Client,
    acl::Rights,
    error::{ConnectError, NodeError},
};
use serde::Serialize;

use crate::{
    args::{DoctorArgs, KindOfName},
    examine::Examined,
    exit::{self, Failure},
    said,
};

/// What can be used behind one address.
#[derive(Debug, Default)]
pub(super) struct Usable {
    /// What is lacked, by the address of each master.
    rights: BTreeMap<String, Vec<KindRights>>,
    announced: Announced,
    /// Whether it was said what is to be used: what is lacked is a problem then.
    is_wanted: bool,
}

#[derive(Debug, Default)]
enum Announced {
    Heard(Duration),
    NotHeard(String),
    /// This user may not listen.
    #[default]
    Unknown,
}

/// Which rights are lacked for one kind of lock.
#[derive(Debug, Clone, Serialize)]
pub(super) struct KindRights {
    kind: String,
    /// `None` if that is not known.
    lacks: Option<Vec<String>>,
}

impl Usable {
    /// Of each of those that answered.
    pub(super) async fn ask(
        args: &DoctorArgs,
        clients: &[Client],
        examined: &[Examined],
    ) -> Result<Vec<Self>, Failure> {
        if args.name.as_ref().is_some_and(String::is_empty) {
            return Err(Failure::usage("--name is empty"));
        }
        let kinds = if args.kind.is_empty() { KindOfName::value_variants() } else { &args.kind };
        let (kinds, name) = (Arc::<[KindOfName]>::from(kinds), args.name.clone());
        let tasks: Vec<_> = clients
            .iter()
            .zip(examined)
            .map(|(client, examined)| {
                let (client, kinds, name) = (client.clone(), kinds.clone(), name.clone());
                let (answers, is_wanted) = (examined.answer.is_ok(), !args.kind.is_empty());
                tokio::spawn(async move {
                    if answers {
                        Self::of(&client, &kinds, name, is_wanted).await
                    } else {
                        Self::default()
                    }
                })
            })
            .collect();
        let mut usable = Vec::new();
        for task in tasks {
            usable.push(task.await.map_err(|error| Failure::new(exit::INTERNAL, error))?);
        }
        Ok(usable)
    }

    async fn of(
        client: &Client,
        kinds: &[KindOfName],
        name: Option<String>,
        is_wanted: bool,
    ) -> Self {
        let is_wanted = is_wanted || name.is_some();
        let is_told = |rule: &String| name.is_some() || rule.starts_with('+');
        let name = name.as_deref().unwrap_or(NAME);
        let mut rights: BTreeMap<String, Vec<KindRights>> = BTreeMap::new();
        for kind in kinds {
            let wanted = Rights::new().with(kind.usage(), name);
            // A server that does not answer now is told of by what it was asked before.
            let told = client.missing_rights(&wanted).await.unwrap_or_default();
            let is_known = told.iter().any(|server| server.rules.is_some());
            for server in told {
                let lacks = server.rules.map(|rules| rules.into_iter().filter(is_told).collect());
                let kind = kind.word();
                rights.entry(server.address).or_default().push(KindRights { kind, lacks });
            }
            // Each question that is refused stands in the server's ACL LOG.
            if !is_known {
                break;
            }
        }
        let announced = Announced::of(client.announcement_delay(name).await);
        Self { rights, announced, is_wanted }
    }

    pub(super) fn rights(&self, address: &str) -> Option<&[KindRights]> {
        let rights = self.rights.get(address)?;
        rights.iter().any(|one| one.lacks.is_some()).then_some(rights)
    }

    pub(super) fn announcement_us(&self) -> Option<u64> {
        let Announced::Heard(after) = self.announced else { return None };
        Some(u64::try_from(after.as_micros()).unwrap_or(u64::MAX))
    }

    pub(super) fn problems(&self, address: &str) -> Vec<String> {
        let mut problems = Vec::new();
        if let Announced::NotHeard(why) = &self.announced {
            problems.push(format!("announcements that a lock is free are not heard: {why}"));
        }
        let wanted = self.rights.get(address).into_iter().flatten().filter(|_| self.is_wanted);
        problems.extend(wanted.filter_map(|one| {
            let lacks = one.lacks.as_ref().filter(|lacks| !lacks.is_empty())?;
            Some(format!("its user lacks rights for {}: {}", one.kind, lacks.join(" ")))
        }));
        problems
    }

    /// By which right each is told. A user that only reads has no need of them, unless it is said that it has.
    pub(super) fn unknown(&self, address: &str) -> Vec<&'static str> {
        let mut unknown = Vec::new();
        if !self.is_wanted {
            return unknown;
        }
        if matches!(self.announced, Announced::Unknown) {
            unknown.push("SUBSCRIBE and PUBLISH");
        }
        if self.rights(address).is_none() {
            unknown.push("EVAL of Redis 7");
        }
        unknown
    }
}

impl Announced {
    fn of(told: Result<Option<Duration>, ConnectError>) -> Self {
        match told {
            Ok(Some(after)) => Self::Heard(after),
            Ok(None) => Self::NotHeard("none came back in time".into()),
            Err(ConnectError::Node { source: NodeError::Permission { .. }, .. }) => Self::Unknown,
            Err(error) => Self::NotHeard(said(&error)),
        }
    }
}

impl fmt::Display for KindRights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.lacks.as_deref() {
            None => write!(f, "{} unknown", self.kind),
            Some([]) => f.write_str(&self.kind),
            Some([one]) => write!(f, "not {} ({one})", self.kind),
            Some([one, more @ ..]) => {
                write!(f, "not {} ({one} and {} more)", self.kind, more.len())
            }
        }
    }
}

impl KindOfName {
    /// As `--kind` takes it.
    fn word(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// A lock that is not used.
const NAME: &str = "palisade-doctor";
