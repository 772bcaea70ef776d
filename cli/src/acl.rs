//! `palisade acl`: the least rights of a user.

use palisade::acl::{Rights, Use};
use serde::Serialize;

use crate::{
    args::{AclArgs, KindOfName, RoleOfUser},
    config::Config,
    exit::Failure,
    print, print_json, tell,
};

/// Prints a command that gives them.
pub(crate) fn acl(args: &AclArgs) -> Result<u8, Failure> {
    if args.user.is_empty() || args.user.chars().any(|c| c.is_whitespace() || c == '\0') {
        return Err(Failure::usage("--user must be a name without spaces: Redis has no others"));
    }
    let namespace = Config::namespace(&args.files, args.namespace.as_ref())?;
    if let Some(role) = args.role {
        return print_rules(args, &role.rights(&namespace, args));
    }
    let usual = [KindOfName::Lock, KindOfName::Fenced];
    let kinds = if args.kind.is_empty() { &usual[..] } else { &args.kind };
    let mut rights = Rights::new().namespace(&namespace).inspecting();
    if !args.no_bless {
        rights = rights.blessing();
    }
    if args.untold {
        rights = rights.untold();
    }
    if args.replicated {
        rights = rights.replicated();
    }
    if args.in_cluster {
        rights = rights.in_cluster();
    }
    if args.no_tracking {
        rights = rights.without_tracking();
    }
    for name in &args.names {
        if name.is_empty() {
            return Err(Failure::usage("a name is empty"));
        }
        if !args.pattern && name.contains('*') {
            tell(format_args!("{name} is taken as one name; with --pattern it stands for many"));
        }
        let with = if args.pattern { Rights::with_pattern } else { Rights::with };
        rights = kinds.iter().fold(rights, |rights, kind| with(rights, kind.usage(), name));
    }
    print_rules(args, &rights)
}

/// What is printed for programs: fields are added, never changed.
#[derive(Debug, Serialize)]
struct Printed<'a> {
    user: &'a str,
    /// Words of ACL SETUSER, without quotes.
    rules: Vec<String>,
    /// The line for redis-cli.
    command: String,
}

fn print_rules(args: &AclArgs, rights: &Rights) -> Result<u8, Failure> {
    let rules: Vec<String> = rights.rules().iter().map(ToString::to_string).collect();
    let quoted_rules: Vec<_> = rules.iter().map(|rule| quoted(rule)).collect();
    let command = format!("ACL SETUSER {} {}", quoted(&args.user), quoted_rules.join(" "));
    if args.json {
        print_json(&Printed { user: &args.user, rules, command })?;
    } else {
        print(&(command + "\n"))?;
    }
    Ok(0)
}

impl RoleOfUser {
    /// Of that alone, for names that match one of the patterns.
    fn rights(self, namespace: &str, args: &AclArgs) -> Rights {
        let rights = Rights::new().namespace(namespace);
        let rights = if args.in_cluster { rights.in_cluster() } else { rights };
        let rights = match self {
            Self::Operator => rights.revoking(),
            Self::Doctor | Self::Exporter => rights.examining(),
        };
        let with = if self == Self::Exporter { Rights::counting } else { Rights::listing };
        if args.names.is_empty() {
            return with(rights, "*");
        }
        args.names.iter().fold(rights, |rights, name| with(rights, name))
    }
}

impl KindOfName {
    pub(crate) fn usage(self) -> Use {
        match self {
            Self::Lock => Use::Lock,
            Self::Fenced => Use::FencedLock,
            Self::Election => Use::Election,
            Self::Fair => Use::FairLock,
            Self::Rw => Use::RwLock,
            Self::Permits => Use::ExpirableSemaphore,
            Self::Semaphore => Use::Semaphore,
            Self::Latch => Use::CountDownLatch,
        }
    }
}

/// As redis-cli reads words of a line.
fn quoted(word: &str) -> String {
    let is_plain = word.chars().all(|c| c.is_ascii_graphic() && !"\"'\\".contains(c));
    if is_plain && !word.is_empty() {
        return word.to_owned();
    }
    let escaped: String = word
        .bytes()
        .map(|byte| match byte {
            b'"' | b'\\' => format!("\\{}", byte as char),
            b' '..=b'~' => (byte as char).to_string(),
            _ => format!("\\x{byte:02x}"),
        })
        .collect();
    format!("\"{escaped}\"")
}
