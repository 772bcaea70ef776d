//! Runs that are about rights alone. Pure.
//!
//! Each process has two clients for each server, of different users with locks of their own, and holds
//! several of both at the same time, which are renewed. One user then loses its rights to one key, or to
//! all, for longer than a lease. Nothing else is to notice: neither the other user, nor the other locks of this
//! one.

use checkers::random::Random;
use palisade::Quarantine;

use crate::{
    plan::{About, Denial, Fault, Plan},
    targets,
};

impl Plan {
    /// Turns a run into one of these.
    pub(crate) fn draw_rights(&mut self, random: &mut Random) {
        self.about = About::Rights;
        self.draw_nearness(random);
        // Shorter than most denials.
        self.leases.watchdog_ms = 300 + random.below(200);
        self.leases.watchdog_ms = 300 + random.below(200);
        if self.leases.quarantine == Quarantine::Strict {
            self.leases.quarantine = Quarantine::Always;
        }
        // Many are refused at once.
        self.sections = 20;
        for process in &mut self.processes {
            process.lanes = 4;
            process.beat_us = 20 * MS;
        }
        for _ in 0..3 + random.below(4) {
            let at = random.below(self.calm_at);
            // Where most of what is renewed together is.
            let denial = Denial { node: self.home(), ..self.draw_denial(random) };
            // For some leases of those that are renewed.
            let for_us = (200 + random.below(1_300)) * MS;
            self.faults.push((at, Fault::Deny { denial, for_us }));
        }
    }

    /// Of one key on one server, or of all there.
    pub(crate) fn draw_denial(&self, random: &mut Random) -> Denial {
        let place = |drawn: u64| usize::try_from(drawn).unwrap_or(0);
        let node = place(random.below(self.nodes.len() as u64));
        let user = place(random.below(self.users() as u64));
        let names = targets::names(user, self);
        let name = names.get(place(random.below(names.len() as u64))).copied();
        Denial { node, user, key: if random.one_in(3) { None } else { name } }
    }
}

const MS: u64 = 1_000;
