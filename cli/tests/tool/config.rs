//! What is set in files: where they are found, what comes first, and what is refused.

use std::{
    fs,
    os::unix::fs::{MetadataExt, chown},
    path::Path,
};

use testkit::RedisServer;

use crate::support::{
    NO_CONFIGURATION,
    folder::{Folder, mode},
    tool::{Finished, Tool, palisade, program},
    until,
};

const CONFIGURATION: i32 = 78;

/// `palisade config show --json` with these words and this file.
fn show(file: &Path, words: &str) -> Tool {
    let mut all = vec!["config", "show", "--json", "--config", file.to_str().expect("UTF-8")];
    all.extend(words.split_whitespace());
    palisade(&all)
}

fn json(finished: &Finished) -> serde_json::Value {
    assert_eq!(finished.code(), 0, "{finished:?}");
    serde_json::from_str(&finished.output.join("\n")).expect("JSON")
}

/// A setting's value, and where it comes from.
fn told(finished: &Finished, key: &str) -> (serde_json::Value, String) {
    let shown = json(finished);
    let of = |field: &str| shown.pointer(&format!("/settings/{key}/{field}")).cloned();
    let from = ["variable", "line", "from"].into_iter().find_map(of).expect("a place");
    (of("value").expect("a value"), from.to_string().replace('"', ""))
}

/// Each key, as an option, as a variable, in a file; the values differ.
const KEYS: [(&str, &str, &str, &str); 17] = [
    ("servers", "redis://flag", "redis://variable", "[\"redis://file\"]"),
    ("password-file", "/flag", "/variable", "\"/file\""),
    ("namespace", "flag", "variable", "\"file\""),
    ("max-lease", "1m 1s", "1m 2s", "\"1m 3s\""),
    ("fleet-max-lease", "2m 1s", "2m 2s", "\"2m 3s\""),
    ("clock-skew", "1s", "2s", "\"3s\""),
    ("quarantine", "always", "strict", "\"durable\""),
    ("failover", "trust", "wait", "\"trust\""),
    ("failover-lag", "11s", "12s", "\"13s\""),
    ("unidentified", "trust", "refuse", "\"trust\""),
    ("replicas", "1", "2", "3"),
    ("tracking", "true", "false", "true"),
    ("sharded-pubsub", "on", "off", "\"on\""),
    ("tls-ca", "/flag", "/variable", "\"/file\""),
    ("tls-cert", "/flag", "/variable", "\"/file\""),
    ("tls-key", "/flag", "/variable", "\"/file\""),
    ("tls-server-name", "flag", "variable", "\"file\""),
];

#[test]
fn each_setting_is_an_option_else_a_variable_else_a_line_of_a_file() {
    let folder = Folder::new();
    let line = |(key, _, _, value): &(&str, &str, &str, &str)| format!("{key} = {value}\n");
    let file = folder.file("c.toml", &KEYS.iter().map(line).collect::<String>());
    let by_file = show(&file, "").finish();
    for (at, (key, flag, variable, value)) in KEYS.into_iter().enumerate() {
        let text = |value: &serde_json::Value| match value {
            serde_json::Value::Array(urls) => urls[0].as_str().expect("an URL").to_owned(),
            value => value.to_string().replace('"', ""),
        };
        let (by_default, from) = told(&palisade(&["config", "show", "--json"]).finish(), key);
        assert_eq!(from, "default", "{key}: {by_default}");
        let (shown, line) = told(&by_file, key);
        assert_eq!(text(&shown), value.replace(['"', '[', ']'], ""), "{key}");
        assert_eq!(line, (at + 1).to_string(), "{key}");
        let name = format!("PALISADE_{}", key.replace('-', "_").to_uppercase());
        let by_variable = show(&file, "").env(&name, variable).finish();
        let (shown, from) = told(&by_variable, key);
        assert_eq!((text(&shown), from), (variable.to_owned(), name.clone()), "{key}");
        let empty = show(&file, "").env(&name, "").finish();
        assert_eq!(told(&empty, key).1, line, "{key}: an empty variable is none");
        let option = if key == "servers" { "--server".to_owned() } else { format!("--{key}") };
        let words = ["config", "show", "--json", "--config", file.to_str().unwrap()];
        let option = format!("{option}={flag}");
        let words: Vec<_> = words.into_iter().chain([option.as_str()]).collect();
        let by_flag = palisade(&words).env(&name, variable).finish();
        let (shown, from) = told(&by_flag, key);
        assert_eq!((text(&shown), from.as_str()), (flag.to_owned(), "flag"), "{key}");
    }
}

