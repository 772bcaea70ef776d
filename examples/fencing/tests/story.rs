//! The story comes to its end, and the store refuses the late write.

use std::process::Command;

#[test]
#[cfg(unix)]
fn the_late_write_of_a_stopped_holder_is_refused() {
    let told = Command::new(env!("CARGO_BIN_EXE_fencing"))
        .env_remove("PALISADE_SERVERS")
        .output()
        .expect("it can be run");
    let (story, errors) =
        (String::from_utf8_lossy(&told.stdout), String::from_utf8_lossy(&told.stderr));
    assert!(told.status.success(), "{story}\n{errors}");
    let order = [
        "holder 1: wrote 90: accepted",
        "holder 1: checked",
        "SIGSTOP",
        "holder 2: wrote 50: accepted",
        "SIGCONT",
        "holder 1: wrote 80: REFUSED",
        "holder 1: my guard says",
        "the balance is 50",
    ];
    let mut rest = &*story;
    for line in order {
        let (_, after) = rest.split_once(line).unwrap_or_else(|| panic!("no {line:?} in\n{story}"));
        rest = after;
    }
}
