//! What a file says: keys that are named as the options are, and profiles with the same keys.

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use clap::ValueEnum;
use toml::{
    Spanned,
    de::{DeString, DeTable, DeValue},
};

use super::{Origin, Place, Said, Set, file::wrong, url, variables::one_of};
use crate::{duration, exit::Failure};

/// All of it.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) top: Said,
    pub(super) profiles: BTreeMap<String, Said>,
}

impl Contents {
    /// Reads the text of a file. Whatever is wrong with it is said without what stands there: it may be a password.
    pub(super) fn read(file: &Path, text: &str) -> Result<Self, Failure> {
        let mut reader = Reader { file: file.into(), text, profile: None };
        let table = DeTable::parse(text).map_err(|error| {
            let line = error.span().map_or(1, |span| reader.line(span.start));
            wrong(format_args!("{}:{line}: {}", file.display(), error.message()))
        })?;
        let mut profiles = BTreeMap::new();
        let mut top = Said::default();
        for (key, value) in table.get_ref().iter() {
            if key.get_ref() != "profile" {
                reader.put(&mut top, key, value)?;
                continue;
            }
            for (name, keys) in reader.table(key, value)?.iter() {
                let keys = reader.table(name, keys)?;
                let mut profile = Said::default();
                reader.profile = Some(name.get_ref().as_ref().into());
                for (key, value) in keys.iter() {
                    reader.put(&mut profile, key, value)?;
                }
                reader.profile = None;
                profiles.insert(name.get_ref().to_string(), profile);
            }
        }
        Ok(Self { top, profiles })
    }

    /// Whether it says where a password is: what changes it decides which servers are sent that.
    pub(super) fn names_a_password(&self) -> bool {
        [&self.top]
            .into_iter()
            .chain(self.profiles.values())
            .any(|said| said.password_file.is_some())
    }

    /// Whether any URL in it has a password.
    pub(super) fn has_secret(&self) -> bool {
        let all = [&self.top].into_iter().chain(self.profiles.values());
        let mut urls = all.filter_map(|said| said.servers.as_ref()).flat_map(|set| &set.value);
        urls.any(|url| url::has_secret(url))
    }
}

type Key<'a> = Spanned<DeString<'a>>;
type Value<'a> = Spanned<DeValue<'a>>;

/// Where it reads.
struct Reader<'a> {
    file: Arc<Path>,
    text: &'a str,
    profile: Option<Arc<str>>,
}

impl Reader<'_> {
    fn put(&self, said: &mut Said, key: &Key<'_>, value: &Value<'_>) -> Result<(), Failure> {
        match key.get_ref().as_ref() {
            "servers" => said.servers = self.urls(key, value)?,
            "password-file" => said.password_file = self.path(key, value)?,
            "max-lease" => said.max_lease = self.duration(key, value)?,
            "fleet-max-lease" => said.fleet_max_lease = self.duration(key, value)?,
            "namespace" => said.namespace = self.text(key, value)?,
            "replicas" => said.replicas = self.number(key, value)?,
            "failover-lag" => said.failover_lag = self.duration(key, value)?,
            "tracking" => said.tracking = self.switch(key, value)?,
            "sharded-pubsub" => said.sharded_pubsub = self.word(key, value)?,
            "quarantine" => said.quarantine = self.word(key, value)?,
            "failover" => said.failover = self.word(key, value)?,
            "unidentified" => said.unidentified = self.word(key, value)?,
            "clock-skew" => said.clock_skew = self.duration(key, value)?,
            "tls-ca" => said.tls_ca = self.path(key, value)?,
            "tls-cert" => said.tls_cert = self.path(key, value)?,
            "tls-key" => said.tls_key = self.path(key, value)?,
            "tls-server-name" => said.tls_server_name = self.text(key, value)?,
            _ => {
                return Err(self.wrong(key, format_args!("there is no such key; there are {KEYS}")));
            }
        }
        Ok(())
    }

    fn urls(&self, key: &Key<'_>, value: &Value<'_>) -> Result<Option<Set<Vec<String>>>, Failure> {
        let listed = value.get_ref().as_array().and_then(|list| {
            let urls = list.iter().map(|url| url.get_ref().as_str().map(str::to_owned));
            urls.collect::<Option<Vec<_>>>()
        });
        let listed = listed.filter(|urls| !urls.is_empty());
        self.set(key, listed, "a list of URLs such as [\"redis://a\", \"redis://b\"]")
    }

    fn path<T: From<std::path::PathBuf>>(
        &self,
        key: &Key<'_>,
        value: &Value<'_>,
    ) -> Result<Option<Set<T>>, Failure> {
        // Beside the file, wherever palisade is called.
        let folder = self.file.parent().unwrap_or(Path::new(""));
        let path = value.get_ref().as_str().filter(|path| !path.is_empty());
        self.set(key, path.map(|path| folder.join(path).into()), "the path of a file")
    }

    fn duration(&self, key: &Key<'_>, value: &Value<'_>) -> Result<Option<Set<Duration>>, Failure> {
        let said = match value.get_ref() {
            DeValue::String(text) => Some(text.as_ref()),
            DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str()),
            _ => None,
        };
        let said = said.and_then(|said| duration::parse(said).ok());
        self.set(key, said, "a duration such as \"30s\", \"2m\" or \"500ms\"")
    }

    fn text(&self, key: &Key<'_>, value: &Value<'_>) -> Result<Option<Set<String>>, Failure> {
        self.set(key, value.get_ref().as_str().map(str::to_owned), "a text")
    }

    fn number(&self, key: &Key<'_>, value: &Value<'_>) -> Result<Option<Set<u32>>, Failure> {
        let number = match value.get_ref() {
            DeValue::Integer(number) => u32::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        self.set(key, number, "a number")
    }

    fn switch(&self, key: &Key<'_>, value: &Value<'_>) -> Result<Option<Set<bool>>, Failure> {
        self.set(key, value.get_ref().as_bool(), "true or false")
    }

    fn word<T: ValueEnum>(
        &self,
        key: &Key<'_>,
        value: &Value<'_>,
    ) -> Result<Option<Set<T>>, Failure> {
        let word = one_of(value.get_ref().as_str().unwrap_or_default());
        word.map(|word| self.found(key, word)).map_err(|which| self.wrong(key, which))
    }

    fn table<'v, 'i>(
        &self,
        key: &Key<'_>,
        value: &'v Value<'i>,
    ) -> Result<&'v DeTable<'i>, Failure> {
        let what = "it must be [profile.NAME], with keys of its own";
        value.get_ref().as_table().ok_or_else(|| self.wrong(key, what))
    }

    fn set<T>(
        &self,
        key: &Key<'_>,
        value: Option<T>,
        what: &str,
    ) -> Result<Option<Set<T>>, Failure> {
        match value {
            Some(value) => Ok(self.found(key, value)),
            None => Err(self.wrong(key, format_args!("it must be {what}"))),
        }
    }

    fn found<T>(&self, key: &Key<'_>, value: T) -> Option<Set<T>> {
        let line = self.line(key.span().start);
        let place = Place { file: self.file.clone(), line, profile: self.profile.clone() };
        Some(Set { value, by: Origin::File(place) })
    }

    fn wrong(&self, key: &Key<'_>, what: impl std::fmt::Display) -> Failure {
        let (file, line) = (self.file.display(), self.line(key.span().start));
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        let name = Some(key.get_ref()).filter(|name| name.chars().all(is_name));
        // What is no name at all may be a part of an URL.
        let name = name.map_or("a key", |name| name.as_ref());
        wrong(format_args!("{file}:{line}: {name}: {what}"))
    }

    fn line(&self, at: usize) -> usize {
        let before = self.text.as_bytes().get(..at).unwrap_or_default();
        before.iter().filter(|byte| **byte == b'\n').count() + 1
    }
}

