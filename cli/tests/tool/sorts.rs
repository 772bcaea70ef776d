//! The sorts of locks that one name can be: all exclude each other, but for those that share.

use std::{
    borrow::Borrow,
    time::{Duration, Instant},
};

use testkit::{Cluster, RedisServer};

use crate::support::{
    PALISADE,
    tool::{Running, palisade, run},
    until,
};

const SORTS: [&str; 4] = ["", "--exclusive", "--shared", "--fair"];

/// One server, a majority of three, all of three.
fn fleets() -> [(Vec<String>, &'static str, Cluster); 3] {
    let one = Cluster::start(1);
    let (majority, all) = (Cluster::start(3).blessed(), Cluster::start(3).blessed());
    [(one.urls(), "", one), (majority.urls(), "", majority), (all.urls(), "--all", all)]
}

#[test]
fn sorts_exclude_each_other_in_any_mixture_except_those_that_share() {
    for (urls, rule, _cluster) in fleets() {
        // No majority has a queue.
        let is_wrong_use = |sort| urls.len() > 1 && rule.is_empty() && sort == "--fair";
        for held in SORTS {
            if is_wrong_use(held) {
                continue;
            }
            let mut holder =
                run(&urls, &format!("-w 50 {rule} {held}"), "echo $PALISADE_HOLDER; read line")
                    .start();
            let id = holder.line();
            for wanted in SORTS {
                if is_wrong_use(wanted) {
                    continue;
                }
                let case = format!("{rule} {held} then {wanted}");
                let other = run(&urls, &format!("-n {rule} {wanted}"), "true").finish();
                if (held, wanted) == ("--shared", "--shared") {
                    assert_eq!(other.code(), 0, "{case}: {other:?}");
                    continue;
                }
                assert_eq!(other.code(), 75, "{case}: {other:?}");
                assert!(other.said().contains(&id), "{case}: {other:?}");
                let flag = match (held, wanted) {
                    ("" | "--fair", "" | "--fair") => "name is held by ",
                    ("" | "--fair", _) => ", with neither --exclusive nor --shared",
                    _ => held,
                };
                assert!(other.said().contains(flag), "{case}: {other:?}");
            }
            holder.write("go\n");
            assert_eq!(holder.finish().code(), 0);
        }
    }
}

#[test]
fn those_who_wait_for_another_sort_say_so_once_and_get_in() {
    let server = RedisServer::start();
    let urls = [server.url()];
    for (held, wanted) in [
        ("", "--shared"),
        ("--shared", ""),
        ("--exclusive", ""),
        ("--shared", "--exclusive"),
        ("--fair", "--exclusive"),
        ("--shared", "--fair"),
        ("--fair", ""),
        ("", "--fair"),
        ("--fair", "--fair"),
    ] {
        let mut holder = run(&urls, held, "echo up; read line").start();
        assert_eq!(holder.line(), "up");
        let waiter = run(&urls, wanted, "echo mine").start();
        let notice = waiter.complaint();
        assert!(notice.contains("waiting for name: held "), "{notice}");
        let flag = match (held, wanted) {
            ("" | "--fair", "" | "--fair") => "held by",
            ("" | "--fair", _) => "with neither --exclusive nor --shared",
            _ => held,
        };
        assert!(notice.contains(flag), "{notice}");
        holder.write("go\n");
        assert_eq!(holder.finish().code(), 0);
        let waiter = waiter.finish();
        assert_eq!((waiter.code(), waiter.output.as_slice()), (0, ["mine".to_owned()].as_slice()));
        let [told] = waiter.errors.as_slice() else { panic!("{waiter:?}") };
        assert!(told.contains("acquired name after "), "{waiter:?}");
    }
    assert_eq!(server.keys(), Vec::<String>::new());
}

/// They look alike: no refusal tells one that its turn is announced elsewhere.
#[test]
fn those_in_a_queue_and_those_in_none_look_every_second_whether_the_other_is_gone() {
    for (held, wanted) in [("--fair", ""), ("", "--fair")] {
        let server = RedisServer::start();
        let urls = [server.url()];
        let mut holder = run(&urls, held, "echo up; read line").start();
        assert_eq!(holder.line(), "up");
        let waiter = run(&urls, wanted, "true").start();
        let notice = waiter.complaint();
        assert!(notice.contains("waiting for name: held "), "{notice}");
        let (began, before) = (Instant::now(), server.calls_of("evalsha"));
        until("looks", || (server.calls_of("evalsha") >= before + 10).then_some(()));
        // Ten seconds and a renewal, and not fifty or twenty.
        assert!(
            began.elapsed() < Duration::from_secs(15),
            "{held} {wanted}: {:?}",
            began.elapsed()
        );
        holder.write("go\n");
        assert_eq!((holder.finish().code(), waiter.finish().code()), (0, 0));
    }
}

#[test]
fn limit_of_the_wait_counts_for_another_sort_too() {
    let server = RedisServer::start();
    let urls = [server.url()];
    let holder = run(&urls, "--shared", "echo up; read line").start();
    assert_eq!(holder.line(), "up");
    let waiter = run(&urls, "-w 2500ms", "true").finish();
    assert_eq!(waiter.code(), 75, "{waiter:?}");
    assert!(waiter.took.as_millis() >= 2500, "{waiter:?}");
}

#[test]
fn reader_may_be_nested_in_a_reader_and_in_nothing_else() {
    let server = RedisServer::start();
    let urls = [server.url()];
    for (outer, inner, code) in [
        ("--shared", "--shared", 0),
        ("--shared", "--exclusive", 64),
        ("--shared", "", 64),
        ("--exclusive", "--shared", 64),
        ("", "--shared", 64),
    ] {
        let nested = format!("{PALISADE} run -s {} {inner} name -- true", urls[0]);
        let finished = run(&urls, outer, &nested).finish();
        assert_eq!(finished.code(), code, "{outer} {inner}: {finished:?}");
    }
}

#[test]
fn inspect_shows_who_shares_and_who_does_not() {
    let server = RedisServer::start();
    let urls = [server.url()];
    let inspect = |more: &[&str]| {
        let mut words = vec!["inspect", "-s", &urls[0]];
        words.extend(more);
        palisade(&words).finish().output.join("\n")
    };
    let json = || -> serde_json::Value {
        let all: serde_json::Value =
            serde_json::from_str(&inspect(&["--json", "name"])).expect("JSON");
        all["servers"][0].clone()
    };
    let mut readers = [(); 2].map(|()| {
        let reader = run(&urls, "--shared", "echo $PALISADE_HOLDER; read line").start();
        (reader.line(), reader)
    });
    let text = inspect(&["name"]);
    assert!(text.contains(": held with --shared by "), "{text}");
    assert!(
        readers.iter().all(|(id, reader)| text.contains(&format!("pid {} ({id})", reader.pid())))
    );
    let shared = json();
    assert_eq!(shared["state"], "shared");
    assert_eq!(shared["by"].as_array().expect("a list").len(), 2);
    assert_eq!(shared["by"][0]["count"], 1);
    readers.iter_mut().for_each(|(_, reader)| reader.write("go\n"));
    readers.into_iter().for_each(|(_, reader)| assert_eq!(reader.finish().code(), 0));

    let writer = run(&urls, "--exclusive", "echo $PALISADE_HOLDER; read line").start();
    let id = writer.line();
    let held = json();
    assert_eq!((&held["state"], &held["with"]), (&"held".into(), &"exclusive".into()));
    assert_eq!(held["holder"], id.as_str());
    let text = inspect(&["name"]);
    assert!(text.contains(": held with --exclusive by "), "{text}");
}

#[test]
fn token_is_there_only_for_the_plain_lock() {
    let cluster = Cluster::start(3).blessed();
    for (sort, token) in [("", "some"), ("--exclusive", ""), ("--shared", "")] {
        let finished = run(&cluster.urls(), sort, "echo ${PALISADE_TOKEN:+some}").finish();
        assert_eq!(finished.output, [token], "{sort}: {finished:?}");
    }
}

#[test]
fn two_sorts_at_once_and_long_leases_of_shared_ones_are_wrong_use() {
    let server = RedisServer::start();
    let urls = [server.url()];
    for options in ["--exclusive --shared", "--shared --lease 31s", "-x --lease 31s --max-lease 2m"]
    {
        let finished = run(&urls, options, "true").finish();
        assert_eq!(finished.code(), 64, "{options}: {finished:?}");
    }
    assert_eq!(server.calls_of("evalsha"), 0);
}

#[test]
fn queues_of_a_majority_and_permits_of_several_servers_are_wrong_use() {
    let urls = Cluster::start(3).urls();
    for options in ["--fair", "--permits 1 --of 2", "--permits 1 --of 2 --all"] {
        let finished = run(&urls, options, "true").finish();
        assert_eq!(finished.code(), 64, "{options}: {finished:?}");
        assert!(finished.said().contains("needs one server"), "{finished:?}");
    }
}

#[test]
fn those_who_ask_fairly_get_in_in_their_order() {
    let server = RedisServer::start();
    let urls = [server.url()];
    in_order_unless_late(|| {
        let mut holder = run(&urls, "--fair", "echo up; read line").start();
        assert_eq!(holder.line(), "up");
        let waiters = three_in_line(&urls, "--fair", std::slice::from_ref(&server));
        let text = palisade(&["inspect", "-s", &urls[0], "name"]).finish().output.join("\n");
        assert!(text.contains("; 3 wait in its queue"), "{text}");
        holder.write("go\n");
        order_of(waiters)
    });
}

#[test]
fn those_who_ask_all_servers_fairly_get_in_in_their_order() {
    let cluster = Cluster::start(3).blessed();
    let urls = cluster.urls();
    let servers: Vec<_> = cluster.iter().collect();
    in_order_unless_late(|| {
        let mut holder = run(&urls, "--fair --all", "echo up; read line").start();
        assert_eq!(holder.line(), "up");
        let waiters = three_in_line(&urls, "--fair --all", &servers);
        holder.write("go\n");
        order_of(waiters)
    });
    let token = run(&urls, "--fair --all", "echo ${PALISADE_TOKEN:-none}").finish();
    assert_eq!(token.output, ["none"], "{token:?}");
}

/// A waiter whose server was late by chance, for more than half a second, stands in line anew.
fn in_order_unless_late(once: impl FnMut() -> Vec<usize>) {
    let mut orders = Vec::new();
    for order in std::iter::repeat_with(once).take(TRIES) {
        let is_sorted = order.is_sorted();
        orders.push(order);
        if is_sorted {
            return;
        }
    }
    panic!("{orders:?}");
}

/// Three waiters, each in one queue of all these servers.
fn three_in_line(
    urls: &[String],
    options: &str,
    servers: &[impl Borrow<RedisServer>],
) -> Vec<Running> {
    let length = |server: &RedisServer| server.command(&["LLEN", "redisson_lock_queue:{name}"]);
    let waiting = || servers.iter().map(|server| length(server.borrow()).int()).sum::<i64>();
    let in_line = |place| {
        let waiter = run(urls, options, "echo in; read line").start();
        until("a place in the queue", || (waiting() == place).then_some(()));
        waiter
    };
    (1..=3).map(in_line).collect()
}

/// A broken order shows each time.
const TRIES: usize = 3;

/// In which order they get in: each leaves when it is told to.
fn order_of(mut waiters: Vec<Running>) -> Vec<usize> {
    let mut order = Vec::new();
    while order.len() < waiters.len() {
        let is_in = |(place, waiter): (usize, &Running)| {
            (!order.contains(&place)).then(|| waiter.line_if_there()).flatten().map(|_| place)
        };
        let next = until("the next gets in", || waiters.iter().enumerate().find_map(is_in));
        waiters.get_mut(next).expect("it is one of them").write("go\n");
        order.push(next);
    }
    for waiter in waiters {
        assert_eq!(waiter.finish().code(), 0);
    }
    order
}

#[test]
fn as_many_run_at_once_as_there_are_permits() {
    let server = RedisServer::start();
    let urls = [server.url()];
    let slot = |options: &str, script: &str| run(&urls, &format!("{options} --of 3"), script);
    let mut jobs = [2, 1].map(|count| {
        let job =
            slot(&format!("-w 50 --permits {count}"), "echo $PALISADE_HOLDER; read line").start();
        assert!(!job.line().is_empty());
        job
    });
    let refused = slot("-n --permits 1", "true").finish();
    assert_eq!(refused.code(), 75, "{refused:?}");
    assert!(refused.said().contains("0 of 3 permits are left"), "{refused:?}");
    assert_eq!(slot("-n -E 9 --permits 1", "true").finish().code(), 9);
    let inspected = palisade(&["inspect", "-s", &urls[0], "name"]).finish().output.join("\n");
    assert!(inspected.contains(": 0 permits are left, 3 are held: "), "{inspected}");
    let holders = jobs.each_ref().map(Running::pid);
    assert!(holders.iter().all(|pid| inspected.contains(&format!(" pid {pid}"))), "{inspected}");
    let waiter = slot("-w 50 --permits 2", "echo mine; echo ${PALISADE_TOKEN:-none}").start();
    assert!(waiter.complaint().contains("waiting for name: 0 of 3 permits are left"));
    let [two, one] = &mut jobs;
    two.write("go\n");
    assert_eq!((waiter.line(), waiter.line()), ("mine".to_owned(), "none".to_owned()));
    assert_eq!(waiter.finish().code(), 0);
    one.write("go\n");
    jobs.into_iter().for_each(|job| assert_eq!(job.finish().code(), 0));
    assert_eq!(server.command(&["GET", "name"]).to_string(), "3");
}

#[test]
fn another_number_of_permits_is_wrong_use_and_a_lock_of_the_name_an_error() {
    let server = RedisServer::start();
    let urls = [server.url()];
    assert_eq!(run(&urls, "--permits 1 --of 3", "true").finish().code(), 0);
    let other = run(&urls, "--permits 1 --of 4", "true").finish();
    assert_eq!(other.code(), 64, "{other:?}");
    assert!(other.said().contains("has 3 permits, not 4"), "{other:?}");
    for sort in SORTS {
        let lock = run(&urls, sort, "true").finish();
        assert_eq!(lock.code(), 78, "{sort}: {lock:?}");
    }
}

#[test]
fn number_of_permits_is_set_anew_while_some_are_held() {
    let server = RedisServer::start();
    let urls = [server.url()];
    let set = |number: &str| palisade(&["permits", "-s", &urls[0], "name", number]).finish();
    let mut job = run(&urls, "--permits 2 --of 3", "echo up; read line").start();
    assert_eq!(job.line(), "up");
    let fewer = set("1");
    assert_eq!(fewer.code(), 0, "{fewer:?}");
    assert!(fewer.said().contains("name has 1 permits, and 1 more are held"), "{fewer:?}");
    assert_eq!(run(&urls, "-n --permits 1 --of 1", "true").finish().code(), 75);
    let more = set("3");
    assert!(more.said().contains("name has 3 permits, of which 1 are left"), "{more:?}");
    assert_eq!(run(&urls, "-n --permits 1 --of 3", "true").finish().code(), 0);
    job.write("go\n");
    assert_eq!(job.finish().code(), 0);
    assert_eq!(server.command(&["GET", "name"]).to_string(), "3");
}

#[test]
fn permit_that_is_taken_away_ends_the_command() {
    let server = RedisServer::start();
    let urls = [server.url()];
    let job = run(&urls, "--permits 1 --of 1 --lease 2s", "echo up; sleep 3600").start();
    assert_eq!(job.line(), "up");
    server.command(&["DEL", "name", "{name}:timeout"]);
    assert_eq!(job.finish().code(), 74);
}

#[test]
fn nested_run_that_wants_more_permits_than_are_ever_left_is_wrong_use() {
    let server = RedisServer::start();
    let urls = [server.url()];
    for (outer, inner, of, code) in [("1", "1", "1", 64), ("2", "2", "3", 64), ("2", "1", "3", 0)] {
        server.flush();
        for patience in ["", "-n"] {
            let nested = format!(
                "{PALISADE} run -s {} {patience} --permits {inner} --of {of} name -- true",
                urls[0]
            );
            let finished =
                run(&urls, &format!("-w 50 --permits {outer} --of {of}"), &nested).finish();
            assert_eq!(finished.code(), code, "{outer} {inner} {of}: {finished:?}");
        }
    }
}

#[test]
fn permits_that_the_server_has_lost_are_set_anew_for_those_who_wait() {
    let server = RedisServer::start();
    let urls = [server.url()];
    let one = "-w 50 --permits 1 --of 1 --lease 3s";
    let holder = run(&urls, one, "echo up; sleep 3600").start();
    assert_eq!(holder.line(), "up");
    let waiter = run(&urls, one, "echo mine").start();
    assert!(waiter.complaint().contains("waiting for name: 0 of 1 permits are left"));
    server.flush();
    assert_eq!(waiter.line(), "mine");
    let waiter = waiter.finish();
    assert_eq!(waiter.code(), 0, "{waiter:?}");
    assert!(waiter.said().contains("they were set anew, all 1"), "{waiter:?}");
    assert_eq!(holder.finish().code(), 74);
}
