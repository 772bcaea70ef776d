//! Stock in the same Redis as its lock, taken by a script that a hold guards; and in another one, by its token.
//!
//! On in-process servers, or on the first two that are named in `PALISADE_SERVERS`.
#![expect(clippy::print_stdout, reason = "tells a story")]

use std::{env, error::Error, time::Duration};

use palisade::{Client, embedded::Server, error::GuardedError, guarded::Script};

/// Says what is left, or that there is too little.
const TAKE: &str = "
local left = tonumber(redis.call('GET', KEYS[1]) or 0) - ARGV[1]
if left < 0 then return false end
redis.call('SET', KEYS[1], left)
return left";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let [shop, warehouse] = clients().await?;
    let take = Script::new(TAKE);
    let fill = Script::new("return redis.call('SET', KEYS[1], ARGV[1])");

    let guard = shop.fenced_lock("stock").acquire().await?;
    guard.script(&fill).key("{stock}:apples").arg(10).invoke::<()>().await?;
    let left: Option<i64> = guard.script(&take).key("{stock}:apples").arg(3).invoke().await?;
    println!("by the hold: {left:?} apples are left");

    // The warehouse does not know the lock. It knows the greatest token that it has seen.
    let late = warehouse.fenced(guard.fencing_token(), "{stock}:token");
    late.script(&fill).key("{stock}:pears").arg(10).invoke::<()>().await?;

    // An operator takes the lock away, and another gets it. The first one has not heard of that.
    shop.fenced_lock("stock").force_release().await?;
    let refused = guard.script(&take).key("{stock}:apples").arg(3).invoke::<()>().await;
    println!("after it is gone: {}", refused.err().ok_or("it should be refused")?);
    let next = shop.fenced_lock("stock").acquire().await?;
    let stock = warehouse.fenced(next.fencing_token(), "{stock}:token");
    let left: Option<i64> = stock.script(&take).key("{stock}:pears").arg(4).invoke().await?;
    println!("by the token: {left:?} pears are left");
    match late.script(&take).key("{stock}:pears").arg(4).invoke::<()>().await {
        Err(GuardedError::Stale { .. }) => println!("the late one is refused there, too"),
        other => return Err(format!("the late one should be refused: {other:?}").into()),
    }
    next.release().await?;
    shop.shutdown(Duration::from_secs(5)).await?;
    Ok(())
}

/// That of the shop, which has the lock and some of the stock, and that of the warehouse.
async fn clients() -> Result<[Client; 2], Box<dyn Error>> {
    let Ok(urls) = env::var("PALISADE_SERVERS") else {
        return Ok([Server::start()?.client()?, Server::start()?.client()?]);
    };
    let mut urls = urls.split(',');
    let mut next = || urls.next().ok_or("two servers are needed");
    let (shop, warehouse) = (next()?, next()?);
    Ok([Client::connect(shop).await?, Client::connect(warehouse).await?])
}
