use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use testkit::Actor;

const PATIENCE: Duration = Duration::from_secs(10);
const NO_ARGS: [&str; 0] = [];

#[test]
fn lines_go_in_and_out() {
    let mut actor = Actor::spawn("cat", &NO_ARGS);
    assert_eq!(actor.ask("one", PATIENCE), "one");
    actor.send("two").unwrap();
    assert_eq!(actor.recv(PATIENCE).unwrap(), "two");
    assert_eq!(actor.try_recv(), None);
    actor.close();
    assert!(actor.wait(PATIENCE).unwrap().success());
}

#[test]
fn killed_actor_is_seen_to_be_gone() {
    let mut actor = Actor::spawn("cat", &NO_ARGS);
    actor.send("last words").unwrap();
    assert_eq!(actor.recv(PATIENCE).unwrap(), "last words");
    actor.kill();
    assert_eq!(actor.recv(PATIENCE).unwrap_err(), RecvTimeoutError::Disconnected);
    assert!(actor.send("hello?").is_err());
}

#[test]
fn frozen_actor_answers_after_the_thaw_only() {
    let mut actor = Actor::spawn("cat", &NO_ARGS);
    actor.freeze();
    actor.send("hello").unwrap();
    let silent = actor.recv(Duration::from_millis(100));
    assert_eq!(silent.unwrap_err(), RecvTimeoutError::Timeout);
    actor.thaw();
    assert_eq!(actor.recv(PATIENCE).unwrap(), "hello");
}

#[test]
fn dropped_actor_is_reaped_even_if_frozen() {
    let mut actor = Actor::spawn("cat", &NO_ARGS);
    let process = format!("/proc/{}", actor.pid());
    actor.freeze();
    drop(actor);
    assert!(!std::path::Path::new(&process).exists());
}
