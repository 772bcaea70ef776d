//! Passwords: in files, in files of their own, and never in what is shown.

use std::{
    fs,
    os::unix::fs::{MetadataExt, chown},
};

use testkit::RedisServer;

use super::{CONFIGURATION, show, told};
use crate::support::{
    NO_CONFIGURATION,
    folder::{Folder, mode},
    tool::{palisade, program},
    until,
};

#[test]
fn file_with_a_password_that_others_can_read_or_change_is_refused() {
    let folder = Folder::new();
    for (text, has_password) in [
        ("servers = ['redis://:s3cr3t@h']", true),
        ("[profile.other]\nservers = ['redis://app:s3cr3t@h']", true),
        ("servers = ['redis+sentinel://h/svc?sentinel_password=s3cr3t']", true),
        ("servers = ['redis://app@h', 'unix:///run/redis.sock']", false),
    ] {
        let file = folder.file("c.toml", text);
        for (bits, is_kept) in [
            (0o600, true),
            (0o640, true),
            (0o400, true),
            (0o644, false),
            (0o604, false),
            (0o660, false),
            (0o602, false),
        ] {
            mode(&file, bits);
            let shown = show(&file, "").finish();
            if is_kept || !has_password {
                assert_eq!(shown.code(), 0, "{text} {bits:o}: {shown:?}");
            } else {
                assert_eq!(shown.code(), CONFIGURATION, "{text} {bits:o}: {shown:?}");
                assert!(shown.said().contains("chmod 640"), "{shown:?}");
            }
            assert!(!format!("{shown:?}").contains("s3cr3t"), "{shown:?}");
        }
    }
    // Another's file may be changed by that one at any time; only root can give one away.
    let file = folder.file("c.toml", "servers = ['redis://:s3cr3t@h']");
    if fs::metadata(&file).unwrap().uid() == 0 {
        chown(&file, Some(12345), None).expect("root may");
        let refused = show(&file, "").finish();
        assert_eq!(refused.code(), CONFIGURATION, "{refused:?}");
        assert!(refused.said().contains("another user's"), "{refused:?}");
    }
}

#[test]
fn settings_are_shown_without_passwords() {
    let folder = Folder::new();
    let file =
        folder.file("c.toml", "servers = ['redis://app:s3cr3t@h:7/1']\n[profile.p]\nreplicas = 1");
    let config = file.to_str().unwrap();
    for url in [
        "",
        "redis://:s3cr3t@",
        "redis://:s3c/s3cr3t@h",
        "s3cr3t",
        "redis://h/s3cr3t",
        "redis://:s3cr3t",
    ] {
        for words in [
            &["config", "show", "--config", config][..],
            &["config", "show", "--json", "--config", config],
        ] {
            let shown = palisade(words).env("PALISADE_SERVERS", url).finish();
            assert_eq!(shown.code(), 0, "{shown:?}");
            assert!(!format!("{shown:?}").contains("s3cr3t"), "{url}: {shown:?}");
            assert!(shown.output.join("\n").contains("***"), "{url}: {shown:?}");
        }
    }
    let shown = palisade(&["config", "show", "--config", config]).finish().output;
    let row = format!("servers          redis://app:***@h:7/1  {config}:1");
    assert!(shown.contains(&row), "{shown:#?}");
    assert!(shown.contains(&format!("file: {config}")), "{shown:#?}");
    assert!(shown.contains(&"profile: none, of p".to_owned()), "{shown:#?}");
    let missing = palisade(&["config", "show"]).finish().output;
    assert_eq!(missing[0], format!("file: {NO_CONFIGURATION}/palisade/config.toml (not there)"));
}

