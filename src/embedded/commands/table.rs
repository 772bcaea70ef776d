//! Finding a command by its name.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::super::resp::{CommandResult, Refusal, Reply};
use super::{Args, Invocation, Run, Spec, TransactionCommand};

/// What a request turned out to be.
#[derive(Debug)]
pub(crate) enum Finding {
    Command(&'static Spec),
    Unknown,
    /// The container is known, but not the subcommand.
    UnknownSubcommand(&'static Spec),
    WrongArity(&'static Spec),
}

/// Looks up the command, or the subcommand, and checks the number of words.
pub(crate) fn find(args: Args<'_>) -> Finding {
    let Some(spec) = lookup(&[args.at(0)]) else { return Finding::Unknown };
    if matches!(spec.run, Run::Container) && args.len() > 1 {
        return match lookup(&[args.at(0), b"|", args.at(1)]) {
            Some(sub) => checked(sub, args),
            None => Finding::UnknownSubcommand(spec),
        };
    }
    checked(spec, args)
}

fn checked(spec: &'static Spec, args: Args<'_>) -> Finding {
    if spec.accepts(args.len()) { Finding::Command(spec) } else { Finding::WrongArity(spec) }
}

impl Finding {
    /// The command, or the reply that a connection gets instead.
    pub(crate) fn or_refuse(self, args: Args<'_>) -> Result<&'static Spec, Refusal> {
        match self {
            Self::Command(spec) => Ok(spec),
            Self::Unknown => Err(unknown(args)),
            Self::UnknownSubcommand(container) => Err(Refusal::from(format!(
                "ERR unknown subcommand '{}'. Try {} HELP.",
                shorten(&args.text(1)),
                container.name.to_ascii_uppercase(),
            ))),
            Self::WrongArity(spec) => Err(Refusal::arity(spec.name)),
        }
    }

    /// The command, or the error that a script gets instead.
    pub(crate) fn or_refuse_script(self) -> Result<&'static Spec, Refusal> {
        match self {
            Self::Command(spec) if spec.in_scripts => Ok(spec),
            Self::Command(_) => {
                Err(Refusal::new("ERR This Redis command is not allowed from script"))
            }
            Self::Unknown | Self::UnknownSubcommand(_) => {
                Err(Refusal::new("ERR Unknown Redis command called from script"))
            }
            Self::WrongArity(_) => {
                Err(Refusal::new("ERR Wrong number of args calling Redis command from script"))
            }
        }
    }
}

/// Redis repeats at most 128 bytes of the name and about as many of the arguments.
fn unknown(args: Args<'_>) -> Refusal {
    let mut shown = String::new();
    for index in 1..args.len() {
        if shown.len() >= 128 {
            break;
        }
        let room = 128 - shown.len();
        shown.push('\'');
        shown.extend(args.text(index).chars().take(room));
        shown.push_str("' ");
    }
    let name = args.text(0);
    let text =
        format!("ERR unknown command '{}', with args beginning with: {shown}", shorten(&name));
    Refusal::from(text)
}

/// A word as C prints it: up to a zero byte.
fn shorten(word: &str) -> String {
    word.chars().take_while(|letter| *letter != '\0').take(128).collect()
}

fn lookup(parts: &[&[u8]]) -> Option<&'static Spec> {
    let mut name = [0; LONGEST];
    let mut len = 0;
    for byte in parts.iter().copied().flatten() {
        *name.get_mut(len)? = byte.to_ascii_lowercase();
        len += 1;
    }
    TABLE.get(name.get(..len)?).copied()
}

/// No name is longer; the table's test checks it.
const LONGEST: usize = 32;

static TABLE: LazyLock<HashMap<&'static [u8], &'static Spec>> =
    LazyLock::new(|| specs().map(|spec| (spec.name.as_bytes(), spec)).collect());

/// Enough for clients that ask on connecting: the number of commands, and no details.
fn command(_: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    match args.lower(1).as_str() {
        "" | "info" => Ok(Reply::Array(Vec::new())),
        "docs" => Ok(Reply::Map(Vec::new())),
        "count" => Ok(Reply::count(count())),
        _ => Err(format!("ERR unknown subcommand '{}'. Try COMMAND HELP.", args.text(1)).into()),
    }
}

/// Subcommands aside.
fn count() -> usize {
    specs().filter(|spec| !spec.name.contains('|')).count()
}

fn specs() -> impl Iterator<Item = &'static Spec> {
    let families: [&'static [Spec]; 15] = [
        super::client::SPECS,
        super::connection::SPECS,
        super::expire::SPECS,
        super::hashes::SPECS,
        super::info::SPECS,
        super::keys::SPECS,
        super::lists::SPECS,
        super::pubsub::SPECS,
        super::scripting::SPECS,
        super::server::SPECS,
        super::sorted_sets::SPECS,
        super::strings::SPECS,
        super::zrange::SPECS,
        TRANSACTION,
        COMMAND,
    ];
    families.into_iter().flatten()
}

const TRANSACTION: &[Spec] = &[
    Spec::new("multi", 1, Run::Transaction(TransactionCommand::Multi)).not_in_scripts(),
    Spec::new("exec", 1, Run::Transaction(TransactionCommand::Exec)).not_in_scripts(),
    Spec::new("discard", 1, Run::Transaction(TransactionCommand::Discard)).not_in_scripts(),
];

/// It tells of the table, so the table has it.
const COMMAND: &[Spec] = &[Spec::command("command", -1, command)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_once_and_in_any_case() {
        assert_eq!(specs().count(), TABLE.len());
        for spec in specs() {
            assert!(spec.name.len() <= LONGEST, "{}", spec.name);
            let upper = spec.name.to_ascii_uppercase();
            assert!(lookup(&[upper.as_bytes()]).is_some_and(|found| found.name == spec.name));
        }
    }
}
