//! What can be told without any server: usage, help, bad URLs.

use crate::support::tool::palisade;

#[test]
fn wrong_use_is_64_and_help_is_0() {
    let good = ["run", "-s", "redis://127.0.0.1:1", "-n", "name", "--", "true"];
    assert_eq!(palisade(&good).finish().code(), 69, "nobody listens at port 1");
    for (line, code) in [
        ("", 64),
        ("nonsense", 64),
        ("run", 64),
        ("run name", 64),
        ("run name true", 64),
        ("run name --", 64),
        ("run -s redis://h -n -w 1 name -- true", 64),
        ("run -s redis://h -w -1 name -- true", 64),
        ("run -s redis://h -w soon name -- true", 64),
        ("run -s redis://h -E 256 name -- true", 64),
        ("run -s redis://h --lease 0 name -- true", 64),
        ("run -s redis://h --lease 500ms name -- true", 64),
        ("run -s redis://h --lease 1h name -- true", 64),
        ("run -s redis://h --lease 10s --max-lease 9s name -- true", 64),
        ("run -s redis://h --max-lease soon name -- true", 64),
        ("run -s redis://h --max-lease 0 name -- true", 64),
        ("run -s redis://h --lease 10s --fleet-max-lease 9s name -- true", 64),
        ("run -s redis://h --lease 1 --fleet-max-lease 3.9 name -- true", 64),
        ("run -s redis://h --quarantine soon name -- true", 64),
        ("run -s redis://h --failover maybe name -- true", 64),
        ("run -s redis://h --unidentified ask name -- true", 64),
        ("run -s redis://h --clock-skew soon name -- true", 64),
        ("run -s redis://h --grace 16 name -- true", 64),
        ("run -s redis://h --lease 2 --grace 1.001 name -- true", 64),
        ("run -s redis://h -s redis://h:6379/0 name -- true", 64),
        ("run name -- true", 64),
        ("inspect", 64),
        ("inspect name", 64),
        ("bless", 64),
        ("unlock -s redis://h name", 64),
        ("unlock -s redis://h name --holder a:1 --yes", 64),
        ("unlock --help", 0),
        ("bless -s redis://h name", 64),
        ("--help", 0),
        ("help", 0),
        ("run --help", 0),
        ("run -h", 0),
        ("inspect --help", 0),
        ("bless --help", 0),
        ("hold", 64),
        ("hold name", 64),
        ("hold --help", 0),
        ("--version", 0),
    ] {
        let words: Vec<&str> = line.split_whitespace().collect();
        let finished = palisade(&words).finish();
        assert_eq!(finished.code(), code, "palisade {line}: {finished:?}");
        assert_ne!(finished.output.is_empty(), code == 0, "help is output: palisade {line}");
    }
}

#[test]
fn help_tells_an_operator_what_he_needs() {
    let help = palisade(&["run", "--help"]).finish().output.join("\n");
    for word in
        ["Examples:", "Exit codes:", " 64 ", " 69 ", " 73 ", " 74 ", " 75 ", "126", "127", "sh -c"]
    {
        assert!(help.contains(word), "{word} is not in:\n{help}");
    }
    assert!(!help.contains("__supervise"), "what is ours alone is hidden");
}

#[test]
fn a_cap_in_the_environment_is_checked_as_one_on_the_command_line() {
    for (cap, code) in [("9", 64), ("soon", 64), ("-1", 64), ("11s", 69)] {
        let run = ["run", "-n", "-s", "redis://127.0.0.1:1", "--lease", "10", "n", "--", "true"];
        for variable in ["PALISADE_MAX_LEASE", "PALISADE_FLEET_MAX_LEASE"] {
            let finished = palisade(&run).env(variable, cap).finish();
            assert_eq!(finished.code(), code, "{variable}={cap}: {finished:?}");
        }
    }
}

#[test]
fn wrong_words_in_the_environment_are_wrong_use_and_say_which_there_are() {
    for (variable, words) in [
        ("PALISADE_QUARANTINE", "several or always or strict or durable"),
        ("PALISADE_FAILOVER", "wait or trust"),
        ("PALISADE_UNIDENTIFIED", "refuse or trust"),
    ] {
        let run = ["run", "-n", "-s", "redis://127.0.0.1:1", "n", "--", "true"];
        let finished = palisade(&run).env(variable, "maybe").finish();
        assert_eq!(finished.code(), 64, "{variable}: {finished:?}");
        assert!(finished.said().contains(words), "{variable}: {finished:?}");
    }
}

#[test]
fn wrong_use_says_what_to_write_instead() {
    for (line, instead) in [
        ("run -s redis://h -w abc job -- true", "write 30s, 2m or 500ms; a bare number is seconds"),
        ("run -s redis://a,redis://b job -- true", "-s URL once for each server"),
        ("run -s redis://h --tls-ca ca.pem job -- true", "rediss://"),
        ("run -s rediss://h --tls-key key.pem job -- true", "go together"),
        ("run -s rediss://h --tls-ca /missing.pem job -- true", "tls: /missing.pem: "),
        ("run -s redis://h:port job -- true", "its port is no number from 0 to 65535"),
        ("run -s http://h:8080 job -- true", "write redis://host:port/db"),
    ] {
        let words: Vec<&str> = line.split_whitespace().collect();
        let finished = palisade(&words).finish();
        assert_eq!(finished.code(), 64, "palisade {line}: {finished:?}");
        assert!(finished.said().contains(instead), "palisade {line}: {}", finished.said());
    }
}

#[test]
fn names_that_cannot_work_are_wrong_use_before_anything_is_sent() {
    for name in ["", &"x".repeat(5000)] {
        let run = ["run", "-s", "redis://127.0.0.1:1", name, "--", "true"];
        assert_eq!(palisade(&run).finish().code(), 64);
        let inspect = ["inspect", "-s", "redis://127.0.0.1:1", name];
        assert_eq!(palisade(&inspect).finish().code(), 64);
    }
}

#[test]
fn passwords_are_never_printed() {
    for url in [
        "redis://:hunter2@",
        "redis://:hun/ter2@host",
        "redis://user:hunter2@host:port",
        "http://:hunter2@host",
        "hunter2",
        "redis://:hunter2@127.0.0.1:1",
        "redis://:hunter2@127.0.0.1:1/hunter2",
    ] {
        let from_arguments = palisade(&["run", "-n", "-s", url, "name", "--", "true"]);
        let wrong_as_well = palisade(&["run", "-s", url, "--nonsense", "name", "--", "true"]);
        let from_env = palisade(&["run", "-n", "name", "--", "true"]).env("PALISADE_SERVERS", url);
        let help = palisade(&["run", "--help"]).env("PALISADE_SERVERS", url);
        let inspect = palisade(&["inspect", "name"]).env("PALISADE_SERVERS", url);
        for tool in [from_arguments, wrong_as_well, from_env, help, inspect] {
            let finished = tool.finish();
            let all = format!("{}\n{}", finished.said(), finished.output.join("\n"));
            assert!(!all.contains("hun") && !all.contains("ter2"), "{all}");
        }
    }
}
