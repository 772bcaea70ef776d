//! Count-down latches: `latch OPERATION NAME [NUMBER]`. `java/src/main/java/Latches.java` is the same.

use std::{error::Error, time::Duration};

use palisade::Client;

pub(crate) async fn act(client: &Client, words: &[&str]) -> Result<String, Box<dyn Error>> {
    let [operation, name, ref numbers @ ..] = *words else { return Err("not understood".into()) };
    let (latch, number) = (client.count_down_latch(name), numbers.first().unwrap_or(&"0"));
    Ok(match operation {
        "set" => latch.try_set_count(number.parse()?).await?.to_string(),
        "count" => latch.count().await?.to_string(),
        "down" => latch.count_down().await.map(|_| "counted".to_owned())?,
        "delete" => latch.delete().await?.to_string(),
        "wait" => latch.wait_for(Duration::from_millis(number.parse()?)).await?.to_string(),
        _ => return Err("not understood".into()),
    })
}
