//! The clock that counts on while the machine sleeps, as leases do.
//!
//! `std` and tokio measure CLOCK_MONOTONIC, which stands still during a suspend: a timer on it
//! would fire late by the length of the sleep. A timerfd on CLOCK_BOOTTIME fires at once on waking.

use std::{io, time::Duration};

use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};
use tokio::net::unix::pipe::Receiver;

/// The time since the machine was started, sleep included.
pub(crate) fn now() -> Duration {
    let now = clock_gettime(ClockId::Boottime);
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// An alarm at one point of this clock.
///
/// A timerfd is no pipe, but it is read like one: tokio has no other safe type that waits for a
/// descriptor to become readable.
#[derive(Debug)]
pub(crate) struct Alarm(Receiver);

impl Alarm {
    /// An alarm that is not set.
    pub(crate) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Boottime, flags)?;
        Ok(Self(Receiver::from_owned_fd_unchecked(timer)?))
    }

    /// Sets the alarm, or sets it anew; a point in the past rings at once.
    pub(crate) fn set(&self, at: Duration) -> io::Result<()> {
        // All zero would switch the alarm off.
        let at = at.max(Duration::from_nanos(1));
        let when = Itimerspec {
            it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
            it_value: Timespec {
                tv_sec: i64::try_from(at.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: at.subsec_nanos().into(),
            },
        };
        timerfd_settime(&self.0, TimerfdTimerFlags::ABSTIME, &when)?;
        Ok(())
    }

    /// Waits until the alarm rings.
    pub(crate) async fn rings(&self) -> io::Result<()> {
        loop {
            self.0.readable().await?;
            match self.0.try_read(&mut [0; 8]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read.map(|_count| ()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_alarm_rings_at_its_time_and_can_be_moved() {
        let alarm = Alarm::new().expect("a timerfd");
        alarm.set(now() + Duration::from_secs(3600)).expect("set");
        let at = now() + Duration::from_millis(30);
        alarm.set(at).expect("moved");
        alarm.rings().await.expect("rings");
        assert!(now() >= at);
        alarm.set(Duration::ZERO).expect("set in the past");
        alarm.rings().await.expect("rings at once");
    }
}