#[test]
fn file_of_a_user_comes_before_that_of_all_and_one_that_is_named_before_both() {
    let folder = Folder::new();
    folder.file("xdg/palisade/config.toml", "namespace = 'xdg'");
    folder.file("home/.config/palisade/config.toml", "namespace = 'home'");
    let named = folder.file("named.toml", "replicas = 1");
    let (xdg, home) = (folder.path.join("xdg"), folder.path.join("home"));
    let show = || palisade(&["config", "show", "--json"]).env("HOME", &home);
    let namespace = |tool: Tool| told(&tool.finish(), "namespace").0;
    assert_eq!(namespace(show().env("XDG_CONFIG_HOME", &xdg)), "xdg");
    assert_eq!(namespace(show().without("XDG_CONFIG_HOME")), "home");
    // What is relative is to be ignored.
    assert_eq!(namespace(show().in_folder(&folder.path).env("XDG_CONFIG_HOME", "xdg")), "home");
    let by_variable = show().env("XDG_CONFIG_HOME", &xdg).env("PALISADE_CONFIG", &named).finish();
    assert_eq!(told(&by_variable, "namespace").1, "default", "it stands in place of the others");
    assert_eq!(told(&by_variable, "replicas").0, 1);
    let both = json(&show().env("XDG_CONFIG_HOME", &xdg).finish());
    assert_eq!(both["files"][0]["path"], xdg.join("palisade/config.toml").to_str().unwrap());
    assert_eq!(
        (&both["files"][0]["read"], both["files"].as_array().unwrap().len()),
        (&true.into(), 2)
    );
    assert_eq!(both["files"][1]["path"], "/etc/palisade/config.toml");
}

#[test]
fn nothing_is_read_from_the_current_directory() {
    let folder = Folder::new();
    for name in
        ["config.toml", "palisade.toml", "palisade/config.toml", ".config/palisade/config.toml"]
    {
        folder.file(name, "namespace = 'here'");
    }
    for home in ["", ".", "relative"] {
        let show = palisade(&["config", "show", "--json"]).in_folder(&folder.path);
        let shown = show.without("XDG_CONFIG_HOME").env("HOME", home).finish();
        assert_eq!(told(&shown, "namespace").1, "default", "HOME={home}");
    }
}

#[test]
fn profile_that_was_asked_for_comes_before_all_that_stands_outside() {
    let folder = Folder::new();
    let text = "servers = ['redis://daily']\nnamespace = 'daily'\n\
                [profile.live]\nservers = ['redis://live']\n[profile.test]\nreplicas = 2\n";
    let file = folder.file("c.toml", text);
    let plain = show(&file, "").finish();
    assert_eq!(told(&plain, "servers").0[0], "redis://daily");
    let shown = json(&plain);
    assert_eq!(shown["profile"], serde_json::Value::Null);
    assert_eq!(shown["profiles"], serde_json::json!(["live", "test"]));
    for tool in [show(&file, "--profile live"), show(&file, "").env("PALISADE_PROFILE", "live")] {
        let live = tool.finish();
        assert_eq!(told(&live, "servers").0[0], "redis://live");
        assert_eq!(json(&live)["settings"]["servers"]["profile"], "live");
        assert_eq!(told(&live, "namespace").0, "daily", "what it does not say stands outside");
    }
    let test = show(&file, "--profile test").env("PALISADE_PROFILE", "live").finish();
    assert_eq!(told(&test, "replicas").0, 2);
    let unknown = show(&file, "--profile production").finish();
    assert_eq!(unknown.code(), CONFIGURATION, "{unknown:?}");
    let said = unknown.said();
    assert!(said.contains("no profile production") && said.contains("live, test"), "{said}");
    let none = palisade(&["config", "show", "--profile", "live"]).finish();
    assert_eq!(none.code(), CONFIGURATION, "{none:?}");
}

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
fn paths_in_a_file_begin_at_its_folder_wherever_palisade_is_called() {
    let folder = Folder::new();
    let file = folder.file("c.toml", "tls-ca = 'ca.pem'\npassword-file = 'below/p'");
    let shown = show(&file, "").in_folder(Path::new("/")).finish();
    assert_eq!(told(&shown, "tls-ca").0, folder.path.join("ca.pem").to_str().unwrap());
    assert_eq!(told(&shown, "password-file").0, folder.path.join("below/p").to_str().unwrap());
}

