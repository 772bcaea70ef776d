//! Job control: the command on a terminal, below a shell.

use std::os::unix::process::ExitStatusExt;

use testkit::{Cluster, RedisServer};

use crate::support::{
    PALISADE,
    terminal::{CTRL_BACKSLASH, CTRL_C, CTRL_Z, Terminal},
};

fn run(server: &RedisServer, command: &str) -> String {
    format!("{PALISADE} run -s {} -w 50 name -- {command}", server.url())
}

#[test]
fn the_command_reads_the_terminal_is_stopped_continued_and_interrupted() {
    let server = RedisServer::start();
    let mut terminal = Terminal::start();
    terminal.type_in(&format!("{}\n", run(&server, "cat")));
    for _ in 0..2 {
        terminal.type_in("hello\n");
        // Once from the terminal's echo, once from cat.
        terminal.see("hello\r\nhello\r\n");
        terminal.type_in(CTRL_Z);
        terminal.see("Stopped");
        terminal.see("ready> ");
        terminal.type_in("echo the shell is $((40 + 2))\n");
        terminal.see("the shell is 42");
        terminal.type_in("fg\n");
        terminal.see("name -- cat\r\n");
        terminal.type_in("again\n");
        terminal.see("again\r\nagain\r\n");
    }
    terminal.type_in(CTRL_C);
    terminal.see("ready> ");
    terminal.type_in("echo code $?\n");
    terminal.see("code 130");
    assert_eq!(server.keys(), Vec::<String>::new());
}

/// What a shell does at ^C depends on how its command died, and on whether it was sent the signal itself.
#[test]
fn a_script_ends_at_an_interrupt_that_the_command_dies_of_and_goes_on_where_it_is_handled() {
    let server = RedisServer::start();
    let mut terminal = Terminal::start();
    let dies = "sh -c 'echo up $((1 + 1)); exec sleep 3600'";
    let handles = "sh -c 'trap \"exit 0\" INT; echo up $((1 + 1)); while :; do sleep 0.01; done'";
    for (shell, key, command, goes_on, code) in [
        ("bash -c", CTRL_C, dies, false, 130),
        ("dash -c", CTRL_C, dies, false, 130),
        ("dash -c", CTRL_BACKSLASH, dies, false, 131),
        ("bash -c", CTRL_C, handles, true, 0),
        ("dash -c", CTRL_C, handles, true, 0),
    ] {
        let script = format!("{}; echo went on $((40 + 2))", run(&server, command));
        terminal.type_in(&format!("{shell} {}\n", quoted(&script)));
        terminal.see("up 2");
        terminal.type_in(key);
        terminal.type_in("echo code $?.\n");
        let seen = terminal.read_to(&format!("code {code}."));
        assert_eq!(seen.contains("went on 42"), goes_on, "{shell} {command}: {seen}");
        assert_eq!(server.keys(), Vec::<String>::new());
    }
}

#[test]
fn a_loop_and_a_trap_see_the_interrupt_as_they_would_without_palisade() {
    let server = RedisServer::start();
    let mut terminal = Terminal::start();
    let sleeps = run(&server, "sh -c 'echo up $((1 + 1)); exec sleep 3600'");
    let script = format!("trap 'echo trapped $((40 + 2))' EXIT; while :; do {sleeps}; done");
    terminal.type_in(&format!("bash -c {}\n", quoted(&script)));
    terminal.see("up 2");
    terminal.type_in(CTRL_C);
    terminal.see("trapped 42");
    terminal.see("ready> ");
}

/// One word of a shell's.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[test]
fn a_command_in_the_background_runs_there_and_gets_the_terminal_with_fg() {
    let server = RedisServer::start();
    let mut terminal = Terminal::start();
    let command = "sh -c 'echo started; read line; echo got $line'";
    terminal.type_in(&format!("{} &\n", run(&server, command)));
    terminal.see("started\r\n");
    // It reads, which stops it, and palisade with it.
    terminal.type_in("wait -n; jobs\n");
    terminal.see("Stopped");
    terminal.type_in("fg\n");
    terminal.see("palisade run");
    terminal.type_in("typed\n");
    terminal.see("got typed");
    terminal.type_in("echo code $?\n");
    terminal.see("code 0");
}