#[test]
fn password_of_a_file_is_kept_from_others_and_from_other_servers() {
    let (server, folder) = (RedisServer::start(), Folder::new());
    server.cli(&["ACL", "SETUSER", "app", "on", ">s3cr3t", "~*", "&*", "+@all"]);
    let password = folder.file("password", "s3cr3t\n");
    let url = format!("redis://app@{}", server.addr());
    let words = ["ls", "-s", &url, "--password-file", password.to_str().unwrap()];
    let listed = palisade(&words).finish();
    assert_eq!(listed.code(), 0, "{listed:?}");
    let folder_of_it = palisade(&["ls", "-s", &url, "--password-file", "/"]).finish();
    assert_eq!(folder_of_it.code(), CONFIGURATION, "{folder_of_it:?}");
    assert!(folder_of_it.said().contains("cannot be read"), "{folder_of_it:?}");
    assert!(!folder_of_it.said().contains("--config"), "no other is read then: {folder_of_it:?}");
    fs::write(&password, "wr0ng").expect("it is ours");
    let refused = palisade(&words).finish();
    assert_eq!(refused.code(), CONFIGURATION, "{refused:?}");
    assert!(!format!("{refused:?}").contains("wr0ng"), "{refused:?}");
    // A server that was typed is not sent what a file says for those that it names.
    let text = format!("servers = ['{url}']\npassword-file = 'password'");
    let file = folder.file("c.toml", &text);
    assert_eq!(told(&show(&file, "").finish(), "password-file").1, "2");
    for (variable, typed) in [("PALISADE_SERVERS", ""), ("X", "-s redis://other")] {
        let shown = show(&file, typed).env(variable, "redis://other").finish();
        assert_eq!(told(&shown, "password-file").1, "default", "{variable}");
    }
    mode(&password, 0o644);
    let refused = palisade(&words).finish();
    assert_eq!(refused.code(), CONFIGURATION, "{refused:?}");
    assert!(refused.said().contains("chmod 640"), "{refused:?}");
}

#[test]
fn password_that_changes_while_a_command_runs_is_read_anew() {
    let (server, folder) = (RedisServer::start(), Folder::new());
    server.cli(&["ACL", "SETUSER", "app", "on", ">first", "~*", "&*", "+@all"]);
    let password = folder.file("password", "first\n");
    let url = format!("redis://app@{}", server.addr());
    let file = password.to_str().unwrap();
    let words = [
        "run",
        "-n",
        "-s",
        &url,
        "--password-file",
        file,
        "name",
        "--",
        "sh",
        "-c",
        "echo held; read x",
    ];
    let mut held = palisade(&words).start();
    assert_eq!(held.line(), "held");
    fs::write(&password, "second\n").expect("it is ours");
    server.cli(&["ACL", "SETUSER", "app", "resetpass", ">second"]);
    let killed = server.cli(&["CLIENT", "KILL", "USER", "app"]);
    assert_ne!(killed.trim(), "0", "it was connected");
    until("a connection with the new password", || {
        server.cli(&["CLIENT", "LIST"]).contains("user=app").then_some(())
    });
    held.write("\n");
    let finished = held.finish();
    assert_eq!(finished.code(), 0, "{finished:?}");
}

#[test]
fn password_file_is_for_the_servers_beside_it_alone() {
    let folder = Folder::new();
    folder.file("password", "s3cr3t");
    let text = "servers = ['redis://live']\npassword-file = 'password'\n[profile.stage]\nservers = ['redis://stage']\n\
                [profile.own]\nservers = ['redis://own']\npassword-file = 'password'";
    let file = folder.file("c.toml", text);
    for (options, place) in [("", "2"), ("--profile stage", "default"), ("--profile own", "7")] {
        let shown = show(&file, options).finish();
        assert_eq!(told(&shown, "password-file").1, place, "{options}: {shown:?}");
    }
    // By that, others would choose which servers are sent it.
    mode(&file, 0o666);
    let refused = show(&file, "").finish();
    assert_eq!(refused.code(), CONFIGURATION, "{refused:?}");
    assert!(refused.said().contains("says where a password is"), "{refused:?}");
    mode(&file, 0o644);
    assert_eq!(show(&file, "").finish().code(), 0, "it is no secret where it is");
}

#[test]
fn password_is_read_from_a_pipe_too() {
    let server = RedisServer::start();
    server.cli(&["ACL", "SETUSER", "app", "on", ">s3cr3t", "~*", "&*", "+@all"]);
    let url = format!("redis://app@{}", server.addr());
    let line = format!(
        "printf s3cr3t | {} ls -s {url} --password-file /dev/stdin",
        crate::support::PALISADE
    );
    let listed = program("sh", &["-c", &line]).finish();
    assert_eq!(listed.code(), 0, "{listed:?}");
}
