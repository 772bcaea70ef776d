//! What a lane does that leads: announces something, and then uses the lock as any other.

use std::time::Duration;

use checkers::history::Event;
use palisade::{election::Leadership, error::GuardedError};
use tokio::select;

use super::Lane;
use crate::{intent::Intent, target::Target};

impl Lane {
    pub(super) async fn lead(&self, target: &Target, leadership: Leadership, intent: &Intent) {
        let announcements = async {
            for number in 1..=intent.announcements {
                self.announce(&leadership, number).await;
            }
        };
        select! {
            biased;
            _lost = leadership.lost() => {}
            () = announcements => {}
            // Notes how the deadline moves meanwhile.
            () = self.work(leadership.guard(), A_LONG_TIME) => {}
        }
        let (section, deadline) = (self.section, self.deadline(leadership.guard()));
        self.record(Event::Extended { section, deadline });
        self.use_up(target, leadership.into_guard(), intent).await;
    }

    async fn announce(&self, leadership: &Leadership, number: u32) {
        let (section, token) = (self.section, leadership.token().get());
        let text = format!("{section} says {number}");
        self.record(Event::Proclaiming { section, token, number, text: text.clone() });
        self.observer.saw(match leadership.proclaim(text).await {
            Ok(()) => "proclaimed",
            Err(GuardedError::Unknown { .. }) => "proclaimed, maybe",
            Err(_) => "not proclaimed",
        });
    }
}

const A_LONG_TIME: Duration = Duration::from_secs(3_600);
