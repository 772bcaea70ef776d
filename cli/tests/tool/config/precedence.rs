//! Where settings are found, and what comes first.

use std::path::Path;

use testkit::RedisServer;

use super::{CONFIGURATION, json, show, told};
use crate::support::{
    folder::Folder,
    tool::{Tool, palisade},
};

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
    ("tracking", "false", "true", "false"),
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
