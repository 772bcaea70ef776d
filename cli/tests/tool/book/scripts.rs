//! The scripts of the book, run as they stand there, but for the hosts in them.

use testkit::{Cluster, RedisServer};

use super::{page, pages};
use crate::support::{
    PALISADE,
    folder::Folder,
    tool::{Finished, palisade, program},
};

/// The block of this number of a page's scripts.
fn script(path: &str, number: usize) -> String {
    let text = scripts_of(path);
    let block = text.split("```sh\n").nth(number + 1).expect("a block of this number");
    block.split("```").next().expect("its lines").to_owned()
}

/// A page, with all its scripts tagged alike.
fn scripts_of(path: &str) -> String {
    page(path).replace("```bash\n", "```sh\n")
}

/// Runs it in `folder`, with these servers and what stands for other hosts, and looks at what `then` prints.
fn run(script: &str, servers: &Cluster, folder: &Folder, then: &str) -> Finished {
    let tool = std::path::Path::new(PALISADE).parent().expect("where it is").display();
    let path = format!("{tool}:{}", std::env::var("PATH").unwrap_or_default());
    // Of the words for redis-cli those that say how to reach a host, and that by TLS, are ours.
    let elsewhere = r#"
        redis-cli() {
            local words=()
            while [ $# -gt 0 ]; do
                case $1 in
                    -h | --cacert) shift ;;
                    --tls) ;;
                    *) words+=("$1") ;;
                esac
                shift
            done
            command redis-cli -p "$PORT" "${words[@]}"
        }
        ssh() { :; }
    "#;
    let lines: Vec<_> = script.lines().filter(|line| !line.starts_with("export ")).collect();
    let whole = format!("{elsewhere}\n{}\n{then}\n", lines.join("\n"));
    let shell = program("bash", &["-c", &whole]).in_folder(&folder.path).env("PATH", path);
    let shell = shell.env("PALISADE_SERVERS", servers.urls().join(","));
    shell.env("PORT", servers[0].port().to_string()).env("REDISCLI_AUTH", "top").finish()
}

fn blessed() -> Cluster {
    let servers = Cluster::start(3);
    let urls = servers.urls();
    let words: Vec<_> =
        ["bless", "--new"].into_iter().chain(urls.iter().flat_map(|url| ["-s", url])).collect();
    assert_eq!(palisade(&words).finish().code(), 0);
    servers
}

/// With a report of a program that ends with 0.
fn with_report() -> Folder {
    let folder = Folder::new();
    let report = folder.file("report.sh", "#!/bin/sh\necho reported\n");
    crate::support::folder::mode(&report, 0o755);
    folder
}

#[test]
fn exit_codes_are_told_apart() {
    let (servers, folder) = (blessed(), with_report());
    let script = script("docs/src/incidents/exit-codes.md", 0);
    let free = run(&script, &servers, &folder, "");
    assert_eq!((free.code(), &*free.output), (0, &["reported".to_owned()][..]), "{free:?}");
    for server in servers.iter() {
        server.cli(&["HSET", "report", "01234567-89ab-4cde-8123-456789abcdef:1", "1"]);
    }
    let held = run(&script, &servers, &folder, "");
    assert_eq!((held.code(), &*held.output), (0, &["runs elsewhere".to_owned()][..]), "{held:?}");
}

#[test]
fn first_looks_of_an_incident() {
    let script = script("docs/src/incidents/index.md", 0).replace("NAME", "report");
    let looked = run(&format!("set -e\n{script}"), &blessed(), &Folder::new(), "");
    assert_eq!(looked.code(), 0, "{looked:?}");
    assert!(looked.output.iter().any(|line| line.starts_with("verdict: one crash costs no lock")));
}

#[test]
fn shell_holds_a_lock_and_lets_it_go() {
    let inspect = "palisade inspect --check deploy; echo held $?";
    let script = script("docs/src/move-over/flock.md", 0).replace("# … here it is held …", inspect);
    let then = "wait $HOLD_PID; palisade inspect --check deploy; echo held $?";
    let played = run(&script, &blessed(), &Folder::new(), then);
    let held: Vec<_> = played.output.iter().filter(|line| line.starts_with("held ")).collect();
    assert_eq!(held, ["held 0", "held 1"], "{played:?}");
}

#[test]
fn job_of_an_hour_runs_once() {
    let (servers, folder) = (blessed(), with_report());
    let script = script("docs/src/use/cron-jobs.md", 0);
    for ran in [1, 0] {
        let played = run(&script, &servers, &folder, "");
        assert_eq!((played.code(), played.output.len()), (0, ran), "{played:?}");
    }
}

#[test]
fn masters_are_restarted_one_after_the_other() {
    for (path, number) in [("operate/rolling-restart", 0), ("operate/install", 1)] {
        let script = script(&format!("docs/src/{path}.md"), number);
        let played = run(&script, &blessed(), &Folder::new(), "");
        assert_eq!(played.code(), 0, "{path}: {played:?}");
    }
}

