//! What is refused, and by which words.

use std::fs;

use super::{CONFIGURATION, show};
use crate::support::{folder::Folder, tool::palisade};

#[test]
fn what_is_wrong_with_a_file_is_said_by_its_place_whatever_is_asked() {
    let folder = Folder::new();
    let file = folder.file("c.toml", "\nservers = ['redis://h']\nmax_lease = '1h'");
    let config = ["--config", file.to_str().unwrap()];
    for words in [&["config", "show"][..], &["run", "-n", "n", "true"], &["ls"], &["acl", "n"]] {
        let mut words = words.to_vec();
        let at = if words[0] == "config" { 2 } else { 1 };
        words.splice(at..at, config);
        let refused = palisade(&words).finish();
        assert_eq!(refused.code(), CONFIGURATION, "{words:?}: {refused:?}");
        let place = format!("palisade: {}:3: max_lease: there is no such key", file.display());
        assert!(refused.said().starts_with(&place), "{words:?}: {refused:?}");
        assert_eq!(refused.errors.len(), 1, "{words:?}: {refused:?}");
    }
    let missing = folder.path.join("missing.toml");
    assert_eq!(show(&missing, "").finish().code(), CONFIGURATION);
    assert_eq!(show(&folder.path, "").finish().code(), CONFIGURATION, "a folder is no file");
    let long = folder.file("long.toml", &"#".repeat((1 << 20) + 1));
    assert_eq!(show(&long, "").finish().code(), CONFIGURATION);
}

#[test]
fn values_of_a_file_that_do_not_fit_are_not_wrong_use_of_the_command_line() {
    let folder = Folder::new();
    for (text, place) in [
        ("servers = ['http://h']", "c.toml:1: server 1: "),
        ("servers = ['redis://h', 'redis://h']", ""),
        ("servers = ['redis://h']\nfleet-max-lease = '1s'", "c.toml:2: --fleet-max-lease 1s"),
        (
            "servers = ['rediss://h']\ntls-key = 'k'",
            "c.toml:2: a certificate and its key go together",
        ),
        ("servers = ['redis://h']\npassword-file = 'missing'", "c.toml:2: "),
    ] {
        let file = folder.file("c.toml", text);
        let ls = ["ls", "--config", file.to_str().unwrap()];
        let refused = palisade(&ls).finish();
        assert_eq!(refused.code(), CONFIGURATION, "{text}: {refused:?}");
        assert!(refused.said().contains(place), "{text}: {refused:?}");
    }
    // What a file says of TLS is for those of its servers that speak it.
    let file = folder.file("c.toml", "servers = ['redis://127.0.0.1:1']\ntls-ca = 'ca.pem'");
    let ls = palisade(&["ls", "--config", file.to_str().unwrap()]).finish();
    assert_eq!(ls.code(), 69, "{ls:?}");
}

#[test]
fn words_of_an_option_that_do_not_fit_are_wrong_use() {
    for words in [
        "config",
        "config nonsense",
        "config show --tracking=maybe",
        "config show --sharded-pubsub maybe",
        "config show --config",
        "config show x",
    ] {
        let refused = palisade(&words.split(' ').collect::<Vec<_>>()).finish();
        assert_eq!(refused.code(), 64, "{words}: {refused:?}");
    }
    for (variable, words) in
        [("PALISADE_TRACKING", "true or false"), ("PALISADE_SHARDED_PUBSUB", "auto or on or off")]
    {
        let refused = palisade(&["config", "show"]).env(variable, "maybe").finish();
        assert_eq!(refused.code(), 64, "{variable}: {refused:?}");
        assert!(refused.said().contains(words), "{variable}: {refused:?}");
    }
    for help in ["config --help", "config show --help"] {
        assert_eq!(palisade(&help.split(' ').collect::<Vec<_>>()).finish().code(), 0, "{help}");
    }
}

#[test]
fn link_to_a_file_that_is_not_there_is_refused() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path.join("palisade")).expect("a folder");
    let link = folder.path.join("palisade/config.toml");
    std::os::unix::fs::symlink("nowhere", link).expect("a link");
    let shown = palisade(&["config", "show"]).env("XDG_CONFIG_HOME", &folder.path);
    let shown = shown.without("PALISADE_CONFIG").finish();
    assert_eq!(shown.code(), CONFIGURATION, "{shown:?}");
}

#[test]
fn setting_that_cannot_be_used_is_said_by_its_own_place() {
    let folder = Folder::new();
    let file = folder.file("c.toml", "\nservers = ['redis://127.0.0.1:1']");
    let file = file.to_str().expect("UTF-8");
    let run = |words: &str| {
        let words: Vec<_> = ["ls"].into_iter().chain(words.split_whitespace()).collect();
        palisade(&words).finish()
    };
    let of_option = run(&format!("--config {file} --max-lease 2d"));
    assert_eq!(of_option.code(), 64, "{of_option:?}");
    assert!(!of_option.said().contains("c.toml"), "{of_option:?}");
    let of_file = folder.file("d.toml", "\n\nclock-skew = '2d'");
    let of_file = run(&format!("--config {} -s redis://127.0.0.1:1", of_file.display()));
    assert_eq!(of_file.code(), CONFIGURATION, "{of_file:?}");
    assert!(of_file.said().contains("d.toml:3: "), "{of_file:?}");
}
