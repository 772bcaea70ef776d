//! Each program comes to its end, and says what its first lines promise.

use std::process::Command;

#[track_caller]
fn story(program: &str) -> String {
    let told = Command::new(program).env_remove("PALISADE_SERVER").output().expect("it can be run");
    let (story, errors) =
        (String::from_utf8_lossy(&told.stdout), String::from_utf8_lossy(&told.stderr));
    assert!(told.status.success(), "{story}\n{errors}");
    story.into_owned()
}

#[test]
fn a_vendor_is_asked_by_three_at_a_time() {
    let story = story(env!("CARGO_BIN_EXE_vendor_limit"));
    assert_eq!(story.matches("the vendor has answered").count(), 10, "{story}");
    assert!(
        ["at most 1 ", "at most 2 ", "at most 3 "].iter().any(|most| story.contains(most)),
        "{story}"
    );
}

#[test]
fn what_is_sold_was_there() {
    let story = story(env!("CARGO_BIN_EXE_beside_redis"));
    assert!(story.contains("sold 5, 0 left"), "{story}");
}

#[test]
fn consumers_leave_no_message() {
    let story = story(env!("CARGO_BIN_EXE_queue_consumer"));
    assert!(story.contains("5 messages are done"), "{story}");
}

#[test]
fn a_deposed_leader_writes_nothing() {
    let story = story(env!("CARGO_BIN_EXE_leader_sqlite"));
    for line in ["ada leads, written", "grace leads, written", "ada writes late, REFUSED"] {
        assert!(story.contains(line), "no {line:?} in\n{story}");
    }
}

#[test]
fn work_goes_on_with_one_master_down_and_stops_with_two() {
    let story = story(env!("CARGO_BIN_EXE_quorum_one_down"));
    for line in ["held, 2 votes", "two of three are down: stopped"] {
        assert!(story.contains(line), "no {line:?} in\n{story}");
    }
}

#[test]
fn a_handler_answers_by_what_became_of_the_work() {
    let story = story(env!("CARGO_BIN_EXE_web_handler"));
    for line in ["free: HTTP/1.1 200", "held by another: HTTP/1.1 409", "no server: HTTP/1.1 503"] {
        assert!(story.contains(line), "no {line:?} in\n{story}");
    }
}

#[test]
fn a_period_is_done_once_by_three_replicas() {
    let story = story(env!("CARGO_BIN_EXE_cron_replicas"));
    assert_eq!(story.matches(": done").count(), 1, "{story}");
    assert_eq!(story.lines().count(), 3, "{story}");
}

#[test]
fn a_worker_stops_when_its_job_is_done() {
    let story = story(env!("CARGO_BIN_EXE_shutdown"));
    for line in ["job 1: came to its end", "0 holds were cut off", "job 2: not begun"] {
        assert!(story.contains(line), "no {line:?} in\n{story}");
    }
}

#[test]
fn a_service_is_given_any_lock() {
    let story = story(env!("CARGO_BIN_EXE_any_lock"));
    for line in ["at home: no token", "in production: token "] {
        assert!(story.contains(line), "no {line:?} in\n{story}");
    }
}

#[test]
fn what_redisson_says_can_be_said() {
    let story = story(env!("CARGO_BIN_EXE_from_redisson"));
    assert!(story.contains("moved"), "{story}");
}

#[test]
fn a_page_has_what_the_locks_did() {
    let page = story(env!("CARGO_BIN_EXE_metrics"));
    for line in [
        r#"palisade_acquires_total{group="invoices",outcome="granted"} 1"#,
        r#"palisade_acquires_total{group="invoices",outcome="refused"} 1"#,
        r#"palisade_held{group="invoices"} 0"#,
        r#"palisade_hold_seconds_count{group="invoices"} 1"#,
    ] {
        assert!(page.contains(line), "no {line:?} in\n{page}");
    }
}
