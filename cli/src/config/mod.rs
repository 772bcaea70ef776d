//! What is set, wherever it is said: on the command line, else in the environment, else in a file.
//!
//! ```text
//! flags ─► Said ─┐
//! variables ─► Said ─┼─ over ─► Config ─► Servers
//! files ─► text ─► Said ─┘
//! ```
//!
//! - **Each key by itself.** A file's namespace counts beside servers of the command line.
//! - **A profile that was asked for comes before all that stands outside of profiles**, in whichever file: with
//!   `--profile live`, no server is taken from what is there for each day.
//! - **What is wrong is refused, and never left out**: a key that is not known, a file that cannot be read. Two hosts
//!   of which one has lost its namespace would hold one lock.
//! - **No value of a file is told in an error**: it may be a password.
//! - **A password of a file is for the servers that are named beside it**, in the same file and profile: no other is
//!   sent it.
//!
//! To add a key: `said` has its place, `flags`, `variables` and `text` where it is read, `show` how it is shown. The
//! compiler leads from the first to all but `text`. On real processes: the module `config` of the tool's tests.

mod file;
mod flags;
mod said;
mod show;
mod text;
pub(crate) mod url;
mod variables;

use std::{
    env,
    path::{Path, PathBuf},
};

pub(crate) use said::{Origin, Place, Said, Set, value};
pub(crate) use show::config;

use crate::{
    args::{FileArgs, ServerArgs},
    env::{CONFIG, PROFILE, SERVERS, SERVERS_REMOVED},
    exit::{CONFIGURATION, Failure, USAGE},
};
use file::{Opened, wrong};
use text::Contents;

/// What is set, and where it was looked for.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) said: Said,
    files: Vec<Looked>,
    profile: Option<String>,
    /// Those that there are.
    profiles: Vec<String>,
}

/// A file that was looked for.
#[derive(Debug)]
struct Looked {
    path: PathBuf,
    is_there: bool,
}

impl Config {
    /// Of all that speaks of servers.
    pub(crate) fn of(args: &ServerArgs) -> Result<Self, Failure> {
        let mut config = Self::in_files(&args.files)?;
        config.said = flags::said(args).over(variables::said()?).over(config.said);
        config.said.keep_passwords_for_their_servers();
        Ok(config)
    }

    /// Refuses servers of a file in place of those of a variable that the palisade around this one has removed.
    pub(crate) fn check_servers_are_meant(&self, files: &FileArgs) -> Result<(), Failure> {
        let was_removed = env::var_os(SERVERS_REMOVED).is_some();
        let is_chosen = files.config.is_some() || files.profile.is_some();
        match &self.said.servers {
            Some(Set { by: Origin::File(place), .. }) if was_removed && !is_chosen => {
                Err(Failure::usage(format_args!(
                    "the `palisade run` that this was started from asks servers of -s or {SERVERS}, which it does not \
                     pass on, and {place} names others: say -s, --config or --profile here, or have {SERVERS} set and \
                     --keep-env there"
                )))
            }
            _ => Ok(()),
        }
    }

    /// The namespace alone, for what asks no server.
    pub(crate) fn namespace(files: &FileArgs, flag: Option<&String>) -> Result<String, Failure> {
        if let Some(given) = flag {
            return Ok(given.clone());
        }
        let said = match variables::namespace()? {
            Some(said) => Some(said),
            None => Self::in_files(files)?.said.namespace,
        };
        Ok(value(&said).unwrap_or_default())
    }

    fn in_files(args: &FileArgs) -> Result<Self, Failure> {
        let profile = match &args.profile {
            Some(given) => Some(given.clone()),
            None => value(&variables::text(PROFILE)?),
        };
        let named = args.config.clone().or_else(|| value(&variables::path(CONFIG)));
        let is_named = named.is_some();
        let paths = named.map_or_else(file::standard, |path| vec![path]);
        let mut all =
            Self { said: Said::default(), files: Vec::new(), profile, profiles: Vec::new() };
        let (mut in_profiles, mut outside) = (Said::default(), Said::default());
        for path in paths {
            let contents = contents(&path)?;
            if contents.is_none() && is_named {
                return Err(wrong(format_args!("{}: there is no such file", path.display())));
            }
            all.files.push(Looked { path, is_there: contents.is_some() });
            let Some(Contents { top, mut profiles }) = contents else { continue };
            all.profiles.extend(profiles.keys().cloned());
            let chosen = all.profile.as_ref().and_then(|name| profiles.remove(name));
            in_profiles = in_profiles.over(chosen.unwrap_or_default());
            outside = outside.over(top);
        }
        all.profiles.sort_unstable();
        all.profiles.dedup();
        all.said = in_profiles.over(outside);
        all.check_profile()?;
        Ok(all)
    }

    fn check_profile(&self) -> Result<(), Failure> {
        let Some(name) = self.profile.as_ref().filter(|name| !self.profiles.contains(name)) else {
            return Ok(());
        };
        let files: Vec<_> = self.files.iter().map(|it| it.path.display().to_string()).collect();
        let known = match &self.profiles[..] {
            [] => "there is none".to_owned(),
            profiles => format!("there are {}", profiles.join(", ")),
        };
        Err(wrong(format_args!("there is no profile {name} in {}: {known}", files.join(" or "))))
    }
}

fn contents(path: &Path) -> Result<Option<Contents>, Failure> {
    let advice = " (another in its place is named by --config)";
    let Some(opened) = Opened::at(path, advice)? else { return Ok(None) };
    let contents = Contents::read(path, &opened.text)?;
    if contents.has_secret() {
        opened.check_it_is_kept(path)?;
    }
    if contents.names_a_password() {
        opened.check_others_cannot_change_it(path)?;
    }
    Ok(Some(contents))
}

/// The password in a file of its own, without the line's end; and whether it can be read again.
pub(crate) fn password(path: &Path) -> Result<(String, bool), Failure> {
    let Some(opened) = Opened::at(path, "")? else {
        return Err(wrong(format_args!("{}: there is no such file", path.display())));
    };
    opened.check_it_is_kept(path)?;
    Ok((opened.text.trim_end_matches(['\r', '\n']).to_owned(), opened.is_lasting))
}

impl Origin {
    /// Which code says that the value cannot be used.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Flag | Self::Variable(_) => USAGE,
            Self::File(_) => CONFIGURATION,
        }
    }

    /// Where a value stands, for an error about it: nothing where that is seen.
    pub(crate) fn place(&self) -> String {
        match self {
            Self::Flag => String::new(),
            Self::Variable(variable) => format!("{variable}: "),
            Self::File(place) => format!("{place}: "),
        }
    }
}
