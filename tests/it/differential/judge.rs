//! When two replies count as the same.

use std::time::Duration;

use super::wire::{Body, Reply};

/// How the replies to a call are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judge {
    /// To the byte.
    Exact,
    /// Redis promises no order.
    Unordered,
    /// Integers may differ by the milliseconds that pass between two calls.
    Millis,
    /// A script of ours: the server's time in µs, then integers that may be times to live.
    Timed,
    /// Integers may differ by the seconds that pass between two calls.
    Seconds,
    /// Replies to queued calls: each as if in no order, and by the clock.
    Each,
    /// Only types and keys count, not values.
    Shape,
}

/// How far two servers' times may lie apart: by what passed from the first request to the last
/// reply, and by how exact their clocks are and how they are rounded.
#[derive(Clone, Copy, Debug)]
struct Apart {
    seconds: u64,
    millis: u64,
    micros: u64,
}

impl Apart {
    fn after(passed: Duration) -> Self {
        let millis = u64::try_from(passed.as_millis()).expect("not for ever");
        Self {
            seconds: passed.as_secs() + 1,
            millis: millis + 20,
            micros: (millis + 1_000) * 1_000,
        }
    }
}

impl Judge {
    /// Of replies to calls that both servers executed while so much time `passed`.
    pub(crate) fn agree(self, one: &Reply, other: &Reply, passed: Duration) -> bool {
        let apart = Apart::after(passed);
        match self {
            Self::Exact => one == other,
            Self::Unordered => sorted(one) == sorted(other),
            Self::Millis => near(one, other, apart.millis),
            Self::Timed => timed(one, other, apart),
            Self::Each => each(one, other, apart),
            Self::Seconds => near(one, other, apart.seconds),
            Self::Shape => shape(one) == shape(other),
        }
    }
}

/// The clocks of both servers are the system's, asked one after the other.
fn timed(one: &Reply, other: &Reply, apart: Apart) -> bool {
    if let (Body::Line(_), Body::Line(_)) = (&one.body, &other.body) {
        return near(one, other, apart.micros);
    }
    let (Body::Items(ones), Body::Items(others)) = (&one.body, &other.body) else {
        return one == other;
    };
    let (Some((time, ones)), Some((other_time, others))) =
        (ones.split_first(), others.split_first())
    else {
        return one == other;
    };
    near(time, other_time, apart.micros)
        && ones.len() == others.len()
        && ones.iter().zip(others).all(|(one, other)| near(one, other, apart.millis))
}

fn near(one: &Reply, other: &Reply, tolerance: u64) -> bool {
    match (&one.body, &other.body) {
        (Body::Items(ones), Body::Items(others)) => {
            one.kind == other.kind
                && ones.len() == others.len()
                && ones.iter().zip(others).all(|(one, other)| near(one, other, tolerance))
        }
        (Body::Line(_), Body::Line(_)) if one.kind == b':' && other.kind == b':' => {
            let (one, other) = (integer(one), integer(other));
            // A sign says something else than a time: no key, or no time to live.
            one == other || (one >= 0 && other >= 0 && one.abs_diff(other) <= tolerance)
        }
        _ => one == other,
    }
}

fn integer(reply: &Reply) -> i64 {
    reply.text().parse().expect("an integer")
}

fn sorted(reply: &Reply) -> Reply {
    let Body::Items(items) = &reply.body else { return reply.clone() };
    let mut items: Vec<_> = items.iter().map(sorted).collect();
    if reply.kind == b'%' {
        let mut pairs: Vec<_> = items.chunks(2).map(<[_]>::to_vec).collect();
        pairs.sort();
        items = pairs.concat();
    } else {
        items.sort();
    }
    Reply { kind: reply.kind, body: Body::Items(items) }
}

/// The replies keep their places, but not what is in them.
fn each(one: &Reply, other: &Reply, apart: Apart) -> bool {
    match (&one.body, &other.body) {
        (Body::Items(ones), Body::Items(others)) => {
            ones.len() == others.len()
                && ones.iter().zip(others).all(|(one, other)| {
                    near(&sorted(one), &sorted(other), apart.millis) || timed(one, other, apart)
                })
        }
        _ => one == other,
    }
}

/// The reply without the values of lines and strings. The keys of maps stay.
fn shape(reply: &Reply) -> Reply {
    let body = match &reply.body {
        Body::Missing => Body::Missing,
        Body::Line(_) => Body::Line(Vec::new()),
        Body::Text(_) => Body::Text(Vec::new()),
        Body::Items(items) if reply.kind == b'%' => Body::Items(
            items.chunks(2).flat_map(|pair| [pair[0].clone(), shape(&pair[1])]).collect(),
        ),
        Body::Items(items) => Body::Items(items.iter().map(shape).collect()),
    };
    Reply { kind: reply.kind, body }
}
