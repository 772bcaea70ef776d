//! EVAL, EVALSHA and SCRIPT.

use super::super::lua::Scripts;
use super::super::resp::{CommandResult, Refusal, Reply};
use super::super::state::Caller;
use super::{Args, Run, Spec};

pub(super) const SPECS: &[Spec] = &[
    script("eval", -3, eval),
    script("evalsha", -3, evalsha),
    Spec::container("script").not_in_scripts(),
    script("script|exists", -3, exists),
    script("script|flush", -2, flush),
    script("script|load", 3, load),
];

const fn script(
    name: &'static str,
    arity: i32,
    run: fn(&mut Scripts, Caller, Args<'_>) -> CommandResult,
) -> Spec {
    Spec::new(name, arity, Run::Script(run)).not_in_scripts()
}

fn eval(scripts: &mut Scripts, caller: Caller, args: Args<'_>) -> CommandResult {
    let keys = key_count(args)?;
    let sha = scripts.load(args.at(1))?;
    scripts.run(&sha, caller, keys, args.from(3))
}

fn evalsha(scripts: &mut Scripts, caller: Caller, args: Args<'_>) -> CommandResult {
    let missing = Refusal::new("NOSCRIPT No matching script. Please use EVAL.");
    let sha = args.lower(1);
    // What cannot be a digest is refused even before the number of keys is.
    if sha.len() != 40 {
        return Err(missing);
    }
    let keys = key_count(args)?;
    if !scripts.contains(&sha) {
        return Err(missing);
    }
    scripts.run(&sha, caller, keys, args.from(3))
}

fn key_count(args: Args<'_>) -> Result<usize, Refusal> {
    let count = usize::try_from(args.integer(2)?).ok();
    let count = count.ok_or(Refusal::new("ERR Number of keys can't be negative"))?;
    if count > args.len() - 3 {
        return Err(Refusal::new("ERR Number of keys can't be greater than number of args"));
    }
    Ok(count)
}

fn load(scripts: &mut Scripts, _: Caller, args: Args<'_>) -> CommandResult {
    scripts.load(args.at(2)).map(Reply::bulk)
}

fn exists(scripts: &mut Scripts, _: Caller, args: Args<'_>) -> CommandResult {
    let known = (2..args.len()).map(|index| Reply::flag(scripts.contains(&args.lower(index))));
    Ok(Reply::Array(known.collect()))
}

fn flush(scripts: &mut Scripts, _: Caller, args: Args<'_>) -> CommandResult {
    match args.len() {
        2 => {}
        3 if args.is(2, "async") || args.is(2, "sync") => {}
        _ => return Err(Refusal::new("ERR SCRIPT FLUSH only support SYNC|ASYNC option")),
    }
    scripts.flush();
    Ok(Reply::OK)
}
