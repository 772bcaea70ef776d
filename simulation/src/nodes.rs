//! The servers: embedded ones, with what the simulation knows of them.

use std::{sync::Arc, time::Duration};

use palisade::embedded::Server;

use crate::{plan::NodePlan, world::World};

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) server: Server,
    pub(crate) state: State,
    /// Nothing is executed; connections stay.
    pub(crate) frozen: bool,
    /// How often it was started again.
    pub(crate) life: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Up,
    /// Its address answers that nobody listens there.
    Down,
    /// Nothing answers.
    Gone,
}

impl Node {
    pub(crate) fn start(plan: &NodePlan, world: &Arc<World>, seed: u64) -> Self {
        let time = world.clone();
        let server = Server::builder()
            .seed(seed)
            .wall_clock(Duration::from_micros(plan.wall_clock_us))
            .time(move || Duration::from_micros(time.now_us()))
            .start_here();
        server.set_clock_rate(plan.ppm);
        Self { server, state: State::Up, frozen: false, life: 0 }
    }

    pub(crate) fn works(&self) -> bool {
        self.state == State::Up && !self.frozen
    }

    pub(crate) fn crash(&mut self, amnesia: bool, silent: bool) {
        if amnesia {
            self.server.kill_and_forget();
        } else {
            self.server.kill();
        }
        self.frozen = false;
        self.life += 1;
        self.state = if silent { State::Gone } else { State::Down };
    }

    pub(crate) fn restart(&mut self) {
        self.server.restart();
        self.state = State::Up;
    }

    /// The holders of a lock there.
    pub(crate) fn holders(&self, key: &str) -> Vec<String> {
        let request = format!("*2\r\n$5\r\nHKEYS\r\n${}\r\n{key}\r\n", key.len());
        self.ask(request.as_bytes())
    }

    /// The locks' keys there, not counters and markers.
    pub(crate) fn keys(&self) -> Vec<String> {
        let all = self.ask(b"*2\r\n$4\r\nKEYS\r\n$1\r\n*\r\n").into_iter();
        all.filter(|key| !self.holders(key).is_empty()).collect()
    }

    /// The channels that somebody listens to.
    pub(crate) fn channels(&self) -> Vec<String> {
        self.ask(b"*2\r\n$6\r\nPUBSUB\r\n$8\r\nCHANNELS\r\n")
    }

    /// The strings of an answer.
    fn ask(&self, request: &[u8]) -> Vec<String> {
        let Some(mut direct) = self.server.direct() else { return Vec::new() };
        direct.send(request);
        let mut answer = Vec::new();
        direct.receive(&mut answer);
        let text = String::from_utf8_lossy(&answer).into_owned();
        let words = text.split("\r\n").filter(|line| !line.starts_with(['*', '$', '-']));
        words.filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }
}
