//! The statements of `palisade::fence` on SQLite, with two connections that meet.

use std::{
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use palisade::fence::{CREATE_TABLE, FenceAnswer, sqlite::ADMIT};
use rusqlite::{Connection, params};

fn open(file: &Path) -> Connection {
    let store = Connection::open(file).expect("a store can be opened");
    store.execute_batch(CREATE_TABLE).expect("the table can be made, and made again");
    store
}

fn admit(store: &Connection, resource: &str, token: i64) -> FenceAnswer {
    let rows = store.execute(ADMIT, params![resource, token]).expect("an answer");
    FenceAnswer::from_rows(rows as u64).expect("one row or none")
}

#[test]
fn a_resource_admits_the_first_an_equal_and_a_greater_token_and_no_smaller_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(&folder.path().join("store"));
    for (token, told) in [
        (7, FenceAnswer::Admitted),
        (7, FenceAnswer::Admitted),
        (6, FenceAnswer::Stale),
        (8, FenceAnswer::Admitted),
        (7, FenceAnswer::Stale),
    ] {
        assert_eq!(admit(&store, "r", token), told, "token {token}");
    }
    assert_eq!(admit(&store, "another", 1), FenceAnswer::Admitted);
}

#[test]
fn a_writer_that_waited_for_a_commit_is_told_what_was_committed() {
    static WAITS: AtomicBool = AtomicBool::new(false);
    fn waits(_calls: i32) -> bool {
        WAITS.store(true, Ordering::Release);
        thread::sleep(Duration::from_millis(1));
        true
    }
    for (how, late, told) in [
        ("COMMIT", 1, FenceAnswer::Stale),
        ("ROLLBACK", 1, FenceAnswer::Admitted),
        ("COMMIT", 3, FenceAnswer::Admitted),
    ] {
        WAITS.store(false, Ordering::Release);
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("store");
        let first = open(&file);
        first.execute_batch("BEGIN").expect("a transaction begins");
        assert_eq!(admit(&first, "r", 2), FenceAnswer::Admitted);
        let asking = thread::spawn(move || {
            let other = Connection::open(&file).expect("a store can be opened");
            other.busy_handler(Some(waits)).expect("it can wait");
            admit(&other, "r", late)
        });
        while !WAITS.load(Ordering::Acquire) && !asking.is_finished() {
            thread::yield_now();
        }
        first.execute_batch(how).expect("a transaction ends");
        assert_eq!(asking.join().expect("it asks to the end"), told, "{how}, then token {late}");
    }
}
