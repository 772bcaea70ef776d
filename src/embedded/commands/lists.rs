//! Lists.

use super::super::data::List;
use super::super::resp::{CommandResult, Refusal, Reply};
use super::{Args, Invocation, Spec};

pub(super) const SPECS: &[Spec] = &[
    Spec::command("lindex", 3, lindex),
    Spec::command("llen", 2, llen),
    Spec::command("lpop", -2, |call, args| pop(call, args, List::pop_front, "lpop")),
    Spec::command("lpos", 3, lpos),
    Spec::command("lpush", -3, |call, args| push(call, args, List::push_front)),
    Spec::command("lrange", 4, lrange),
    Spec::command("lrem", 4, lrem),
    Spec::command("lset", 4, lset),
    Spec::command("rpop", -2, |call, args| pop(call, args, List::pop_back, "rpop")),
    Spec::command("rpush", -3, |call, args| push(call, args, List::push_back)),
];

fn push(call: &mut Invocation<'_>, args: Args<'_>, push: fn(&mut List, Vec<u8>)) -> CommandResult {
    let list = call.keys().create::<List>(args.at(1))?;
    args.from(2).iter().for_each(|item| push(list, item.to_vec()));
    Ok(Reply::count(list.len()))
}

fn pop(
    call: &mut Invocation<'_>,
    args: Args<'_>,
    pop: fn(&mut List) -> Option<Vec<u8>>,
    name: &str,
) -> CommandResult {
    let limit = match args.len() {
        2 => None,
        3 => Some(args.natural(2)?),
        _ => return Err(Refusal::arity(name)),
    };
    let keys = call.keys();
    let Some(list) = keys.change::<List>(args.at(1))? else {
        return Ok(if limit.is_some() { Reply::NilArray } else { Reply::Nil });
    };
    let reply = match limit {
        None => Reply::bulk_or_nil(pop(list)),
        Some(limit) => {
            Reply::bulks(std::iter::from_fn(|| pop(list)).take(limit).collect::<Vec<_>>())
        }
    };
    keys.tidy(args.at(1));
    Ok(reply)
}

fn llen(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    Ok(Reply::count(call.keys().read::<List>(args.at(1))?.map_or(0, List::len)))
}

fn lindex(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    let Some(list) = call.keys().read::<List>(args.at(1))? else { return Ok(Reply::Nil) };
    let index = position(args.integer(2)?, list.len());
    Ok(Reply::bulk_or_nil(index.and_then(|index| list.get(index)).cloned()))
}

/// The index of the first of its kind. Without the options that Redis has for others.
fn lpos(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    let list = call.keys().read::<List>(args.at(1))?;
    let index = list.and_then(|list| list.iter().position(|item| item == args.at(2)));
    Ok(index.map_or(Reply::Nil, Reply::count))
}

fn lset(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    let list = call.keys().change::<List>(args.at(1))?;
    let list = list.ok_or(Refusal::new("ERR no such key"))?;
    let index = position(args.integer(2)?, list.len());
    let item = index.and_then(|index| list.get_mut(index));
    *item.ok_or(Refusal::new("ERR index out of range"))? = args.at(3).to_vec();
    Ok(Reply::OK)
}

fn lrange(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    let (start, stop) = (args.integer(2)?, args.integer(3)?);
    let Some(list) = call.keys().read::<List>(args.at(1))? else {
        return Ok(Reply::Array(Vec::new()));
    };
    let (skip, take) = slice(start, stop, list.len());
    Ok(Reply::bulks(list.iter().skip(skip).take(take).cloned()))
}

/// Removes from the head, or from the tail if `count` is negative; all if it is zero.
fn lrem(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    let count = args.integer(2)?;
    let keys = call.keys();
    let Some(list) = keys.change::<List>(args.at(1))? else { return Ok(Reply::Integer(0)) };
    let hits = list.iter().filter(|item| *item == args.at(3)).count();
    let limit = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    let limit = if limit == 0 { hits } else { limit.min(hits) };
    // Hits from `first` on are removed.
    let first = if count < 0 { hits - limit } else { 0 };
    let mut seen = 0..;
    list.retain(|item| {
        item != args.at(3) || seen.next().is_none_or(|hit| !(first..first + limit).contains(&hit))
    });
    keys.tidy(args.at(1));
    Ok(Reply::count(limit))
}

/// An index from the head, or from the tail if it is negative.
fn position(index: i64, len: usize) -> Option<usize> {
    match usize::try_from(index) {
        Ok(index) => Some(index),
        Err(_) => len.checked_sub(usize::try_from(index.unsigned_abs()).ok()?),
    }
}

/// How many to skip and to take for a range of indices, both ends included.
pub(super) fn slice(start: i64, stop: i64, len: usize) -> (usize, usize) {
    let from_tail = |index: i64| {
        if index < 0 { index.saturating_add(i64::try_from(len).unwrap_or(i64::MAX)) } else { index }
    };
    let first = from_tail(start).max(0);
    let count = from_tail(stop).saturating_sub(first).saturating_add(1).max(0);
    (usize::try_from(first).unwrap_or(usize::MAX), usize::try_from(count).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_count_from_either_end() {
        let table = [
            ((0, -1), (0, 5)),
            ((1, 2), (1, 2)),
            ((-2, -1), (3, 2)),
            ((-100, 100), (0, 101)),
            ((3, 1), (3, 0)),
            ((0, -100), (0, 0)),
            ((i64::MIN, i64::MAX), (0, usize::MAX / 2 + 1)),
        ];
        for ((start, stop), expected) in table {
            let (skip, take) = slice(start, stop, 5);
            assert_eq!((skip, take.min(101)), (expected.0, expected.1.min(101)), "{start} {stop}");
        }
    }
}
