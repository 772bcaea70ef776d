//! Clients that grant nothing new, until what they hold is over.

use std::{sync::Arc, time::Duration};

use crate::{
    acquire::turnstile::leave_all,
    error::LostCause,
    process::{Gate, Listed, NodeServices, each_once},
};

/// Has the clients of these grant nothing but what owners ask for that hold something, and waits until nothing is held,
/// for `limit` at most. What is left then is lost. How many holds that were.
pub(super) async fn drain(mut services: Vec<Arc<NodeServices>>, limit: Duration) -> usize {
    services.retain(|of| of.process.home.is_here());
    let Some(process) = services.first().map(|of| of.process.clone()) else { return 0 };
    let clock = &process.clock;
    let deadline = clock.now() + limit;
    services.iter().for_each(|of| of.gatekeeper.go_on_to(Gate::Draining));
    let is_over = || services.iter().all(|of| of.held().is_empty() && of.attempts.is_empty());
    while !is_over() && clock.now() < deadline {
        clock.sleep_until(deadline.min(clock.now() + LOOK_EVERY)).await;
    }
    // First: what is granted from here on would be left.
    services.iter().for_each(|of| of.gatekeeper.go_on_to(Gate::Drained));
    let left: Vec<Arc<dyn Listed>> = services.iter().flat_map(|of| of.claims()).collect();
    // A hold on several masters is one.
    let left = each_once(left);
    left.iter().for_each(|claim| claim.shut_down(LostCause::Shutdown));
    services.iter().for_each(end_attempts);
    left.len()
}

/// Ends all that a client asks or waits for, also of futures that are not polled.
pub(super) fn end_attempts(services: &Arc<NodeServices>) {
    for (_, claim) in services.attempts.end_all() {
        claim.shut_down(LostCause::Shutdown);
    }
    leave_all(services);
}

/// How often it is looked whether anything is held.
const LOOK_EVERY: Duration = Duration::from_millis(20);
