//! Ranges of sorted sets, by rank and by score.

use super::super::data::SortedSet;
use super::super::number;
use super::super::resp::{CommandResult, Refusal, Reply};
use super::lists::slice;
use super::{Args, Invocation, Spec};

pub(super) const SPECS: &[Spec] = &[
    Spec::command("zcount", 4, zcount),
    Spec::command("zrange", -4, |call, args| range(call, args, RangeOptions::default(), true)),
    Spec::command("zrangebyscore", -4, |call, args| {
        range(call, args, RangeOptions { by_score: true, ..RangeOptions::default() }, false)
    }),
    Spec::command("zremrangebyscore", 4, zremrangebyscore),
];

/// A range of scores; each end may be left out of it.
struct Scores {
    min: (f64, bool),
    max: (f64, bool),
}

impl Scores {
    fn parse(min: &[u8], max: &[u8]) -> Result<Self, Refusal> {
        let end = |text: &[u8]| {
            let (text, open) = match text.strip_prefix(b"(") {
                Some(rest) => (rest, true),
                None => (text, false),
            };
            // C reads nothing as zero.
            let value = if text.is_empty() { Some(0.0) } else { number::float(text) };
            let value = value.ok_or(Refusal::new("ERR min or max is not a float"))?;
            Ok::<_, Refusal>((value, open))
        };
        Ok(Self { min: end(min)?, max: end(max)? })
    }

    fn reaches(&self, score: f64) -> bool {
        score < self.max.0 || (!self.max.1 && score == self.max.0)
    }

    /// Members within the range, in order.
    fn of<'s>(&self, set: &'s SortedSet) -> impl Iterator<Item = (&'s Vec<u8>, f64)> {
        let (min, open) = self.min;
        set.iter_from(min)
            .skip_while(move |(_, score)| open && *score == min)
            .take_while(|(_, score)| self.reaches(*score))
    }
}

fn zcount(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    let scores = Scores::parse(args.at(2), args.at(3))?;
    let set = call.keys().read::<SortedSet>(args.at(1))?;
    Ok(Reply::count(set.map_or(0, |set| scores.of(set).count())))
}

fn zremrangebyscore(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    let scores = Scores::parse(args.at(2), args.at(3))?;
    let keys = call.keys();
    let Some(set) = keys.change::<SortedSet>(args.at(1))? else { return Ok(Reply::Integer(0)) };
    let members: Vec<_> = scores.of(set).map(|(member, _)| member.clone()).collect();
    members.iter().for_each(|member| {
        set.remove(member);
    });
    keys.tidy(args.at(1));
    Ok(Reply::count(members.len()))
}

#[derive(Debug, Default)]
struct RangeOptions {
    by_score: bool,
    reverse: bool,
    with_scores: bool,
    limit: Option<(i64, i64)>,
}

impl RangeOptions {
    /// Reads the options. Only ZRANGE itself may choose order and direction by them.
    fn parse(mut self, args: Args<'_>, free: bool) -> Result<Self, Refusal> {
        let mut index = 4;
        while index < args.len() {
            match args.lower(index).as_str() {
                "withscores" => self.with_scores = true,
                "limit" if index + 2 < args.len() => {
                    self.limit = Some((args.integer(index + 1)?, args.integer(index + 2)?));
                    index += 2;
                }
                "rev" if free => self.reverse = true,
                "byscore" if free => self.by_score = true,
                _ => return Err(Refusal::SYNTAX),
            }
            index += 1;
        }
        // A count of -1 is the same as no limit, and passes here too.
        if self.limit.is_some_and(|(_, count)| count != -1) && !self.by_score {
            return Err(Refusal::new(
                "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
            ));
        }
        Ok(self)
    }

    fn show(&self, found: impl Iterator<Item = (Vec<u8>, f64)>) -> Reply {
        if self.with_scores {
            Reply::Scored(found.collect())
        } else {
            Reply::bulks(found.map(|(member, _)| member))
        }
    }
}

fn range(
    call: &mut Invocation<'_>,
    args: Args<'_>,
    options: RangeOptions,
    free: bool,
) -> CommandResult {
    let options = options.parse(args, free)?;
    let found = if options.by_score {
        by_score(call, args, &options)?
    } else {
        by_rank(call, args, &options)?
    };
    Ok(options.show(found.into_iter()))
}

type RangeResult = Result<Vec<(Vec<u8>, f64)>, Refusal>;

fn by_rank(call: &mut Invocation<'_>, args: Args<'_>, options: &RangeOptions) -> RangeResult {
    let (start, stop) = (args.integer(2)?, args.integer(3)?);
    let Some(set) = call.keys().read::<SortedSet>(args.at(1))? else { return Ok(Vec::new()) };
    let (skip, take) = slice(start, stop, set.len());
    let members = set.iter().map(|(member, score)| (member.clone(), score));
    Ok(if options.reverse {
        members.rev().skip(skip).take(take).collect()
    } else {
        members.skip(skip).take(take).collect()
    })
}

fn by_score(call: &mut Invocation<'_>, args: Args<'_>, options: &RangeOptions) -> RangeResult {
    let (min, max) = if options.reverse { (3, 2) } else { (2, 3) };
    let scores = Scores::parse(args.at(min), args.at(max))?;
    let Some(set) = call.keys().read::<SortedSet>(args.at(1))? else { return Ok(Vec::new()) };
    let (offset, count) = options.limit.unwrap_or((0, -1));
    // A negative offset skips everything, a negative count takes everything: so does Redis.
    let skip = usize::try_from(offset).unwrap_or(usize::MAX);
    let take = usize::try_from(count).unwrap_or(usize::MAX);
    let members = scores.of(set).map(|(member, score)| (member.clone(), score));
    Ok(if options.reverse {
        let members: Vec<_> = members.collect();
        members.into_iter().rev().skip(skip).take(take).collect()
    } else {
        members.skip(skip).take(take).collect()
    })
}