#[test]
fn in_a_pipeline_the_others_keep_the_terminal_until_the_command_asks_for_it() {
    let server = RedisServer::start();
    let mut terminal = Terminal::start();
    // What follows in the pipeline can read the terminal, as a pager does.
    let reader = "sh -c 'read line </dev/tty; echo reader got $line; cat'";
    let command = "sh -c 'read line </dev/tty; echo command got $line'";
    terminal.type_in(&format!("{} | {reader}\n", run(&server, "echo done")));
    terminal.type_in("one\n");
    terminal.see("reader got one");
    terminal.see("done");
    terminal.see("ready> ");
    terminal.type_in(&format!("{} | cat\n", run(&server, command)));
    terminal.type_in("two\n");
    terminal.see("command got two");
    terminal.see("ready> ");
}

#[test]
fn a_terminal_left_in_disorder_by_a_killed_command_is_put_right() {
    let server = RedisServer::start();
    let mut terminal = Terminal::start();
    let command = "sh -c 'stty -echo -icanon; kill -KILL $$'";
    terminal.type_in(&format!("{}\n", run(&server, command)));
    terminal.see("ready> ");
    terminal.type_in("stty -a; echo code $?\n");
    terminal.see(" icanon");
    terminal.see(" echo ");
    terminal.see("code 0");
}

#[test]
fn a_shell_under_the_lock_has_job_control_of_its_own() {
    let server = RedisServer::start();
    let mut terminal = Terminal::start();
    // What is typed is shown too, and must not look like the prompt.
    let inner = "env PS1=in''ner% bash --norc --noediting -i";
    terminal.type_in(&format!("{}\n", run(&server, inner).replace(" name ", " --lease 9 name ")));
    terminal.see("inner%");
    terminal.type_in("cat\n");
    terminal.see("cat\r\n");
    terminal.type_in("hello\n");
    terminal.see("hello\r\nhello\r\n");
    terminal.type_in(CTRL_Z);
    terminal.see("Stopped");
    terminal.see("inner%");
    // The lock goes while a job of the inner shell, in a group of its own, has the terminal.
    terminal.type_in("fg\n");
    terminal.see("cat\r\n");
    terminal.type_in("again\n");
    terminal.see("again\r\nagain\r\n");
    server.command(&["DEL", "name"]);
    terminal.see("ready> ");
    terminal.type_in("echo code $?\n");
    terminal.see("code 74");
}

#[test]
fn a_stop_signal_to_palisade_stops_the_command_and_then_the_job() {
    let server = RedisServer::start();
    let mut terminal = Terminal::start();
    let command = "sh -c 'echo started; read line </dev/null; exec sleep 3601'";
    terminal.type_in(&format!("{} &\n", run(&server, command)));
    terminal.see("started\r\n");
    terminal.type_in("kill -TSTP $!; wait -n; jobs\n");
    terminal.see("Stopped");
    terminal.type_in("bg; jobs\n");
    terminal.see("Running");
    terminal.type_in("kill %1; wait $!; echo code $?\n");
    terminal.see("code 143");
}

#[test]
fn without_a_shell_that_could_continue_it_a_stop_from_the_terminal_is_undone() {
    let server = RedisServer::start();
    let mut terminal =
        Terminal::start_with(&[PALISADE, "run", "-s", &server.url(), "name", "--", "cat"]);
    terminal.type_in("hello\n");
    terminal.see("hello\r\nhello\r\n");
    terminal.type_in(CTRL_Z);
    terminal.type_in("again\n");
    terminal.see("again\r\nagain\r\n");
    terminal.type_in(CTRL_C);
    assert_eq!(terminal.status().signal(), Some(2));
}

#[test]
fn bless_asks_on_a_terminal_and_takes_yes_alone() {
    let cluster = Cluster::start(2);
    let urls = cluster.urls();
    let words = [PALISADE, "bless", "-s", &urls[0], "-s", &urls[1]];
    for (answer, code) in [("no\n", 1), ("\n", 1), ("yes\n", 0)] {
        let mut terminal = Terminal::start_with(&words);
        terminal.see("Type yes:");
        terminal.type_in(answer);
        assert_eq!(terminal.status().code(), Some(code), "{answer:?}");
        for server in cluster.iter() {
            let is_marked = server.command(&["EXISTS", "palisade:marker"]).to_string() == "1";
            assert_eq!(is_marked, code == 0, "{answer:?}");
        }
    }
}
