//! When two replies count as the same.

use super::wire::{Body, Reply};

/// How the replies to a call are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judge {
    /// To the byte.
    Exact,
    /// Redis promises no order.
    Unordered,
    /// Integers may differ by what passes between two calls: 20 ms.
    Millis,
    /// A script of ours: the server's time in µs, then integers that may be times to live.
    Timed,
    /// Integers may differ by one, for rounding.
    Seconds,
    /// Replies to queued calls: each as if in no order, and by the clock.
    Each,
    /// Only types and keys count, not values.
    Shape,
}

impl Judge {
    pub(crate) fn agree(self, one: &Reply, other: &Reply) -> bool {
        match self {
            Self::Exact => one == other,
            Self::Unordered => sorted(one) == sorted(other),
            Self::Millis => near(one, other, 20),
            Self::Timed => timed(one, other),
            Self::Each => each(one, other),
            Self::Seconds => near(one, other, 1),
            Self::Shape => shape(one) == shape(other),
        }
    }
}

/// The clocks of both servers are the system's, asked one after the other.
fn timed(one: &Reply, other: &Reply) -> bool {
    let (Body::Items(ones), Body::Items(others)) = (&one.body, &other.body) else {
        return one == other;
    };
    let (Some((time, ones)), Some((other_time, others))) =
        (ones.split_first(), others.split_first())
    else {
        return one == other;
    };
    near(time, other_time, 1_000_000)
        && ones.len() == others.len()
        && ones.iter().zip(others).all(|(one, other)| near(one, other, 20))
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
fn each(one: &Reply, other: &Reply) -> bool {
    match (&one.body, &other.body) {
        (Body::Items(ones), Body::Items(others)) => {
            ones.len() == others.len()
                && ones
                    .iter()
                    .zip(others)
                    .all(|(one, other)| near(&sorted(one), &sorted(other), 20) || timed(one, other))
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
