//! What can be done to a master, and how it is taken back.

use std::{fs, io, thread, time::Duration};

use testkit::RedisServer;

use super::Deed;
use crate::{history::Event, masters::Masters, recorder::Recorder};

/// Down is noted before and up is noted after: in between nothing may be expected of a master.
pub(super) fn strike(masters: &Masters, recorder: &Recorder, deed: Deed, master: usize) {
    let server = &masters.servers()[master];
    if let Some(forgets) = deed.downs() {
        recorder.note(Event::MasterDown { master, killed: forgets });
    }
    match deed {
        Deed::Freeze => server.freeze(),
        Deed::Kill => server.kill(),
        Deed::Cut(kind) => drop(server.cli(&["CLIENT", "KILL", "TYPE", kind])),
        Deed::Wire(fault) => masters.wire(master).set(fault),
        Deed::HalfOpen => masters.wire(master).mute(&server.subscribed_from()),
        Deed::Tell { begins, .. } => tell(server, begins),
        Deed::Demote => {
            server.cli(&["REPLICAOF", "127.0.0.1", &masters.empty().port().to_string()]);
        }
        Deed::Spin => spin(server),
        Deed::FailToSave => fail_to_save(server).expect("a folder can be made"),
        Deed::Overflow => overflow(server),
        Deed::StepClock(by_ms) => step_clock(server, recorder, master, by_ms, by_ms),
        Deed::Panic => unreachable!("masters have no subscribers of ours"),
    }
}

pub(super) fn heal(masters: &Masters, recorder: &Recorder, deed: Deed, master: usize) {
    let server = &masters.servers()[master];
    match deed {
        Deed::Freeze => server.thaw(),
        Deed::Kill => server.restart_empty(),
        Deed::Wire(_) => masters.wire(master).heal(),
        Deed::Tell { ends, .. } => tell(server, ends),
        Deed::Demote => drop(server.cli(&["REPLICAOF", "NO", "ONE"])),
        Deed::Spin => stop_spinning(server),
        Deed::FailToSave => save_nothing(server).expect("the folder can be removed"),
        Deed::StepClock(by_ms) => step_clock(server, recorder, master, -by_ms, 0),
        Deed::Cut(_) | Deed::HalfOpen | Deed::Overflow | Deed::Panic => {}
    }
    assert_answers(server);
    if deed.downs().is_some() {
        recorder.note(Event::MasterUp { master });
    }
}

pub(super) fn assert_answers(server: &RedisServer) {
    assert_eq!(server.cli(&["PING"]), "PONG", "redis-server at {}", server.addr());
}

fn tell(server: &RedisServer, commands: &[&[&str]]) {
    for command in commands {
        server.cli(command);
    }
}

/// From now on the server answers BUSY to nearly everything.
fn spin(server: &RedisServer) {
    server.cli(&["CONFIG", "SET", "lua-time-limit", "5"]);
    let mut connection = server.connect();
    // Answered when the script is killed, with an error that says so.
    thread::spawn(move || drop(connection.command(&["EVAL", "while true do end", "0"])));
}

fn stop_spinning(server: &RedisServer) {
    // The script may only be about to begin.
    while server.command(&["SCRIPT", "KILL"]).is_error() {
        thread::sleep(POLL);
    }
    // It ends when it next looks up.
    while server.command(&["PING"]).is_error() {
        thread::sleep(POLL);
    }
}

/// From now on the server answers MISCONF to every write.
fn fail_to_save(server: &RedisServer) -> io::Result<()> {
    // A snapshot is made beside its place and then renamed, which a folder there does not suffer.
    let place = server.folder().join(SNAPSHOT);
    // A replica has one from its master.
    if place.is_file() {
        fs::remove_file(&place)?;
    }
    fs::create_dir(place)?;
    server.cli(&["CONFIG", "SET", "save", "3600 1"]);
    server.cli(&["BGSAVE"]);
    while !server.cli(&["INFO", "persistence"]).contains("rdb_last_bgsave_status:err") {
        thread::sleep(POLL);
    }
    Ok(())
}

fn save_nothing(server: &RedisServer) -> io::Result<()> {
    server.cli(&["CONFIG", "SET", "save", ""]);
    fs::remove_dir(server.folder().join(SNAPSHOT))
}

/// Every subscriber is sent more than its output buffer may hold, and is dropped for it.
fn overflow(server: &RedisServer) {
    let limit = |limit| server.cli(&["CONFIG", "SET", "client-output-buffer-limit", limit]);
    limit("pubsub 1024 1024 1");
    let message = "x".repeat(256 * 1024);
    for channel in server.cli(&["PUBSUB", "CHANNELS"]).lines() {
        server.cli(&["PUBLISH", channel, &message]);
    }
    limit("pubsub 33554432 8388608 60");
}

/// Noted on both sides: an attempt that begins in between has seen it too.
fn step_clock(server: &RedisServer, recorder: &Recorder, master: usize, by_ms: i64, ahead_ms: i64) {
    recorder.note(Event::ClockJumped { master, by_ms });
    server.set_clock(ahead_ms);
    recorder.note(Event::ClockJumped { master, by_ms });
}

const SNAPSHOT: &str = "dump.rdb";
const POLL: Duration = Duration::from_millis(2);
