//! The door of a room (`mod.rs`) says what a newcomer needs before the first file.

use std::fs;

use super::{ROOMS, root};

/// The rooms that are folders, with the text of their doors.
fn doors() -> Vec<(&'static str, String)> {
    let src = root().join("src");
    let read = |room: &&'static str| {
        let door = fs::read_to_string(src.join(room).join("mod.rs")).ok()?;
        let text = door.lines().map_while(|line| line.strip_prefix("//!"));
        Some((*room, text.map(|line| format!("{line}\n")).collect()))
    };
    ROOMS.iter().filter_map(read).collect()
}

#[test]
fn every_room_has_a_door_that_leads_on() {
    let doors = doors();
    assert!(doors.len() > 15, "the rooms are gone: {}", doors.len());
    for (room, text) in doors {
        let lines = text.lines().count();
        assert!((30..=80).contains(&lines), "{room}: {lines} lines at the door");
        assert!(text.contains("```text"), "{room}: nothing is drawn");
        assert!(text.contains("tests"), "{room}: no word about what proves it");
        let leads = ["# To change…", "To change ", "To add "];
        assert!(leads.iter().any(|lead| text.contains(lead)), "{room}: where does a change begin?");
    }
}