#[test]
fn servers_of_a_file_are_asked_and_its_namespace_is_that_of_the_keys() {
    let (server, folder) = (RedisServer::start(), Folder::new());
    let text = format!("servers = ['{}']\nnamespace = 'billing:'", server.url());
    let file = folder.file("c.toml", &text);
    let run =
        ["run", "-n", "name", "--", "sh", "-c", "echo $PALISADE_CONFIG $PALISADE_PROFILE; read x"];
    let mut held = palisade(&run).env("PALISADE_CONFIG", &file).start();
    assert_eq!(held.line(), file.to_str().unwrap(), "a palisade that it calls asks the same");
    let listed = palisade(&["ls", "--json", "--config", file.to_str().unwrap()]).finish();
    assert_eq!(json(&listed)["locks"][0]["name"], "name", "{listed:?}");
    assert_eq!(server.cli(&["EXISTS", "billing:name"]).trim(), "1");
    held.write("\n");
    assert_eq!(held.finish().code(), 0);
    let acl = palisade(&["acl", "name", "--config", file.to_str().unwrap()]).finish();
    assert!(acl.output.join("").contains("~billing:name"), "{acl:?}");
}

#[test]
fn servers_of_a_file_take_the_place_of_no_others_that_were_removed_from_the_environment() {
    let (server, folder) = (RedisServer::start(), Folder::new());
    let file = folder.file("c.toml", "servers = ['redis://127.0.0.1:1']");
    let without = folder.file("none.toml", "");
    let inner_of = |file: &std::path::Path, options: &str, more: &str| {
        let inner = format!("{} ls {more}; echo $?", crate::support::PALISADE);
        let mut words = vec!["run", "-n"];
        words.extend(options.split_whitespace());
        words.extend(["name", "--", "sh", "-c", &inner]);
        let run = palisade(&words).env("PALISADE_SERVERS", server.url());
        let finished = run.env("PALISADE_CONFIG", file).finish();
        (finished.output.last().cloned().unwrap_or_default(), finished.said())
    };
    let inner = |options: &str, more: &str| inner_of(&file, options, more);
    let (code, said) = inner_of(&without, "", "");
    assert_eq!(code, "64", "{said}");
    assert!(said.contains("no server is named: the `palisade run` that this was"), "{said}");
    let (code, said) = inner("", "");
    assert_eq!(code, "64", "{said}");
    assert!(said.contains("PALISADE_SERVERS, which it does not pass on"), "{said}");
    assert_eq!(inner("", "--config $PALISADE_CONFIG").0, "69", "it is meant");
    assert_eq!(inner("", &format!("-s {}", server.url())).0, "0");
    assert_eq!(inner("--keep-env", "").0, "0");
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
fn palisade_that_a_command_calls_asks_the_same_servers() {
    let (server, folder) = (RedisServer::start(), Folder::new());
    let text = format!(
        "servers = ['redis://127.0.0.1:1']\n[profile.live]\nservers = ['{}']",
        server.url()
    );
    let file = folder.file("c.toml", &text);
    let inner = format!("cd / && {} ls; echo $?", crate::support::PALISADE);
    let nested = |options: &[&str], config: &Path| {
        let words: Vec<_> = ["run", "-n"]
            .iter()
            .chain(options)
            .chain(&["name", "--", "sh", "-c", &inner])
            .copied()
            .collect();
        let run = palisade(&words).env("PALISADE_CONFIG", config).in_folder(&folder.path);
        run.finish().output.last().cloned().unwrap_or_default()
    };
    assert_eq!(nested(&["--profile", "live"], &file), "0");
    assert_eq!(
        nested(&["--profile", "live"], Path::new("c.toml")),
        "0",
        "the command goes elsewhere"
    );
    let named = ["--profile", "live", "--config", "c.toml"];
    assert_eq!(nested(&named, Path::new("/dev/null")), "0");
    // Those of an option may have passwords: they are not passed on, and no others are asked.
    assert_eq!(nested(&["-s", &server.url()], &file), "64");
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
