//! Sorted sets, one member at a time. Ranges are in `zrange`.

use super::super::data::SortedSet;
use super::super::number;
use super::super::resp::{CommandResult, Refusal, Reply};
use super::{Args, Invocation, Spec};

pub(super) const SPECS: &[Spec] = &[
    Spec::command("zadd", -4, |call, args| zadd(call, args, false)),
    Spec::command("zcard", 2, zcard),
    Spec::command("zincrby", 4, |call, args| zadd(call, args, true)),
    Spec::command("zrank", 3, zrank),
    Spec::command("zrem", -3, zrem),
    Spec::command("zscore", 3, zscore),
];

fn zcard(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    Ok(Reply::count(call.keys().read::<SortedSet>(args.at(1))?.map_or(0, SortedSet::len)))
}

fn zscore(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    let set = call.keys().read::<SortedSet>(args.at(1))?;
    Ok(set.and_then(|set| set.score(args.at(2))).map_or(Reply::Nil, Reply::Double))
}

fn zrank(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    let set = call.keys().read::<SortedSet>(args.at(1))?;
    Ok(set.and_then(|set| set.rank(args.at(2))).map_or(Reply::Nil, Reply::count))
}

fn zrem(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    let keys = call.keys();
    let Some(set) = keys.change::<SortedSet>(args.at(1))? else { return Ok(Reply::Integer(0)) };
    let removed = args.from(2).iter().filter(|member| set.remove(member)).count();
    keys.tidy(args.at(1));
    Ok(Reply::count(removed))
}

/// The options of ZADD.
#[derive(Debug, Default)]
struct AddOptions {
    only_new: bool,
    only_known: bool,
    greater: bool,
    less: bool,
    /// Report changed members too, not only new ones.
    changed: bool,
    increment: bool,
}

impl AddOptions {
    /// Reads the options; where the first score is.
    fn parse(args: Args<'_>, increment: bool) -> (Self, usize) {
        let mut options = Self { increment, ..Self::default() };
        for index in 2..args.len() {
            match args.lower(index).as_str() {
                "nx" => options.only_new = true,
                "xx" => options.only_known = true,
                "gt" => options.greater = true,
                "lt" => options.less = true,
                "ch" => options.changed = true,
                "incr" => options.increment = true,
                _ => return (options, index),
            }
        }
        (options, args.len())
    }

    fn check(&self, words: usize) -> Result<(), Refusal> {
        if words == 0 || words % 2 == 1 {
            return Err(Refusal::SYNTAX);
        }
        if self.only_new && self.only_known {
            return Err(Refusal::new("ERR XX and NX options at the same time are not compatible"));
        }
        if (self.greater && self.less) || (self.only_new && (self.greater || self.less)) {
            return Err(Refusal::new(
                "ERR GT, LT, and/or NX options at the same time are not compatible",
            ));
        }
        if self.increment && words > 2 {
            return Err(Refusal::new("ERR INCR option supports a single increment-element pair"));
        }
        Ok(())
    }

    /// The member's new score, or `None` if it is to be left as it is.
    fn score(&self, current: Option<f64>, given: f64) -> Result<Option<f64>, Refusal> {
        let Some(current) = current else {
            return Ok((!self.only_known).then_some(given));
        };
        if self.only_new {
            return Ok(None);
        }
        let score = if self.increment { current + given } else { given };
        if score.is_nan() {
            return Err(Refusal::new("ERR resulting score is not a number (NaN)"));
        }
        let left = (self.greater && score <= current) || (self.less && score >= current);
        Ok((!left).then_some(score))
    }
}

/// ZADD, and ZINCRBY, which is ZADD with INCR in Redis too.
fn zadd(call: &mut Invocation<'_>, args: Args<'_>, increment: bool) -> CommandResult {
    let (options, first) = AddOptions::parse(args, increment);
    options.check(args.len() - first)?;
    put(call, args, first, &options)
}

fn put(
    call: &mut Invocation<'_>,
    args: Args<'_>,
    first: usize,
    options: &AddOptions,
) -> CommandResult {
    let pairs = args.pairs(first).map(|(score, member)| (number::float(score), member));
    if pairs.clone().any(|(score, _)| score.is_none()) {
        return Err(Refusal::NOT_FLOAT);
    }
    let set = call.keys().create::<SortedSet>(args.at(1))?;
    let (mut added, mut changed, mut last) = (0, 0, None);
    for (given, member) in pairs {
        let current = set.score(member);
        let Some(score) = options.score(current, given.unwrap_or_default())? else { continue };
        last = Some(score);
        match current {
            None => added += 1,
            Some(current) if current != score => changed += 1,
            Some(_) => continue,
        }
        set.set(member, score);
    }
    call.keys().tidy(args.at(1));
    if options.increment {
        return Ok(last.map_or(Reply::Nil, Reply::Double));
    }
    Ok(Reply::Integer(if options.changed { added + changed } else { added }))
}
