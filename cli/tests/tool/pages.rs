//! Completions and man pages: they are made of the arguments, and say all that can be asked.

use std::{collections::BTreeMap, fs};

use clap::Command;

use crate::support::tool::{palisade, program};

#[expect(dead_code, reason = "its main is called by cargo xtask man")]
#[path = "../../examples/man.rs"]
mod man;

/// Each command, with all that stands before it.
fn commands() -> BTreeMap<String, Command> {
    fn add(name: &str, command: &Command, to: &mut BTreeMap<String, Command>) {
        for below in command.get_subcommands() {
            add(&format!("{name} {}", below.get_name()), below, to);
        }
        to.insert(name.to_owned(), command.clone());
    }
    let mut all = BTreeMap::new();
    add("palisade", &palisade_cli::command(), &mut all);
    all
}

/// The long options that users see.
fn options(command: &Command) -> Vec<String> {
    let seen = command.get_arguments().filter(|argument| !argument.is_hide_set());
    seen.filter_map(|argument| argument.get_long().map(str::to_owned)).collect()
}

/// What a bash with the script offers for the last of these words.
fn offered(words: &[&str]) -> Vec<String> {
    // As the shell does when TAB is pressed.
    let line = r#"set -e
        . <("$0" completions bash)
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
        spec=$(complete -p palisade)
        [[ $spec =~ -F\ ([^ ]+) ]]
        "${BASH_REMATCH[1]}" palisade "${@: -1}" "${@: -2:1}" || true
        printf '%s\n' "${COMPREPLY[@]}""#;
    let all = ["--norc", "--noprofile", "-c", line, crate::support::PALISADE];
    let all: Vec<&str> = all.into_iter().chain(words.iter().copied()).collect();
    let finished = program("bash", &all).finish();
    assert_eq!((finished.code(), finished.errors.len()), (0, 0), "{finished:?}");
    finished.output.into_iter().filter(|word| !word.is_empty()).collect()
}

#[test]
fn bash_completes_commands_options_and_their_values() {
    assert_eq!(offered(&["palisade", "ru"]), ["run"]);
    assert_eq!(offered(&["palisade", "config", "sh"]), ["show"]);
    assert_eq!(offered(&["palisade", "run", "--once"]), ["--once-for"]);
    assert_eq!(offered(&["palisade", "run", "--quarantine", "d"]), ["durable"]);
    assert_eq!(offered(&["palisade", "completions", "f"]), ["fish"]);
    let all = offered(&["palisade", ""]);
    for command in palisade_cli::command().get_subcommands() {
        assert!(all.iter().any(|word| word == command.get_name()), "{all:?}");
    }
    assert!(
        !all.iter().any(|word| word.starts_with("__")),
        "what is ours alone is hidden: {all:?}"
    );
}

#[test]
fn scripts_of_each_shell_have_every_command_and_option() {
    let marks =
        [("bash", "complete -F"), ("zsh", "#compdef palisade"), ("fish", "complete -c palisade")];
    for (shell, mark) in marks {
        let script = palisade(&["completions", shell]).finish();
        assert_eq!(script.code(), 0, "{script:?}");
        let script = script.output.join("\n");
        assert!(script.contains(mark), "{shell}");
        for (name, command) in commands() {
            assert!(script.contains(command.get_name()), "{shell}: {name}");
            for option in options(&command) {
                assert!(script.contains(&option), "{shell}: {name} --{option}");
            }
        }
        assert!(!script.contains("__supervise") && !script.contains("__launch"), "{shell}");
    }
    assert_eq!(palisade(&["completions", "tcsh"]).finish().code(), 64);
    assert_eq!(palisade(&["completions"]).finish().code(), 64);
    assert_eq!(palisade(&["completions", "--help"]).finish().code(), 0);
}

#[test]
fn each_command_has_a_man_page_with_its_options_and_exit_codes() {
    let folder = std::env::temp_dir().join(format!("palisade-man-{}", std::process::id()));
    man::write(&folder).expect("pages");
    let read = |name: &str| {
        let page = fs::read_to_string(folder.join(format!("{}.1", name.replace(' ', "-"))));
        // A dash of an option is written so, since others may become hyphens.
        page.map(|page| page.replace("\\-", "-")).unwrap_or_default()
    };
    for (name, command) in commands() {
        let page = read(&name);
        assert!(page.contains(".SH SYNOPSIS"), "{name}: {page}");
        for option in options(&command) {
            assert!(page.contains(&format!("--{option}")), "{name} --{option}: {page}");
        }
        for below in command.get_subcommands() {
            assert!(page.contains(below.get_name()), "{name} {}", below.get_name());
        }
        let codes =
            command.get_after_long_help().is_some_and(|it| it.to_string().contains("Exit codes:"));
        assert_eq!(page.contains("Exit codes:"), codes, "{name}");
        let details = page.split_once("\n.SH DETAILS\n.nf\n").map(|(_, details)| details);
        assert!(
            !codes
                || details.is_some_and(|it| it.contains("Exit codes:\n") && it.contains("\n.fi\n")),
            "{name}"
        );
        // Of commands alone that have others below them nothing is asked.
        assert!(codes || command.has_subcommands(), "{name}: which exit codes are there?");
    }
    let pages = fs::read_dir(&folder).expect("it is there").count();
    assert_eq!(pages, commands().len(), "no page of what is hidden");
    fs::remove_dir_all(&folder).expect("it is there");
}
