//! What is said of a process.

use std::{collections::BTreeMap, env, fs, sync::Arc, time::Duration};

use uuid::Uuid;

use crate::error::ConfigError;

/// The fields of a record that say which process it is of.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProcessIdentity {
    pub(super) fields: Vec<(Arc<str>, String)>,
}

impl ProcessIdentity {
    /// Of this process, as far as the system tells.
    pub(crate) fn of_system(
        now: Duration,
        note: Option<&str>,
        labels: &BTreeMap<String, String>,
    ) -> Self {
        let host = fs::read_to_string("/proc/sys/kernel/hostname").ok();
        let host = host.or_else(|| env::var("HOSTNAME").ok());
        let user = env::var("USER").or_else(|_| env::var("LOGNAME")).ok();
        let program = env::current_exe().ok();
        let program = program.and_then(|path| Some(path.file_name()?.to_str()?.to_owned()));
        Self::of(host, std::process::id(), user, program, now.as_millis(), note, labels)
    }

    /// Of one that is simulated: nothing is left to chance.
    pub(crate) fn simulated(process: Uuid) -> Self {
        let host = Some(format!("host of {process}"));
        Self::of(host, 1, None, Some("simulation".to_owned()), 0, None, &BTreeMap::new())
    }

    fn of(
        host: Option<String>,
        pid: u32,
        user: Option<String>,
        program: Option<String>,
        started_ms: u128,
        note: Option<&str>,
        labels: &BTreeMap<String, String>,
    ) -> Self {
        let known = [
            ("host", host),
            ("pid", Some(pid.to_string())),
            ("user", user),
            ("program", program),
            ("version", Some(env!("CARGO_PKG_VERSION").to_owned())),
            ("started", Some(started_ms.to_string())),
            ("note", note.map(str::to_owned)),
        ];
        let known = known.into_iter().filter_map(|(name, value)| Some((name.into(), value?)));
        let labels =
            labels.iter().map(|(name, value)| (format!("label:{name}").into(), value.clone()));
        let cut = |(name, value): (Arc<str>, String)| (name, cut(value.trim()));
        Self { fields: known.chain(labels).map(cut).collect() }
    }
}

/// Whether a note can be told.
pub(crate) fn check_note(note: &str) -> Result<(), ConfigError> {
    check("note", note.len() <= MOST_OF_NOTE, "has more than 256 bytes")
}

/// Whether labels can be told.
pub(crate) fn check_labels(labels: &BTreeMap<String, String>) -> Result<(), ConfigError> {
    check("label", labels.len() <= MOST_LABELS, "there are more than 8")?;
    labels.iter().try_for_each(|(name, value)| {
        check("label", !name.is_empty(), "has no name")?;
        let is_short = name.len() <= MOST_OF_LABEL && value.len() <= MOST_OF_LABEL;
        check("label", is_short, "has more than 64 bytes")
    })
}

fn check(setting: &'static str, is_usable: bool, reason: &str) -> Result<(), ConfigError> {
    let invalid = || ConfigError::InvalidSetting { setting, reason: reason.into() };
    if is_usable { Ok(()) } else { Err(invalid()) }
}

fn cut(text: &str) -> String {
    let mut end = text.len().min(MOST_OF_NOTE);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default().to_owned()
}

const MOST_OF_NOTE: usize = 256;
const MOST_LABELS: usize = 8;
const MOST_OF_LABEL: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_has_bounds() {
        assert!(check_note(&"x".repeat(256)).is_ok() && check_note(&"x".repeat(257)).is_err());
        let labels = |n: usize| (0..n).map(|i| (i.to_string(), String::new())).collect();
        assert!(check_labels(&labels(8)).is_ok() && check_labels(&labels(9)).is_err());
        for (name, value) in
            [("", "x".into()), ("x", "x".repeat(65)), (&*"x".repeat(65), String::new())]
        {
            assert!(check_labels(&BTreeMap::from([(name.to_owned(), value)])).is_err(), "{name}");
        }
        assert_eq!(cut(&"é".repeat(200)).len(), 256);
        let labels = BTreeMap::from([("team".to_owned(), "billing".to_owned())]);
        let fields = ProcessIdentity::of_system(Duration::ZERO, Some("nightly"), &labels).fields;
        let value =
            |name: &str| fields.iter().find(|(it, _)| &**it == name).map(|(_, value)| &**value);
        assert_eq!((value("note"), value("label:team")), (Some("nightly"), Some("billing")));
        assert_eq!(value("pid"), Some(&*std::process::id().to_string()));
    }
}
