//! What stands on the servers for one holder: members and their deadlines, renewal, healing, release.

mod absence;
mod ask;
mod confirmations;
mod downgrade;
mod ending;
mod fencing;
mod giving_back;
mod healing;
mod heard;
mod in_flight;
mod margin;
mod member_state;
mod parts;
mod place;
mod promote;
mod record;
mod recount;
mod renewal;
mod rewriting;
mod stragglers;
#[cfg(all(test, feature = "embedded"))]
mod tests;
mod turn;
mod validity;
mod winning;

pub(crate) use ask::ask;
pub(crate) use downgrade::downgrade;
pub(crate) use fencing::ToldToken;
pub(crate) use giving_back::{release, roll_back, roll_back_all, roll_back_some};
pub(crate) use in_flight::InFlight;
pub(crate) use place::KeptPlace;
pub(crate) use promote::promote;
pub(crate) use record::{Claim, LossListener, Wanted};
