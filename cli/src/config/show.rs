//! `palisade config show`: each setting, and where it comes from.

use std::{path::PathBuf, time::Duration};

use clap::ValueEnum;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Config, Looked, Origin, Place, Said, Set, url, value};
use crate::{
    args::{ConfigArgs, ConfigQuestion},
    duration,
    exit::{self, Failure},
    in_one_line, print,
    table::table,
    to_json,
};

/// Answers the question. Asks no server.
pub(crate) fn config(args: &ConfigArgs) -> Result<u8, Failure> {
    let ConfigQuestion::Show(args) = &args.question;
    let config = Config::of(&args.servers)?;
    config.check_servers_are_meant(&args.servers.files)?;
    print(&if args.json { json(&config)? } else { text(&config) })?;
    Ok(0)
}

/// All of it. For programs: fields are added, never changed.
#[derive(Debug, Serialize)]
struct Shown<'a> {
    files: Vec<ShownFile>,
    profile: Option<&'a str>,
    profiles: &'a [String],
    settings: Map<String, Value>,
}

/// A file that was looked for.
#[derive(Debug, Serialize)]
struct ShownFile {
    path: String,
    read: bool,
}

/// One setting.
#[derive(Debug, Serialize)]
struct Setting {
    #[serde(skip)]
    key: &'static str,
    /// As it stands in a file.
    value: Value,
    /// `flag`, `environment`, `file` or `default`.
    from: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    variable: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<String>,
}

fn json(config: &Config) -> Result<String, Failure> {
    let unwritable = |error| Failure::new(exit::INTERNAL, error);
    let mut settings = Map::new();
    for setting in settings_of(&config.said) {
        let key = setting.key.to_owned();
        settings.insert(key, serde_json::to_value(&setting).map_err(unwritable)?);
    }
    let file = |Looked { path, is_there }: &Looked| ShownFile {
        path: path.to_string_lossy().into_owned(),
        read: *is_there,
    };
    let shown = Shown {
        files: config.files.iter().map(file).collect(),
        profile: config.profile.as_deref(),
        profiles: &config.profiles,
        settings,
    };
    to_json(&shown)
}

fn text(config: &Config) -> String {
    let mut text = String::new();
    for Looked { path, is_there } in &config.files {
        let state = if *is_there { "" } else { " (not there)" };
        text.push_str(&format!("file: {}{state}\n", in_one_line(&path.display())));
    }
    if let Some(profile) = &config.profile {
        text.push_str(&format!("profile: {}\n", in_one_line(profile)));
    } else if !config.profiles.is_empty() {
        let profiles = in_one_line(&config.profiles.join(", "));
        text.push_str(&format!("profile: none, of {profiles}\n"));
    }
    let rows =
        settings_of(&config.said).into_iter().map(|it| [it.key.to_owned(), it.told(), it.place()]);
    text.push_str(&table(["KEY", "VALUE", "FROM"], rows.collect()));
    text
}

impl Setting {
    fn told(&self) -> String {
        let told = match &self.value {
            Value::Null => "none".to_owned(),
            Value::String(text) => text.clone(),
            Value::Array(list) => {
                list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
            }
            other => other.to_string(),
        };
        in_one_line(&told)
    }

    fn place(&self) -> String {
        let place = match (self.variable, &self.file, self.line) {
            (Some(variable), _, _) => variable.to_owned(),
            (_, Some(file), Some(line)) => format!("{file}:{line}"),
            _ => self.from.to_owned(),
        };
        let profile = self.profile.as_ref().map(|name| format!(" (profile {name})"));
        in_one_line(&(place + &profile.unwrap_or_default()))
    }
}

/// All that there are, the servers first.
fn settings_of(said: &Said) -> Vec<Setting> {
    let cap = value(&said.fleet_max_lease).map_or(MINUTE, |longest| longest.min(MINUTE));
    let longest = value(&said.max_lease).map_or(MINUTE, |cap| cap.max(MINUTE));
    let urls = said.servers.as_ref().map(|set| &set.value).into_iter().flatten();
    let waits = if urls.clone().any(|url| url::has_replicas(url)) { "always" } else { "several" };
    let urls = |urls: &Vec<String>| urls.iter().map(|url| url::masked(url)).collect();
    let none = || Value::Null;
    let path = |path: &PathBuf| path.to_string_lossy().into();
    let text = |text: &String| text.clone().into();
    vec![
        setting("servers", &said.servers, urls, none()),
        setting("password-file", &said.password_file, path, none()),
        setting("namespace", &said.namespace, text, none()),
        setting("max-lease", &said.max_lease, time, time(&cap)),
        setting("fleet-max-lease", &said.fleet_max_lease, time, time(&longest)),
        setting("clock-skew", &said.clock_skew, time, time(&CLOCK_SKEW)),
        setting("quarantine", &said.quarantine, word, waits.into()),
        setting("failover", &said.failover, word, "wait".into()),
        setting("failover-lag", &said.failover_lag, time, time(&Duration::ZERO)),
        setting("unidentified", &said.unidentified, word, "refuse".into()),
        setting("replicas", &said.replicas, |number| (*number).into(), 0.into()),
        setting("tracking", &said.tracking, |is_on| (*is_on).into(), true.into()),
        setting("sharded-pubsub", &said.sharded_pubsub, word, "auto".into()),
        setting("tls-ca", &said.tls_ca, path, none()),
        setting("tls-cert", &said.tls_cert, path, none()),
        setting("tls-key", &said.tls_key, path, none()),
        setting("tls-server-name", &said.tls_server_name, text, none()),
    ]
}

fn setting<T>(
    key: &'static str,
    set: &Option<Set<T>>,
    shown: impl Fn(&T) -> Value,
    default: Value,
) -> Setting {
    let value = set.as_ref().map_or(default, |set| shown(&set.value));
    let by_default = Setting {
        key,
        value,
        from: "default",
        variable: None,
        file: None,
        line: None,
        profile: None,
    };
    match set.as_ref().map(|set| &set.by) {
        None => by_default,
        Some(Origin::Flag) => Setting { from: "flag", ..by_default },
        Some(Origin::Variable(variable)) => {
            Setting { from: "environment", variable: Some(variable), ..by_default }
        }
        Some(Origin::File(Place { file, line, profile })) => Setting {
            from: "file",
            file: Some(file.to_string_lossy().into_owned()),
            line: Some(*line),
            profile: profile.as_deref().map(str::to_owned),
            ..by_default
        },
    }
}

fn time(time: &Duration) -> Value {
    duration::show(*time).into()
}

fn word<T: ValueEnum>(word: &T) -> Value {
    word.to_possible_value().map_or(Value::Null, |word| word.get_name().into())
}

/// The library's defaults.
const MINUTE: Duration = Duration::from_secs(60);
const CLOCK_SKEW: Duration = Duration::from_secs(5);