/// A server with an admin whose password is `top`, as the compose file has it.
fn administered() -> Cluster {
    let servers = Cluster::start(1);
    servers[0].cli(&["ACL", "SETUSER", "admin", "on", ">top", "+acl", "+ping"]);
    servers
}

/// Whether a user may hold locks with this password.
fn holds(server: &RedisServer, user: &str, password: &str) -> i32 {
    let url = server.url_with(user, password);
    palisade(&["run", "-s", &url, "-n", "jobs:x", "--", "true"]).finish().code()
}

#[test]
fn users_are_made_and_their_passwords_changed() {
    let (servers, folder) = (administered(), Folder::new());
    let rights = script("docs/src/incidents/permission.md", 0);
    let given = run(&rights.replace("redis-cli", "redis-cli --user admin"), &servers, &folder, "");
    assert_eq!(
        (given.code(), &*given.output),
        (0, &["OK".to_owned(), "OK".to_owned()][..]),
        "{given:?}"
    );
    let file = script("docs/src/operate/acl.md", 1);
    let on_a_server = script("docs/src/operate/acl.md", 2);
    let given = run(&format!("{file}\n{on_a_server}"), &servers, &folder, "");
    assert_eq!(given.code(), 0, "{given:?}");
    assert_eq!(holds(&servers[0], "jobs", "change-me"), 0);
    let rotation = script("docs/src/operate/rotation.md", 0).replace("of old", "of change-me");
    let (both, one) = rotation.split_once("# 2.").expect("two steps");
    assert_eq!(run(both, &servers, &folder, "").code(), 0);
    assert_eq!(
        (holds(&servers[0], "jobs", "change-me"), holds(&servers[0], "jobs", "new")),
        (0, 0)
    );
    let begin = both.rsplit_once("$cli -h").expect("a call").0;
    let ended = run(&format!("{begin}\n# {one}"), &servers, &folder, "");
    assert_eq!(ended.code(), 0, "{ended:?}");
    assert_eq!(
        (holds(&servers[0], "jobs", "change-me"), holds(&servers[0], "jobs", "new")),
        (78, 0)
    );
}

/// What the file has of each user is what the tool prints today.
#[test]
fn acl_file_has_the_rights_of_today() {
    let file = page("docs/src/operate/files/users.acl");
    for (user, words) in [
        ("jobs", &["--pattern", "jobs:*"][..]),
        ("ops", &["--role", "operator"]),
        ("exporter", &["--role", "exporter"]),
    ] {
        let printed =
            palisade(&[&["acl", "--user", user], words].concat()).finish().output.join("");
        let rules = printed.strip_prefix(&format!("ACL SETUSER {user} ")).expect("a command");
        let line = file.lines().find(|line| line.starts_with(&format!("user {user} ")));
        assert!(line.expect("a line of it").ends_with(rules), "{user}: {rules}");
    }
}

/// Those that are not played here change a host, or are built and run elsewhere.
#[test]
fn scripts_that_are_not_played_are_known() {
    let mut others = Vec::new();
    for path in pages() {
        let path = path.display().to_string();
        for number in 0..scripts_of(&path).matches("```sh\n").count() {
            let name = path.trim_start_matches("docs/src/").trim_end_matches(".md").to_owned();
            others.push((name, number));
        }
    }
    let is_played = |(name, number): &(String, usize)| {
        let known = PLAYED.iter().chain(&EXCUSED);
        known.clone().any(|(known, at)| known == name && at == number)
    };
    others.retain(|block| !is_played(block));
    assert_eq!(others, []);
}

const PLAYED: [(&str, usize); 10] = [
    ("incidents/exit-codes", 0),
    ("incidents/index", 0),
    ("incidents/permission", 0),
    ("move-over/flock", 0),
    ("operate/acl", 1),
    ("operate/acl", 2),
    ("operate/install", 1),
    ("operate/rolling-restart", 0),
    ("operate/rotation", 0),
    ("use/cron-jobs", 0),
];

const EXCUSED: [(&str, usize); 17] = [
    // One call each, which `words` knows.
    ("operate/acl", 0),
    ("operate/alerts", 0),
    // What a server is set to: `stories` sets it.
    ("incidents/eviction", 0),
    // Users and files of a host.
    ("operate/alerts", 1),
    ("operate/systemd", 0),
    // What CI does in a step of its own.
    ("operate/systemd", 1),
    // Certificates: `tls` makes them.
    ("operate/tls", 0),
    // Servers at ports that may be taken: `stories` begins behind it.
    ("start/five-minutes", 2),
    // Built and run by CI, or by the tests of the examples.
    ("operate/install", 0),
    ("start/five-minutes", 0),
    ("start/five-minutes", 1),
    ("use/logging", 0),
    ("use/shutdown", 0),
    ("use/web-handlers", 0),
    ("README", 0),
    ("README", 1),
    ("README", 2),
];
