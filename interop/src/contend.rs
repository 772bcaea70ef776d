//! Many contenders of one process, for a time: `java/src/main/java/Contender.java` is the same.
//!
//! Each holder writes a line `LANGUAGE ID ASKED GRANTED LEFT` into the file `holds` while it holds the lock, with its
//! holder id and microseconds. Beside it is a file `count`, read at the beginning of a hold and written at its end: two at once lose a
//! count.

use std::{
    error::Error,
    fs::{self, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use tokio::task::JoinSet;

use crate::{
    hammer::{SELF, now_us},
    kinds::PeerLock,
};

/// For how long they go on, how long a hold lasts, and where holders write.
#[derive(Clone)]
pub(crate) struct Contention {
    pub(crate) length: Duration,
    pub(crate) shortest_ms: u64,
    pub(crate) longest_ms: u64,
    pub(crate) folder: PathBuf,
}

impl Contention {
    /// A contender for each lock. The answer is how many holds there were.
    pub(crate) async fn run(
        &self,
        locks: Vec<Box<dyn PeerLock>>,
    ) -> Result<String, Box<dyn Error>> {
        let mut contenders = JoinSet::new();
        for lock in locks {
            let contention = self.clone();
            contenders.spawn(async move {
                contention.contend(&*lock).await.map_err(|error| error.to_string())
            });
        }
        let mut holds = 0;
        while let Some(ended) = contenders.join_next().await {
            holds += ended??;
        }
        Ok(holds.to_string())
    }

    async fn contend(&self, lock: &dyn PeerLock) -> Result<u32, Box<dyn Error + Send + Sync>> {
        let (began, mut holds) = (Instant::now(), 0);
        while began.elapsed() < self.length {
            let asked = now_us()?;
            let guard = lock.acquire().await?.ok_or("not granted, though it was waited for")?;
            let granted = now_us()?;
            let count: u64 = fs::read_to_string(self.folder.join("count"))?.parse()?;
            // Not all alike.
            let length = count * 37 % (self.longest_ms - self.shortest_ms + 1);
            tokio::time::sleep(Duration::from_millis(self.shortest_ms + length)).await;
            fs::write(self.folder.join("count"), (count + 1).to_string())?;
            let line = format!("{SELF} {} {asked} {granted} {}\n", guard.holder_id(), now_us()?);
            append(&self.folder.join("holds"), &line)?;
            guard.release().await?;
            holds += 1;
            // Without it, the one that lets go would be the next one, too.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(holds)
    }
}

fn append(file: &Path, line: &str) -> std::io::Result<()> {
    OpenOptions::new().create(true).append(true).open(file)?.write_all(line.as_bytes())
}
