//! Semaphores: `permits KIND OPERATION NAME [NUMBER…]`. `java/src/main/java/Semaphores.java` is the same.
//!
//! | operation | of a `semaphore` | of an `expirable` one |
//! |---|---|---|
//! | `set NAME N`, `add NAME N`, `count NAME`, `delete NAME` | whether, how many | the same |
//! | `drain NAME` | how many | |
//! | `total NAME` | | how many, with those that are held |
//! | `take` | `NAME N WAIT_MS`: `granted` or `refused` | `NAME LEASE_MS WAIT_MS`: `granted ID` |
//! | `give` | `NAME N`: `given` | `NAME ID`: whether it was held |
//! | `forget NAME N` | palisade only: the other side gives back | |
//! | `extend NAME ID LEASE_MS` | | whether it was held |
//! | `crowd NAME HOLDS FOLDER` | the most that were inside at once | the same |

use std::{
    collections::HashMap,
    error::Error,
    fs::{self, File},
    path::Path,
    time::Duration,
};

use palisade::{
    Client, ExpirableSemaphore, Lease, ReleaseError, Semaphore,
    semaphore::{ExpirableGuard, SemaphoreGuard},
};

type Answer = Result<String, Box<dyn Error>>;

/// What is held here.
#[derive(Default)]
pub(crate) struct Semaphores {
    plain: Vec<(String, SemaphoreGuard)>,
    leased: HashMap<String, ExpirableGuard>,
}

impl Semaphores {
    pub(crate) async fn act(&mut self, client: &Client, words: &[&str]) -> Answer {
        match *words {
            ["semaphore", operation, name, ref numbers @ ..] => {
                self.plain(&client.semaphore(name), operation, numbers).await
            }
            ["expirable", operation, name, ref numbers @ ..] => {
                self.leased(&client.expirable_semaphore(name), operation, numbers).await
            }
            _ => Err("not understood".into()),
        }
    }

    async fn plain(&mut self, of: &Semaphore, operation: &str, numbers: &[&str]) -> Answer {
        Ok(match (operation, numbers) {
            ("set", [n]) => of.try_set_permits(n.parse()?).await?.to_string(),
            ("add", [n]) => of.add(n.parse()?).await.map(|()| "added".to_owned())?,
            ("count", []) => of.permits().await?.to_string(),
            ("drain", []) => of.drain().await?.to_string(),
            ("delete", []) => of.delete().await?.to_string(),
            ("take", [n, wait]) => {
                let taken = match milliseconds(wait)? {
                    Duration::ZERO => of.try_acquire_many(n.parse()?).await?,
                    limit => of.try_acquire_many_for(n.parse()?, limit).await?,
                };
                let Some(guard) = taken else { return Ok("refused".to_owned()) };
                self.plain.push((of.name().to_owned(), guard));
                "granted".to_owned()
            }
            ("give", [n]) => {
                match self.held(of.name(), n.parse()?) {
                    Some(guard) => guard.release().await?,
                    None => of.release(n.parse()?).await?,
                }
                "given".to_owned()
            }
            ("forget", [n]) => {
                self.held(of.name(), n.parse()?).ok_or("nothing is held")?.forget().await?;
                "forgotten".to_owned()
            }
            ("crowd", [holds, folder]) => {
                let mut crowd = Crowd::new(Path::new(folder));
                for _ in 0..holds.parse()? {
                    let guard = of.acquire().await?;
                    crowd.section()?;
                    guard.release().await?;
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                crowd.most.to_string()
            }
            _ => return Err("not understood".into()),
        })
    }

    fn held(&mut self, name: &str, permits: u32) -> Option<SemaphoreGuard> {
        let is_it =
            |(of, guard): &(String, SemaphoreGuard)| of == name && guard.permits() == permits;
        let at = self.plain.iter().position(is_it)?;
        Some(self.plain.remove(at).1)
    }

    async fn leased(&mut self, of: &ExpirableSemaphore, operation: &str, words: &[&str]) -> Answer {
        Ok(match (operation, words) {
            ("set", [n]) => of.try_set_permits(n.parse()?).await?.to_string(),
            ("add", [n]) => of.add(n.parse()?).await.map(|()| "added".to_owned())?,
            ("count", []) => of.permits().await?.to_string(),
            ("total", []) => of.total().await?.unwrap_or(0).to_string(),
            ("delete", []) => of.delete().await?.to_string(),
            ("take", [lease, wait]) => {
                let leased = of.clone().with_lease(Lease::Fixed(milliseconds(lease)?));
                let taken = match milliseconds(wait)? {
                    Duration::ZERO => leased.try_acquire().await?,
                    limit => leased.try_acquire_for(limit).await?,
                };
                let Some(guard) = taken else { return Ok("refused".to_owned()) };
                let id = guard.holder_id().to_owned();
                self.leased.insert(id.clone(), guard);
                format!("granted {id}")
            }
            ("give", [id]) => match self.leased.remove(*id) {
                Some(guard) => match guard.release().await {
                    Ok(()) => "true".to_owned(),
                    Err(ReleaseError::Lost(_)) => "false".to_owned(),
                    Err(error) => return Err(error.into()),
                },
                None => of.release_permit(id).await?.to_string(),
            },
            ("extend", [id, lease]) => of.update_lease(id, milliseconds(lease)?).await?.to_string(),
            ("crowd", [holds, folder]) => {
                let mut crowd = Crowd::new(Path::new(folder));
                for _ in 0..holds.parse()? {
                    let guard = of.acquire().await?;
                    crowd.section()?;
                    guard.release().await?;
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                crowd.most.to_string()
            }
            _ => return Err("not understood".into()),
        })
    }
}

/// Each holder inside has a file of its own, and counts all that there are.
struct Crowd<'a> {
    folder: &'a Path,
    most: usize,
}

impl<'a> Crowd<'a> {
    fn new(folder: &'a Path) -> Self {
        Self { folder, most: 0 }
    }

    fn section(&mut self) -> Result<(), Box<dyn Error>> {
        let own = self.folder.join(format!("inside-{}", std::process::id()));
        drop(File::create_new(&own)?);
        let mut inside = 0;
        for file in fs::read_dir(self.folder)? {
            inside += usize::from(file?.file_name().to_string_lossy().starts_with("inside-"));
        }
        self.most = self.most.max(inside);
        Ok(fs::remove_file(own)?)
    }
}

fn milliseconds(text: &str) -> Result<Duration, Box<dyn Error>> {
    Ok(Duration::from_millis(text.parse()?))
}