const KEYS: &str = "servers, password-file, max-lease, fleet-max-lease, namespace, replicas, failover-lag, tracking, \
    sharded-pubsub, quarantine, failover, unidentified, clock-skew, tls-ca, tls-cert, tls-key, tls-server-name, and \
    [profile.NAME] with the same";

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        let refused = Contents::read(Path::new("/x/c.toml"), text).expect_err(text);
        refused.message().expect("a message").to_owned()
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line_and_without_what_stands_there() {
        for (text, said) in [
            ("servers = 's3cr3t'", "/x/c.toml:1: servers: it must be a list of URLs"),
            ("servers = []", "/x/c.toml:1: servers: it must be a list of URLs"),
            ("servers = ['redis://:s3cr3t@a', 3]", "/x/c.toml:1: servers: it must be a list"),
            ("\nmax-lease = 's3cr3t'", "/x/c.toml:2: max-lease: it must be a duration"),
            ("max-lease = -1", "max-lease: it must be a duration"),
            ("max-lease = 1.5", "max-lease: it must be a duration"),
            ("replicas = 's3cr3t'", "replicas: it must be a number"),
            ("replicas = -1", "replicas: it must be a number"),
            ("tracking = 's3cr3t'", "tracking: it must be true or false"),
            ("failover = 's3cr3t'", "failover: write wait or trust"),
            ("failover = true", "failover: write wait or trust"),
            ("tls-ca = ''", "tls-ca: it must be the path of a file"),
            ("namespace = 1", "namespace: it must be a text"),
            (
                "max_lease = '1h'",
                "/x/c.toml:1: max_lease: there is no such key; there are servers,",
            ),
            ("'redis://:s3cr3t@a' = 1", "/x/c.toml:1: a key: there is no such key"),
            ("profile = 's3cr3t'", "profile: it must be [profile.NAME]"),
            ("[profile]\nx = 1", "/x/c.toml:2: x: it must be [profile.NAME]"),
            ("[profile.x]\n\ny = 1", "/x/c.toml:3: y: there is no such key"),
            ("[x]\ny = 1", "/x/c.toml:1: x: there is no such key"),
            ("replicas = 1\nreplicas = 2", "/x/c.toml:2: duplicate key"),
            ("s3cr3t", "/x/c.toml:1: "),
            ("servers = ['redis://:s3cr3t@a", "/x/c.toml:1: "),
        ] {
            let told = refused(text);
            assert!(told.contains(said), "{text}: {told}");
            assert!(text == "s3cr3t" || !told.contains("s3cr3t"), "{text}: {told}");
        }
    }

    #[test]
    fn each_key_that_there_is_is_named_to_those_who_mistake_one() {
        let known = refused("nonsense = 1");
        for key in known.split_once("there are ").expect("the list").1.split(", ") {
            let told = Contents::read(Path::new("c"), &format!("{key} = 1970-01-01"));
            let is_known =
                |failure: Failure| !failure.message().unwrap_or_default().contains("no such");
            assert!(key.starts_with("and ") || told.is_err_and(is_known), "{key}");
        }
    }
}
