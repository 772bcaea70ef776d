//! Fingerprints that do not tell apart what differs by names only.
//!
//! Masters are interchangeable, and so are clients that have clocks that agree and that do the same. A master's part of
//! a state is hashed by itself and the parts are added, so their order does not matter; of all namings of the clients
//! the least hash is taken.

use std::hash::{BuildHasherDefault, Hash, Hasher};

use crate::{
    setting::Setting,
    state::{MAX_ATTEMPTS, Mark, Node, State},
};

/// Set of fingerprints: they are hashes already.
pub(crate) type Seen = std::collections::HashSet<u64, BuildHasherDefault<Identity>>;

/// Attempt `i` of a state is looked at as if it were number `order[i]`.
#[derive(Debug)]
struct Naming {
    new_name: [u8; MAX_ATTEMPTS],
    clients: Vec<usize>,
    /// The attempts in the order of their new numbers.
    order: Vec<usize>,
}

/// Computes fingerprints for one setting.
#[derive(Debug)]
pub(crate) struct Fingerprints {
    namings: Vec<Naming>,
    nodes: usize,
    clocks: bool,
    marks: bool,
}

impl Fingerprints {
    pub(crate) fn new(setting: &Setting) -> Self {
        let ahead = |client: usize| setting.clocks.map(|clocks| clocks.ahead[client]);
        let role = |client: usize| {
            let attempt = client * setting.attempts;
            (ahead(client), setting.reads(attempt), setting.may_downgrade(attempt))
        };
        let namings = permutations(setting.clients)
            .into_iter()
            .filter(|clients| clients.iter().enumerate().all(|(a, b)| role(a) == role(*b)))
            .map(|clients| Naming::new(&clients, setting.attempts))
            .collect();
        Self {
            namings,
            nodes: setting.nodes,
            clocks: setting.clocks.is_some(),
            marks: setting.marks(),
        }
    }

    pub(crate) fn of(&self, state: &State) -> u64 {
        let all = self.namings.iter().map(|naming| self.under(naming, state));
        all.min().unwrap_or(0)
    }

    fn under(&self, naming: &Naming, state: &State) -> u64 {
        let mut hash = Mix::default();
        for a in &naming.order {
            state.attempts[*a].hash(&mut hash);
        }
        state.history.last_token.hash(&mut hash);
        naming.name(Some(usize::from(state.history.last_holder))).hash(&mut hash);
        state.crashes.hash(&mut hash);
        if self.marks {
            state.flushes.hash(&mut hash);
        }
        if self.clocks {
            state.now.hash(&mut hash);
        }
        let nodes = state.nodes.iter().take(self.nodes).map(|node| naming.node(node));
        hash.write_u64(nodes.fold(0, u64::wrapping_add));
        hash.finish()
    }
}

impl Naming {
    fn new(clients: &[usize], attempts: usize) -> Self {
        let mut order = Vec::new();
        for client in clients {
            order.extend((0..attempts).map(|i| client * attempts + i));
        }
        let mut new_name = [0; MAX_ATTEMPTS];
        for (new, old) in (1..).zip(&order) {
            new_name[*old] = new;
        }
        Self { new_name, clients: clients.to_vec(), order }
    }

    /// The new number of an attempt that is stored as its number + 1.
    fn name(&self, stored: Option<usize>) -> u8 {
        match stored {
            None | Some(0) => 0,
            Some(stored) => self.new_name[stored - 1],
        }
    }

    fn node(&self, node: &Node) -> u64 {
        let mut hash = Mix::default();
        hash.write_u8(self.name(node.holder().map(|holder| holder + 1)));
        let readers = self.order.iter().map(|a| u64::from(node.is_read_by(*a)));
        hash.write_u64(readers.fold(0, |bits, reads| bits << 1 | reads));
        hash.write_u16(node.counter);
        (node.young, node.marked, node.until).hash(&mut hash);
        let ghosts = node.ghosts.iter().fold(0, |all, ghosts| all << 8 | u64::from(*ghosts));
        hash.write_u64(ghosts);
        for a in &self.order {
            let seat = &node.seats[*a];
            let flags = [seat.vouches, seat.forgotten, seat.written, seat.stopped];
            let flags = flags.iter().fold(0, |bits, flag| bits << 1 | u64::from(*flag));
            let flights = (seat.acquire as u64) << 2 | seat.heal as u64;
            hash.write_u64(u64::from(seat.reply) << 8 | flights << 4 | flags);
        }
        let Mark { stands, witness, known, knew } = &node.mark;
        if *witness || knew.contains(&true) {
            (stands, witness).hash(&mut hash);
            for client in &self.clients {
                (known[*client], knew[*client]).hash(&mut hash);
            }
        }
        hash.finish()
    }
}

/// A small fast hash; the states are not an adversary's.
#[derive(Debug, Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u64(u64::from(value));
    }

    fn write_u16(&mut self, value: u16) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        let mixed = (self.0 ^ value).wrapping_add(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed.wrapping_mul(0xBF58_476D_1CE4_E5B9).rotate_left(29);
    }

    /// The finalizer of `SplitMix64`.
    fn finish(&self) -> u64 {
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

/// Hands a fingerprint through.
#[derive(Debug, Default)]
pub(crate) struct Identity(u64);

impl Hasher for Identity {
    fn write(&mut self, _bytes: &[u8]) {
        unreachable!("only fingerprints are stored");
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

fn permutations(n: usize) -> Vec<Vec<usize>> {
    let Some(last) = n.checked_sub(1) else {
        return vec![Vec::new()];
    };
    let mut all = Vec::new();
    for shorter in permutations(last) {
        for at in 0..n {
            let mut longer = shorter.clone();
            longer.insert(at, last);
            all.push(longer);
        }
    }
    all
}
